"""Heads side by side: what each looks at, how two differ, and what each adds to the layer's output."""

from collections.abc import Sequence

import matplotlib
import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer_lab.plots.checks import check_attention
from transformer_lab.plots.picture import THEME
from transformer_lab.widgets.attention import with_layers_and_heads
from transformer_lab.widgets.kit import View

DRAWN, ACROSS = 16, 4  # heads in the picture, and in one row of it


def heads(
    weights: Tensor, query_tokens: Sequence[str], key_tokens: Sequence[str], contributions: Tensor | None = None
) -> View:
    """Compare heads: weights (heads, T, S) or (layers, heads, T, S), and what each adds to the output.

    They can be sorted by entropy, the mean over the queries of -Σ w log₂ w (0 bits: each query looks at one key), or by
    diagonality, the mean of Σ w (1 - |t/(T-1) - s/(S-1)|) over the queries t, with s counting the keys (1: each query
    looks at its own place). contributions (heads, T, d_model) or with layers in front, see `head_contributions`: the
    length of a head's part of an output is what the output loses without it; it is also given relative to all parts.

    Raises:
        ValueError: the axes do not fit the tokens, the rows are not what softmax returns, or contributions do not fit.
    """
    stack = with_layers_and_heads(weights, "weights").detach().cpu().double()
    for head in stack.flatten(0, 1):
        check_attention(head, query_tokens, key_tokens)
    state = {"scores": stack.log(), "queries": list(query_tokens), "keys": list(key_tokens)}
    if contributions is not None:
        parts = contributions.detach().cpu().double()
        parts = parts[(None,) * (4 - parts.ndim)]
        if parts.shape[:3] != stack.shape[:3]:
            raise ValueError(
                f"contributions must have the shape (heads, T, d_model), here {tuple(stack.shape[1:3])} and d_model "
                f"(its shape is {tuple(contributions.shape)})"
            )
        state |= {"lost": parts.norm(dim=-1), "whole": parts.sum(dim=1).norm(dim=-1)}
    drawn = stack.clone()
    return View("heads", state, summary(stack), lambda: still(drawn), colours=48)


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
    q, k, v = (
        project(x).unflatten(-1, (layer.n_heads, -1)).transpose(1, 2)
        for project, x in ((layer.w_q, query), (layer.w_k, key), (layer.w_v, value))
    )
    outputs, _ = scaled_dot_product_attention(q, k, v, mask)  # (B, h, T, d_head)
    blocks = layer.w_o.weight.T.unflatten(0, (layer.n_heads, -1))  # (h, d_head, d_model)
    return outputs @ blocks


def mean_entropy(stack: Float[Tensor, "*axes T S"]) -> Float[Tensor, "*axes"]:
    """The mean entropy of a head's rows, in bits."""
    return torch.special.entr(stack).sum(-1).mean(-1) / torch.tensor(2.0, dtype=stack.dtype).log()


def names_of(stack: Tensor) -> list[str]:
    """What each head is called: its number, after that of its layer if there are several."""
    layers, heads, *_ = stack.shape
    return [f"{layer}.{head}" if layers > 1 else f"{head}" for layer in range(layers) for head in range(heads)]


def summary(stack: Tensor) -> str:
    """One line that says which rows are most even and most uneven."""
    names, entropies = names_of(stack), mean_entropy(stack).flatten().tolist()
    order = sorted(range(len(names)), key=entropies.__getitem__)
    ends = " and ".join(f"{entropies[i]:.2f} bits in head {names[i]}" for i in dict.fromkeys((order[0], order[-1])))
    queries, keys = stack.shape[-2:]
    return f"{len(names)} heads, {queries} queries and {keys} keys side by side: the mean entropy of a row is {ends}."


def still(stack: Tensor) -> Figure:
    """A small map of each head, and how even its rows are."""
    entropies, maps = mean_entropy(stack).flatten().tolist(), stack.flatten(0, 1)[:DRAWN].numpy()
    with matplotlib.rc_context(THEME):
        lines = -(-len(maps) // ACROSS)
        figure = Figure(figsize=(6.4, 1.9 * lines), layout="constrained")
        places = figure.subplots(lines, ACROSS, squeeze=False).flatten()
        for ax in places:
            ax.set_axis_off()
        for ax, name, bits, map_ in zip(places, names_of(stack), entropies, maps, strict=False):
            ax.imshow(map_, cmap="cividis", vmin=0, vmax=1)
            ax.set_title(f"head {name}: {bits:.2f} bits", fontsize=9)
    return figure
