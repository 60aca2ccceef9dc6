"""Training several copies of a small model in one loop, because the result of a single run may be luck."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Tensors = dict[str, Tensor]


def train_side_by_side(
    build: Callable[[], nn.Module],
    batch: Callable[[], tuple[Tensor, Tensor]],
    steps: int,
    rate: float,
) -> tuple[Tensor, Tensor]:
    """Train one copy of a model for each first index of a batch, with no interaction between the copies.

    `build` makes a model, which returns logits `(B, T, classes)` and whatever else it wants to be known. `batch` draws
    its inputs and the right classes, both with the axis of the copies in front: `(copies, B, …)` and `(copies, B, T)`.
    The copies differ in their random weights and in what they read. `stack_module_state` gives each weight that axis,
    too, and `vmap` runs the model once for each index along it, which takes little longer than a single run where
    models are small.

    Returns:
        The losses, `(steps, copies)`, and what else the models returned in the last step, `(copies, …)`.
    """
    copies = len(batch()[0])
    models = [build() for _ in range(copies)]
    weights, buffers = torch.func.stack_module_state(models)

    def run(weights: Tensors, buffers: Tensors, inputs: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        logits, more = torch.func.functional_call(models[0], (weights, buffers), (inputs,))
        return F.cross_entropy(logits.flatten(0, 1), classes.flatten()), more

    optimizer, history = torch.optim.Adam(weights.values(), lr=rate, fused=True), []
    for _ in range(steps):
        losses, more = torch.func.vmap(run)(weights, buffers, *batch())
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        history.append(losses.detach())
    return torch.stack(history), more.detach()
