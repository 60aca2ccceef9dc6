"""Curves and bars: named series that differ in more than their colour."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from transformer_lab.plots.checks import Values, check_positive, same_length, to_array
from transformer_lab.plots.picture import THEME, figure

MARKERS, DASHES, HATCHES = "os^Dv", ("-", "--", "-.", ":"), ("", "///", "...", "xxx")
MARKED, TICKED, LABELLED = 32, 8, 12  # up to so many points have markers, ticks of their own; bars their values


@matplotlib.rc_context(THEME)
def plot_lines(
    x: Values,
    curves: Mapping[str, Values],
    ax: Axes | None = None,
    *,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> Axes:
    """Draw named curves over x; they differ in colour, in dashes and, if there are few points, in markers.

    Raises: ValueError if a curve is not as long as x, or if a logarithmic axis would drop a value that is not positive.
    """
    x = to_array(x)
    curves = same_length("curve", curves, "x", x)
    check_positive(log_x, "log_x", {"x": x})
    check_positive(log_y, "log_y", curves)
    ax = ax or figure()[1]
    for i, (name, curve) in enumerate(curves.items()):
        marker = MARKERS[i % len(MARKERS)] if len(x) <= MARKED else ""
        ax.plot(x, curve, label=name, marker=marker, linestyle=DASHES[i % len(DASHES)])
    ax.set(xlabel=x_label, ylabel=y_label, xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    if log_x and len(x) <= TICKED:
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.minorticks_off()
    ax.grid(True)
    ax.legend()
    return ax


@matplotlib.rc_context(THEME)
def plot_bars(
    groups: Mapping[str, Values], labels: Sequence[str], ax: Axes | None = None, *, y_label: str = "probability"
) -> Axes:
    """Draw several distributions over the same labels side by side; they differ in colour and in hatching.

    Raises: ValueError if a group has not one value for each label.
    """
    groups, width = same_length("group", groups, "labels", labels), 0.8 / len(groups)
    ax = ax or figure()[1]
    for i, (name, heights) in enumerate(groups.items()):
        middles = np.arange(len(labels)) + (i - (len(groups) - 1) / 2) * width
        bars = ax.bar(middles, heights, width, label=name, hatch=HATCHES[i % len(HATCHES)], edgecolor="white")
        if len(groups) * len(labels) <= LABELLED:
            ax.bar_label(bars, fmt="%.2f", padding=2)
    ax.set_xticks(range(len(labels)), labels, parse_math=False)
    ax.tick_params(axis="x", length=0)
    ax.margins(y=0.12)
    ax.set_ylabel(y_label)
    ax.legend()
    return ax
