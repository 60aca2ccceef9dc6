"""What lessons and views show of models, as numbers: Jacobians, norms, the parts of heads, the cost of a cache.

FLOPs are counted for the self-attention and feed-forward layers of a decoder: the projections, the scores, the weighted
sum and the two matrices of the feed-forward layer, a multiply-add as 2. Left out is what costs little (softmax, norms,
biases), what costs the same with a cache and without (embedding and output layer), and a translator's cross-attention,
whose keys and values do not grow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lab.attention import MultiHeadAttention, scaled_dot_product_attention, split_heads
from transformer_lab.generation import inference
from transformer_lab.model import Transformer
from transformer_lab.recording import record_attention
from transformer_lab.tokenizer import TokenizerLike

SPACE = "·"  # how a space within a token is written


def softmax_jacobian(weights: Float[Tensor, "*axes S"]) -> Float[Tensor, "*axes S S"]:
    """The derivative of softmax weights p with respect to their scores: J = diag(p) - p pᵀ.

    Entry (i, j) is the derivative of weight i with respect to score j.
    """
    products = weights.unsqueeze(-1) * weights.unsqueeze(-2)  # (…, S, 1) · (…, 1, S) → (…, S, S)
    return torch.diag_embed(weights) - products


def norms_by_layer(states: Sequence[Tensor], output: Tensor) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Norms of what goes into a stack and comes out of each layer, and of the gradients there.

    The gradient is that of a random one, N(0, 1), which enters at `output`: the last state, or what is made of it. Both
    are relative to where they enter the stack: activations to the first state, gradients to the last.
    """
    gradients = torch.autograd.grad((output * torch.randn_like(output)).sum(), states)
    up, down = (torch.stack([x.detach().cpu().double().norm() for x in group]) for group in (states, gradients))
    return up / up[0], down / down[-1]


def head_contributions(
    layer: MultiHeadAttention,
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B h T d_model"]:
    """What each head writes into the output, head_i W_O_i: their sum and the bias of W_O are the output (§3.2.2).

    W_O_i is the block of W_O that reads head i. Leaving the head out takes exactly its part from the output.
    """
    projections = ((layer.w_q, query), (layer.w_k, key), (layer.w_v, value))
    queries, keys, values = (split_heads(project(x), layer.n_heads) for project, x in projections)
    outputs, _ = scaled_dot_product_attention(queries, keys, values, mask)  # (B, h, T, d_head)
    blocks = layer.w_o.weight.T.unflatten(0, (layer.n_heads, -1))  # (h, d_head, d_model)
    return outputs @ blocks


def entropy(weights: Float[Tensor, "*axes S"]) -> Float[Tensor, "*axes"]:
    """How widely each row of weights is spread, in bits: -Σ w log₂ w, 0 if all weight is on one key."""
    return torch.special.entr(weights).sum(-1) / log(2)


def cross_attention(model: Transformer, src: Tensor, tgt: Tensor) -> Float[Tensor, "layers heads T S"]:
    """Where each position of one target looks in its source; position t is the one that predicts token t + 1."""
    with inference(model), record_attention(model) as maps:
        model(src, tgt)
    return torch.stack([maps[f"decoder.layers.{i}.cross_attention"][0] for i in range(len(model.decoder.layers))]).cpu()


def token_names(tokenizer: TokenizerLike, ids: Sequence[int]) -> list[str]:
    """Each token as a person can read it, a space within it as a dot."""
    special = {tokenizer.pad_id: "pad", tokenizer.bos_id: "begin", tokenizer.eos_id: "end"}
    return [special.get(i) or tokenizer.decode([i]).replace(" ", SPACE) for i in ids]


@dataclass(frozen=True)
class DecoderSize:
    """The sizes of a decoder. Groups of query heads may share keys and values: `n_kv_heads` below `n_heads`.

    n_kv_heads = n_heads is multi-head attention (MHA), 1 is multi-query attention (MQA: Shazeer, 2019,
    arXiv:1911.02150), between them lies grouped-query attention (GQA: Ainslie et al., 2023, arXiv:2305.13245).

    Raises:
        ValueError: n_heads is not a multiple of n_kv_heads.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int

    def __post_init__(self) -> None:
        if self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_heads ({self.n_heads}) must be divisible by n_kv_heads ({self.n_kv_heads})")

    @property
    def d_model(self) -> int:
        return self.n_heads * self.d_head


PRESETS = {
    "this project's translator": DecoderSize(2, 4, 4, 32, 256),
    "Transformer base": DecoderSize(6, 8, 8, 64, 2048),  # Vaswani et al., 2017, Table 3
    "GPT-2 small": DecoderSize(12, 12, 12, 64, 3072),  # Radford et al., 2019, Table 2, and its published weights
    "GPT-3": DecoderSize(96, 96, 96, 128, 4 * 12288),  # Brown et al., 2020, arXiv:2005.14165, Table 2.1
}


def cache_bytes(size: DecoderSize, length: int, batch: int = 1, bytes_per_number: int = 2) -> int:
    """Bytes of the keys and the values of all layers: 2 · n_layers · n_kv_heads · d_head · length · batch · bytes."""
    return 2 * size.n_layers * size.n_kv_heads * size.d_head * length * batch * bytes_per_number


def flops_of_a_position(size: DecoderSize) -> int:
    """FLOPs for one position, apart from attention: projections of query, key, value and output, and feed-forward."""
    projections = 2 * size.d_model * (2 * size.d_model + 2 * size.n_kv_heads * size.d_head)
    return size.n_layers * (projections + 2 * 2 * size.d_model * size.d_ff)


def flops_of_a_pair(size: DecoderSize) -> int:
    """FLOPs for one query and one key: a score, and a value added to the sum, in every head and layer."""
    return size.n_layers * 2 * 2 * size.d_model


def flops_with_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for token number `length` of one sentence: one new position, which attends to `length` keys."""
    return flops_of_a_position(size) + length * flops_of_a_pair(size)


def flops_without_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for the same token if all `length` positions are computed anew, as one square of scores."""
    return length * flops_of_a_position(size) + length**2 * flops_of_a_pair(size)


def total_with_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for a whole sentence of `length` tokens: the sum of `flops_with_cache` over 1, …, length."""
    return length * flops_of_a_position(size) + length * (length + 1) // 2 * flops_of_a_pair(size)


def total_without_cache(size: DecoderSize, length: int) -> int:
    """FLOPs for a whole sentence: the sum of `flops_without_cache` over 1, …, length."""
    squares = length * (length + 1) * (2 * length + 1) // 6
    return length * (length + 1) // 2 * flops_of_a_position(size) + squares * flops_of_a_pair(size)
