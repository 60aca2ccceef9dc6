"""Changes of a whole tensor that turn a right result into a wrong one: a sign, an axis, an offset of one."""

from collections.abc import Callable

import torch
from torch import Tensor

TensorChange = Callable[[Tensor], Tensor | None]  # from what should be to what is given; None where that makes no sense


def swapped(one: int, other: int) -> TensorChange:
    return lambda x: x.transpose(one, other) if x.ndim > max(one, other, -one - 1, -other - 1) else None


def flipped(axis: int) -> TensorChange:
    return lambda x: x.flip(axis) if x.ndim > (axis if axis >= 0 else -axis - 1) else None


def rolled(axis: int, by: int) -> TensorChange:
    return lambda x: x.roll(by, axis) if x.ndim > (axis if axis >= 0 else -axis - 1) else None


def numbers_only(change: TensorChange) -> TensorChange:
    return lambda x: change(x) if x.is_floating_point() else None


def additive(hidden: Tensor) -> Tensor | None:
    return torch.zeros(hidden.shape).masked_fill(hidden, float("-inf")) if hidden.dtype == torch.bool else None


TENSOR_CHANGES: dict[str, TensorChange] = {
    "its sign is flipped": numbers_only(lambda x: -x),
    "True and False are swapped": lambda x: ~x if x.dtype == torch.bool else None,
    "it is made to be added to scores, 0 and -inf, where True and False are asked for": lambda x: (
        additive(~x) if x.dtype == torch.bool else None
    ),
    "it is made to be added to scores, and hides what may be seen": lambda x: additive(x),
    "0 stands where -inf belongs": numbers_only(lambda x: x.masked_fill(x == -torch.inf, 0.0)),
    "-1e9 stands where -inf belongs": numbers_only(lambda x: x.masked_fill(x == -torch.inf, -1e9)),
    "its last two axes are swapped": swapped(-1, -2),
    "its axes 1 and 2 are swapped": swapped(1, 2),
    "its axes 0 and 1 are swapped": swapped(0, 1),
    "its last axis runs backwards": flipped(-1),
    "its second-last axis runs backwards": flipped(-2),
    "its axis 1 runs backwards": flipped(1),
    "everything is moved by one place along the last axis": rolled(-1, 1),
    "everything is moved back by one place along the last axis": rolled(-1, -1),
    "everything is moved by one place along the second-last axis": rolled(-2, 1),
    "everything is moved back by one place along the second-last axis": rolled(-2, -1),
    "it is squared": numbers_only(lambda x: x.square()),
    "it lacks a square: the root of what it should be is returned": numbers_only(lambda x: x.sqrt()),
    "the exponential of it is returned": numbers_only(lambda x: x.exp()),
    "the logarithm of it is returned": numbers_only(lambda x: x.log()),
    "1 minus what it should be is returned": numbers_only(lambda x: 1 - x),
    "its reciprocal is returned": numbers_only(lambda x: 1 / x),
    "it goes through one more softmax": numbers_only(lambda x: x.softmax(-1) if x.ndim else None),
    "it is averaged over the first axis": numbers_only(lambda x: x.mean(0) if x.ndim else None),
    "it is summed over the last axis": numbers_only(lambda x: x.sum(-1) if x.ndim else None),
}
