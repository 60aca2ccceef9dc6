"""The recorded numbers of a monitored training run: how a long history is thinned, and its curves."""

from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from transformer_lab.plots import figure, plot_lines

MOST_POINTS = 1000  # so much of a long run is kept
ROW = 4  # of each report: step, loss, rate, score (NaN if not evaluated)


@dataclass(frozen=True)
class Measures:
    """The quantities drawn beside the loss: the score of the evaluation, and losses to compare with."""

    score: str
    unit: str  # a "share" has a chart of its own; a "loss" stands in the chart of the loss
    levels: dict[str, float] = field(default_factory=dict)


def thinned(history: np.ndarray) -> np.ndarray:
    """Every second row, plus the rows with a score if these are few."""
    evaluated = ~np.isnan(history[:, 3])
    keep = np.arange(len(history))[::-1] % 2 == 0  # the last one among them
    return history[keep | evaluated] if evaluated.sum() < MOST_POINTS / 4 else history[keep]


def curves(history: np.ndarray, measures: Measures) -> Figure:
    """Plot the loss with those that it is compared with, and the score where it was measured."""
    share = measures.unit == "share"
    measured = history[~np.isnan(history[:, 3])]
    scores = {measures.score: measured[:, 3]}
    drawing, axes = figure(width=7.5, height=2.8 if share else 3.4, columns=2 if share else 1)
    left, right = axes if share else (axes, axes)
    finite = history[np.isfinite(history[:, 1])]
    log = share and bool(len(finite) and finite[:, 1].min() > 0)
    losses = {"loss": finite[:, 1]} | {name: np.full(len(finite), value) for name, value in measures.levels.items()}
    plot_lines(finite[:, 0], losses, ax=left, x_label="step", y_label="loss", log_y=log)
    plot_lines(measured[:, 0], scores, ax=right, x_label="step", y_label="share" if share else "loss")
    if share:
        right.set_ylim(-0.03, 1.03)
    return drawing
