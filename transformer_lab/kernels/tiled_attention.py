"""Tiled attention: the result of `scaled_dot_product_attention`, without a (T, S) matrix in memory.

Axes: T query positions, S key positions, d_k width of queries and keys, d_v width of values; leading axes are free.
What makes it possible is that softmax can be worked out in parts (Milakov & Gimelshein, 2018, arXiv:1805.02867); what
makes it fast on a GPU is that a tile fits into fast memory (Dao et al., 2022, "FlashAttention", arXiv:2205.14135). In
Python it is not fast: torch's fused kernel does the same in one call (`fused`).
"""

from collections.abc import Iterable
from math import sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lab.checks import check_floats, check_least, check_mask
from transformer_lab.kernels.tiling import TiledAttention, Tiling


def online_softmax(chunks: Iterable[Float[Tensor, "..."]]) -> tuple[Float[Tensor, "*axes"], Float[Tensor, "*axes"]]:
    """The statistics that a softmax needs of scores (…, s_i) that come in chunks, each of which is seen once.

    Returns `(maximum, total)`, each (…): the largest score, and the sum of exp(score - maximum) over all chunks. So a
    weight is exp(score - maximum) / total, and the log-sum-exp is maximum + log(total). The scores are finite.

    Raises:
        ValueError: there is no chunk.
    """
    chunks = iter(chunks)
    first = next(chunks, None)
    if first is None:
        raise ValueError("there must be at least one chunk of scores (got none)")
    maximum = first.amax(-1)  # (…)
    total = torch.exp(first - maximum[..., None]).sum(-1)  # (…)
    for scores in chunks:
        larger = torch.maximum(maximum, scores.amax(-1))
        rescale = torch.exp(maximum - larger)  # what was added up so far was measured from a lower maximum
        total = total * rescale + torch.exp(scores - larger[..., None]).sum(-1)
        maximum = larger
    return maximum, total


def merge_partial(
    output_a: Float[Tensor, "*axes d"],
    lse_a: Float[Tensor, "*axes"],
    output_b: Float[Tensor, "*axes d"],
    lse_b: Float[Tensor, "*axes"],
) -> tuple[Float[Tensor, "*axes d"], Float[Tensor, "*axes"]]:
    """Merge attention over two disjoint sets of keys from the results for each of them: `(output, lse)`.

    output = e^(lse_a - lse) output_a + e^(lse_b - lse) output_b,  lse = log(e^lse_a + e^lse_b)

    The first share is sigmoid(lse_a - lse_b), which rounds less if both are large.

    `lse` is the log-sum-exp of a query's scores: the logarithm of the sum by which its weights were divided.
    """
    share = torch.sigmoid(lse_a - lse_b)[..., None]  # (…, 1)
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)


def attention_backward(
    query: Float[Tensor, "*axes T d_k"],
    key: Float[Tensor, "*axes S d_k"],
    value: Float[Tensor, "*axes S d_v"],
    grad_output: Float[Tensor, "*axes T d_v"],
) -> tuple[Float[Tensor, "*axes T d_k"], Float[Tensor, "*axes S d_k"], Float[Tensor, "*axes S d_v"]]:
    """The gradients of query, key and value, given the gradient of attention's output, without autograd.

    dV = Pᵀ dO,  dP = dO Vᵀ,  dS = P ⊙ (dP - rowsum(P ⊙ dP)),  dQ = dS K / √d_k,  dK = dSᵀ Q / √d_k

    P are the weights, S the scaled scores; dS is the product with the Jacobian of softmax, diag(p) - p pᵀ, row by row.
    """
    query, key, value, grad_output = (x.detach() for x in (query, key, value, grad_output))
    scale = 1 / sqrt(query.size(-1))
    weights = (scale * query @ key.transpose(-2, -1)).softmax(-1)  # (…, T, S)
    grad_value = weights.transpose(-2, -1) @ grad_output  # (…, S, T) @ (…, T, d_v) → (…, S, d_v)
    grad_weights = grad_output @ value.transpose(-2, -1)  # (…, T, S)
    mean = (weights * grad_weights).sum(-1, keepdim=True)  # (…, T, 1)
    grad_scores = scale * weights * (grad_weights - mean)  # (…, T, S)
    return grad_scores @ key, grad_scores.transpose(-2, -1) @ query, grad_value


def tiled_attention(
    query: Float[Tensor, "*#axes T d_k"],
    key: Float[Tensor, "*#axes S d_k"],
    value: Float[Tensor, "*#axes S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    tile: int = 128,
) -> Float[Tensor, "... T d_v"]:
    """The output of `scaled_dot_product_attention`, computed in tiles of at most `tile` queries and `tile` keys.

    Beside its inputs it holds (…, T, d_v), (…, T) and one tile, forward and backward. With `causal`, query t attends to
    keys 0 to t, and tiles that lie wholly in the future are left out. A query that may attend to nothing gets zeros.
    Half precision is added up in float32. There is no second derivative.

    Raises:
        ValueError: the mask is not boolean or does not fit; causal with T unlike S; tile is below 1; the inputs are no
            floating-point numbers.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_floats(name, x, 2)
    check_least(1, tile=tile)
    n_queries, n_keys = query.size(-2), key.size(-2)
    if causal and n_queries != n_keys:
        raise ValueError(f"causal attention needs as many queries as keys (got {n_queries}, {n_keys})")
    axes = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    if mask is not None:
        check_mask(mask, (*axes, n_queries, n_keys))
        mask = mask.expand(*axes, n_queries, n_keys)  # a view: nothing is copied
    query, key, value = (x.expand(*axes, *x.shape[-2:]) for x in (query, key, value))
    return TiledAttention.apply(query, key, value, Tiling(mask, causal, tile))
