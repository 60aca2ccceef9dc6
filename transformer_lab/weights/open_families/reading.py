"""What the configs of the open models have in common: sizes, heads, kinds of layers; and in which order rows stand."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.models.language_model import drop_biases
from transformer_lab.models.since_llama.layers import OpenAttention, OpenLayer
from transformer_lab.models.since_llama.open_model import OpenModel, OpenModelConfig
from transformer_lab.models.since_llama.sliding_window import SlidingWindowLayer
from transformer_lab.nn.blocks import PreNormResidual, Residual, RMSNorm, SwiGLU
from transformer_lab.weights.families import Config, Tensors
from transformer_lab.weights.tensor_names import ours

ALL = ("w_q", "w_k", "w_v", "w_o")  # the linear layers of an attention
TURNED = (".w_q.weight", ".w_q.bias", ".w_k.weight", ".w_k.bias", ".norms.weight_q", ".norms.weight_k")
FULL, SLIDING = "full_attention", "sliding_attention"

Made = tuple[OpenModel, dict[str, Tensor]]


class Heads(NamedTuple):
    """How many heads there are, how many groups of keys and values, and the size of each."""

    n_heads: int
    n_kv_heads: int
    d_head: int


def heads_of(config: Config) -> Heads:
    n_heads = config["num_attention_heads"]
    return Heads(
        n_heads,
        config.get("num_key_value_heads") or n_heads,
        config.get("head_dim") or config["hidden_size"] // n_heads,
    )


def open_model(
    config: Config, layer: Callable[[int], nn.Module], scale: float = 1.0, to_logits: nn.Linear | None = None
) -> OpenModel:
    """A model of the config's sizes, whose layer i is `layer(i)`."""
    heads = heads_of(config)
    sizes = OpenModelConfig(
        **{"vocab_size": config["vocab_size"], "d_model": config["hidden_size"], "d_ff": config["intermediate_size"]},
        **{"n_heads": heads.n_heads, "n_kv_heads": heads.n_kv_heads, "n_layers": config["num_hidden_layers"]},
        positions="rotary",
        norm="rms_norm",
        norm_eps=config["rms_norm_eps"],
        feed_forward="swiglu",
        activation="silu",
        bias=False,
        dropout=0.0,
        attention_dropout=0.0,
        max_len=config["max_position_embeddings"],
        tie_weights=config.get("tie_word_embeddings", False),
        family=config["model_type"],
    )
    layers = [layer(i) for i in range(sizes.n_layers)]
    return OpenModel(sizes, layers, norm_of(config), scale, to_logits)


def attention_of(
    config: Config,
    positions: nn.Module,
    norms: nn.Module | None = None,
    biases: Sequence[str] = (),
    kind: type[OpenAttention] = OpenAttention,
) -> OpenAttention:
    """An attention of the config's sizes, whose linear layers of these names have biases, or all if it says so."""
    attention = kind(config["hidden_size"], *heads_of(config), positions, norms)
    biases = biases or (ALL if config.get("attention_bias") else ())
    for name, part in attention.named_children():
        if isinstance(part, nn.Linear) and name not in biases:
            drop_biases(part)
    return attention


def layer_of(
    window: int | None, attention: nn.Module, network: nn.Module, residual_1: Residual, residual_2: Residual
) -> OpenLayer:
    """A layer of these parts, which looks back as far as the window says, or without one to the beginning."""
    parts = attention, network, residual_1, residual_2
    return OpenLayer(*parts) if window is None else SlidingWindowLayer(*parts, window)


def kinds_of(config: Config, by_default: Callable[[int], str], known: tuple[str, str]) -> list[str]:
    """The kind of each layer; a config that doesn't name them has a rule."""
    n_layers = config["num_hidden_layers"]
    kinds = config.get("layer_types") or [by_default(i) for i in range(n_layers)]
    if len(kinds) != n_layers:
        raise ValueError(f"layer_types of a checkpoint must name its {n_layers} layers (got {len(kinds)})")
    if wrong := {*kinds} - {*known}:
        raise ValueError(f"layer_types of a checkpoint must be {' or '.join(known)} (got {', '.join(sorted(wrong))})")
    return kinds


def windows_of(config: Config, by_default: Callable[[int], str]) -> list[int | None]:
    """For each layer, how many positions it sees; None for all."""
    kinds = kinds_of(config, by_default, (FULL, SLIDING))
    return [config["sliding_window"] if kind == SLIDING else None for kind in kinds]


def swiglu_of(config: Config, kind: type[SwiGLU] = SwiGLU) -> SwiGLU:
    network = kind(config["hidden_size"], config["intermediate_size"])
    drop_biases(network)
    return network


def norm_of(config: Config) -> RMSNorm:
    return RMSNorm(config["hidden_size"], config["rms_norm_eps"])


def residuals_of(config: Config, kind: type[Residual] = PreNormResidual) -> list[Residual]:
    """The ways around the two sub-layers, with an RMSNorm in the place of each norm."""
    residuals = [kind(config["hidden_size"]) for _ in range(2)]
    for residual in residuals:
        for name, _ in list(residual.named_children()):
            if name.startswith("norm"):
                setattr(residual, name, norm_of(config))
    return residuals


def located(config: Config, tensors: Tensors, names: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors by the names that they have here, without an output matrix that is the embedding's."""
    found = dict(ours(tensors, names, "model."))
    if config.get("tie_word_embeddings", False):
        found.pop("to_logits.weight", None)
    return found


def from_one(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a family whose norms multiply by 1 + weight, with the 1 in the weights."""
    ends = ("norm.weight", "norm_2.weight", ".norms.weight_q", ".norms.weight_k")
    return {name: 1 + x.float() if name.endswith(ends) else x for name, x in tensors.items()}


def neighbours(tensors: dict[str, Tensor], d_head: int, n_turning: int | None = None) -> dict[str, Tensor]:
    """The tensors with the rows of queries and keys as they stand here, where the features 2i and 2i + 1 turn together.

    There, i and i + n_turning / 2 do; the other features of a head, if there are any, don't turn.
    """
    turning = n_turning or d_head
    return {name: paired_rows(x, d_head, turning) if name.endswith(TURNED) else x for name, x in tensors.items()}


def paired_rows(rows: Float[Tensor, "out ..."], d_head: int, n_turning: int) -> Float[Tensor, "out ..."]:
    """The rows of each head in another order: 0, n/2, 1, n/2 + 1, … for the n that turn, then the others."""
    by_head = rows.unflatten(0, (-1, d_head))  # (h, d_head, …)
    turning = by_head[:, :n_turning].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    return torch.cat([turning, by_head[:, n_turning:]], dim=1).flatten(0, 1)
