"""Curves where no script runs, as the page draws them (chart.js): the title above, the legend, and a cursor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from transformer_lab.plots.picture import INK, PAPER

DASHES = ("-", (0, (4, 2.5)), (0, (1.2, 1.8)))
MARKERS = "os^"
MARKED = 8  # so many points of a series bear its marker
SIZE = 9


@dataclass(frozen=True)
class Series:
    """Some values over x, in their colour; `look` numbers the dashes and the marker, `at` is the chosen point."""

    name: str
    xs: Sequence[float] | np.ndarray
    ys: Sequence[float] | np.ndarray
    colour: str
    look: int = 0
    at: int | None = None


def draw_curves(ax: Axes, title: str, series: Sequence[Series], x_name: str) -> None:
    """Draw series on the axes; of several, each bears markers and stands in the legend."""
    several = len(series) > 1
    for one in series:
        style: dict[str, Any] = {
            "color": one.colour,
            "linestyle": DASHES[one.look],
            "label": one.name,
            "linewidth": 1.6,
        }
        style |= {"marker": MARKERS[one.look], "markevery": max(1, -(-len(one.xs) // MARKED))} if several else {}
        ax.plot(one.xs, one.ys, **style)
        if one.at is not None and len(one.xs):
            chosen: dict[str, Any] = {
                "marker": MARKERS[one.look],
                "s": 60,
                "color": one.colour,
                "edgecolor": INK,
                "zorder": 3,
            }
            ax.scatter([one.xs[one.at]], [one.ys[one.at]], **chosen)
    if series[0].at is not None and len(series[0].xs):
        ax.axvline(series[0].xs[series[0].at], color=INK, linewidth=0.9)
    ax.grid(True, axis="y", color=PAPER["line"])
    ax.set_title(title, loc="left", weight="bold", size=SIZE + 1, pad=26 if several else 6)
    ax.set_xlabel(f"{x_name} →", style="italic", size=SIZE)
    ax.tick_params(labelsize=SIZE)
    if several:
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.03),
            ncols=4,
            fontsize=SIZE,
            borderpad=0,
            borderaxespad=0,
            handlelength=3,
        )


def powers_of_ten(values: Sequence[float], unit: str) -> list[tuple[float, str]]:
    """Where a logarithmic axis over the values has its ticks, and their names: (100000, "100 kB")."""
    low, high = int(np.floor(np.log10(min(values)))), int(np.ceil(np.log10(max(values))))
    every = 3 if high - low > 9 else 2 if high - low > 5 else 1
    powers = range(-(-low // every) * every, high + 1, every)
    return [(10.0**k, f"{10 ** (k % 3)} {['', 'k', 'M', 'G', 'T', 'P', 'E'][k // 3]}{unit}") for k in powers]
