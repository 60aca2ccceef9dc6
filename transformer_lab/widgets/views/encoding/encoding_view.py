"""An interactive positional encoding: the table, its waves, and the similarity of two positions."""

import math

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from transformer_lab.nn.positions import frequencies, sinusoidal_encoding
from transformer_lab.plots import plot_matrix
from transformer_lab.plots.checks import Values, to_tensor
from transformer_lab.plots.picture import INK, PAPER, THEME
from transformer_lab.widgets.shared.view import View

LONGEST, WIDEST = 256, 128
CLOCKS = 16  # in the picture
NAMED = 8  # in the picture, every so many rows and columns have a name


def encoding(table: Values | tuple[int, int]) -> View:
    """Explore a table of positions (length, d_model): its map, the curves of a pair of features, and dot products.

    The size alone, (length, d_model), stands for the sinusoidal encoding (§3.5). Any other table may be given, such as
    learned positions; wavelengths are shown only where its waves are those of §3.5.

    Raises:
        ValueError: the table is not 2-D or not finite, its d_model is odd, or it is too small or too large to draw.
    """
    given = None if isinstance(table, tuple) else to_tensor(table)
    shape = tuple(table) if given is None else tuple(given.shape)
    if len(shape) != 2:
        raise ValueError(f"an encoding must have the shape (length, d_model) (its shape is {shape})")
    length, d_model = shape
    if not (2 <= length <= LONGEST and 2 <= d_model <= WIDEST):
        raise ValueError(
            f"an encoding may have 2 to {LONGEST} positions and 2 to {WIDEST} features (its shape is {shape}); "
            f"show a part, as in table[:{LONGEST}, :{WIDEST}]"
        )
    sinusoids = sinusoidal_encoding(length, d_model, "cpu", torch.float64)  # refuses an odd d_model
    own = sinusoids if given is None else given.detach().cpu().double()
    if not own.isfinite().all():
        row, column = (~own.isfinite()).nonzero()[0].tolist()
        raise ValueError(f"an encoding must be finite (position {row}, feature {column} is {own[row, column]})")
    waves = torch.allclose(own, sinusoids, atol=1e-3)
    state = {"shape": list(shape), "waves": waves, "table": own if own is not sinusoids else None}
    drawn = own.clone()
    return View("encoding", state, summary(own, waves), lambda: fallback(drawn))


def wavelengths(d_model: int) -> Tensor:
    """The wavelength of each pair of features, in positions: 2π / ω_i = 2π · 10000^(2i / d_model) (§3.5)."""
    return 2 * math.pi / frequencies(d_model)


def summary(table: Tensor, waves: bool) -> str:
    """A one-line summary of the view."""
    length, d_model = table.shape
    near, far = (table[0] @ table[1]).item(), (table[0] @ table[-1]).item()
    alike = f"the dot product of position 0 with 1 is {near:z.2f}, with {length - 1} it is {far:z.2f}"
    if not waves:
        return f"Encoding of {length} positions in {d_model} features of its own: {alike}."
    first, last = wavelengths(d_model)[[0, -1]].tolist()
    long = (
        f"waves from {first:.1f} to {last:,.1f} positions long" if d_model > 2 else f"a wave {first:.1f} positions long"
    )
    return f"Sinusoidal encoding of {length} positions in {d_model} features: {long}; {alike}."


def fallback(table: Tensor) -> Figure:
    """Draw the clocks at the middle position, and the table on its side, with positions to the right."""
    length, d_model = table.shape
    positions, features = ([str(i) if i % NAMED == 0 else "" for i in range(n)] for n in (length, d_model))
    with matplotlib.rc_context(THEME):
        height = min(1.6 + 5.6 * d_model / length, 5)
        drawing = Figure(figsize=(7.4, height + 1.1), layout="constrained")
        upper, lower = drawing.subplots(2, 1, height_ratios=[1.1, height])
        clocks(upper, table[length // 2].reshape(-1, 2)[:CLOCKS] / table.abs().max().clamp_min(1e-9))
        upper.set_title(f"position {length // 2}: a clock for each pair of features", loc="left", fontsize=10)
    plot_matrix(table.T, features, positions, ax=lower)
    lower.set(xlabel="position", ylabel="feature")
    return drawing


def clocks(ax: Axes, hands: Tensor) -> None:
    """A clock for each pair, whose hand points along its two features: sine to the right, cosine up."""
    ax.set_axis_off()
    ax.plot([0, 2.4 * (len(hands) - 1)], [-1.3, -1.3], color=PAPER["thread"], linewidth=2)
    for i, (sine, cosine) in enumerate(hands.tolist()):
        ax.plot([2.4 * i] * 2, [-1.3, -1], color=PAPER["thread"], linewidth=2)
        ax.add_patch(Circle((2.4 * i, 0), 1, facecolor=PAPER["paper"], edgecolor=INK if i == 0 else PAPER["edge"]))
        ax.plot([2.4 * i, 2.4 * i + 0.8 * sine], [0, 0.8 * cosine], color=INK, linewidth=2)
        ax.text(2.4 * i, -1.5, f"{i}", ha="center", va="top", fontsize=8)
    ax.set(xlim=(-1.2, 2.4 * (CLOCKS - 1) + 1.2), ylim=(-2.2, 1.1), aspect="equal")
