"""Linear attention that corrects itself: a state of fixed size, into which a position writes what it would get wrong.

Schlag et al., 2021, "Linear Transformers Are Secretly Fast Weight Programmers", arXiv:2102.11174; with a decay: Yang,
Kautz & Hatamizadeh, 2024, "Gated Delta Networks", arXiv:2412.06464.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_vectors
from transformer_lab.nn.attention import KVCache, merge_heads, split_heads
from transformer_lab.nn.blocks import rms_norm
from transformer_lab.nn.kv_cache import LayerCache
from transformer_lab.nn.positions import wide_enough


def delta_rule(
    query: Float[Tensor, "B T d_k"],
    key: Float[Tensor, "B T d_k"],
    value: Float[Tensor, "B T d_v"],
    beta: Float[Tensor, "B T"],
    decay: Float[Tensor, "B T"],
) -> Float[Tensor, "B T d_v"]:
    """What a state, zeros at first, gives for each query, after each key has been taught its value.

    S ← decay_t S;  S ← S + beta_t k_t (v_t - k_tᵀ S);  o_t = q_tᵀ S        (arXiv:2412.06464, equation 10)

    k_tᵀ S is what the state would answer to this key by now. Only the difference to the value is written, a share beta
    of it: after a key of length 1 with a beta of 1 the state answers to it with the value, and to keys at right angles
    as before. Plain linear attention adds k_t v_tᵀ, so that answers pile up.
    """
    state = query.new_zeros(query.size(0), key.size(-1), value.size(-1))  # (B, d_k, d_v)
    return delta_steps(state, query, key, value, beta, decay)[0]


def delta_steps(
    state: Float[Tensor, "B d_k d_v"],
    query: Float[Tensor, "B T d_k"],
    key: Float[Tensor, "B T d_k"],
    value: Float[Tensor, "B T d_v"],
    beta: Float[Tensor, "B T"],
    decay: Float[Tensor, "B T"],
) -> tuple[Float[Tensor, "B T d_v"], Float[Tensor, "B d_k d_v"]]:
    """`delta_rule` from a state on, and the state at the end: all that has to be remembered of a text."""
    outputs = []
    for t in range(query.size(1)):
        k, v = key[:, t, None], value[:, t, None]  # (B, 1, d_k), (B, 1, d_v)
        state = decay[:, t, None, None] * state
        state = state + beta[:, t, None, None] * k.mT @ (v - k @ state)  # (B, d_k, 1) @ (B, 1, d_v)
        outputs.append(query[:, t, None] @ state)  # (B, 1, d_k) @ (B, d_k, d_v) → (B, 1, d_v)
    return torch.cat(outputs, dim=1) if outputs else value, state


class ShortConvolution(nn.Module):
    """Each feature becomes a weighted sum of its own last `width` values, and then silu of that.

    Its cache holds width - 1 positions.

    Raises:
        ValueError: a size is below 1.
    """

    def __init__(self, n_features: int, width: int):
        super().__init__()
        check_least(1, n_features=n_features, width=width)
        self.weight = nn.Parameter(torch.randn(n_features, width) * width**-0.5)

    def forward(
        self, x: Float[Tensor, "B T n_features"], before: Float[Tensor, "B width_1 n_features"] | None = None
    ) -> tuple[Float[Tensor, "B T n_features"], Float[Tensor, "B width_1 n_features"]]:
        """The outputs, and the last inputs; `before` are the inputs in front of x, zeros at the beginning of a text."""
        width = self.weight.size(1)
        if before is None:
            before = x.new_zeros(x.size(0), width - 1, x.size(2))
        inputs = torch.cat([before, x], dim=1)  # (B, width - 1 + T, n_features)
        out = F.conv1d(inputs.mT, self.weight[:, None], groups=len(self.weight)).mT  # (B, T, n_features)
        return F.silu(out), inputs[:, inputs.size(1) - width + 1 :]


class GatedDeltaNet(nn.Module):
    """`delta_rule` by heads, with its weights; called as `MultiHeadAttention` is, for self-attention.

    Queries, keys and values pass through a `ShortConvolution`; queries and keys get the length 1, and queries are
    divided by √d_k. For each head of values, beta_t = sigmoid(x_t w_beta), and decay_t = exp(-e^rate · softplus(x_t
    w_decay + shift)), so that it is between 0 and 1. The outputs of each head pass through an RMSNorm, and a gate:
    y = (RMSNorm(o) ⊙ silu(x W_gate)) W_o        (arXiv:2412.06464, section 3.4; Qwen3-Next, 2025)

    There may be several heads of values for one of queries and keys. The cache holds a (d_k, d_v) for each head and a
    few inputs of the convolution, however long the text is. The only mask is the causal one, which needs no telling.

    Raises:
        ValueError: a size is below 1; n_value_heads is not a multiple of n_heads; query, key and value differ; weights
            are asked for, which there are none of; x is no (B, T, d_model); a cache is a whole one.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_value_heads: int,
        d_k: int,
        d_v: int,
        width: int = 4,
        eps: float = 1e-6,
    ):
        super().__init__()
        check_least(1, d_model=d_model, n_heads=n_heads, d_k=d_k, d_v=d_v)
        if n_value_heads < 1 or n_value_heads % n_heads:
            raise ValueError(f"n_value_heads ({n_value_heads}) must be a multiple of n_heads ({n_heads})")
        self.d_model, self.n_heads, self.n_value_heads, self.eps = d_model, n_heads, n_value_heads, eps
        self.sizes = [n_heads * d_k, n_heads * d_k, n_value_heads * d_v]
        self.w_query, self.w_key, self.w_value = (nn.Linear(d_model, size, bias=False) for size in self.sizes)
        self.w_gate = nn.Linear(d_model, n_value_heads * d_v, bias=False)
        self.w_beta, self.w_decay = (nn.Linear(d_model, n_value_heads, bias=False) for _ in range(2))
        self.convolution = ShortConvolution(sum(self.sizes), width)
        self.rate = nn.Parameter(torch.empty(n_value_heads).uniform_(0.01, 16).log())
        self.shift = nn.Parameter(torch.ones(n_value_heads))
        self.norm_weight = nn.Parameter(torch.ones(d_v))
        self.w_o = nn.Linear(n_value_heads * d_v, d_model, bias=False)

    def forward(
        self,
        query: Float[Tensor, "B T d_model"],
        key: Float[Tensor, "B T d_model"],
        value: Float[Tensor, "B T d_model"],
        mask: Bool[Tensor, "..."] | None = None,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> tuple[Float[Tensor, "B T d_model"], None]:
        x = query
        self.check(query, key, value, need_weights, cache)
        inputs = torch.cat([self.w_query(x), self.w_key(x), self.w_value(x)], dim=-1)
        mixed, last = self.convolution(inputs, None if cache is None else cache.state("inputs", len(x)))
        rows = [part.to(wide_enough(x.dtype)).flatten(0, 1) for part in self.by_heads(x, mixed)]  # (B · h, T, …)
        if cache is None:
            out = delta_rule(*rows)
        else:
            out, state = delta_steps(self.state_before(cache, *rows[1:3]), *rows)
            cache.keep_state("inputs", last)
            cache.keep_state("state", state.unflatten(0, (len(x), -1)))
            cache.pass_by(x.size(1))
        heads = out.unflatten(0, (len(x), -1)).to(x.dtype)  # (B, h, T, d_v)
        normed = merge_heads(rms_norm(heads, self.norm_weight, self.eps))  # (B, T, h · d_v)
        return self.w_o(normed * F.silu(self.w_gate(x))), None

    def by_heads(self, x: Float[Tensor, "B T d_model"], mixed: Float[Tensor, "B T all"]) -> tuple[Tensor, ...]:
        """Query, key (B, h, T, d_k), value (B, h, T, d_v), beta and decay (B, h, T) of all heads."""
        query, key, value = mixed.split(self.sizes, dim=-1)
        shared = self.n_value_heads // self.n_heads
        query, key = (unit(split_heads(part, self.n_heads)).repeat_interleave(shared, dim=1) for part in (query, key))
        beta = torch.sigmoid(self.w_beta(x)).mT
        decay = torch.exp(-self.rate.exp() * F.softplus(self.w_decay(x) + self.shift)).mT
        return query * query.size(-1) ** -0.5, key, split_heads(value, self.n_value_heads), beta, decay

    def state_before(
        self, cache: LayerCache, key: Float[Tensor, "rows T d_k"], value: Float[Tensor, "rows T d_v"]
    ) -> Float[Tensor, "rows d_k d_v"]:
        """The state that a cache holds; zeros at the beginning of a text."""
        state = cache.state("state", len(key) // self.n_value_heads)
        return key.new_zeros(len(key), key.size(-1), value.size(-1)) if state is None else state.flatten(0, 1)

    def check(self, query: Tensor, key: Tensor, value: Tensor, need_weights: bool, cache: LayerCache | None) -> None:
        check_vectors("query", query, self.d_model)
        if key is not query or value is not query:
            raise ValueError("query, key and value of a delta rule must be the same vectors (got others)")
        if need_weights:
            raise ValueError("an attention must have weights to hand them out, and a delta rule has none")
        if isinstance(cache, KVCache):
            raise ValueError("an attention must be handed its layer's part of a cache: cache.layer(0) (got a KVCache)")


def unit(x: Float[Tensor, "*axes d"]) -> Float[Tensor, "*axes d"]:
    """Each vector with a length of 1, or hardly less."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)
