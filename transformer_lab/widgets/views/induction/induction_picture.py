"""The induction explorer where no script runs: a map of each head, and under the arcs of the first one the losses."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from torch import Tensor

from transformer_lab.plots.picture import AMOUNTS, INK, MEANINGS, PAPER, PIXELS, THEME

WIDE, GAP = 950, 14  # in pixels of the page, and so are all others
LEFT, LEAST, MOST = 52, 8, 40  # left of the text, and how wide the column of a token is
ARCS, BARS, SEEN = 150, 96, 0.05  # how high the arcs are, and the bars; weights from SEEN on have an arc
POINTS = 72 / PIXELS  # of a pixel


def draw_heads(stack: list[Tensor], losses: list[float], read: list[str]) -> Figure:
    """Draw what is seen at first: `stack` has the maps of each layer, (heads, T, T); the last position is chosen."""
    across = max(map(len, stack))
    side = min(150.0, WIDE / across - GAP)
    maps = len(stack) * (side + 36)
    size = min(max((WIDE - 60) / len(read), LEAST), MOST)
    wide, high = max(across * (side + GAP), LEFT + len(read) * size + 6), maps + ARCS + 58 + BARS + 22
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(wide / PIXELS, high / PIXELS), layout=ConstrainedLayoutEngine(w_pad=0, h_pad=0))
        ax = drawing.subplots()
        for layer, heads in enumerate(stack):
            for head, weights in enumerate(heads.numpy()):
                corner = (head * (side + GAP) + 3, layer * (side + 36) + 22)
                draw_map(ax, weights, corner, side, f"head {layer}.{head}" if side >= 70 else f"{layer}.{head}")
        draw_arcs(ax, stack[0][0].tolist(), maps + ARCS + 24, size)
        draw_words(ax, read, maps + ARCS + 24, size)
        draw_losses(ax, losses, maps + ARCS + 58, size)
        ax.set(xlim=(0, wide), ylim=(high, 0), aspect="auto")
        ax.set_axis_off()
    return drawing


def draw_map(ax: Axes, weights: np.ndarray, corner: tuple[float, float], side: float, name: str) -> None:
    """Draw the map of a head, hatched where a query may not look; the first one is chosen."""
    (left, top), chosen = corner, name.endswith("0.0")
    cell = side / len(weights)
    steps = [(left + cell * (t + 1), top + cell * (t + k)) for t in range(len(weights)) for k in (0, 1)]
    with matplotlib.rc_context({"hatch.color": PAPER["edge"], "hatch.linewidth": 0.6}):
        hidden = Polygon([(left, top), *steps[:-1], (left + side, top + side), (left + side, top)], zorder=2)
        hidden.set(facecolor=PAPER["paper"], hatch="/////", linewidth=0)
    ax.imshow(weights, cmap=AMOUNTS, vmin=0, vmax=1, extent=(left, left + side, top + side, top))
    ax.add_patch(hidden)
    ax.text(left, top - 10, name, va="center", size=9.5, weight="bold" if chosen else "normal")
    if chosen:
        frame = Rectangle((left - 2, top - 2), side + 4, side + 4, fill=False, zorder=3)
        frame.set(edgecolor=MEANINGS["chosen"], linewidth=3 * POINTS)
        ax.add_patch(frame)


def draw_arcs(ax: Axes, weights: list[list[float]], line: float, size: float) -> None:
    """Draw an arc from each token back to what it looks at, lit for the chosen position, the last that has a loss."""
    base, far = line - 14, len(weights) * size
    for t, row in enumerate(weights):
        chosen = t == len(weights) - 2
        for s, weight in enumerate(row):
            if weight < SEEN:
                continue
            (start, end), loop = (LEFT + (t + 0.5) * size, LEFT + (s + 0.5) * size), 5 if s == t else 0
            high = 16 if loop else 18 + (ARCS - 30) * (abs(start - end) / far) ** 0.5
            points = [(start - loop, base), (start, base - 1.3 * high), (end, base - 1.3 * high), (end + loop, base)]
            look: dict[str, Any] = {"edgecolor": PAPER["amber-edge" if chosen else "amber"], "facecolor": "none"}
            look |= {"alpha": 1.0 if chosen else 0.4, "linewidth": max(1, 9 * weight) * POINTS, "zorder": 1 + chosen}
            ax.add_patch(PathPatch(Path(points, [Path.MOVETO, *[Path.CURVE4] * 3]), **look))


def draw_words(ax: Axes, read: list[str], line: float, size: float) -> None:
    for text, y in (("looks", line - 60), ("back ←", line - 42)):
        ax.text(0, y, text, va="center", size=9.5)
    words: dict[str, Any] = {"family": ["serif", "sans-serif"], "ha": "center", "va": "center", "parse_math": False}
    for t, token in enumerate(read):
        x, chosen = LEFT + (t + 0.5) * size, t == len(read) - 2
        shown = token[: max(1, int(size / 9))]
        ax.text(x, line, shown, size=min(12, 0.8 * size), weight="bold" if chosen else "normal", **words)
        if chosen:
            ax.plot([x - size / 2 + 2, x + size / 2 - 2], [line + 13] * 2, color=INK, linewidth=2 * POINTS)


def draw_losses(ax: Axes, losses: list[float], top: float, size: float) -> None:
    """Draw the loss of what comes next as a bar below each token."""
    most, room = max(*losses, 0.1), min(6.0, size / 3)
    ax.text(0, top + 8, "loss ↓", va="center", size=9.5)
    for t, loss in enumerate(losses):
        colour = INK if t == len(losses) - 1 else PAPER["thread"]
        bar = Rectangle((LEFT + t * size + room / 2, top), size - room, max(1, BARS * loss / most), facecolor=colour)
        ax.add_patch(bar)
    said = f"mean loss {sum(losses) / len(losses):.2f} nats"
    ax.text(LEFT, top + BARS + 12, said, va="center", size=9.5)
