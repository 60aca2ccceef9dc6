"""Heads side by side: where each looks, how two of them differ, and what each adds to the layer's output."""

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from transformer_lab.analysis import entropy
from transformer_lab.plots.checks import Tokens, Values, check_attention, to_tensor
from transformer_lab.plots.picture import PAPER, THEME
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.attention.attention_view import with_layers_and_heads

DRAWN, ACROSS = 16, 4  # heads in the picture, and in one row of it
THICK, FAINT, NAMED = 0.82, 0.02, 14  # of a row; of weights, which is not drawn; words that can be read
BRIEF = 10  # letters of a name
MANY, STRONG = 9, 0.15  # of more words than that, only strong weights are drawn


def heads(weights: Values, query_tokens: Tokens, key_tokens: Tokens, contributions: Values | None = None) -> View:
    """Compare heads: weights (heads, T, S) or (layers, heads, T, S), and what each adds to the output.

    They can be sorted by entropy, the mean over the queries of -Σ w log₂ w (0 bits: each query looks at one key), or by
    diagonality, the mean of Σ w (1 - |t/(T-1) - s/(S-1)|) over the queries t, with s counting the keys (1: each query
    looks at its own place). contributions (heads, T, d_model) or with layers in front, from
    `analysis.head_contributions`: the length of a head's part of an output is what the output loses without it; it is
    also given relative to all parts.

    Raises:
        ValueError: the axes do not fit the tokens, the rows are not what softmax returns, or contributions do not fit.
    """
    given = with_layers_and_heads(weights, "weights")
    for head in given.flatten(0, 1):
        check_attention(head, query_tokens, key_tokens)  # in its own precision, which says how far a sum may be off
    stack = given.detach().cpu().double()
    queries, keys = list(map(str, query_tokens)), list(map(str, key_tokens))
    state = {"log_weights": stack.log(), "queries": queries, "keys": keys}
    if contributions is not None:
        parts = to_tensor(contributions).detach().cpu().double()
        shape = tuple(parts.shape)
        parts = parts[(None,) * (4 - parts.ndim)]
        if parts.shape[:3] != stack.shape[:3]:
            raise ValueError(
                f"contributions must have the shape (heads, T, d_model), here {tuple(stack.shape[1:3])} and d_model "
                f"(its shape is {shape})"
            )
        state |= {"lost": parts.norm(dim=-1), "whole": parts.sum(dim=1).norm(dim=-1)}
    drawn = stack.clone()
    return View("heads", state, summary(stack), lambda: fallback(drawn, queries, keys), colours=8)


def names_of(stack: Tensor) -> list[str]:
    """The names of the heads: their numbers, preceded by that of the layer if there are several."""
    layers, heads, *_ = stack.shape
    return [f"{layer}.{head}" if layers > 1 else f"{head}" for layer in range(layers) for head in range(heads)]


def summary(stack: Tensor) -> str:
    """A one-line summary of which rows are the most even and the most uneven."""
    names, entropies = names_of(stack), entropy(stack).mean(-1).flatten().tolist()
    order = sorted(range(len(names)), key=entropies.__getitem__)
    ends = " and ".join(f"{entropies[i]:.2f} bits in head {names[i]}" for i in dict.fromkeys((order[0], order[-1])))
    queries, keys = stack.shape[-2:]
    return f"{len(names)} heads, {queries} queries and {keys} keys side by side: the mean entropy of a row is {ends}."


def fallback(stack: Tensor, queries: list[str], keys: list[str]) -> Figure:
    """Draw a small weave of each head, and how even its rows are."""
    entropies, maps = entropy(stack).mean(-1).flatten().tolist(), stack.flatten(0, 1)[:DRAWN].tolist()
    with matplotlib.rc_context(THEME):
        across = min(ACROSS, len(maps))
        lines, rows = -(-len(maps) // across), max(len(queries), len(keys))
        figure = Figure(figsize=(1.8 * across, lines * (0.6 + min(2.4, 0.2 * rows))), layout="constrained")
        places = figure.subplots(lines, across, squeeze=False).flatten()
        for ax in places:
            ax.set_axis_off()
        for ax, name, bits, map_ in zip(places, names_of(stack), entropies, maps, strict=False):
            weave(ax, map_, queries, keys)
            ax.set_title(f"head {name}\n{bits:.2f} bits", fontsize=8, loc="left")
        more = f"the first {DRAWN} of {len(entropies)} heads; " if len(entropies) > DRAWN else ""
        figure.supxlabel(
            f"{more}keys at the left, queries at the right, a weight is as thick as its ribbon", fontsize=8
        )
    return figure


def weave(ax: Axes, map_: list[list[float]], queries: list[str], keys: list[str]) -> None:
    """Ribbons from keys to queries as thick as the weights, stacked at each query, where together they are 1."""
    n = max(len(queries), len(keys))
    received = [sum(column) for column in zip(*map_, strict=True)]
    given = [0.0] * len(keys)
    for t, row in enumerate(map_):
        taken = 0.0
        for s, weight in enumerate(row):
            squeeze = THICK * min(1, 1 / received[s]) if received[s] else 0
            start = s + (n - len(keys)) / 2 + (given[s] + weight / 2 - received[s] / 2) * squeeze
            end = t + (n - len(queries)) / 2 + (taken + weight / 2 - 0.5) * THICK
            given[s], taken = given[s] + weight, taken + weight
            if weight >= (FAINT if n <= MANY else STRONG):
                ax.add_patch(ribbon(start, end, weight * THICK / 2))
    size = 8 if n <= NAMED else 0
    for names, x, align in ((keys, -0.06, "right"), (queries, 1.06, "left")):
        for i, name in enumerate(names if size else []):
            y = i + (n - len(names)) / 2
            ax.text(x, y, brief(name), ha=align, va="center", fontsize=size, family="serif", parse_math=False)
    ax.set(xlim=(-0.6, 1.6) if size else (0, 1), ylim=(n - 0.4, -0.6))


def brief(name: str) -> str:
    """A name as a weave of an inch has room for it."""
    return name if len(name) <= BRIEF else f"{name[: BRIEF - 1]}…"


def ribbon(start: float, end: float, half: float) -> PathPatch:
    """From (0, start) to (1, end), twice `half` thick."""
    upper = [(0, start - half), (0.5, start - half), (0.5, end - half), (1, end - half)]
    lower = [(1, end + half), (0.5, end + half), (0.5, start + half), (0, start + half)]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
    return PathPatch(Path(upper + lower, codes), facecolor=PAPER["amber"], alpha=0.5, linewidth=0, antialiased=False)
