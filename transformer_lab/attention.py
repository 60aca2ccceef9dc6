"""Attention: section 3.2 of "Attention Is All You Need" (Vaswani et al., 2017, arXiv:1706.03762).

Axes: B batch, h heads, T query positions, S key positions, d_k width of queries and keys, d_v width of values.
Masks are boolean, True = may attend, and broadcast to (B, h, T, S).
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from math import sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn


def masked_softmax(scores: Float[Tensor, "*axes T S"], mask: Bool[Tensor, "..."]) -> Float[Tensor, "*axes T S"]:
    """Softmax over the keys a query may attend to; zero weight on all others.

    A query that may attend to nothing gets a row of zeros, with a zero gradient, in every floating-point type.

    Raises:
        ValueError: the mask is not boolean, or does not broadcast to the scores.
    """
    check_mask(mask, scores.shape)
    lowest = torch.finfo(scores.dtype).min  # unlike -inf, it leaves a fully masked row finite (there: uniform)
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


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
    scores = (query / sqrt(query.size(-1))) @ key.transpose(-2, -1)  # scaled first: float16 can't overflow in Q Kᵀ
    weights = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    weights = F.dropout(weights, dropout)
    return weights @ value, weights


class AttentionHead(nn.Module):
    """One head: three projections, then attention.

    head = Attention(Q W_Q, K W_K, V W_V)        (§3.2.2)
    """

    def __init__(self, d_model: int, d_head: int, dropout: float = 0.0):
        super().__init__()
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

    Self-attention is `attention(x, x, x)`, cross-attention `attention(x, memory, memory)`. Without `need_weights`
    torch's fused kernel does the work and the weights returned are None. `dropout` acts on the weights; the paper
    asks for none there (§5.4), many implementations use some.

    Raises:
        ValueError: d_model is not divisible by n_heads; a mask is not boolean or does not fit.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by n_heads ({n_heads})")
        self.n_heads, self.dropout = n_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (xavier_linear(d_model, d_model) for _ in range(4))

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B S d_model"],
        value: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B h T S"] | None]:
        return self.attend(query, *self.project(key, value), mask, need_weights)

    def project(
        self, key: Float[Tensor, "B S d_model"], value: Float[Tensor, "B S d_model"]
    ) -> tuple[Float[Tensor, "B h S d_head"], Float[Tensor, "B h S d_head"]]:
        """The keys and values of every head. No query is needed for them: a decoder keeps them from step to step."""
        return self.split(self.w_k(key)), self.split(self.w_v(value))

    def attend(
        self,
        query: Float[Tensor, "B T d_model"],
        keys: Float[Tensor, "B h S d_head"],
        values: Float[Tensor, "B h S d_head"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T d_model"], Float[Tensor, "B h T S"] | None]:
        """Attention to keys and values that are projected already, and W_O."""
        queries, dropout = self.split(self.w_q(query)), self.dropout if self.training else 0.0
        if need_weights:
            heads, weights = scaled_dot_product_attention(queries, keys, values, mask, dropout)
        else:
            heads, weights = fused_attention(queries, keys, values, mask, dropout), None
        return self.w_o(heads.transpose(1, 2).flatten(-2)), weights

    def split(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B h T d_head"]:
        """Head i takes the i-th block of features."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


def fused_attention(
    query: Float[Tensor, "B h T d_k"],
    key: Float[Tensor, "B h S d_k"],
    value: Float[Tensor, "B h S d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "B h T d_v"]:
    """The output of `scaled_dot_product_attention` by torch's fused kernel, which never stores the weights."""
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.size(-2)))
        mask = torch.atleast_2d(mask)  # the kernel broadcasts (S,) only as (1, S)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Within the `with` block, collect the weights of every `MultiHeadAttention` in `model`, by its name.

    They come out of the model's own forward pass, not out of a second one made for the picture.
    """
    maps: dict[str, Tensor] = {}
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                hooks.enter_context(module.register_forward_pre_hook(ask_for_weights, with_kwargs=True))
                hooks.enter_context(module.register_forward_hook(partial(keep_weights, maps, name)))
        yield maps


def ask_for_weights(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    query_key_value_mask = args[:4]  # a fifth one is need_weights
    return query_key_value_mask, kwargs | {"need_weights": True}


def keep_weights(maps: dict[str, Tensor], name: str, module: nn.Module, args: tuple, result: tuple) -> None:
    maps[name] = result[1].detach()


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless `mask` is boolean and broadcasts to `shape`, the shape of the scores."""
    if mask.dtype != torch.bool:
        raise ValueError(f"a mask must be torch.bool, True = may attend (got {mask.dtype})")
    fits = mask.ndim <= len(shape) and all(m in (1, s) for m, s in zip(mask.shape[::-1], shape[::-1], strict=False))
    if not fits:
        raise ValueError(f"a mask must broadcast to the scores {tuple(shape)} (got {tuple(mask.shape)})")


def xavier_linear(d_in: int, d_out: int) -> nn.Linear:
    """A linear layer whose weights keep the variance of a signal (Glorot & Bengio, 2010); its bias is zero."""
    linear = nn.Linear(d_in, d_out)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
