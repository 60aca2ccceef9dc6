"""A training where no script runs: its curves, and what the model made of its samples at the last snapshot."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transformer_lab.plots.charts import Series, draw_curves
from transformer_lab.plots.curves import plain_numbers
from transformer_lab.plots.picture import AMOUNTS, COLOURS, GREY, INK, PAPER, THEME
from transformer_lab.widgets.views.training_monitor.history import Measures
from transformer_lab.widgets.views.training_monitor.snapshots import Snapshots

WIDE, CHARTS, LINE, FILM = 9.5, 2.2, 0.3, 1.0  # in inches: the picture, the charts, a sample, the film


def draw_training(history: np.ndarray, measures: Measures, until: int, snapshots: Snapshots) -> Figure:
    """Draw the charts with their cursor at the last step, then the samples, and the film of the attention."""
    said = snapshots.said()[-len(snapshots.samples) :] if snapshots.taken else []
    film = (
        [weights[-1].mean(0).numpy() for *_, (weights, *_) in snapshots.taken] if said and snapshots.weights() else []
    )
    heights = [CHARTS, *([LINE * (len(said) + 1)] if said else []), *([FILM] if film else [])]
    with matplotlib.rc_context(THEME):
        drawing = Figure(figsize=(WIDE, sum(heights)), layout="constrained")
        parts: Any = drawing.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        draw_charts(parts[0], history, measures, until)
        if said:
            draw_samples(parts[1].subplots(), snapshots, said)
        if film:
            draw_film(parts[2].subplots(), film, snapshots.at)
    return drawing


def draw_charts(part: Any, history: np.ndarray, measures: Measures, until: int) -> None:
    """Draw the loss, with the losses that it is compared with, the score if it is a share, and the learning rate."""
    share = measures.unit == "share"
    steps, losses, rates, _ = history.T
    scored = history[~np.isnan(history[:, 3])]
    last, measured = (len(rows) - 1 if len(rows) else None for rows in (history, scored))
    score = Series(measures.score, scored[:, 0], scored[:, 3], COLOURS[2], 0 if share else 1, measured)
    shown = {"loss": [Series("loss", steps, losses, COLOURS[0], 0, last), *([] if share else [score])]}
    shown |= {measures.score: [score]} if share else {}
    shown |= {"learning rate": [Series("rate", steps, rates, COLOURS[4], 0, last)]}
    axes = part.subplots(1, len(shown), width_ratios=(0.42, 0.29, 0.29) if share else (0.64, 0.36))
    for ax, (title, series) in zip(axes, shown.items(), strict=True):
        draw_curves(ax, title, series, "step")
        ax.set_xlim(0, until)
        if title == "learning rate":
            most = max([*rates, 0.0]) or 1.0
            ax.set(ylim=(0, most * 1.03), yticks=(0, most), yticklabels=("0", f"{most:.2g}"))
        if title == measures.score:
            ax.set(ylim=(0, 1.03), yticks=(0, 0.5, 1), yticklabels=("0 %", "50 %", "100 %"))
    draw_levels(axes[0], measures, until)
    seen = [value for one in shown["loss"] for value in one.ys] + list(measures.levels.values())
    if share and seen and min(seen) > 0:
        axes[0].set_yscale("log")
        plain_numbers(axes[0])
    elif seen:
        axes[0].set_ylim(0, None)


def draw_levels(ax: Axes, measures: Measures, until: int) -> None:
    left = measures.unit == "share"
    for name, value in measures.levels.items():
        ax.plot([0, until], [value, value], color=INK, linewidth=1.2, linestyle="--", label=name)
        x, ha = (until * 0.02, "left") if left else (until * 0.98, "right")
        ax.text(x, value, f"{name}: {value:.3g}", ha=ha, va="bottom", size=9)


def draw_samples(ax: Axes, snapshots: Snapshots, said: list[str]) -> None:
    """Write each sample, what the model made of it at the last snapshot, and whether that is right."""
    translated = "target" in snapshots.samples[0]
    heads = ("source", "translation") if translated else ("beginning", "written")
    rows = [(heads[0], f"{heads[1]} at step {snapshots.at[-1]}", "")]
    for sample, text in zip(snapshots.samples, said, strict=True):
        right = ("✓ right" if text == sample["target"] else f"✗ {sample['target']}") if translated else ""
        rows.append((in_line(sample["source"], 30), in_line(text, 40) or "(it wrote nothing)", right))
    for i, row in enumerate(rows):
        for x, text in zip((0, 0.34, 0.76), row, strict=True):
            look: dict[str, Any] = (
                {"family": ["serif", "sans-serif"], "size": 12} if i else {"style": "italic", "color": GREY, "size": 9}
            )
            ax.text(x, i, text, va="center", parse_math=False, **look)
        ax.plot([0, 1], [i + 0.5] * 2, color=PAPER["line"], linewidth=0.8)
    ax.set(xlim=(0, 1), ylim=(len(rows) - 0.4, -0.6))
    ax.set_axis_off()


def in_line(text: str, most: int) -> str:
    """A text in one line, of which a long one is cut."""
    text = text.replace("\n", "⏎")
    return text if len(text) <= most else f"{text[: most - 1]}…"


def draw_film(ax: Axes, film: list[np.ndarray], at: list[int]) -> None:
    """Draw a strip with a frame for each snapshot: where the decoder looked, its step below it."""
    ax.add_patch(Rectangle((-0.08, -0.1), len(film) * 1.1 + 0.06, 1.2, facecolor=PAPER["slab"], zorder=-1))
    for k, (weights, step) in enumerate(zip(film, at, strict=True)):
        left, last = k * 1.1, k == len(film) - 1
        ax.imshow(weights, cmap=AMOUNTS, vmin=0, vmax=1, extent=(left, left + 1, 1, 0))
        frame = Rectangle((left, 0), 1, 1, fill=False, edgecolor=INK if last else PAPER["edge"])
        frame.set_linewidth(2 if last else 0.8)
        ax.add_patch(frame)
        ax.text(left + 0.5, 1.25, str(step), ha="center", va="center", size=9, weight="bold" if last else "normal")
    ax.set(xlim=(-0.1, 13.2), ylim=(1.4, -0.12), aspect="equal", anchor="W")
    ax.set_axis_off()
