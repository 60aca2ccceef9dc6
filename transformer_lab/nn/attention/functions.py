"""Attention as functions of tensors, each with its equation, in the order in which they build on one another."""

from math import sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lab.checks import check_groups, check_heads, check_mask


def softmax(scores: Float[Tensor, "*axes"], dim: int) -> Float[Tensor, "*axes"]:
    """Turn scores into weights along `dim`: positive, summing to 1, each proportional to exp(score).

    Scores of 1000 do not overflow.
    """
    exponentials = torch.exp(scores - scores.amax(dim, keepdim=True))  # 1 for the largest score, less for all others
    return exponentials / exponentials.sum(dim, keepdim=True)


def masked_softmax(scores: Float[Tensor, "*axes T S"], mask: Bool[Tensor, "..."]) -> Float[Tensor, "*axes T S"]:
    """Softmax over the keys a query may attend to; zero weight on all others.

    A query that may attend to nothing gets a row of zeros, with a zero gradient, in every floating-point type.

    Raises:
        ValueError: the mask is not boolean, or does not broadcast to the scores.
    """
    check_mask(mask, scores.shape)
    blind = ~mask.any(dim=-1, keepdim=True)  # may attend to nothing: softmax would make NaN of a row of -inf
    scores = scores.masked_fill(~(mask | blind), float("-inf"))
    return scores.softmax(dim=-1).masked_fill(blind, 0.0)


def scaled_dot_product_attention(
    query: Float[Tensor, "*#axes T d_k"],
    key: Float[Tensor, "*#axes S d_k"],
    value: Float[Tensor, "*#axes S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "... T d_v"], Float[Tensor, "... T S"]]:
    """Average the values for each query, weighted by how well the query matches their keys.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V        (§3.2.1, equation 1)

    Returns `(output, weights)`. The weights are the ones that made the output: where `dropout` (a probability)
    is not 0, some are zero and the rest larger, so that a row need not sum to 1.

    Raises:
        ValueError: the mask is not boolean, or does not broadcast to (…, T, S).
    """
    if query.dtype == torch.float16:  # it ends at 65 504, which a score may pass
        query, key = query.float(), key.float()
    scores = (query / sqrt(query.size(-1))) @ key.transpose(-2, -1)  # (…, T, S)
    weights = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    weights = F.dropout(weights.to(value.dtype), dropout)
    return weights @ value, weights  # (…, T, S) @ (…, S, d_v) → (…, T, d_v)


def split_heads(x: Float[Tensor, "B T d_model"], n_heads: int) -> Float[Tensor, "B {n_heads} T d_head"]:
    """(B, T, d_model) → (B, h, T, d_head): head i owns the i-th block of d_head = d_model / h features."""
    check_heads(x.size(-1), n_heads)
    x = x.unflatten(-1, (n_heads, -1))  # (B, T, h, d_head)
    return x.transpose(1, 2)  # (B, h, T, d_head)


def merge_heads(x: Float[Tensor, "B h T d_head"]) -> Float[Tensor, "B T d_model"]:
    """(B, h, T, d_head) → (B, T, d_model), the inverse of `split_heads`: the heads of a token side by side."""
    x = x.transpose(1, 2)  # (B, T, h, d_head)
    return x.flatten(-2)  # (B, T, d_model)


def multi_head_attention(
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    w_q: Float[Tensor, "d_model d_model"],
    w_k: Float[Tensor, "d_model d_model"],
    w_v: Float[Tensor, "d_model d_model"],
    w_o: Float[Tensor, "d_model d_model"],
    n_heads: int,
) -> Float[Tensor, "B T d_model"]:
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O, head_i = Attention(Q_i, K_i, V_i)        (§3.2.2)

    Q_i, K_i and V_i are the i-th blocks of features of the three projections; each w is applied as `x @ w`.
    """
    queries = split_heads(query @ w_q, n_heads)  # (B, h, T, d_head)
    keys = split_heads(key @ w_k, n_heads)  # (B, h, S, d_head)
    values = split_heads(value @ w_v, n_heads)  # (B, h, S, d_head)
    heads, _ = scaled_dot_product_attention(queries, keys, values)  # (B, h, T, d_head)
    return merge_heads(heads) @ w_o  # (B, T, d_model)


def grouped_query_attention(
    query: Float[Tensor, "B h T d_head"],
    key: Float[Tensor, "B g S d_head"],
    value: Float[Tensor, "B g S d_head"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B h T d_head"]:
    """Attention in which groups of h / g heads share keys and values: head i reads those of group i // (h / g).

    With g = h it is multi-head attention, with g = 1 multi-query attention (Shazeer, 2019, arXiv:1911.02150); between
    them lies grouped-query attention (Ainslie et al., 2023, arXiv:2305.13245). The mask broadcasts to
    (B, g, h / g, T, S).

    Raises:
        ValueError: h is not a multiple of g; the mask is not boolean or does not fit.
    """
    n_heads, n_groups = query.size(1), key.size(1)
    check_groups(n_heads, n_groups)
    queries = query.unflatten(1, (n_groups, -1))  # (B, g, h / g, T, d_head)
    keys, values = key.unsqueeze(2), value.unsqueeze(2)  # (B, g, 1, S, d_head): the same for each head of a group
    output, _ = scaled_dot_product_attention(queries, keys, values, mask)  # (B, g, h / g, T, d_head)
    return output.flatten(1, 2)  # (B, h, T, d_head)


def cached_attention(
    query: Float[Tensor, "B h 1 d_head"],
    key: Float[Tensor, "B h 1 d_head"],
    value: Float[Tensor, "B h 1 d_head"],
    cache: Float[Tensor, "2 B h S d_head"],
) -> tuple[Float[Tensor, "B h 1 d_head"], Float[Tensor, "2 B h S+1 d_head"]]:
    """One step of self-attention with a cache: `(output, cache)`, with the cache grown by one position.

    query, key and value belong to the new position alone. `cache[0]` holds the keys of the S positions before it,
    `cache[1]` their values; at the first position S is 0. The output is attention (§3.2.1) over all S + 1 positions.
    """
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)  # (2, B, h, S + 1, d_head)
    keys, values = cache
    output, _ = scaled_dot_product_attention(query, keys, values)  # no mask: all that is in the cache lies in the past
    return output, cache
