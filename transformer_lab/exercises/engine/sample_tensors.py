"""Small tensors for cases, which are the same on every machine and in every run."""

from math import prod

import torch
from torch import Tensor


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers, whose seed depends on the shape alone, and not on what ran before."""
    seed = int("".join(map(str, shape)))
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed), dtype=dtype, device="cpu")


def counting(*shape: int) -> Tensor:
    """The numbers 0, 1, 2, … in the given shape, which a reader can follow."""
    return torch.arange(prod(shape), dtype=torch.float32, device="cpu").reshape(shape)
