"""Activations and gradients in deep stacks: the norms on the way up and on the way down, layer by layer."""

from collections.abc import Mapping

import torch
from matplotlib.axes import Axes
from torch import Tensor

from transformer_lab.plots import plot_lines
from transformer_lab.plots.checks import Values, check_positive, to_tensor
from transformer_lab.widgets.shared.view import View

MOST_KINDS = 6

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
    return View("depth", state, summary(reach, depths), lambda: fallback(reach, depths))


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


def fallback(reach: Mapping[str, list[float]], depths: list[int]) -> Axes:
    """A plot of how much of the gradient reaches the first layer, by depth."""
    return plot_lines(depths, reach, x_label="number of layers", y_label="gradient at the first layer", log_y=True)


def summary(reach: Mapping[str, list[float]], depths: list[int]) -> str:
    """A one-line summary of whether a gradient gets through, without anything that varies between machines."""
    arrives = [f"{'above' if down[-1] >= 0.01 else 'below'} 0.01 in {kind}" for kind, down in reach.items()]
    stacks = f"stacks of {depths[0]} to {depths[-1]} layers: through all {depths[-1]}"
    return f"Norms by layer in {stacks}, the share of the gradient that arrives is {', '.join(arrives)}."
