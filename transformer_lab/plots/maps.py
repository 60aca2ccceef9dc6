"""Maps: attention weights and other matrices, a row of cells for each row."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from transformer_lab.plots.checks import Values, check_attention, check_shape, to_array
from transformer_lab.plots.picture import NOTHING, THEME, figure

PRINTED = 8  # a map of at most this many rows and columns has its numbers printed in the cells


@matplotlib.rc_context(THEME)
def plot_attention(
    weights: Values, query_tokens: Sequence[str], key_tokens: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw attention weights as a map: a row for each query, a column for each key, one colour scale from 0 to 1.

    Up to 8 × 8, the weights are printed in the cells. A query that may attend to nothing has zeros and is hatched.

    Raises: ValueError if weights is not 2-D, not of shape (len(query_tokens), len(key_tokens)), or not what softmax
    returns: finite, at least 0, and rows that sum to 1 (to a thousandth, or to four rounding errors of its dtype).
    """
    array = check_attention(weights, query_tokens, key_tokens)
    ax = ax or axes_for_map(array)
    image = draw_map(ax, array, query_tokens, key_tokens, "cividis", 0.0, 1.0)
    ax.set_xlabel("key", style="italic", labelpad=10)
    ax.set_ylabel("query", style="italic", labelpad=10)
    for row in np.flatnonzero(~array.any(axis=1)):
        place = (-0.5, row - 0.5)
        ax.add_patch(Rectangle(place, array.shape[1], 1, facecolor=NOTHING, hatch="///", linewidth=0, zorder=5))
    if max(array.shape) > PRINTED:
        ax.figure.colorbar(image, ax=ax, shrink=0.6, label="weight")
    return ax


@matplotlib.rc_context(THEME)
def plot_matrix(
    values: Values, row_labels: Sequence[str], column_labels: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Draw a matrix as a map whose colours part at 0: red below, blue above. What isn't finite is grey.

    Up to 8 × 8, the values are printed in the cells.

    Raises: ValueError if values is not 2-D, or not of shape (len(row_labels), len(column_labels)).
    """
    array = to_array(values)
    check_shape("values", array, ("row_labels", row_labels), ("column_labels", column_labels))
    ax = ax or axes_for_map(array)
    limit = np.abs(array[np.isfinite(array)]).max(initial=0) or 1.0
    image = draw_map(ax, array, row_labels, column_labels, "RdBu", -limit, limit)
    if max(array.shape) > PRINTED:
        ax.figure.colorbar(image, ax=ax, shrink=0.6)
    return ax


def axes_for_map(array: np.ndarray) -> Axes:
    """Return the axes of a new figure whose cells are about half an inch wide."""
    height, width = (min(max(1.2 + 0.5 * cells, 2.4), 6.4) for cells in array.shape)
    return figure(width, height)[1]


def draw_map(
    ax: Axes, array: np.ndarray, rows: Sequence, columns: Sequence, colours: str, low: float, high: float
) -> AxesImage:
    """Draw cells with labels on both axes, columns on top, and the values in the cells if there are few."""
    image = ax.imshow(array, cmap=matplotlib.colormaps[colours].with_extremes(bad=NOTHING), vmin=low, vmax=high)
    size, upright = label_size(ax, array.shape, columns)
    ax.set_yticks(range(len(rows)), rows, parse_math=False, fontsize=size)
    ax.set_xticks(range(len(columns)), columns, parse_math=False, fontsize=size, rotation=90 if upright else 0)
    ax.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5 if max(array.shape) <= PRINTED else 0.5)
    ax.tick_params(which="both", length=0, top=False, labeltop=True, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)
    if max(array.shape) <= PRINTED:
        print_values(ax, array, image.to_rgba(image.get_array()))
    return image


def print_values(ax: Axes, array: np.ndarray, fills: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(array):
        shade = readable_on(fills[row, column])
        ax.text(column, row, f"{value:z.2f}", ha="center", va="center", color=shade)


def label_size(ax: Axes, shape: tuple[int, int], columns: Sequence[str]) -> tuple[float, bool]:
    """Choose the labels' size in points so that they fit the cells, and whether column labels must stand upright."""
    width, height = ax.figure.get_size_inches() * ax.get_position().size
    points = 72 * min(height / shape[0], width / shape[1])
    size = min(10, 0.8 * points)
    return float(size), bool(max(map(len, columns)) * 0.65 * size > points)


def readable_on(colour: np.ndarray) -> str:
    """Choose black or white text, whichever contrasts more with the colour (WCAG 2 relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return "black" if np.dot(linear, (0.2126, 0.7152, 0.0722)) > 0.179 else "white"
