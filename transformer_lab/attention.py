"""Attention: section 3.2 of "Attention Is All You Need" (Vaswani et al., 2017, arXiv:1706.03762).

Axes: B batch, h heads, T query positions, S key positions, d_k width of queries and keys, d_v width of values. Of one
of h heads d_k = d_v = d_head = d_model / h.
Masks are boolean, True = may attend, and broadcast to (B, h, T, S).
"""

from math import sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_mask, check_probability, check_vectors
from transformer_lab.fused import attention_with_weights, fused_attention


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
    """Each query takes the average of the values, weighted by how well it fits their keys.

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


def split_heads(x: Float[Tensor, "B T d_model"], n_heads: int) -> Float[Tensor, "B {n_heads} T d_head"]:
    """(B, T, d_model) → (B, h, T, d_head): head i owns the i-th block of d_head = d_model / h features."""
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
    """Attention in which h / g heads share the keys and the values of one group: head i reads group i // (h / g).

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


class KVCache:
    """What a decoder remembers: for each of its attentions the keys and values of all positions read so far.

    Handed to every call, it grows as `cached_attention` says, and each position is projected once. One more token then
    costs one token's work instead of a whole sentence's.
    """

    def __init__(self) -> None:
        self.tensors: dict[nn.Module, Tensor] = {}  # one (2, B, h, S, d_head) for each attention, keys first

    def length(self, attention: nn.Module) -> int:
        """How many positions an attention has read."""
        return self.tensors[attention].size(-2) if attention in self.tensors else 0

    def read(
        self, attention: nn.Module, key: Float[Tensor, "B h new d_head"], value: Float[Tensor, "B h new d_head"]
    ) -> tuple[Float[Tensor, "B h S d_head"], Float[Tensor, "B h S d_head"]]:
        """Let an attention's keys and values grow by those of new positions; all of them, the old and the new."""
        old, new = self.tensors.get(attention), torch.stack([key, value])  # (2, B, h, S or new, d_head)
        if old is None:
            self.tensors[attention] = new
        elif key.size(-2):
            self.tensors[attention] = torch.cat([old, new], dim=-2)
        keys, values = self.tensors[attention]
        return keys, values

    def keep(self, length: int) -> None:
        """Forget all positions but the first `length`."""
        self.tensors = {attention: tensor[..., :length, :] for attention, tensor in self.tensors.items()}

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Go on with these rows of the batch, in this order."""
        self.tensors = {attention: tensor[:, rows] for attention, tensor in self.tensors.items()}


class MultiHeadAttention(nn.Module):
    """All heads at once: one projection each for query, key and value; head i owns the i-th block of features.

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O        (§3.2.2)

    Self-attention is `attention(x, x, x)`, cross-attention `attention(x, memory, memory)`. The fast twins of
    `scaled_dot_product_attention` do the work; without `need_weights` the weights returned are None. `dropout` acts on
    the weights; the paper asks for none there (§5.4), many implementations use some. With a `cache`, key and value are
    those of the new positions only: the queries attend to all that it holds, and the mask's last axis counts them all.

    Raises:
        ValueError: d_model is not divisible by n_heads; dropout is no probability; query, key and value do not go
            together; a mask is not boolean or does not fit.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        check_least(1, d_model=d_model, n_heads=n_heads)
        check_probability(dropout=dropout)
        if d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by n_heads ({n_heads})")
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (xavier_linear(d_model, d_model) for _ in range(4))

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B h T S_all"] | None]:
        check_query_key_value(query, key, value, self.w_q.in_features)
        queries = split_heads(self.w_q(query), self.n_heads)  # (B, h, T, d_head)
        keys = split_heads(self.w_k(key), self.n_kv_heads)  # (B, g, S, d_head), g = h but for a variant
        values = split_heads(self.w_v(value), self.n_kv_heads)  # (B, g, S, d_head)
        queries, keys = self.placed(queries, keys, start=0 if cache is None else cache.length(self))
        if cache is not None:
            keys, values = cache.read(self, keys, values)
        keys, values = self.for_every_head(keys), self.for_every_head(values)  # (B, h, S, d_head)
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            heads, weights = attention_with_weights(queries, keys, values, mask, dropout)
        else:
            heads, weights = fused_attention(queries, keys, values, mask, dropout), None
        return self.w_o(merge_heads(heads)), weights

    def placed(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        """Queries and keys as they are compared; the first of them has position `start`.

        Here they stay as they are, since the paper adds positions to the model's input (§3.5).
        """
        return queries, keys

    def for_every_head(self, x: Float[Tensor, "B g S d_head"]) -> Float[Tensor, "B h S d_head"]:
        """The keys or the values that each head reads: here each has its own, and g is h."""
        return x


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

    def for_every_head(self, x: Float[Tensor, "B g S d_head"]) -> Float[Tensor, "B h S d_head"]:
        return x.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Raise a ValueError unless each group of keys and values serves equally many heads."""
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(f"n_heads ({n_heads}) must be divisible by n_kv_heads ({n_kv_heads})")


def check_query_key_value(query: Tensor, key: Tensor, value: Tensor, d_model: int) -> None:
    """Raise a ValueError unless they are of one batch, and each key has its value: torch's fused kernel reads on."""
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
    """A linear layer whose weights keep the variance of a signal (Glorot & Bengio, 2010); its bias is zero."""
    linear = nn.Linear(d_in, d_out)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
