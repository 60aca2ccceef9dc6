"""The recorded numbers of a monitored training run, and how a long history is thinned."""

from dataclasses import dataclass, field

import numpy as np

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
