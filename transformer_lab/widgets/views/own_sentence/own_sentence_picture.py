"""The picture of a translation as a weave: ribbons from the words that were read to those that were written.

As in the page, the ribbons into a written word are stacked there and together as high as its row; those into the first
word are lit and bear their weights.
"""

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_lab.plots.picture import INK, PAPER, THEME, eased

THICK, FAINT, SAID = 0.84, 0.02, 0.1  # of a row; a weight below FAINT is not drawn, one below SAID bears no number
CURVE = np.linspace(0, 1, 25)


def draw_weave(rows: list[list[float]], source: list[str], target: list[str]) -> Figure:
    """Draw the words at both sides, and a ribbon for each weight."""
    most = max(len(source), len(target))
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(7, 0.6 + 0.42 * most), layout="constrained")
        ax = drawing.subplots()
        for t, s, weight, start, end in stacked(rows):
            if weight >= FAINT:
                middle = [(most - len(source)) / 2 + s + start * THICK, (most - len(target)) / 2 + t + end * THICK]
                draw_ribbon(ax, middle, weight, lit=t == 0)
        words: dict[str, Any] = {"family": ["serif", "sans-serif"], "va": "center", "size": 13, "parse_math": False}
        for s, word in enumerate(source):
            bold = "bold" if rows[0][s] >= SAID else "normal"
            ax.text(-0.03, (most - len(source)) / 2 + s, word, ha="right", weight=bold, **words)
        for t, word in enumerate(target):
            box = {"boxstyle": "round,pad=0.3", "facecolor": "none", "edgecolor": INK} if t == 0 else None
            bold = "normal" if t else "bold"
            ax.text(1.05, (most - len(target)) / 2 + t, word, ha="left", weight=bold, bbox=box, **words)
        ax.set(xlim=(-0.45, 1.5), ylim=(most - 0.4, -0.6))
        ax.set_axis_off()
    return drawing


def stacked(rows: list[list[float]]) -> Iterator[tuple[int, int, float, float, float]]:
    """For each weight, its target, its source, itself, and where its ribbon begins and ends, in rows from theirs."""
    received = [sum(column) for column in zip(*rows, strict=True)]
    given = [0.0] * len(received)
    for t, row in enumerate(rows):
        taken = 0.0
        for s, weight in enumerate(row):
            squeeze = min(1, 1 / received[s]) if received[s] else 0
            start = (given[s] + weight / 2 - received[s] / 2) * squeeze
            yield t, s, weight, start, taken + weight / 2 - 0.5
            given[s], taken = given[s] + weight, taken + weight


def draw_ribbon(ax: Axes, ends: list[float], weight: float, lit: bool) -> None:
    """Draw a ribbon as thick as its weight, and where it is lit the number."""
    middle, half = eased(ends[0], ends[1], CURVE), THICK * weight / 2
    look: dict[str, Any] = (
        {"alpha": 1.0, "edgecolor": PAPER["amber-edge"]} if lit else {"alpha": 0.24, "edgecolor": "none"}
    )
    ax.fill_between(CURVE, middle - half, middle + half, facecolor=PAPER["amber"], zorder=2 if lit else 1, **look)
    if lit and weight >= SAID:
        at = len(CURVE) // 4
        box = {"boxstyle": "round,pad=0.25", "facecolor": PAPER["paper"], "edgecolor": PAPER["amber-edge"]}
        number = ax.text(CURVE[at], middle[at], f"{weight:.2f}", ha="center", va="center", size=9, bbox=box, zorder=3)
        number.set(color=PAPER["amber-ink"], weight="bold")
