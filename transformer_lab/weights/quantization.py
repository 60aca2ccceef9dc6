"""Weights in 8 bits: whole numbers from -127 to 127, and for each row of a matrix a scale."""

from collections.abc import Callable
from copy import deepcopy
from typing import TypeVar

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from transformer_lab.checks import check_least

Model = TypeVar("Model", bound=nn.Module)


def whole_numbers(
    matrix: Float[Tensor, "rows columns"], bits: int = 8
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, " rows"]]:
    """Whole numbers of so many bits, and what one of them is worth in each row: matrix ≈ whole · scale[:, None].

    scale = max |w| of a row / (2^(bits - 1) - 1), so that no weight is off by more than scale / 2        ("absmax")

    Raises:
        ValueError: bits is below 2 or above 8.
    """
    check_least(2, bits=bits)
    if bits > 8:
        raise ValueError(f"bits ({bits}) must be at most 8")
    matrix = matrix.detach().float()
    largest = 2 ** (bits - 1) - 1  # as far from 0 to both sides
    scale = matrix.abs().amax(dim=1) / largest  # (rows,)
    return steps(matrix, scale), scale


def steps(matrix: Float[Tensor, "rows columns"], scale: Float[Tensor, " rows"]) -> Int8[Tensor, "rows columns"]:
    """How many times the scale of its row each number is, to the nearest; none in a row of zeros."""
    return (matrix / scale.where(scale > 0, 1.0)[:, None]).round().to(torch.int8)


def rounded(model: Model, bits: int = 8) -> Model:
    """A copy of the model whose matrices are those of whole numbers; norms and biases stay as they are."""
    return in_whole_numbers(model, lambda matrix: whole_numbers(matrix, bits))


def in_whole_numbers(model: Model, whole_numbers: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Model:
    """A copy of the model with what remains of each matrix in whole numbers and scales."""
    copy = deepcopy(model)
    with torch.no_grad():
        for parameter in copy.parameters():
            if parameter.ndim == 2:
                whole, scale = whole_numbers(parameter)
                parameter.copy_(whole * scale[:, None])  # (rows, columns) · (rows, 1)
    return copy


def weight_bytes(model: nn.Module, bits: int | None = None) -> int:
    """Bytes of a model's weights as they are, or with its matrices in so many bits and their scales in float32.

    A weight that is used twice counts once.
    """
    total = 0
    for parameter in model.parameters():
        if bits is None or parameter.ndim != 2:
            total += parameter.numel() * parameter.element_size()
        else:
            total += (parameter.numel() * bits + 7) // 8 + 4 * len(parameter)
    return total
