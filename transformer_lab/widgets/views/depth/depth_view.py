"""Activations and gradients in deep stacks: the norms on the way up and on the way down, layer by layer."""

from collections.abc import Mapping

import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from torch import Tensor

from transformer_lab.plots.checks import Values, check_positive, label, to_tensor
from transformer_lab.plots.picture import INK, PAPER, bare
from transformer_lab.widgets.shared.view import View

MOST_KINDS = 6
DARK_TO_AMBER = LinearSegmentedColormap.from_list("lit", [INK, PAPER["amber"]])

Norms = tuple[Values, Values]  # of activations and of gradients, both (layers + 1,)


def depth(sweep: Mapping[str, Mapping[int, Norms]]) -> View:
    """Explore norms by layer in stacks of several depths: sweep[kind][layers] is from `analysis.norms_by_layer`.

    Of a stack with residuals, the activations are the residual stream. All axes of norms are logarithmic.

    Raises:
        ValueError: there is no kind, or there are more than 6; the kinds differ in their depths, or these do not rise
            from 1 on; there is not one norm for each state; a norm is not a number above 0.
    """
    if not 1 <= len(sweep) <= MOST_KINDS:
        raise ValueError(f"there must be 1 to {MOST_KINDS} kinds of stacks (got {len(sweep)})")
    depths = list(next(iter(sweep.values())))
    if not depths or depths[0] < 1 or depths != sorted(depths):
        raise ValueError(f"the depths must rise, from 1 layer on (they are {depths})")
    norms = {kind: as_shown(kind, by_depth, depths) for kind, by_depth in sweep.items()}
    reach = {kind: [down[0].item() for _, down in pairs] for kind, pairs in norms.items()}
    state = {"depths": depths, "kinds": list(sweep), "norms": list(norms.values())}
    return View("depth", state, summary(reach, depths), lambda: fallback(norms))


def as_shown(kind: str, by_depth: Mapping[int, Norms], depths: list[int]) -> list[tuple[Tensor, Tensor]]:
    """The norms of one kind as they are sent, by depth; refuses values that a logarithmic axis can't show."""
    if list(by_depth) != depths:
        raise ValueError(f"all kinds must have the same depths ({kind!r} has {list(by_depth)}, the first has {depths})")
    pairs = []
    for layers, (up, down) in by_depth.items():
        up, down = (to_tensor(part).detach().cpu().float() for part in (up, down))
        if not up.shape == down.shape == (layers + 1,):
            shapes = f"{tuple(up.shape)} and {tuple(down.shape)}"
            raise ValueError(f"{layers} layers must have two times {layers + 1} norms ({kind!r} has shapes {shapes})")
        if not (up.isfinite().all() and down.isfinite().all()):
            raise ValueError(f"norms must be finite ({kind!r} has one that is not)")
        check_positive(True, "a logarithmic axis", {kind: torch.cat([up, down]).numpy()})
        pairs.append((up, down))
    return pairs


def fallback(norms: Mapping[str, list[tuple[Tensor, Tensor]]]) -> Axes:
    """A tower of the deepest stack of each kind: activations at its left, at its right the gradient on the stairs."""
    ups, downs = ([pairs[-1][part].log10() for pairs in norms.values()] for part in (0, 1))
    ax, layers = bare(len(norms), max(4.0, 2.6 * len(norms)), 3.8), len(ups[0]) - 1
    # the scales begin and end at a power of ten that no depth leaves
    low, high = zip(
        *(scale([pair[part] for pairs in norms.values() for pair in pairs]) for part in (0, 1)), strict=True
    )
    for k, (name, up, down) in enumerate(zip(norms, ups, downs, strict=True)):
        left, right, storey = k + 0.36, k + 0.64, 1 / layers
        long = ((up - low[0]) / (high[0] - low[0])).clamp(0, 1).tolist()
        thick = ((down - low[1]) / (high[1] - low[1])).clamp(0, 1).tolist()
        for i in range(layers + 1):
            y = i * storey
            if i:
                corner, edge = (left, y - storey), PAPER["edge"]
                floor = Rectangle(corner, right - left, storey, facecolor=PAPER["slab"], edgecolor=edge, linewidth=0.6)
                ax.add_patch(floor)
                lit = DARK_TO_AMBER(thick[i])
                for window in range(4):
                    place = (left + 0.03 + 0.06 * window, y - 0.75 * storey)
                    ax.add_patch(Rectangle(place, 0.04, 0.5 * storey, facecolor=lit))
            ax.add_patch(
                Rectangle(
                    (left - 0.03 - 0.28 * long[i], y - 0.2 * storey),
                    0.28 * long[i],
                    0.4 * storey,
                    facecolor=PAPER["thread"],
                )
            )
            step, high_ = 0.24 / layers, max(0.9 * thick[i], 0.04) * storey
            place = (right + 0.03 + step * (layers - i), y - high_ / 2)
            ax.add_patch(Rectangle(place, step + 0.02, high_, facecolor=PAPER["amber"], edgecolor=PAPER["amber-edge"]))
        ax.text(k + 0.5, 1.16, label(name), ha="center", weight="bold", parse_math=False)
        ax.text(left - 0.03, 1.05, "activations", ha="right", fontsize=8, color=PAPER["soft"])
        ax.text(right + 0.03, 1.05, "gradient", fontsize=8, color=PAPER["soft"])
        ax.text(k + 0.5, -0.06, f"arrives: {10 ** down[0].item():.1g}", ha="center", va="top", fontsize=9)
    ax.set_ylim(-0.16, 1.24)
    return ax


def scale(values: list[Tensor]) -> tuple[float, float]:
    """The powers of ten around all values."""
    logs = torch.cat(values).log10()
    return logs.min().floor().item(), max(logs.max().ceil().item(), logs.min().floor().item() + 1)


def summary(reach: Mapping[str, list[float]], depths: list[int]) -> str:
    """A one-line summary of whether a gradient gets through, without anything that varies between machines."""
    arrives = [f"{'above' if down[-1] >= 0.01 else 'below'} 0.01 in {kind}" for kind, down in reach.items()]
    stacks = f"stacks of {depths[0]} to {depths[-1]} layers: through all {depths[-1]}"
    return f"Norms by layer in {stacks}, the share of the gradient that arrives is {', '.join(arrives)}."
