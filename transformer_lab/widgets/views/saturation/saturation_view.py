"""Softmax saturation: how eight weights and their gradient change as queries and keys get wider."""

import torch
from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.analysis import softmax_jacobian
from transformer_lab.plots import plot_bars
from transformer_lab.plots.checks import Values, to_tensor
from transformer_lab.widgets.shared.view import View

WIDTHS = sorted({round(2 ** (step / 4)) for step in range(41)})  # 1 to 1024, four steps to an octave


def saturation(query: Values, key: Values) -> View:
    """Explore softmax(q·k) and softmax(q·k / √d_k) for the first d_k features of each query and key.

    query (T, 1024), key (S, 1024), for instance standard normal numbers. The curves show the median norm of the
    Jacobian over the queries; the bars, the weights of the query that is the median at d_k = 1024 without the scale.

    Raises:
        ValueError: query or key is not that wide or not finite, or there are more than 16 keys.
    """
    query, key, widest = to_tensor(query), to_tensor(key), WIDTHS[-1]
    for name, x in (("query", query), ("key", key)):
        if x.ndim != 2 or x.size(1) != widest:
            raise ValueError(f"{name} must have the shape (rows, {widest}) (its shape is {tuple(x.shape)})")
        if not x.isfinite().all():
            raise ValueError(f"{name} must be finite")
    if not (len(query) and 1 <= len(key) <= 16):
        raise ValueError(f"there must be at least 1 query, and 1 to 16 keys (got {len(query)} and {len(key)})")
    q, k = query.detach().cpu().double(), key.detach().cpu().double()
    scores = torch.stack([q[:, :width] @ k[:, :width].T for width in WIDTHS])  # (widths, T, S)
    scale = torch.tensor(WIDTHS, dtype=torch.float64).rsqrt()[:, None, None]
    medians = [jacobian_norm(s.softmax(dim=-1)).median(dim=-1) for s in (scores, scores * scale)]
    typical = scores[:, medians[0].indices[-1]]  # (widths, S)
    state = {"scores": typical, "norms": [median.values for median in medians], "widths": WIDTHS}
    # "with" comes first, here and in the page, and so has its colour in both
    groups = {"with scale": (typical[-1] / widest**0.5).softmax(0), "without scale": typical[-1].softmax(0)}
    return View("saturation", state | {"at": len(WIDTHS) - 1}, summary(groups), lambda: fallback(groups))


def jacobian_norm(p: Tensor) -> Tensor:
    """Frobenius norm of diag(p) - p pᵀ for each row of weights."""
    return torch.linalg.matrix_norm(softmax_jacobian(p))


def summary(groups: dict[str, Tensor]) -> str:
    """A one-line summary of how large the largest weights are."""
    largest = [f"{groups[name].max().item():.2f} {name}" for name in ("without scale", "with scale")]
    n = len(groups["with scale"])
    return f"Softmax of {n} scores at d_k = {WIDTHS[-1]}: the largest weight is {', '.join(largest)}."


def fallback(groups: dict[str, Tensor]) -> Axes:
    """A plot of the weights at the largest width, with and without the scale."""
    n = len(groups["with scale"])
    return plot_bars(groups, [f"key {i}" for i in range(1, n + 1)], y_label="weight")
