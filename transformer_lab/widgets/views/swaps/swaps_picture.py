"""The picture of the swaps: cards of 2017 and of today, between them the block with a thread to each part; losses."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch
from matplotlib.path import Path

from transformer_lab.plots.picture import GREY, INK, PAPER, THEME

Part = tuple[str, str, str, tuple[int, ...]]  # kind, two lines, and the numbers of the swaps that it shows
PRE_NORM, RMS_NORM, SWIGLU, ROPE, GROUPED, NO_BIASES = range(6)
ORDER = (PRE_NORM, RMS_NORM, SWIGLU, GROUPED, ROPE, NO_BIASES)
LEFT, RIGHT, CARD = 4.1, 7.1, 2.7  # of the block, and how wide a card is
WIDE = 11.2


def draw_swaps(
    cards: Sequence[tuple[str, str]],
    on: Sequence[bool],
    d_ff: float,
    losses: tuple[list[float], list[float], list[float]],
) -> Figure:
    """Draw the block out of cards, (as it was, as it is), and the losses: of 2017, of this block, of all models."""
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.5, 5.6), layout="constrained")
        above, below = drawing.subplots(2, 1, height_ratios=(4.4, 1))
        ends = draw_block(above, on, d_ff)
        for row, swap in enumerate(ORDER):
            y = 0.85 + 0.62 * row
            for fresh, text in enumerate(cards[swap]):
                draw_card(above, WIDE - CARD if fresh else 0.0, y, text, used=bool(fresh) == on[swap])
            biases = swap == NO_BIASES
            end = (5.6 + (0.7 if on[swap] else -0.7)) if biases else (RIGHT if on[swap] else LEFT)
            draw_thread(above, (WIDE - CARD if on[swap] else CARD, y), (end, ends[swap]), on[swap])
        for x, text in ((CARD / 2, "2017"), (5.6, "your block"), (WIDE - CARD / 2, "all six")):
            above.text(x, 0.2, text, ha="center", va="center", weight="bold")
        above.set(xlim=(-0.05, WIDE + 0.05), ylim=(4.45, 0))
        above.set_axis_off()
        draw_losses(below, losses)
    return drawing


def parts_of(on: Sequence[bool], d_ff: float) -> list[Part]:
    """The parts of the block from its input up."""
    norm: Part = ("norm", "RMSNorm" if on[RMS_NORM] else "LayerNorm", "", (PRE_NORM, RMS_NORM))
    keys = "keys for two heads each" if on[GROUPED] else "keys for each head"
    attention: Part = ("attention", f"attention{', RoPE' * on[ROPE]}", keys, (ROPE, GROUPED, NO_BIASES))
    name, matrices = ("SwiGLU", 3) if on[SWIGLU] else ("ReLU network", 2)
    network: Part = ("network", name, f"{matrices} matrices, {d_ff:,.0f} wide", (SWIGLU, NO_BIASES))
    plus: Part = ("sum", "+", "", ())
    start: list[Part] = [] if on[ROPE] else [("sine", "+ sine", "", (ROPE,))]
    if on[PRE_NORM]:
        return [*start, norm, attention, plus, norm, network, plus, ("norm", f"last {norm[1]}", "", norm[3])]
    return [*start, attention, plus, norm, network, plus, norm]


def draw_block(ax: Axes, on: Sequence[bool], d_ff: float) -> dict[int, float]:
    """Draw the parts above each other; returns how high the thread of each swap ends."""
    y, middles = 3.8, []
    ax.text(5.6, 3.92, "tokens", ha="center", va="center", color=GREY, size=9)
    for kind, first, second, swaps in parts_of(on, d_ff):
        high = 0.2 if kind in ("sum", "sine") else 0.4 if second else 0.26
        ax.plot([5.6, 5.6], [y, y - 0.14], color=PAPER["thread"], linewidth=1.5, zorder=1)
        y -= 0.14 + high
        middles.append((kind, y + high / 2))
        changed = any(on[swap] for swap in swaps)
        draw_part(ax, (y, high), (kind, first, second, swaps), changed)
    ax.plot([5.6, 5.6], [y, y - 0.14], color=PAPER["thread"], linewidth=1.5)
    ax.text(5.6, 4.25, "no biases" if on[NO_BIASES] else "with biases", ha="center", va="center", size=9)
    norms = [at for kind, at in middles if kind == "norm"]
    where = dict(middles)
    return {
        PRE_NORM: norms[-1],
        RMS_NORM: norms[-2],
        SWIGLU: where["network"],
        GROUPED: where["attention"] - 0.08,
        ROPE: where.get("sine", where["attention"] + 0.08),
        NO_BIASES: 4.25,
    }


def draw_part(ax: Axes, place: tuple[float, float], part: Part, changed: bool) -> None:
    """Draw a part; one that differs from 2017 is dashed."""
    (y, high), (kind, first, second, _) = place, part
    look: dict[str, Any] = {"facecolor": PAPER["paper"], "zorder": 2}
    if kind == "sum":
        ax.add_patch(Circle((5.6, y + 0.1), 0.1, edgecolor=INK, **look))
    else:
        left, wide = (LEFT, RIGHT - LEFT) if kind != "sine" else (5.2, 0.8)
        box = FancyBboxPatch((left, y), wide, high, boxstyle="round,pad=0,rounding_size=0.06", **look)
        box.set(edgecolor=PAPER["change"] if changed else INK, linewidth=2 if changed else 1.2)
        box.set_linestyle("--" if changed else "-")
        ax.add_patch(box)
    lines = [(first, 9, INK, 0.5 if not second else 0.3), (second, 8, GREY, 0.72)]
    for text, size, colour, at in lines:
        ax.text(5.6, y + high * at, text, ha="center", va="center", size=size, color=colour, zorder=3)


def draw_card(ax: Axes, x: float, y: float, text: str, used: bool) -> None:
    """Draw a card, filled if its part is in the block."""
    box = FancyBboxPatch((x, y - 0.26), CARD, 0.52, boxstyle="round,pad=0,rounding_size=0.06")
    box.set(facecolor=INK if used else PAPER["paper"], edgecolor=INK if used else PAPER["edge"])
    ax.add_patch(box)
    size = 9 if len(text) < 30 else 8
    ax.text(x + CARD / 2, y, text, ha="center", va="center", color=PAPER["paper"] if used else GREY, size=size)


def draw_thread(ax: Axes, start: tuple[float, float], end: tuple[float, float], fresh: bool) -> None:
    """Draw a thread from a card to its part, dashed if the part is new."""
    middle = (start[0] + end[0]) / 2
    path = Path([start, (middle, start[1]), (middle, end[1]), end], [Path.MOVETO, *[Path.CURVE4] * 3])
    line = PathPatch(path, fill=False, linewidth=2, linestyle="--" if fresh else "-", zorder=1)
    line.set_edgecolor(PAPER["change" if fresh else "thread"])
    ax.add_patch(line)


def draw_losses(ax: Axes, losses: tuple[list[float], list[float], list[float]]) -> None:
    """Draw the losses of 2017 as rings, those of the block as dots, and small the means of all models."""
    old, mine, every = losses
    for y, found, colour in ((0, old, PAPER["paper"]), (1, mine, PAPER["change"])):
        ax.scatter(every, [y] * len(every), s=6, color=PAPER["edge"])
        ax.scatter(found, [y] * len(found), s=48, facecolor=colour, edgecolor=INK if y == 0 else colour, zorder=2)
        ax.plot([fmean(found)] * 2, [y - 0.35, y + 0.35], color=INK)
    ax.set(yticks=(0, 1), yticklabels=("2017", "yours"), ylim=(1.6, -0.6))
    ax.set_title("Measured loss, nats a character", loc="left", weight="bold", size=10)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
