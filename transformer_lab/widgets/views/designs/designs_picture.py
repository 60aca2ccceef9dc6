"""The picture of five designs: what each still knows of a text, and a cabinet for each, filled to one scale."""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transformer_lab.analysis.designs import Design, Kept
from transformer_lab.plots.picture import AMOUNTS, COLOURS, GREY, INK, PAPER, THEME
from transformer_lab.widgets.views.cache.cache_picture import in_units

WIDE, HIGH, APART = 1.0, 1.3, 1.15  # a cabinet, and from one to the next
STRIP = 0.17  # how high the strip of the text is, whose rows are as high as they have layers


def draw_designs(designs: tuple[Design, ...], length: int, decay: float, beta: float) -> Figure:
    """Draw the cabinets side by side, and above each the text from its first token to the last."""
    most = 16
    while most < length:
        most *= 4
    full = max(design.n_numbers(most) for design in designs)
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.5, 4.6), layout="constrained")
        ax = drawing.subplots()
        for i, design in enumerate(designs):
            left = i * APART
            ax.text(left, -0.68, design.name, weight="bold", size=12)
            ax.text(left, -0.55, design.model, color=GREY, size=9)
            draw_strip(ax, design, left, length, (decay, beta))
            draw_cabinet(ax, design, left, length, full)
        known = f"what each still knows of {length:,} tokens, from the first at the left to the last"
        ax.text(0, -0.9, known, color=GREY)
        ax.text(0, -0.1, f"what that takes: a full cabinet is {in_units(2 * full)}", color=GREY)
        ax.set(xlim=(-0.05, len(designs) * APART), ylim=(HIGH + 0.25, -1))
        ax.set_axis_off()
    return drawing


def draw_strip(ax: Axes, design: Design, left: float, length: int, fading: tuple[float, float]) -> None:
    """Draw a row for layers of each kind: full where a token is known, hatched where layers may hand it on."""
    layers = sum(part.n_layers for part in design.parts)
    top = -0.48
    for part in design.parts:
        high = STRIP * part.n_layers / layers
        draw_known(ax, part, (left, top, high), length, fading)
        top += high
    ax.add_patch(Rectangle((left, -0.48), WIDE, STRIP, fill=False, edgecolor=GREY, linewidth=0.8))


def draw_known(
    ax: Axes, part: Kept, place: tuple[float, float, float], length: int, fading: tuple[float, float]
) -> None:
    """Draw how much layers of one kind know of each token."""
    left, top, high = place
    tokens = np.linspace(0, length - 1, 200).astype(int)
    shares = np.array([[part.known(length - 1 - token, *fading) for token in tokens]])
    ax.imshow(shares, extent=(left, left + WIDE, top + high, top), cmap=AMOUNTS, vmin=0, vmax=1, aspect="auto")
    if part.whole:
        ax.add_patch(Rectangle((left, top), WIDE, high, fill=False, hatch="///", edgecolor=INK, linewidth=0))
    if part.window and part.window < length:
        handed = max(0.0, (length - 1 - part.reach) / length) * WIDE
        wide = WIDE * (1 - part.window / length) - handed
        hatched = Rectangle((left + handed, top), wide, high, fill=False, hatch="////", linewidth=0)
        hatched.set_edgecolor(PAPER["edge"])
        ax.add_patch(hatched)


def draw_cabinet(ax: Axes, design: Design, left: float, length: int, full: int) -> None:
    """Draw a cabinet, filled from its bottom: keys beside values, what is both in one hatched, a state alone."""
    bottom = HIGH
    for part in design.parts:
        high = HIGH * part.n_numbers(length) / full
        bottom -= high
        halves = [COLOURS[4]] if part.state else [PAPER["thread"]] if part.whole else [COLOURS[1], COLOURS[2]]
        for k, colour in enumerate(halves):
            wide = WIDE / len(halves)
            filled = Rectangle((left + k * wide, bottom), wide, high, facecolor=colour, linewidth=0)
            filled.set_hatch("///" if part.whole else "")
            ax.add_patch(filled)
    ax.add_patch(Rectangle((left, 0), WIDE, HIGH, fill=False, edgecolor=INK, linewidth=1.5))
    ax.text(left, HIGH + 0.15, in_units(2 * design.n_numbers(length)), weight="bold", size=12)
