"""The pictures of a shift: two paper strips that match, and of RoPE: a ruler; below both an arrow for each pair."""

from typing import Any

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor

from transformer_lab.nn.positions import rotate, shift_matrix, sinusoidal_encoding
from transformer_lab.plots.picture import COLOURS, GREY, INK, PAPER, THEME

LAST, MOVED, RULER, FARTHEST = 80, 60, 160, 60  # of the strips, of the one that moves, of the ruler, of a distance
THIN, THICK = 0.7, 1.6
FINE = 4  # points of a wave for each position


def draw_shift(d_model: int, position: int, offset: int) -> Figure:
    """Draw the encoding of all positions, what M_k makes of it, k places on, and the arrows of one position."""
    table = sinusoidal_encoding(LAST + 1, d_model, "cpu")
    matrix = shift_matrix(offset, d_model, "cpu")
    names = [f"PE({position})", f"$M_{{{offset}}}$ PE({position})", f"PE({position + offset})"]
    pairs = d_model // 2
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.5, 2.6 + 0.5 * pairs), layout="constrained")
        parts: Any = drawing.subfigures(2, 1, height_ratios=(0.4 + 0.5 * pairs, 2.2))
        ax = parts[0].subplots()
        draw_strip(ax, table, 0, 0, PAPER["slab"])
        draw_strip(ax, table[: MOVED + 1] @ matrix.T, offset, pairs + 0.3, PAPER["paper"])
        for place, top, style in (
            (position, 0.0, "--"),
            (position + offset, 0.0, "-"),
            (position + offset, pairs + 0.3, "-"),
        ):
            frame = Rectangle((place - 0.5, top + 0.05), 1, pairs - 0.1, fill=False, linestyle=style, edgecolor=INK)
            ax.add_patch(frame)
        for place, name in ((position, names[0]), (position + offset, names[2])):
            ax.text(place, -0.15, name, ha="center", va="bottom", size=8)
        said = f"$M_{{{offset}}}$ has turned this strip, and it lies {offset} places on; thick sine, thin cosine"
        ax.text(offset, 2 * pairs + 0.6, said, va="top", color=GREY, size=9)
        ax.set(xlim=(-1, LAST + 1), ylim=(2 * pairs + 1.4, -0.9))
        ax.set_axis_off()
        first, target = table[position], table[position + offset]
        arrows = [(first, PAPER["thread"], "-"), (matrix @ first, INK, "--")]
        draw_clocks(parts[1], arrows, rings=target)
        parts[1].suptitle(f"solid: {names[0]};  dashed: {names[1]};  ring: {names[2]}", fontsize=10)
    return drawing


def draw_strip(ax: Axes, table: Tensor, start: int, top: float, colour: str) -> None:
    """Draw rows of an encoding on paper, from left to right: of each pair its sine, and thinner its cosine."""
    n, d_model = table.shape
    paper = FancyBboxPatch(
        (start - 0.5, top), n, d_model // 2, boxstyle="round,pad=0,rounding_size=0.2", edgecolor=PAPER["edge"]
    )
    paper.set_facecolor(colour)
    ax.add_patch(paper)
    for j in range(d_model):
        x, y = smooth(table[:, j])
        ax.plot(start + x, top + j // 2 + 0.5 - 0.38 * y, color=INK, linewidth=THIN if j % 2 else THICK)


def smooth(values: Tensor) -> tuple[Tensor, Tensor]:
    """A smooth curve through the values at 0, 1, 2, …: in each gap the cubic through the four nearest."""
    x = torch.arange(0, len(values) - 1 + 1e-6, 1 / FINE, device="cpu")
    i = x.long().clamp(1, len(values) - 3)
    t = x - i
    a, b, c, d = (values[i + k] for k in (-1, 0, 1, 2))
    third = (d - a) / 6 + (b - c) / 2
    second = (a + c) / 2 - b
    return x, ((third * t + second) * t + (c - b - third - second)) * t + b


def draw_rope(query: Tensor, key: Tensor, at_query: int, at_key: int) -> Figure:
    """Draw where query and key stand, their arrows after they were turned, and the score by distance."""
    q, k = rotate(query[None], at_query)[0], rotate(key[None], at_key)[0]
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(9.5, 5.4), layout="constrained")
        parts: Any = drawing.subfigures(3, 1, height_ratios=(0.9, 2.2, 2.2))
        ax = parts[0].subplots()
        ax.plot([0, RULER], [0, 0], color=PAPER["thread"], linewidth=1.5)
        for place in range(0, RULER + 1, 20):
            ax.text(place, -0.5, str(place), ha="center", va="top", color=GREY, size=9)
        ax.plot([at_key, at_key, at_query, at_query], [0.35, 0.7, 0.7, 0.35], color=INK, linewidth=1.5)
        apart = f"{at_query - at_key} apart".replace("-", "−")
        ax.text((at_query + at_key) / 2, 0.95, apart, ha="center", va="bottom", weight="bold")
        for place, marker, colour in ((at_query, "o", COLOURS[0]), (at_key, "s", COLOURS[1])):
            ax.plot([place], [0], marker=marker, color=colour, markersize=9)
        ax.set(xlim=(-2, RULER + 2), ylim=(-1.3, 2))
        ax.set_axis_off()
        arrows = [(q, COLOURS[0], "-"), (k, COLOURS[1], "--"), (query, COLOURS[0], ":"), (key, COLOURS[1], ":")]
        draw_clocks(parts[1], arrows)
        parts[1].suptitle(
            f"solid: query, at {at_query};  dashed: key, at {at_key};  dotted: before turning", fontsize=10
        )
        draw_curve(parts[2].subplots(), query, key, at_query - at_key)
    return drawing


def draw_curve(ax: Axes, query: Tensor, key: Tensor, at: int) -> None:
    """Draw the score of query and key for each distance of theirs."""
    distances = range(-FARTHEST, FARTHEST + 1)
    scores = [torch.dot(rotate(query[None], max(d, 0))[0], rotate(key[None], max(-d, 0))[0]).item() for d in distances]
    ax.plot(distances, scores, color=COLOURS[4])
    ax.axvline(at, color=INK, linewidth=1)
    ax.plot([at], [scores[at + FARTHEST]], marker="o", color=COLOURS[4], markeredgecolor=INK)
    ax.set_title("Score by distance", loc="left", weight="bold", size=10)
    ax.set_xlabel("position of the query − position of the key")


def draw_clocks(part: Figure, arrows: list[tuple[Tensor, str, str]], rings: Tensor | None = None) -> None:
    """Draw an arrow of each colour and style in a circle for each pair; a ring where the arrow should end."""
    pairs = [(x.unflatten(-1, (-1, 2)), colour, style) for x, colour, style in arrows]
    longest = max(max(x.norm(dim=-1).max().item() for x, *_ in pairs), 1e-9)
    panels = part.subplots(1, len(pairs[0][0]), squeeze=False)[0]
    for i, ax in enumerate(panels):
        angle = torch.linspace(0, 2 * torch.pi, 100, device="cpu")
        ax.plot(angle.sin(), angle.cos(), color=PAPER["edge"], linewidth=0.8)
        for x, colour, style in pairs:
            look = {"color": colour, "linestyle": style, "linewidth": 0.9 if style == ":" else 2, "arrowstyle": "->"}
            end = (x[i] / longest).tolist()
            ax.annotate("", end, (0, 0), arrowprops=look | {"shrinkA": 0, "shrinkB": 0})
        if rings is not None:
            x, y = rings[2 * i : 2 * i + 2].tolist()
            ax.plot([x], [y], marker="o", markersize=10, fillstyle="none", color=INK)
        ax.set(aspect="equal", xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
        ax.set_title(f"pair {i}", size=10)
        ax.set_axis_off()
