"""The costs of a decoder: the size of its cache in bytes, and its FLOPs with and without one.

FLOPs are counted for the self-attention and feed-forward layers of a decoder: the projections, the scores, the weighted
sum and the two matrices of the feed-forward layer, a multiply-add as 2. Left out is what costs little (softmax, norms,
biases), what costs the same with a cache and without (embedding and output layer), and a translator's cross-attention,
whose keys and values do not grow.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch

from transformer_lab.checks import check_groups
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig


@dataclass(frozen=True)
class DecoderSize:
    """The sizes of a decoder. Groups of query heads may share keys and values: `n_kv_heads` below `n_heads`.

    n_kv_heads = n_heads is multi-head attention (MHA), 1 is multi-query attention (MQA: Shazeer, 2019,
    arXiv:1911.02150), between them lies grouped-query attention (GQA: Ainslie et al., 2023, arXiv:2305.13245).

    Raises:
        ValueError: n_heads is not a multiple of n_kv_heads.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int

    def __post_init__(self) -> None:
        check_groups(self.n_heads, self.n_kv_heads)

    @property
    def d_model(self) -> int:
        return self.n_heads * self.d_head


PRESETS = {
    "this project's translator": DecoderSize(2, 4, 4, 32, 256),
    "Transformer base": DecoderSize(6, 8, 8, 64, 2048),  # Vaswani et al., 2017, Table 3
    "GPT-2 small": DecoderSize(12, 12, 12, 64, 3072),  # Radford et al., 2019, Table 2, and its published weights
    "GPT-3": DecoderSize(96, 96, 96, 128, 4 * 12288),  # Brown et al., 2020, arXiv:2005.14165, Table 2.1
}


def cache_bytes(size: DecoderSize, length: int, batch: int = 1, bytes_per_number: int = 2) -> int:
    """The bytes of the keys and values of all layers: 2 · n_layers · n_kv_heads · d_head · length · batch · bytes."""
    return 2 * size.n_layers * size.n_kv_heads * size.d_head * length * batch * bytes_per_number


def flops_of_a_position(size: DecoderSize) -> int:
    """FLOPs for one position, apart from attention: projections of query, key, value and output, and feed-forward."""
    projections = 2 * size.d_model * (2 * size.d_model + 2 * size.n_kv_heads * size.d_head)
    return size.n_layers * (projections + 2 * 2 * size.d_model * size.d_ff)


def flops_of_a_pair(size: DecoderSize) -> int:
    """FLOPs for one query and one key: a score, and a weighted value added to the sum, in every head and layer."""
    return size.n_layers * 2 * 2 * size.d_model


def flops_with_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for token number `length` of one sentence: one new position, which attends to `length` keys."""
    return flops_of_a_position(size) + length * flops_of_a_pair(size)


def flops_without_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for the same token if all `length` positions are computed anew, with a full square of scores."""
    return length * flops_of_a_position(size) + length**2 * flops_of_a_pair(size)


class Cost(NamedTuple):
    """The size of a language model, and the cost of its next token."""

    parameters: int
    flops: int  # of the next token, with a cache; output layer included
    cache: int  # numbers in it


def cost_of_a_token(config: LanguageModelConfig, length: int) -> Cost:
    """The cost of token number `length`, for a language model of any shape, by counting its actual matrices."""
    with torch.device("meta"):
        model = LanguageModel(config)
    matrices = sum(p.numel() for layer in model.layers for p in layer.parameters() if p.ndim == 2)
    scores = 4 * config.n_layers * config.d_model * length  # a score and a weighted value for each key
    groups, d_head = config.n_kv_heads or config.n_heads, config.d_model // config.n_heads
    return Cost(
        parameters=sum(p.numel() for p in model.parameters()),
        flops=2 * matrices + scores + 2 * config.d_model * config.vocab_size,
        cache=2 * config.n_layers * groups * d_head * length,
    )
