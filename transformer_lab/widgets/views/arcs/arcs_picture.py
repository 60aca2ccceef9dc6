"""The arcs of words where no script runs: each sentence on a line, as the page draws it (arcs_picture.js)."""

from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from torch import Tensor

from transformer_lab.plots import figure
from transformer_lab.plots.picture import GREY, INK, MEANINGS, NOTHING, PAPER, PIXELS, THEME

SIZE, CHIP, GAP, LINE, CELL, NAMES = 15, 34, 7, 22, (56, 26), 76  # in pixels of the page
POINTS = 72 / PIXELS  # of a pixel
LOW, LOOP, KNOWN = 30, 40, 0.1


def picture(state: dict[str, Any], weights: list[Tensor], values: list[Tensor]) -> Axes:
    """Draw the arcs of each sentence's initially chosen word, and its vector before and after attention beside them."""
    rows = [placed(tokens) for tokens in state["sentences"]]
    longest, features = max(left + width for row in rows for left, width in row), state["features"]
    high = LOW + min(0.24 * longest, 130)
    top = (LINE if state["names"] else 0) + 0.75 * high + 6
    band = top + CHIP + LINE + 16
    wide = longest + (40 + NAMES + CELL[0] * len(features) if features else 0) + 4
    with matplotlib.rc_context(THEME):
        ax = figure(wide / PIXELS, band * len(rows) / PIXELS)[1]
        ax.set(xlim=(0, wide), ylim=(band * len(rows) - 8, 0))
        ax.set_axis_off()
        ax.get_figure().get_layout_engine().set(w_pad=0, h_pad=0)
        most = max((float(x.abs().max()) for x in values), default=0.0) or 1.0
        for i, (row, tokens, at) in enumerate(zip(rows, state["sentences"], state["chosen"], strict=True)):
            base, look = i * band + top, weights[i][at].tolist()
            if i:
                ax.plot([0, wide], [i * band - 4] * 2, color=NOTHING, linewidth=0.8)
            if state["names"]:
                write(ax, 2, i * band + 8, state["names"][i], GREY, "left", style="italic")
            draw_arcs(ax, row, at, look, (base - 3, high, longest))
            draw_words(ax, row, tokens, at, look, base)
            if features:
                becomes = values[i][at].tolist(), (weights[i][at] @ values[i]).tolist()
                draw_vectors(ax, (longest + 40, base + CHIP - LINE - 2 * CELL[1] - 12), becomes, features, most)
    return ax


def placed(tokens: list[str]) -> list[tuple[float, float]]:
    """The left edge and the width of each word."""
    bold, places, left = FontProperties(weight="bold", size=SIZE), [], 2.0
    for token in tokens:
        wide = TextPath((0, 0), token.replace("$", r"\$"), prop=bold).get_extents().width if token.strip() else 0
        places.append((left, max(36.0, wide + 1.2 * SIZE)))
        left += places[-1][1] + GAP
    return places


def draw_arcs(ax: Axes, row: list, at: int, look: list[float], box: tuple[float, float, float]) -> None:
    (base, high, span), middles = box, [left + width / 2 for left, width in row]
    for middle, weight in zip(middles, look, strict=True):
        start, end, far = middles[at], middle, abs(middle - middles[at])
        loop, way = max(0.0, 1 - far / LOOP), 1 if start <= end else -1
        lift = base - (LOW + (high - LOW) * far / span + LOW * loop * (0.5 + 0.3 * weight))
        foot, lean = (x * loop * way * (1 + 0.5 * weight) for x in (9, 21))
        points = [(start - foot, base), (start - lean, lift), (end + lean, lift), (end + foot, base)]
        path = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
        thick = (1 + 18 * weight) * POINTS
        style = {"edgecolor": PAPER["amber-edge"], "alpha": min(weight / 0.02, 0.5) + 0.5 * weight**0.5}
        ax.add_patch(PathPatch(path, facecolor="none", linewidth=thick, capstyle="round", **style))


def draw_words(ax: Axes, row: list, tokens: list[str], at: int, look: list[float], base: float) -> None:
    for s, ((left, width), token, weight) in enumerate(zip(row, tokens, look, strict=True)):
        chip = FancyBboxPatch((left, base), width, CHIP, "round,pad=0,rounding_size=7", zorder=2)
        chip.set(facecolor=(*to_rgb(PAPER["amber"]), 0.45 * weight), edgecolor=MEANINGS["query"] if s == at else GREY)
        chip.set_linewidth(1.8 if s == at else 0.7)
        ax.add_patch(chip)
        middle = left + width / 2
        write(ax, middle, base + CHIP / 2, token, INK, size=SIZE, weight="bold" if s == at else "normal")
        known = weight > KNOWN
        below = base + CHIP + 12
        write(ax, middle, below, f"{weight:.2f}", INK if known else GREY, weight="bold" if known else "normal")


def draw_vectors(ax: Axes, corner: tuple, vectors: tuple, features: list[str], most: float) -> None:
    (x, y), (width, height) = corner, CELL
    for j, name in enumerate(features):
        write(ax, x + NAMES + width * (j + 0.5) - 1, y + 8, name, GREY)
    for i, vector in enumerate(vectors):
        middle = y + LINE + (i + 0.5) * height + 4 * i
        write(ax, x, middle - 1, "in context" if i else "alone", INK, "left")
        for j, value in enumerate(vector):
            left = x + NAMES + width * j
            fill = {"facecolor": MEANINGS["value"], "alpha": 0.08 + 0.5 * abs(value) / most, "linewidth": 0}
            ax.add_patch(Rectangle((left, middle - height / 2), width - 2, height - 2, **fill))
            text = f"{value:.2f}".replace("-", "−")
            write(ax, left + width / 2 - 1, middle - 1, text, INK, weight="bold" if i else "normal")


def write(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    colour: str,
    align: str = "center",
    size: int = 13,
    weight: str = "normal",
    style: str = "normal",
) -> None:
    """Write a text at (x, y), in letters of the given height in pixels."""
    drawn = ax.text(x, y, text, color=colour, ha=align, va="center_baseline", size=size * POINTS, parse_math=False)
    drawn.set(weight=weight, style=style)
