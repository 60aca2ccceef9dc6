"""Measures of attention in a model: Jacobians, norms by layer, contributions of heads, and where heads look."""

from collections.abc import Sequence
from math import log

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_lab.data.tokenizer import TokenizerLike
from transformer_lab.decoding.inference import inference
from transformer_lab.nn.attention import MultiHeadAttention, scaled_dot_product_attention, split_heads
from transformer_lab.nn.recording import record_attention
from transformer_lab.nn.transformer import Transformer

SPACE = "·"  # how a space within a token is written


def softmax_jacobian(weights: Float[Tensor, "*axes S"]) -> Float[Tensor, "*axes S S"]:
    """The derivative of softmax weights p with respect to their scores: J = diag(p) - p pᵀ.

    Entry (i, j) is the derivative of weight i with respect to score j.
    """
    products = weights.unsqueeze(-1) * weights.unsqueeze(-2)  # (…, S, 1) · (…, 1, S) → (…, S, S)
    return torch.diag_embed(weights) - products


def norms_by_layer(states: Sequence[Tensor], output: Tensor) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Norms of a stack's input and of the output of each of its layers, and of the gradients at the same points.

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
    """The contribution of each head to the output, head_i W_O_i; with the bias of W_O, they sum to the output (§3.2.2).

    W_O_i is the block of W_O that reads head i. Leaving the head out takes exactly its part from the output.
    """
    queries = split_heads(layer.w_q(query), layer.n_heads)  # (B, h, T, d_head)
    keys, values = (split_heads(project(x), layer.n_kv_heads) for project, x in ((layer.w_k, key), (layer.w_v, value)))
    queries, keys = layer.apply_positions(queries, keys, start=0)
    keys, values = (x.repeat_interleave(layer.n_heads // layer.n_kv_heads, dim=1) for x in (keys, values))
    outputs, _ = scaled_dot_product_attention(queries, keys, values, mask)  # (B, h, T, d_head)
    blocks = layer.w_o.weight.T.unflatten(0, (layer.n_heads, -1))  # (h, d_head, d_model)
    return outputs @ blocks


def entropy(weights: Float[Tensor, "*axes S"]) -> Float[Tensor, "*axes"]:
    """The entropy of each row of weights in bits, -Σ w log₂ w, which is 0 if one key has all the weight."""
    return torch.special.entr(weights).sum(-1) / log(2)


def cross_attention(model: Transformer, src: Tensor, tgt: Tensor) -> Float[Tensor, "layers heads T S"]:
    """The cross-attention of one target to its source; row t belongs to the position that predicts token t + 1."""
    with inference(model), record_attention(model) as maps:
        model(src, tgt)
    return torch.stack([maps[f"decoder.layers.{i}.cross_attention"][0] for i in range(len(model.decoder.layers))]).cpu()


def token_names(tokenizer: TokenizerLike, ids: Sequence[int]) -> list[str]:
    """The tokens in readable form, with a dot for each space within a token."""
    special = {tokenizer.pad_id: "pad", tokenizer.bos_id: "begin", tokenizer.eos_id: "end"}
    return [special.get(i) or tokenizer.decode([i]).replace(" ", SPACE) for i in ids]
