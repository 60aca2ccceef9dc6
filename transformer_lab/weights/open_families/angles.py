"""The angles by which queries and keys turn, as a config describes them, with its recipe for long texts."""

from collections.abc import Mapping
from typing import Any

from transformer_lab.models.since_llama.rope_scaling import (
    LinearScaling,
    Llama3Scaling,
    ScaledRotaryPositions,
    Scaling,
    YarnScaling,
    yarn_magnitude,
)
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.weights.families import Config, ask

AT_FIRST = 4096  # positions in a table of angles; it grows with the text
ROPE_TYPES = ("default", "linear", "llama3", "yarn")


def rotary_of(config: Config, d_head: int, share: float = 1.0) -> RotaryPositions:
    """The angles by which queries and keys turn; d_head counts the features that do, which are a share of each head."""
    rope = rope_of(config)
    ask(rope, "partial_rotary_factor", share)
    base = float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0)
    length = min(config["max_position_embeddings"], AT_FIRST)
    scaling = scaling_of(rope, config["max_position_embeddings"])
    if scaling is None:
        return RotaryPositions(length, d_head, base)
    return ScaledRotaryPositions(length, d_head, base, scaling)


def rope_of(config: Config) -> Mapping[str, Any]:
    """What a config says about its angles, under the new name or under the old one."""
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def rope_type(rope: Mapping[str, Any]) -> str:
    return rope.get("rope_type", rope.get("type", "default"))


def scaling_of(rope: Mapping[str, Any], max_len: int) -> Scaling | None:
    """The recipe for long texts that a config names, if it names one."""
    original = rope.get("original_max_position_embeddings") or max_len
    match kind := rope_type(rope):
        case "default":
            return None
        case "linear":
            return LinearScaling(rope["factor"])
        case "llama3":
            return Llama3Scaling(rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"], original)
        case "yarn":
            return yarn(rope, original, rope.get("factor") or max_len / original)
        case _:
            raise ValueError(f"rope_type of a checkpoint must be one of {', '.join(ROPE_TYPES)} (got {kind!r})")


def yarn(rope: Mapping[str, Any], original: int, factor: float) -> YarnScaling:
    """YaRN; a family that has a slope of its own for queries and keys says so by mscale."""
    slope, of_all = rope.get("mscale"), rope.get("mscale_all_dim")
    magnitude = rope.get("attention_factor")
    if magnitude is None and slope and of_all:
        magnitude = yarn_magnitude(factor, slope) / yarn_magnitude(factor, of_all)
    elif magnitude is None:
        magnitude = yarn_magnitude(factor)
    fast, slow = rope.get("beta_fast") or 32.0, rope.get("beta_slow") or 1.0
    return YarnScaling(factor, original, magnitude, fast, slow, rope.get("truncate", True))
