"""Attention and layers that are put together from parts: a variant exchanges one of them."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.checks import check_groups, check_least
from transformer_lab.nn.attention import GroupedQueryAttention, xavier_linear
from transformer_lab.nn.blocks import Residual
from transformer_lab.nn.kv_cache import LayerCache


class OpenAttention(GroupedQueryAttention):
    """Grouped-query attention with heads of any size, whose queries and keys pass through `norms`, then `positions`.

    `positions(queries, keys, start)` may be `RotaryPositions`, or a variant of them; `norms(queries, keys)` a `QKNorm`.
    In Llama 1 and 2, h · d_head is d_model; since then it is often less or more.

    Raises:
        ValueError: a size is below 1; n_heads is not a multiple of n_kv_heads; and as GroupedQueryAttention.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_head: int,
        positions: nn.Module,
        norms: nn.Module | None = None,
    ):
        nn.Module.__init__(self)  # all four projections have other sizes than the paper's
        check_least(1, d_model=d_model, n_heads=n_heads, d_head=d_head)
        check_groups(n_heads, n_kv_heads)
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_kv_heads, 0.0
        self.w_q = xavier_linear(d_model, n_heads * d_head)
        self.w_k, self.w_v = (xavier_linear(d_model, n_kv_heads * d_head) for _ in range(2))
        self.w_o = xavier_linear(n_heads * d_head, d_model)
        self.norms, self.positions = norms, positions

    def apply_positions(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        if self.norms is not None:
            queries, keys = self.norms(queries, keys)
        return self.positions(queries, keys, start)


class OpenLayer(nn.Module):
    """A decoder layer of an attention, a feed-forward network, and the ways around them.

    `self_attention(x, x, x, mask, cache=cache)` returns its output first, as `MultiHeadAttention` does.
    """

    def __init__(self, self_attention: nn.Module, feed_forward: nn.Module, residual_1: Residual, residual_2: Residual):
        super().__init__()
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.residual_1, self.residual_2 = residual_1, residual_2

    def forward(
        self, x: Float[Tensor, "B T d_model"], mask: Bool[Tensor, "T S"] | None, cache: LayerCache | None = None
    ) -> Float[Tensor, "B T d_model"]:
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask, cache=cache)[0])
        return self.residual_2(x, self.feed_forward)
