"""What the tests of training share."""

import torch
from torch import nn

from transformer_lab.training import Training


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def advanced(training: Training, until: int) -> Training:
    for _ in training.run(until):
        pass
    return training
