"""Maps: attention weights and other matrices, with a row of cells for each row."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from transformer_lab.plots.checks import Tokens, Values, check_attention, check_shape, label, to_array
from transformer_lab.plots.picture import AMOUNTS, NOTHING, PAPER, THEME, figure

PRINTED = 8  # a map of at most this many rows and columns has its numbers printed in the cells
PARTED = 128  # one of at most this many has lines between the cells, and a name for each; of a larger one, every n-th


@matplotlib.rc_context(THEME)
def plot_attention(
    weights: Values, query_tokens: Tokens, key_tokens: Tokens, ax: Axes | None = None, *, mask: Values | None = None
) -> Axes:
    """Draw attention weights as a map: a row for each query, a column for each key, one colour scale from 0 to 1.

    Up to 8 × 8, the weights are printed in the cells; of more than 128 tokens only every second, third, … is named.
    Where the mask (T, S) is False, a query may not attend to a key, and the cell is hatched; so is the row of a query
    that may attend to nothing, and has zeros.

    Raises: ValueError if weights is not 2-D, not of shape (len(query_tokens), len(key_tokens)), or not what softmax
    returns: finite, at least 0, and rows that sum to 1 (to a thousandth, or to four rounding errors of its dtype).
    """
    array = check_attention(weights, query_tokens, key_tokens)
    allowed = np.ones(array.shape, dtype=bool) if mask is None else to_array(mask).astype(bool)
    check_shape("mask", allowed, ("query_tokens", query_tokens), ("key_tokens", key_tokens))
    array = np.where(allowed & array.any(axis=1, keepdims=True), array, np.nan)
    ax = ax or axes_for_map(array)
    image = draw_map(ax, array, query_tokens, key_tokens, AMOUNTS, 0.0, 1.0)
    ax.set_xlabel("key", style="italic")
    ax.set_ylabel("query", style="italic")
    if max(array.shape) > PRINTED:
        ax.figure.colorbar(image, ax=ax, shrink=0.6, label="weight")
    return ax


@matplotlib.rc_context(THEME)
def plot_matrix(values: Values, row_labels: Tokens, column_labels: Tokens, ax: Axes | None = None) -> Axes:
    """Draw a matrix as a map with a diverging scale: red below 0, blue above. Non-finite values are hatched.

    Up to 8 × 8, the values are printed in the cells.

    Raises: ValueError if values is not 2-D, or not of shape (len(row_labels), len(column_labels)).
    """
    array = to_array(values)
    check_shape("values", array, ("row_labels", row_labels), ("column_labels", column_labels))
    ax = ax or axes_for_map(array)
    limit = np.abs(array[np.isfinite(array)]).max(initial=0) or 1.0
    image = draw_map(ax, array, row_labels, column_labels, matplotlib.colormaps["RdBu"], -limit, limit)
    if max(array.shape) > PRINTED:
        ax.figure.colorbar(image, ax=ax, shrink=0.6)
    return ax


@matplotlib.rc_context(THEME)
def plot_amounts(values: Values, row_labels: Tokens, column_labels: Tokens, ax: Axes | None = None) -> Axes:
    """Draw a matrix of amounts in the colours of attention weights: paper is 0, amber the largest.

    Up to 8 × 8, the values are printed in the cells.

    Raises: ValueError if values is not 2-D, not of shape (len(row_labels), len(column_labels)), or not at least 0.
    """
    array = to_array(values)
    check_shape("values", array, ("row_labels", row_labels), ("column_labels", column_labels))
    if not (array >= 0).all():
        raise ValueError(f"amounts must be at least 0 (the smallest value is {array.min():g})")
    ax = ax or axes_for_map(array)
    image = draw_map(ax, array, row_labels, column_labels, AMOUNTS, 0.0, array.max() or 1.0)
    if max(array.shape) > PRINTED:
        ax.figure.colorbar(image, ax=ax, shrink=0.6)
    return ax


def axes_for_map(array: np.ndarray) -> Axes:
    """Return the axes of a new figure whose cells are about half an inch wide."""
    height, width = (min(max(1.2 + 0.5 * cells, 2.4), 6.4) for cells in array.shape)
    return figure(width, height)[1]


def draw_map(
    ax: Axes, array: np.ndarray, rows: Sequence, columns: Sequence, colours: Colormap, low: float, high: float
) -> AxesImage:
    """Draw cells with labels on both axes, those of columns on top, and with their values if there are few."""
    image = ax.imshow(array, cmap=colours.with_extremes(bad=NOTHING), vmin=low, vmax=high)
    every = -(-max(array.shape) // PARTED)
    named = [range(0, cells, every) for cells in array.shape]  # of the rows, of the columns
    rows, columns = ([label(names[i]) for i in of] for names, of in zip((rows, columns), named, strict=True))
    cell = min(ax.bbox.height / array.shape[0], ax.bbox.width / array.shape[1])  # as high as it is wide
    height, width = (room_of(names, every * cell * 72 / ax.figure.dpi) for names in (rows, columns))  # in points
    size = min(10, 0.8 * width)
    upright = max(map(len, columns)) * 0.65 * size > width
    ax.set_yticks(named[0], rows, parse_math=False, fontsize=min(10, 0.8 * height))
    ax.set_xticks(named[1], columns, parse_math=False, fontsize=size, rotation=90 if upright else 0)
    ax.xaxis.labelpad = ax.yaxis.labelpad = 10  # a name of the axis is not taken for one of its cells
    if every == 1:
        ax.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
        ax.grid(which="minor", color=PAPER["paper"], linewidth=1.5 if max(array.shape) <= PRINTED else 0.5)
    ax.tick_params(which="both", length=0, top=False, labeltop=True, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)
    hatch_nothing(ax, array)
    if max(array.shape) <= PRINTED:
        print_values(ax, array, image.to_rgba(np.ma.masked_invalid(array)))
    return image


def hatch_nothing(ax: Axes, array: np.ndarray) -> None:
    """Hatch cells that are not finite, as the views do: one patch for each run of such cells in a row."""
    for row, column in np.argwhere(~np.isfinite(array)):
        if column and not np.isfinite(array[row, column - 1]):
            continue
        after = np.flatnonzero(np.isfinite(array[row, column:]))
        width = after[0] if len(after) else array.shape[1] - column
        place = (column - 0.5, row - 0.5)
        ax.add_patch(Rectangle(place, width, 1, facecolor=NOTHING, hatch="///", linewidth=0, zorder=1.5))


def print_values(ax: Axes, array: np.ndarray, fills: np.ndarray) -> None:
    """Print the values as large as the cells allow; a digit is 0.64 of its size wide, and the point half as much."""
    values = {(row, column): f"{array[row, column]:z.2f}" for row, column in np.argwhere(np.isfinite(array))}
    cell = 72 / ax.figure.dpi * ax.bbox.width / array.shape[1]  # in points
    size = min(10, 0.86 * cell / (0.64 * max(map(len, values.values()), default=4) - 0.32))
    for (row, column), value in values.items():
        shade = readable_on(fills[row, column])
        ax.text(column, row, value, ha="center", va="center", color=shade, fontsize=size)


def room_of(labels: Sequence[str], apart: float) -> float:
    """The room for each of some labels at a given distance; a blank label leaves its room to its neighbours."""
    places = [i for i, name in enumerate(labels) if name]
    return apart * min(np.diff(places), default=len(labels))


def readable_on(colour: np.ndarray) -> str:
    """Choose black or white text, whichever contrasts more with the colour (WCAG 2 relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return "black" if np.dot(linear, (0.2126, 0.7152, 0.0722)) > 0.179 else "white"
