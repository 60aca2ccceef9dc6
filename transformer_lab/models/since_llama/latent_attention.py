"""Multi-head latent attention: the cache holds one short vector a position, from which each head makes its own keys.

DeepSeek-V2, 2024, arXiv:2405.04434, section 2.1; DeepSeek-V3, 2024, arXiv:2412.19437, section 2.1.1.

Axes, beside the usual: d_latent of what is kept, d_nope and d_rope of the features of a key that don't turn, and do.
"""

from math import sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_vectors
from transformer_lab.models.language_model import drop_biases
from transformer_lab.nn.attention import KVCache, masked_softmax, merge_heads, split_heads, xavier_linear
from transformer_lab.nn.blocks import RMSNorm
from transformer_lab.nn.kv_cache import LayerCache
from transformer_lab.nn.positions import RotaryPositions


def latent_attention(
    query_nope: Float[Tensor, "B h T d_nope"],
    query_rope: Float[Tensor, "B h T d_rope"],
    latent: Float[Tensor, "B S d_latent"],
    key_rope: Float[Tensor, "B S d_rope"],
    w_uk: Float[Tensor, "h d_latent d_nope"],
    w_uv: Float[Tensor, "h d_latent d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B h T d_v"]:
    """Attention over latent vectors c, without ever making the keys c W_UK and the values c W_UV of any position.

    The keys' matrix is absorbed by the queries, q · (c W_UK) = (q W_UKᵀ) · c, and the values' by the output,
    Σ_s weight_s (c_s W_UV) = (Σ_s weight_s c_s) W_UV. The features that turn come from one key for all heads, since a
    rotation between q and W_UK would let nothing be absorbed        (arXiv:2405.04434, section 2.1 and appendix C)

    softmax((q_nope W_UKᵀ cᵀ + q_rope k_ropeᵀ) / √(d_nope + d_rope)) c W_UV

    All heads read one cache, so their queries are rows of one product: by heads, torch would copy the cache for each.

    Raises:
        ValueError: the mask is not boolean, or does not broadcast to (B, h, T, S).
    """
    weights = latent_weights(query_nope, query_rope, latent, key_rope, w_uk, mask)  # (B, h, T, S)
    mixed = weights.flatten(1, 2) @ latent  # (B, h · T, d_latent): a head's rows are rows like any other's
    return mixed.unflatten(1, weights.shape[1:3]) @ w_uv  # (B, h, T, d_latent) @ (h, d_latent, d_v)


def latent_weights(
    query_nope: Float[Tensor, "B h T d_nope"],
    query_rope: Float[Tensor, "B h T d_rope"],
    latent: Float[Tensor, "B S d_latent"],
    key_rope: Float[Tensor, "B S d_rope"],
    w_uk: Float[Tensor, "h d_latent d_nope"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B h T S"]:
    """The weights by which `latent_attention` averages. Raises a ValueError as it does."""
    absorbed = query_nope @ w_uk.mT  # (B, h, T, d_nope) @ (h, d_nope, d_latent) → (B, h, T, d_latent)
    rows = absorbed.flatten(1, 2) @ latent.mT + query_rope.flatten(1, 2) @ key_rope.mT  # (B, h · T, S)
    scores = rows.unflatten(1, absorbed.shape[1:3])  # (B, h, T, S)
    scores = scores / sqrt(query_nope.size(-1) + query_rope.size(-1))
    return scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)


class LowRankLinear(nn.Module):
    """Two linear layers with a norm between, in the place of one: (RMSNorm(x W_down)) W_up, through few features."""

    def __init__(self, d_in: int, rank: int, d_out: int, eps: float = 1e-6):
        super().__init__()
        check_least(1, d_in=d_in, rank=rank, d_out=d_out)
        self.down, self.norm, self.up = xavier_linear(d_in, rank), RMSNorm(rank, eps), xavier_linear(rank, d_out)
        drop_biases(self)

    def forward(self, x: Float[Tensor, "*axes d_in"]) -> Float[Tensor, "*axes d_out"]:
        return self.up(self.norm(self.down(x)))


class LatentAttention(nn.Module):
    """`latent_attention` with its weights, called as `MultiHeadAttention` is; it caches d_latent + d_rope numbers.

    `w_q` makes the queries of all heads, d_nope + d_rope features each: a linear layer, or a `LowRankLinear`.
    `positions` turns the d_rope features of queries, and of the one key that all heads share.

    Raises:
        ValueError: a size is below 1; x is no (B, T, d_model); a cache is a whole one, or of another batch.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_nope: int,
        d_latent: int,
        d_v: int,
        positions: RotaryPositions,
        w_q: nn.Module,
        eps: float = 1e-6,
    ):
        super().__init__()
        check_least(1, d_model=d_model, n_heads=n_heads, d_nope=d_nope, d_latent=d_latent, d_v=d_v)
        self.d_model, self.n_heads, self.d_nope, self.d_latent = d_model, n_heads, d_nope, d_latent
        self.positions, self.w_q = positions, w_q
        self.w_latent = nn.Linear(d_model, d_latent, bias=False)
        self.w_rope = nn.Linear(d_model, positions.d_head, bias=False)
        self.norm = RMSNorm(d_latent, eps)
        self.w_uk = nn.Parameter(torch.randn(n_heads, d_latent, d_nope) * d_latent**-0.5)
        self.w_uv = nn.Parameter(torch.randn(n_heads, d_latent, d_v) * d_latent**-0.5)
        self.w_o = nn.Linear(n_heads * d_v, d_model, bias=False)

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B h T S_all"] | None]:
        check_vectors("query", query, self.d_model)
        if value is not key:
            raise ValueError("keys and values of latent attention must come from the same vectors (got two)")
        if isinstance(cache, KVCache):
            raise ValueError("an attention must be handed its layer's part of a cache: cache.layer(0) (got a KVCache)")
        queries = split_heads(self.w_q(query), self.n_heads)  # (B, h, T, d_nope + d_rope)
        nope, rope = queries[..., : self.d_nope], queries[..., self.d_nope :]
        start = 0 if cache is None else cache.length
        rope, key_rope = self.positions(rope, self.w_rope(key)[:, None], start)  # (B, h, T, d_rope), (B, 1, S, d_rope)
        kept = torch.cat([self.norm(self.w_latent(key)), key_rope[:, 0]], dim=-1)  # (B, S, d_latent + d_rope)
        if cache is not None:
            kept = cache.grow(kept[None, :, None])[0, :, 0]
        latent, key_rope = kept[..., : self.d_latent], kept[..., self.d_latent :]
        heads = latent_attention(nope, rope, latent, key_rope, self.w_uk, self.w_uv, mask)  # (B, h, T, d_v)
        weights = latent_weights(nope, rope, latent, key_rope, self.w_uk, mask) if need_weights else None
        return self.w_o(merge_heads(heads)), weights
