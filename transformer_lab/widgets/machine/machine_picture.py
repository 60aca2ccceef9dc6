"""The machine's first screen as a picture, for where no script runs: the weave of one translation.

It has the place and the proportions of the live one (weave/weave_layout.js), so that nothing moves when that begins.
"""

import itertools
from typing import Any

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from torch import Tensor

from transformer_lab.analysis import token_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.decoding.inference import inference
from transformer_lab.nn.recording import record_attention
from transformer_lab.nn.transformer import Transformer
from transformer_lab.plots.picture import THEME

WIDTH, HEIGHT, TOP, ROOM = 1336, 620, 150, 400  # pixels; the weave begins at TOP and has ROOM
NAME, CLOCK, ENCODER, FROM, TO, WRITES = 158, 202, 236, 458, 837, 1062  # where its columns stand
SLAB, GAP, MOST_PITCH = 104, 14, 54
SLABS, INK, SOFT, LINE, THREAD = "#f0ede3", "#16202b", "#55606c", "#e3dfd5", "#6b7885"
AMBER, EDGE = "#e0a02e", "#bf7c00"
OTHERS: dict[str, Any] = {"alpha": 0.3, "linewidth": 0}  # ribbons
FOLLOWED: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.8}
SERIF: dict[str, Any] = {"family": "DejaVu Serif", "parse_math": False}  # which matplotlib brings


def drawn(model: Transformer, tokenizer: Tokenizer, source: Tensor, target: Tensor) -> Figure:
    """Draw what is read at the left, what is written at the right, and ribbons as thick as the attention between."""
    weights, sure = looked_at(model, tokenizer, source, target)
    texts = [token_names(tokenizer, ids[0].tolist()) for ids in (source, target[:, 1:])]
    pitch = min(MOST_PITCH, ROOM / max(map(len, texts)))
    left, right = (rows(len(names), pitch) for names in texts)
    with matplotlib.rc_context(THEME):
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100))
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        ax.set_axis_off()
        sentences(ax, tokenizer.decode(source[0].tolist()), tokenizer.decode(target[0].tolist()))
        headings(ax, model.config.n_layers - 1)
        ribbons(ax, weights, left, right, 0.68 * pitch, resting(weights))
        for side, ys in ((ENCODER, left), (TO, right)):
            slabs(ax, side, ys, model.config.n_layers)
        words(ax, texts, left, right, sure, min(19.0, 0.42 * pitch))
    return figure


def looked_at(
    model: Transformer, tokenizer: Tokenizer, source: Tensor, target: Tensor
) -> tuple[list[list[float]], list[float]]:
    """How much each output token looks at each input token in the last layer, and how sure it is of being written.

    As in the page, tokens that are single bytes have no probability.
    """
    with inference(model), record_attention(model) as maps:
        logits = model(source, target[:, :-1])[0]
    lost = torch.tensor([not isinstance(symbol, str) for symbol in tokenizer.symbols], device=logits.device)
    probabilities = logits.masked_fill(lost, -torch.inf).softmax(-1)
    cross = maps[f"decoder.layers.{model.config.n_layers - 1}.cross_attention"][0].mean(0)
    return cross.tolist(), probabilities.gather(-1, target[0, 1:, None])[:, 0].tolist()


def rows(n: int, pitch: float) -> list[float]:
    return [TOP + (ROOM - n * pitch) / 2 + (i + 0.5) * pitch for i in range(n)]


def stacked(heights: list[float], centres: list[float]) -> list[float]:
    """The upper edges of stacks of these heights, each as near to its centre as it can be without touching another.

    Least squares under that order, by pooling neighbours that would overlap, as weave/weave_ribbons.js does it.
    """
    before = [0.0, *itertools.accumulate(heights)]
    pools: list[tuple[float, int]] = []
    for centre, height, above in zip(centres, heights, before, strict=False):
        pools.append((centre - height / 2 - above, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            (one, n), (other, m) = pools.pop(), pools.pop()
            pools.append((one + other, n + m))
    shifts = [total / n for total, n in pools for _ in range(n)]
    most = TOP + ROOM - before[-1]
    return [max(float(TOP), min(shift, most)) + above for shift, above in zip(shifts, before, strict=False)]


def resting(weights: list[list[float]]) -> int:
    """The last token after which the translator looks back, to a word before the one it looked at, or the first token.

    There the two languages have another order. The live machine rests there, too (weave/weave_seen.js).
    """
    looks = [row.index(max(row)) for row in weights]
    return max((t for t in range(len(looks) - 2) if looks[t + 1] < looks[t]), default=0)


def ribbons(ax: Axes, weights: list[list[float]], left: list[float], right: list[float], unit: float, at: int) -> None:
    """Draw a ribbon for each weight of at least a hundredth; those of the token `at` stand out."""
    starts = stacked([unit * sum(row[s] for row in weights) for s in range(len(left))], left)
    for t, row in enumerate(weights):
        end = right[t] - unit / 2
        for s, weight in enumerate(row):
            wide = weight * unit
            if weight >= 0.01:
                look = FOLLOWED if t == at else OTHERS
                ax.add_patch(PathPatch(ribbon(starts[s], end, wide), facecolor=AMBER, **look))
            starts[s] += wide
            end += wide


def ribbon(start: float, end: float, wide: float) -> Path:
    middle = (FROM + TO) / 2
    upper = [(FROM, start), (middle, start), (middle, end), (TO, end)]
    lower = [(TO, end + wide), (middle, end + wide), (middle, start + wide), (FROM, start + wide)]
    curve = [Path.CURVE4] * 3
    return Path([*upper, *lower, upper[0]], [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY])


def slabs(ax: Axes, x: float, ys: list[float], n_layers: int) -> None:
    """Draw a side's layers, with a thread for each token straight through them and a diamond where it thinks."""
    each = (2 * SLAB + GAP + GAP) / n_layers - GAP
    for layer in range(n_layers):
        box = (x + layer * (each + GAP), TOP - 4)
        style = "round,pad=0,rounding_size=12"
        ax.add_patch(FancyBboxPatch(box, each, ROOM + 8, style, facecolor=SLABS, edgecolor=LINE))
    ends = (NAME + 12, FROM) if x == ENCODER else (TO, WRITES - 8)
    for y in ys:
        ax.plot(ends, (y, y), color=THREAD, linewidth=1.1)
        for layer in range(n_layers):
            middle = x + layer * (each + GAP) + 0.82 * each
            corners = [(middle - 8, y), (middle, y - 8), (middle + 8, y), (middle, y + 8)]
            ax.add_patch(Polygon(corners, facecolor="white", edgecolor=THREAD, linewidth=1.1, zorder=3))


def words(
    ax: Axes, texts: list[list[str]], left: list[float], right: list[float], sure: list[float], size: float
) -> None:
    """Write the tokens of both sides, and how sure each is that was written."""
    for token, y in zip(texts[0], left, strict=True):
        ax.text(NAME, y, token.replace("·", ""), fontsize=size, ha="right", va="center", color=INK, **SERIF)
    for token, y, p in zip(texts[1], right, sure, strict=True):
        ax.text(WRITES + 4, y, token.replace("·", ""), fontsize=size, va="center", color=INK, **SERIF)
        ax.text(WIDTH - 81, y, f"{p:.2f}", fontsize=9.5, ha="right", va="center", color=SOFT)
        ax.plot((WIDTH - 72, WIDTH - 12), (y, y), color=LINE, linewidth=4)
        ax.plot((WIDTH - 72, WIDTH - 72 + 60 * p), (y, y), color=INK, linewidth=4)


def sentences(ax: Axes, english: str, german: str) -> None:
    for text, x, side in ((english, 0, "left"), (german, WIDTH, "right")):
        size = min(26.0, 640 / (0.86 * max(1, len(text))))
        ax.text(x, 30, text, fontsize=size, ha=side, va="center", color=INK, **SERIF)
    ax.plot((0, 656), (54, 54), color=THREAD, linewidth=1.5)


def headings(ax: Axes, layer: int) -> None:
    columns = [("reads", NAME, "right"), ("encoder", (ENCODER + FROM) / 2, "center")]
    columns += [(f"cross-attention, layer {layer}", (FROM + TO) / 2, "center")]
    columns += [("decoder", (TO + WRITES - 12) / 2, "center"), ("writes", WRITES + 4, "left")]
    for text, x, side in columns:
        ax.text(x, TOP - 24, text, fontsize=10.5, ha=side, color=INK, weight="bold")
