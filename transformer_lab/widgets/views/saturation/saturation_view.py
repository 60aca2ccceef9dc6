"""Softmax saturation: how eight weights and their gradient change as queries and keys get wider."""

from copy import copy

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor

from transformer_lab.analysis import softmax_jacobian
from transformer_lab.plots.checks import Values, to_tensor
from transformer_lab.plots.picture import INK, PAPER, bare
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
    scale = torch.tensor(WIDTHS, dtype=torch.float64, device="cpu").rsqrt()[:, None, None]
    medians = [jacobian_norm(s.softmax(dim=-1)).median(dim=-1) for s in (scores, scores * scale)]
    typical = scores[:, medians[0].indices[-1]]  # (widths, S)
    state = {"scores": typical, "norms": [median.values for median in medians], "widths": WIDTHS}
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
    """Tubes of water: the weights at the largest width without the scale, and as dashed lines those with it."""
    water, other = (groups[name].tolist() for name in ("without scale", "with scale"))
    ax = bare(len(water), 6.4, 3.2)
    for i, (weight, level) in enumerate(zip(water, other, strict=True)):
        tube = FancyBboxPatch((i + 0.22, 0), 0.56, 1, "round,pad=0,rounding_size=0.1", facecolor=PAPER["slab"])
        fill = Rectangle((i + 0.22, 0), 0.56, weight, facecolor=PAPER["amber"], edgecolor=PAPER["amber-edge"])
        ax.add_patch(tube)
        ax.add_patch(fill).set_clip_path(tube)
        ax.add_patch(copy(tube)).set(facecolor="none", edgecolor=PAPER["edge"], linewidth=1.2)
        ax.plot([i + 0.14, i + 0.86], [level, level], color=INK, linestyle=(0, (3, 2)), linewidth=1.2)
        ax.text(i + 0.5, -0.06, f"{weight:.2f}", ha="center", va="top", weight="bold" if weight > 0.5 else "normal")
        ax.text(i + 0.5, -0.16, f"key {i + 1}", ha="center", va="top", fontsize=8, color=PAPER["soft"])
    ax.set_title("water: softmax(q·k); dashed: the same scores ÷ √d_k", loc="left", fontsize=10)
    ax.set_ylim(-0.26, 1.02)
    return ax
