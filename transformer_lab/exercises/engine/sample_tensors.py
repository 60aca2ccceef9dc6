"""Small tensors to make cases of: the same on every machine, in every run."""

from math import prod

import torch
from torch import Tensor


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers; the seed follows from the shape, and from nothing that ran before."""
    seed = int("".join(map(str, shape)))
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed), dtype=dtype, device="cpu")


def counting(*shape: int) -> Tensor:
    """0, 1, 2, … in the given shape: numbers that a reader can follow."""
    return torch.arange(prod(shape), dtype=torch.float32, device="cpu").reshape(shape)
