"""A shift of positions as a rotation, one arrow per frequency; and rotary positions, where two rotations meet."""

import torch
from matplotlib.figure import Figure
from torch import Tensor

from transformer_lab.nn.positions import rotate, shift_matrix, sinusoidal_encoding
from transformer_lab.plots.checks import Values, to_tensor
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.shift.shift_picture import draw_rope, draw_shift

WIDEST = 16
TABS = ("shift", "RoPE")
POSITION, OFFSET = 3, 5  # where the view starts, and how far it shifts
QUERY, KEY = 12, 5  # where query and key stand at first in the second tab


def shift(query: Values, key: Values, tab: str = "shift") -> View:
    """Rotate an encoding by an offset, M_k PE(p) = PE(p + k); and, in a second tab, query and key by their positions.

    query and key (d_head,), with an even d_head, which is the d_model of the encoding, too; `tab`, shift or RoPE, is
    the one that shows first. The rotation of a shift is clockwise, that of RoPE counter-clockwise (there a row is
    multiplied by the matrix from the right).

    Raises:
        ValueError: query or key is not 1-D or not finite, they differ in length, their length is odd or above 16, or
            there is no such tab.
    """
    query, key = (to_tensor(x).detach().cpu().double() for x in (query, key))
    if query.ndim != 1 or query.shape != key.shape:
        shapes = f"{tuple(query.shape)} and {tuple(key.shape)}"
        raise ValueError(f"query and key must be vectors of the same length (their shapes are {shapes})")
    d_head = len(query)
    if d_head % 2 or not 2 <= d_head <= WIDEST:
        raise ValueError(f"query and key must have an even number of features, 2 to {WIDEST} (they have {d_head})")
    if not (query.isfinite().all() and key.isfinite().all()):
        raise ValueError("query and key must be finite")
    if tab not in TABS:
        raise ValueError(f"tab must be one of {', '.join(TABS)} (got {tab})")
    state = {"query": query, "key": key, "tab": tab, "position": POSITION, "offset": OFFSET}
    state |= {"places": [QUERY, KEY]}
    return View("shift", state, summary(query, key), lambda: drawn(query, key, tab))


def drawn(query: Tensor, key: Tensor, tab: str) -> Figure:
    """The picture of what the tab shows at first."""
    return draw_shift(len(query), POSITION, OFFSET) if tab == "shift" else draw_rope(query, key, QUERY, KEY)


def summary(query: Tensor, key: Tensor) -> str:
    """A one-line summary of the view."""
    _, after, there = step(len(query))
    same = torch.allclose(after, there, atol=1e-6)
    near, far = score(query, key, OFFSET), score(query, key, OFFSET, start=100)
    equal = abs(near - far) < 1e-6 * (1 + abs(near))
    return (
        f"Shift as a rotation of {len(query) // 2} arrows: "
        f"M_{OFFSET} PE({POSITION}) = PE({POSITION + OFFSET}): {same}. "
        f"RoPE: the same score {OFFSET} positions apart from 0 and from 100: {equal}."
    )


def step(d_model: int) -> tuple[Tensor, Tensor, Tensor]:
    """PE(p), M_k PE(p) and PE(p + k) at the start of the view."""
    table = sinusoidal_encoding(POSITION + OFFSET + 1, d_model, "cpu")
    return table[POSITION], shift_matrix(OFFSET, d_model, "cpu") @ table[POSITION], table[POSITION + OFFSET]


def score(query: Tensor, key: Tensor, offset: int, start: int = 0) -> float:
    """The dot product of a query and a key rotated by rotary positions; the key has position `start`."""
    return torch.dot(*turned(query, key, offset, start)).item()


def turned(query: Tensor, key: Tensor, offset: int, start: int) -> tuple[Tensor, Tensor]:
    """A query rotated to position `start` + `offset`, and a key rotated to `start`."""
    return rotate(query[None], start + offset)[0], rotate(key[None], start)[0]
