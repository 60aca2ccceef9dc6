"""Rotary positions for texts longer than those of the training: the pairs that turn slowly are slowed down further.

A pair of features turns by ω a position. In a text of the training's length the fast pairs have made many turns, and
seen every angle; the slowest have not made one, so that a longer text brings angles that the model has never met.
"""

from dataclasses import dataclass
from math import ceil, floor, log, pi

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_least
from transformer_lab.nn.positions import RotaryPositions, angles, frequencies, wide_enough


@dataclass(frozen=True)
class LinearScaling:
    """A recipe says what becomes of the frequencies, and by what cosine and sine are multiplied. Here every
    pair turns `factor` times as slowly, as if positions were pressed together: ω / factor.

    Position interpolation (Chen et al., 2023, arXiv:2306.15595, equation 3). With a factor of 1 nothing changes.
    """

    factor: float = 1.0
    magnitude: float = 1.0

    def slowed(self, plain: Float[Tensor, " pairs"], base: float) -> Float[Tensor, " pairs"]:
        return plain / self.factor


@dataclass(frozen=True)
class Llama3Scaling:
    """Only pairs that have made few turns within `original_length` positions are slowed down (Llama 3.1 and 3.2).

    With r = original_length · ω / 2π turns: ω stays if r > high, and is ω / factor if r < low; between the two,
    (1 - s) ω / factor + s ω with s = (r - low) / (high - low)        (Grattafiori et al., 2024, arXiv:2407.21783;
    github.com/meta-llama/llama-models, models/llama3/model.py)
    """

    factor: float
    low: float
    high: float
    original_length: int
    magnitude: float = 1.0

    def slowed(self, plain: Float[Tensor, " pairs"], base: float) -> Float[Tensor, " pairs"]:
        turns = self.original_length * plain / (2 * pi)
        share = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)  # that stays as it is
        return (1 - share) * plain / self.factor + share * plain


@dataclass(frozen=True)
class YarnScaling:
    """As `Llama3Scaling`, with a ramp over the numbers of the pairs; and all scores are made a little larger.

    Pair i makes `turns` turns in the original length if i = d · ln(original_length / (2π · turns)) / (2 ln base). From
    the pair of `fast` turns to that of `slow` ones, the share of ω / factor rises from 0 to 1. Cosine and sine, and so
    queries and keys, are multiplied by `magnitude`, since attention over a longer text is flatter
    (Peng et al., 2023, "YaRN", arXiv:2309.00071, sections 3.2 and 3.4). `whole` says that the ramp begins and ends at
    whole numbers, as in DeepSeek-V3, and not in gpt-oss.
    """

    factor: float
    original_length: int
    magnitude: float
    fast: float = 32.0
    slow: float = 1.0
    whole: bool = True

    def slowed(self, plain: Float[Tensor, " pairs"], base: float) -> Float[Tensor, " pairs"]:
        first, last = (self.pair_of(turns, 2 * len(plain), base) for turns in (self.fast, self.slow))
        if self.whole:
            first, last = floor(first), ceil(last)
        first, last = max(first, 0), min(last, 2 * len(plain) - 1)
        numbers = torch.arange(len(plain), dtype=plain.dtype, device=plain.device)
        share = ((numbers - first) / ((last - first) or 0.001)).clamp(0, 1)  # that is slowed down
        return (1 - share) * plain + share * plain / self.factor

    def pair_of(self, turns: float, d_head: int, base: float) -> float:
        """The number of the pair, not a whole one, that makes so many turns in the original length."""
        return d_head * log(self.original_length / (2 * pi * turns)) / (2 * log(base))


Scaling = LinearScaling | Llama3Scaling | YarnScaling


def yarn_magnitude(factor: float, slope: float = 1.0) -> float:
    """0.1 · slope · ln(factor) + 1, and 1 where nothing is stretched        (YaRN, equation 15)"""
    return 0.1 * slope * log(factor) + 1 if factor > 1 else 1.0


class ScaledRotaryPositions(RotaryPositions):
    """Rotary positions whose angles follow a recipe for long texts.

    Raises:
        ValueError: as RotaryPositions.
    """

    scaling: Scaling = LinearScaling()

    def __init__(self, length: int, d_head: int, base: float, scaling: Scaling):
        super().__init__(length, d_head, base)
        self.scaling = scaling
        self.table = self.turns(length, self.table.device, self.table.dtype)

    def turns(self, length: int, device: torch.device, dtype: torch.dtype) -> Float[Tensor, "{length} pairs 2"]:
        plain = frequencies(self.d_head, self.base)
        change = self.scaling.slowed(plain, self.base) / plain  # (pairs,)
        with torch.inference_mode(False):  # what is kept may serve a training later
            angle = angles(length, self.d_head, base=self.base) * change
            table = torch.stack([angle.cos(), angle.sin()], dim=-1) * self.scaling.magnitude
            return table.to(wide_enough(dtype)).to(device)


class PartialRotaryPositions(nn.Module):
    """Turns the first features of each head, as many as `rotary` is made for, and leaves the others as they are.

    What does not turn can be compared without regard to distance (Qwen3-Next: a quarter of each head turns).

    Raises:
        ValueError: a head has fewer features than are to turn.
    """

    def __init__(self, rotary: RotaryPositions, d_head: int):
        super().__init__()
        check_least(rotary.d_head, d_head=d_head)
        self.rotary, self.d_head = rotary, d_head

    def forward(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int = 0
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        n = self.rotary.d_head
        turned_queries, turned_keys = self.rotary(queries[..., :n], keys[..., :n], start)
        return torch.cat([turned_queries, queries[..., n:]], -1), torch.cat([turned_keys, keys[..., n:]], -1)
