"""The loops of `tiled_attention` over the score matrix, forward and backward: tile by tile, none of them stored.

Axes: T query positions, S key positions, t and s those of one tile, d_k width of queries and keys, d_v of values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Tiling:
    """The division into tiles: which queries and keys are taken together, and which of them may see each other."""

    mask: Tensor | None
    causal: bool
    tile: int

    def of_queries(self, length: int) -> Iterator[slice]:
        return (slice(start, min(start + self.tile, length)) for start in range(0, length, self.tile))

    def of_keys(self, rows: slice, length: int) -> Iterator[slice]:
        """The tiles of keys of which some query of `rows` may see at least one key."""
        return (cols for cols in self.of_queries(length) if not self.causal or cols.start < rows.stop)

    def scores(self, query: Tensor, key: Tensor, rows: slice, cols: slice) -> Float[Tensor, "... t s"]:
        """The scaled scores of one tile, with -inf where a query may not look."""
        wide = torch.promote_types(query.dtype, torch.float32)
        some = query[..., rows, :].to(wide) / sqrt(query.size(-1))  # (…, t, d_k)
        scores = some @ key[..., cols, :].to(wide).transpose(-2, -1)  # (…, t, s)
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask[..., rows, cols], float("-inf"))
        if self.causal and cols.stop > rows.start + 1:
            t, s = (torch.arange(span.start, span.stop, device=query.device) for span in (rows, cols))
            scores = scores.masked_fill(s > t[:, None], float("-inf"))
        return scores


class TiledAttention(torch.autograd.Function):
    """Forward and backward of `tiled_attention`. The weights are computed twice, and never stored."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, tiling: Tiling) -> Tensor:
        output = value.new_empty(*query.shape[:-1], value.size(-1))  # (…, T, d_v)
        wide = torch.promote_types(value.dtype, torch.float32)
        lse = value.new_empty(query.shape[:-1], dtype=wide)  # (…, T)
        for rows in tiling.of_queries(query.size(-2)):
            output[..., rows, :], lse[..., rows] = attend_rows(query, key, value, tiling, rows)
        ctx.save_for_backward(query, key, value, output, lse)
        ctx.tiling = tiling
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, output, lse = ctx.saved_tensors
        tiling, wide = ctx.tiling, lse.dtype
        grads = [torch.zeros(x.shape, dtype=wide, device=x.device) for x in (query, key, value)]
        for rows in tiling.of_queries(query.size(-2)):
            mean = (gradient[..., rows, :].to(wide) * output[..., rows, :]).sum(-1, keepdim=True)  # (…, t, 1)
            for cols in tiling.of_keys(rows, key.size(-2)):
                scores = tiling.scores(query, key, rows, cols)  # (…, t, s)
                weights = torch.exp(scores - lse[..., rows, None])
                add_gradients(grads, (query, key, value, gradient), weights, mean, rows, cols)
        grad_query, grad_key, grad_value = (grad.to(value.dtype) for grad in grads)
        return grad_query, grad_key, grad_value, None


def attend_rows(query: Tensor, key: Tensor, value: Tensor, tiling: Tiling, rows: slice) -> tuple[Tensor, Tensor]:
    """`(output, lse)` of some queries, from tiles of keys: maximum, sum and output are corrected along the way.

    A query that sees nothing has output 0 and lse +inf, so that every weight of it is exp(-inf) = 0 in the backward.
    """
    wide = torch.promote_types(value.dtype, torch.float32)
    t = query[..., rows, 0].shape
    lowest = torch.finfo(wide).min
    maximum = torch.full(t, lowest, dtype=wide, device=query.device)  # (…, t)
    total = torch.zeros_like(maximum)
    output = torch.zeros(*t, value.size(-1), dtype=wide, device=query.device)  # (…, t, d_v)
    for cols in tiling.of_keys(rows, key.size(-2)):
        scores = tiling.scores(query, key, rows, cols)  # (…, t, s)
        larger = torch.maximum(maximum, scores.amax(-1))
        weights = torch.exp(scores - larger[..., None])  # not yet divided by their sum
        rescale = torch.exp(maximum - larger)  # what was added up so far was measured from a lower maximum
        total = total * rescale + weights.sum(-1)
        output = output * rescale[..., None] + weights @ value[..., cols, :].to(wide)
        maximum = larger
    blind = total == 0
    lse = torch.where(blind, float("inf"), maximum + torch.log(total))
    return (output / torch.where(blind, 1.0, total)[..., None]).to(value.dtype), lse


def add_gradients(
    grads: list[Tensor], given: tuple[Tensor, ...], weights: Tensor, mean: Tensor, rows: slice, cols: slice
) -> None:
    """Add the contribution of one tile (…, t, s) to the gradients of query, key and value: see `attention_backward`."""
    query, key, value, gradient = given
    scale, wide = 1 / sqrt(query.size(-1)), weights.dtype
    upstream = gradient[..., rows, :].to(wide)  # (…, t, d_v)
    grad_scores = scale * weights * (upstream @ value[..., cols, :].to(wide).transpose(-2, -1) - mean)  # (…, t, s)
    grads[0][..., rows, :] += grad_scores @ key[..., cols, :].to(wide)
    grads[1][..., cols, :] += grad_scores.transpose(-2, -1) @ query[..., rows, :].to(wide)
    grads[2][..., cols, :] += weights.transpose(-2, -1) @ upstream
