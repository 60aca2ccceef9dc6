"""Attention that may look at nothing: a score that no key has takes its part of the weights."""

from math import sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.checks import check_mask
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.nn.attention import masked_softmax


def sink_attention(
    query: Float[Tensor, "B h T d_k"],
    key: Float[Tensor, "B h S d_k"],
    value: Float[Tensor, "B h S d_v"],
    sinks: Float[Tensor, " h"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "B h T d_v"], Float[Tensor, "B h T S"]]:
    """`scaled_dot_product_attention` in which each head has one more score, its sink, which belongs to no position.

    weight_s = exp(score_s) / (exp(sink) + Σ_j exp(score_j))        (gpt-oss: OpenAI, 2025, arXiv:2508.10925, section 2)

    `(output, weights)`. The weights of a row sum to less than 1; the rest is what went to the sink, where a head leaves
    it that has nothing to look at. Without one, such a head must still spend all its weight, which models learn to put
    on the first token        (Xiao et al., 2023, arXiv:2309.17453)

    Raises:
        ValueError: the mask is not boolean, or does not broadcast to (B, h, T, S).
    """
    scores = (query / sqrt(query.size(-1))) @ key.mT  # (B, h, T, S)
    sink = sinks[:, None, None].expand(*scores.shape[:-1], 1)  # (B, h, T, 1)
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        check_mask(mask, scores.shape)
        allowed = allowed & mask
    allowed = torch.cat([allowed, torch.ones_like(sink, dtype=torch.bool)], dim=-1)  # (B, h, T, S + 1)
    weights = masked_softmax(torch.cat([scores, sink], dim=-1), allowed)[..., :-1]  # (B, h, T, S)
    return weights @ value, weights


class SinkAttention(OpenAttention):
    """`OpenAttention` with a learned sink for each head, which starts at 0."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_head: int,
        positions: nn.Module,
        norms: nn.Module | None = None,
    ):
        super().__init__(d_model, n_heads, n_kv_heads, d_head, positions, norms)
        self.sinks = nn.Parameter(torch.zeros(n_heads))

    def attend(
        self,
        queries: Float[Tensor, "B h T d_head"],
        keys: Float[Tensor, "B g S d_head"],
        values: Float[Tensor, "B g S d_head"],
        mask: Bool[Tensor, "..."] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B h T S"] | None]:
        return sink_attention(queries, self.repeat_kv(keys), self.repeat_kv(values), self.sinks, mask)
