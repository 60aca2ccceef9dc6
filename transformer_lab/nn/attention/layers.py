"""Attention layers with weights: one head, multi-head attention, and heads that share keys and values."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.checks import check_groups, check_heads, check_least, check_probability, check_vectors
from transformer_lab.nn.attention.functions import merge_heads, scaled_dot_product_attention, split_heads
from transformer_lab.nn.attention.fused import attention_with_weights, fused_attention
from transformer_lab.nn.kv_cache import KVCache, LayerCache


class AttentionHead(nn.Module):
    """One head: three projections, then attention.

    head = Attention(Q W_Q, K W_K, V W_V)        (§3.2.2)
    """

    def __init__(self, d_model: int, d_head: int, dropout: float = 0.0):
        super().__init__()
        check_least(1, d_model=d_model, d_head=d_head)
        check_probability(dropout=dropout)
        self.dropout = dropout
        self.w_q, self.w_k, self.w_v = (xavier_linear(d_model, d_head) for _ in range(3))

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "B T d_head"], Float[Tensor, "B T S"]]:
        dropout = self.dropout if self.training else 0.0
        return scaled_dot_product_attention(self.w_q(query), self.w_k(key), self.w_v(value), mask, dropout)


class MultiHeadAttention(nn.Module):
    """All heads at once: one projection each for query, key and value; head i owns the i-th block of features.

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O        (§3.2.2)

    Self-attention is `attention(x, x, x)`, cross-attention `attention(x, memory, memory)`. The fast twins of
    `scaled_dot_product_attention` do the work; without `need_weights` the weights returned are None. `dropout` acts on
    the weights; the paper asks for none there (§5.4), many implementations use some. With a `cache`, the layer's
    part of a `KVCache`, key and value are those of the new positions only: the queries attend to all that it holds, and
    the mask's last axis counts them all.

    Raises:
        ValueError: d_model is not divisible by n_heads; dropout is no probability; query, key and value do not go
            together; a mask is not boolean or does not fit; a cache is a whole one, or of another batch.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        check_heads(d_model, n_heads)
        check_probability(dropout=dropout)
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (xavier_linear(d_model, d_model) for _ in range(4))

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B h T S_all"] | None]:
        check_query_key_value(query, key, value, self.w_q.in_features)
        if isinstance(cache, KVCache):
            raise ValueError("an attention must be handed its layer's part of a cache: cache.layer(0) (got a KVCache)")
        queries = split_heads(self.w_q(query), self.n_heads)  # (B, h, T, d_head)
        keys = split_heads(self.w_k(key), self.n_kv_heads)  # (B, g, S, d_head), g = h but for a variant
        values = split_heads(self.w_v(value), self.n_kv_heads)  # (B, g, S, d_head)
        queries, keys = self.apply_positions(queries, keys, start=0 if cache is None else cache.length)
        if cache is not None:
            keys, values = cache.read(keys, values)
        heads, weights = self.attend(queries, keys, values, mask, need_weights)
        return self.joined(heads, query), weights

    def apply_positions(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        """Queries and keys in the form in which they are compared; the first of them has position `start`.

        Here they stay as they are, since the paper adds positions to the model's input (§3.5).
        """
        return queries, keys

    def attend(
        self,
        queries: Float[Tensor, "B h T d_head"],
        keys: Float[Tensor, "B g S d_head"],
        values: Float[Tensor, "B g S d_head"],
        mask: Bool[Tensor, "..."] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B h T S"] | None]:
        """The output of each head, and its weights if they are requested."""
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            return attention_with_weights(queries, keys, values, mask, dropout)
        return fused_attention(queries, keys, values, mask, dropout), None

    def joined(
        self, heads: Float[Tensor, "B h T d_head"], query: Float[Tensor, "B T d_model"]
    ) -> Float[Tensor, "B T d_model"]:
        """The output of the layer, from those of all heads; the query is the layer's own input."""
        return self.w_o(merge_heads(heads))


class GroupedQueryAttention(MultiHeadAttention):
    """`MultiHeadAttention` whose heads share keys and values in groups of n_heads / n_kv_heads, as in Llama.

    A cache then holds n_kv_heads / n_heads of the numbers (Ainslie et al., 2023, arXiv:2305.13245).

    Raises:
        ValueError: as MultiHeadAttention; n_heads is not a multiple of n_kv_heads.
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, dropout: float = 0.0):
        super().__init__(d_model, n_heads, dropout)
        check_groups(n_heads, n_kv_heads)
        self.n_kv_heads = n_kv_heads
        if n_kv_heads < n_heads:
            width = n_kv_heads * (d_model // n_heads)
            self.w_k, self.w_v = xavier_linear(d_model, width), xavier_linear(d_model, width)

    def attend(
        self,
        queries: Float[Tensor, "B h T d_head"],
        keys: Float[Tensor, "B g S d_head"],
        values: Float[Tensor, "B g S d_head"],
        mask: Bool[Tensor, "..."] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B h T S"] | None]:
        """As in `MultiHeadAttention`; a single query copies no keys, since heads that share them can be rows of one."""
        if queries.size(-2) > 1 or mask is not None:
            return super().attend(queries, self.repeat_kv(keys), self.repeat_kv(values), mask, need_weights)
        rows = queries.reshape(len(queries), self.n_kv_heads, -1, queries.size(-1))  # (B, g, h / g, d_head)
        heads, weights = super().attend(rows, keys, values, mask, need_weights)
        weights = None if weights is None else weights.reshape(*queries.shape[:-1], -1)  # (B, h, 1, S)
        return heads.reshape_as(queries), weights

    def repeat_kv(self, x: Float[Tensor, "B g S d_head"]) -> Float[Tensor, "B h S d_head"]:
        """The keys or the values once for each head that reads them."""
        shared = self.n_heads // self.n_kv_heads
        return x if shared == 1 else x.repeat_interleave(shared, dim=1)


def check_query_key_value(query: Tensor, key: Tensor, value: Tensor, d_model: int) -> None:
    """Raise a ValueError unless batch sizes match and each key has a value; torch's fused kernel reads past the end."""
    check_vectors("query", query, d_model)
    if key is not query:
        check_vectors("key", key, d_model, length="S")
        if query.size(0) != key.size(0):
            raise ValueError(f"query and key must have the same batch (got {query.size(0)}, {key.size(0)})")
    if value is not key:
        check_vectors("value", value, d_model, length="S")
        if key.shape != value.shape:
            sizes = f"{tuple(key.shape[:2])}, {tuple(value.shape[:2])}"
            raise ValueError(f"key and value must have the same batch and length (got {sizes})")


def xavier_linear(d_in: int, d_out: int) -> nn.Linear:
    """A linear layer whose weights preserve the variance of a signal (Glorot & Bengio, 2010); its bias is zero."""
    linear = nn.Linear(d_in, d_out)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
