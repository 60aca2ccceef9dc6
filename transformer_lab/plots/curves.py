"""Curves, bars and arrows: named series that differ in more than their colour."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation

from transformer_lab.plots.checks import Tokens, Values, check_positive, label, same_length, to_array
from transformer_lab.plots.picture import COLOURS, GREY, PAPER, THEME, figure

MARKERS, DASHES, HATCHES = "os^Dv", ("-", "--", "-.", ":"), ("", "///", "...", "xxx")
MARKED, TICKED, LABELLED = 32, 8, 12  # up to so many points have markers, ticks of their own; bars their values


def looks(names: Sequence[str]) -> list[int]:
    """The index of the colour, dashes, marker and hatching for each name, which normally is its place.

    Where one curve is `with` a part and one `without` it, these have the first and the second, in whatever order they
    come, as in the views. So a part is blue in every figure, and its absence orange.
    """
    present, absent = (
        [i for i, name in enumerate(names) if name.split()[:1] == [word]] for word in ("with", "without")
    )
    if len(present) != 1 or len(absent) != 1:
        return list(range(len(names)))
    first = [present[0], absent[0]]
    order = first + [i for i in range(len(names)) if i not in first]
    return [order.index(i) for i in range(len(names))]


class Numbers(LogFormatterSciNotation):
    """Labels a logarithmic axis with 0.01, 1, 2 and 100; with powers of ten only if it leaves 0.001 to 10 000."""

    def __call__(self, x: float, pos: Any = None) -> str:
        assert self.axis is not None, "an axis sets it when it takes the formatter"
        low, high = self.axis.get_view_interval()
        text = super().__call__(x, pos)
        return f"{x:g}" if text and low > 5e-4 and high < 2e4 else text


def plain_numbers(ax: Axes) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(Numbers())
            axis.set_minor_formatter(Numbers())


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

    Curves that are added to axes with others differ from those, too.

    Raises: ValueError if a curve is not as long as x, or if a logarithmic axis would drop a value that is not positive.
    """
    xs = to_array(x)
    arrays = same_length("curve", curves, "x", xs)
    check_positive(log_x, "log_x", {"x": xs})
    check_positive(log_y, "log_y", arrays)
    ax = ax or figure()[1]
    before = len(ax.get_lines())
    for i, (name, curve) in zip((before + look for look in looks(list(arrays))), arrays.items(), strict=True):
        marker = MARKERS[i % len(MARKERS)] if len(xs) <= MARKED else ""
        ax.plot(xs, curve, f"C{i}", label=name, marker=marker, linestyle=DASHES[i % len(DASHES)])
    ax.set(xlabel=x_label, ylabel=y_label, xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    plain_numbers(ax)
    if log_x and len(xs) <= TICKED:
        ax.set_xticks(xs, [f"{value:g}" for value in xs])
        ax.minorticks_off()
    ax.grid(True)
    ax.legend(loc="best")
    return ax


@matplotlib.rc_context(THEME)
def plot_bars(
    groups: Mapping[str, Values], labels: Tokens, ax: Axes | None = None, *, y_label: str = "probability"
) -> Axes:
    """Draw several distributions over the same labels side by side; they differ in colour and in hatching.

    Raises: ValueError if a group has not one value for each label.
    """
    arrays, width = same_length("group", groups, "labels", labels), 0.8 / len(groups)
    ax = ax or figure()[1]
    for place, (i, (name, heights)) in enumerate(zip(looks(list(arrays)), arrays.items(), strict=True)):
        middles = np.arange(len(labels)) + (place - (len(groups) - 1) / 2) * width
        hatch = HATCHES[i % len(HATCHES)]
        bars = ax.bar(middles, heights, width, label=name, color=f"C{i}", hatch=hatch, edgecolor=PAPER["paper"])
        if len(groups) * len(labels) <= LABELLED:
            ax.bar_label(bars, fmt="%.2f", padding=2)
    ax.set_xticks(range(len(labels)), map(label, labels), parse_math=False)
    ax.tick_params(axis="x", length=0)
    ax.margins(y=0.12)
    if min(map(np.min, arrays.values()), default=0) < 0:
        ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set_ylabel(y_label)
    ax.legend(loc="best")
    return ax


@matplotlib.rc_context(THEME)
def plot_runs(
    runs: Mapping[str, Values],
    ax: Axes | None = None,
    *,
    x_label: str = "",
    log_x: bool = False,
    lines: Mapping[str, float] | None = None,
) -> Axes:
    """Draw a row of dots for each name, one dot per run, to show the spread; the first name is at the top.

    `lines` are values to compare with, each a dashed line with its name above it.

    Raises: ValueError if there are no runs, or if a logarithmic axis would drop a value that is not positive.
    """
    arrays = {name: to_array(values).reshape(-1) for name, values in runs.items()}
    if not arrays:
        raise ValueError("there must be at least one row of runs (there is none)")
    check_positive(log_x, "log_x", arrays)
    ax = ax or figure(6.4, 0.9 + 0.3 * len(arrays))[1]
    for row, values in enumerate(arrays.values()):
        ax.plot(values, [row] * len(values), "o", color=COLOURS[0], alpha=0.65, markeredgecolor="none", markersize=8)
    for i, (name, value) in enumerate((lines or {}).items()):
        ax.axvline(value, color=GREY, linestyle="--", linewidth=1.2)
        above = ax.get_xaxis_transform()  # y in heights of the axes; each name is higher, since values may be close
        ax.text(value, 1.01 + 0.05 * i, name, transform=above, ha="center", fontsize=8.5, parse_math=False)
    ax.set_yticks(range(len(arrays)), map(label, arrays), parse_math=False)
    ax.set(ylim=(len(arrays) - 0.5, -0.5), xlabel=x_label, xscale="log" if log_x else "linear")
    plain_numbers(ax)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="y")
    return ax


@matplotlib.rc_context(THEME)
def plot_vectors(groups: Mapping[str, Mapping[str, Values]], ax: Axes | None = None) -> Axes:
    """Draw groups of vectors in the plane as arrows from the origin, with names at their tips.

    A group's arrows differ from another's in colour and in dashes. Both axes have one scale, so that angles are true.

    Raises: ValueError if a vector has not two numbers.
    """
    ax = ax or figure(4.2, 4.2)[1]
    for i, (group, vectors) in enumerate(groups.items()):
        colour, dashes = f"C{i}", DASHES[i % len(DASHES)]
        ax.plot([], [], label=group, color=colour, linestyle=dashes)
        arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "linewidth": 2, "color": colour, "linestyle": dashes}
        for name, (x, y) in same_length("vector", vectors, "the plane", "xy").items():
            ax.annotate("", (x, y), (0, 0), arrowprops=arrow)
            ax.annotate(label(name), (x, y), (5, 5), textcoords="offset points", color=colour, parse_math=False)
            ax.update_datalim([(x, y), (0, 0)])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.2)
    ax.autoscale_view()
    ax.grid(True)
    ax.legend(loc="best")
    return ax
