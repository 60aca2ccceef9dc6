"""The picture of five caches: areas are bytes, tokens go from left to right."""

from math import sqrt

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transformer_lab.analysis.designs import Design, Kept
from transformer_lab.plots.picture import COLOURS, GREY, PAPER, THEME
from transformer_lab.widgets.views.cache.cache_view import in_units

FADING = LinearSegmentedColormap.from_list("fading", [PAPER["paper"], COLOURS[4]])
ACROSS, HIGH, GAP = 8.0, 1.2, 0.45  # inches of the whole text, of the thickest cache, between two


def draw_designs(designs: tuple[Design, ...], length: int, decay: float, beta: float) -> Figure:
    """Draw a row for each design, all to one scale: an area stands for bytes."""
    per_token = ACROSS / length
    thick = [sum(part.n_layers * part.numbers for part in one.parts) for one in designs]
    largest = max(part.n_layers * part.state for one in designs for part in one.parts)
    number = min(HIGH / max(thick), HIGH**2 / (largest * per_token))
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.5, 7), layout="constrained")
        ax = drawing.subplots()
        top = 0.0
        for design in designs:
            title = ", ".join(filter(None, (design.name, design.model, in_units(2 * design.n_numbers(length)))))
            ax.text(0, top - 0.08, title, va="bottom", weight="bold")
            for part in design.parts:
                top += draw_part(ax, part, top, length, per_token, number, (decay, beta))
            top += GAP
        ax.set(xlim=(0, ACROSS + 0.1), ylim=(top, -0.3), yticks=[], aspect="equal")
        ax.set_xticks([0, ACROSS / 2, ACROSS], ["token 1", f"{length // 2:,}", f"{length:,}"])
        for side in ("left", "right", "top"):
            ax.spines[side].set_visible(False)
    return drawing


def draw_part(
    ax: Axes, part: Kept, top: float, length: int, per_token: float, number: float, fading: tuple[float, float]
) -> float:
    """Draw what layers of one kind keep, and return how high that is."""
    if part.state:
        shares = np.array([[part.known(length - 1 - t, *fading) for t in np.linspace(0, length - 1, 200).astype(int)]])
        ax.imshow(shares, extent=(0, ACROSS, top + 0.12, top), cmap=FADING, vmin=0, vmax=1, aspect="auto")
        side = sqrt(part.n_numbers(length) * per_token * number)
        ax.add_patch(Rectangle((ACROSS - side, top + 0.17), side, side, facecolor=COLOURS[4], edgecolor=GREY))
        return side + 0.2
    high = part.n_layers * part.numbers * number
    kept = min(length, part.window or length) * per_token
    if kept < ACROSS:
        handed = max(0.0, (length - 1 - part.reach) * per_token)
        ax.add_patch(Rectangle((handed, top), ACROSS - kept - handed, high, facecolor=GREY, alpha=0.15))
        ax.add_patch(Rectangle((0, top), ACROSS - kept, high, fill=False, edgecolor=GREY, linestyle=":"))
    halves = [COLOURS[3]] if part.whole else [COLOURS[1], COLOURS[2]]
    for i, colour in enumerate(halves):
        each = high / len(halves)
        hatch = "///" if part.whole else ""
        ax.add_patch(Rectangle((ACROSS - kept, top + i * each), kept, each, facecolor=colour, alpha=0.8, hatch=hatch))
    return high
