"""Tools to draw hidden cases with: numbers, choices, sizes and tensors, all from the generator that is passed in."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Generator, Tensor

T = TypeVar("T")
Arguments = dict[str, Any]  # of a case
CaseGenerator = Callable[[Generator], Arguments]


def number(generator: Generator, low: int, high: int) -> int:
    """A random integer from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def pick(generator: Generator, *choices: T) -> T:
    return choices[number(generator, 0, len(choices) - 1)]


def several(generator: Generator, count: int, *choices: T) -> list[T]:
    """`count` of the choices at random, without repetition."""
    return [choices[i] for i in torch.randperm(len(choices), generator=generator)[:count]]


def sizes(generator: Generator, count: int, most: int = 6) -> list[int]:
    """Random sizes for a number of axes."""
    return [number(generator, 1, most) for _ in range(count)]


def leading(generator: Generator, most: int = 3) -> list[int]:
    """Random sizes for a few leading axes, such as batch and heads."""
    return sizes(generator, number(generator, 0, most), most=3)


def floats(generator: Generator, *dtypes: torch.dtype) -> Callable[..., Tensor]:
    """A function that draws standard normal tensors of one type, which are sometimes not contiguous."""
    dtype = pick(generator, *(dtypes or (torch.float32, torch.float64)))

    def normal(*shape: int) -> Tensor:
        swapped = len(shape) > 1 and number(generator, 0, 2) == 0
        stored = (*shape[:-2], shape[-1], shape[-2]) if swapped else shape
        x = torch.randn(stored, generator=generator, dtype=dtype, device="cpu")
        return x.mT if swapped else x

    return normal


def tokens(generator: Generator, vocabulary: int = 50) -> Tensor:
    """A few sequences of token ids, counted from 1, each padded on the right with 0."""
    rows, length = number(generator, 2, 5), number(generator, 3, 9)
    ids = torch.randint(1, vocabulary, (rows, length), generator=generator, device="cpu")
    lengths = torch.randint(1, length + 1, (rows, 1), generator=generator, device="cpu")
    return ids.masked_fill(torch.arange(length, device="cpu") >= lengths, 0)


def mask(generator: Generator, *shape: int) -> Tensor:
    """A random mask in which about two of three entries are True."""
    return torch.rand(shape, generator=generator, device="cpu") < 2 / 3
