"""Fast twins of `scaled_dot_product_attention`: the same numbers in less memory, as the tests show.

Axes: B batch, h heads, T query positions, S key positions. Masks are boolean, True = may attend.
"""

from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lab.checks import check_mask


def fused_attention(
    query: Float[Tensor, "B h T d_k"],
    key: Float[Tensor, "B h S d_k"],
    value: Float[Tensor, "B h S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "B h T d_v"]:
    """The output of `scaled_dot_product_attention` from torch's fused kernel, which never stores the weights."""
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.size(-2)))
        mask = torch.atleast_2d(mask)  # the kernel broadcasts (S,) only as (1, S)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def attention_with_weights(
    query: Float[Tensor, "B h T d_k"],
    key: Float[Tensor, "B h S d_k"],
    value: Float[Tensor, "B h S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "B h T d_v"], Float[Tensor, "B h T S"]]:
    """`(output, weights)` of `scaled_dot_product_attention`, with the softmax computed in the memory of the scores."""
    if query.dtype == torch.float16:  # it ends at 65 504, which a score may pass
        query, key = query.float(), key.float()
    scores = (query / sqrt(query.size(-1))) @ key.transpose(-2, -1)  # (B, h, T, S)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        check_mask(mask, scores.shape)
        weights = MaskedSoftmax.apply(scores, mask)
    weights = F.dropout(weights.to(value.dtype), dropout)
    return weights @ value, weights  # (B, h, T, S) @ (B, h, S, d_v) → (B, h, T, d_v)


class MaskedSoftmax(torch.autograd.Function):
    """`masked_softmax` for scores that are not needed afterwards, because it overwrites them.

    To fill new memory with (B, h, T, S) numbers takes longer than to compute them.
    """

    @staticmethod
    def forward(scores: Tensor, mask: Tensor) -> Tensor:
        scores.add_(torch.where(mask, scores.new_zeros(()), float("-inf")))  # a table as small as the mask
        largest = scores.amax(dim=-1, keepdim=True)  # (…, T, 1), -inf if a query may attend to nothing
        scores.sub_(largest.clamp_(min=torch.finfo(scores.dtype).min)).exp_()
        sums = scores.sum(dim=-1, keepdim=True)  # at least exp(0) = 1, or 0 if a query may attend to nothing
        return scores.div_(sums.clamp_(min=1.0))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        if output is inputs[0]:  # not where `vmap` had to copy them
            ctx.mark_dirty(output)
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        return torch.ops.aten._softmax_backward_data(gradient, weights, -1, weights.dtype), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: None) -> Tensor:
        (weights,) = ctx.saved_tensors
        tangent.mul_(weights)  # in place, as the scores
        return tangent.sub_(weights * tangent.sum(dim=-1, keepdim=True))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, int | None], scores: Tensor, mask: Tensor) -> tuple[Tensor, int]:
        of_scores, of_mask = in_dims
        if of_scores is None:
            scores, of_scores = scores.expand(info.batch_size, *scores.shape).clone(), 0
        if of_mask is not None:
            mask = mask.movedim(of_mask, 0)
            mask = mask[(slice(None), *[None] * (scores.ndim - mask.ndim))]  # (batch, 1, …, T, S)
        MaskedSoftmax.apply(scores.movedim(of_scores, 0), mask)
        return scores, of_scores
