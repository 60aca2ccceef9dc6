"""What the tests share: tensors on the device under test, comparisons, weights shared with torch, error texts."""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from transformer_lab import default_device
from transformer_lab.weights.torch_nn import copy_from_torch, copy_to_torch

DEVICE = default_device()

no_float64 = pytest.mark.skipif(DEVICE.type == "mps", reason="MPS has no float64")

# Parametrisations that several files use.
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
each_half = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
each_precision = pytest.mark.parametrize(
    ("dtype", "within"),
    [
        pytest.param(torch.float32, 1e-6, id="float32"),
        pytest.param(torch.float64, 1e-12, id="float64", marks=no_float64),
    ],
)
each_kernel = pytest.mark.parametrize("need_weights", [True, False], ids=["explicit", "fused"])
each_direction = pytest.mark.parametrize("to_torch", [True, False], ids=["ours to torch", "torch to ours"])


def tensor(values: list, dtype: torch.dtype | None = None) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=DEVICE)


def randn(*shape: int, dtype: torch.dtype = torch.float32, requires_grad: bool = False) -> Tensor:
    return torch.randn(shape, dtype=dtype, device=DEVICE).requires_grad_(requires_grad)


def random_mask(*shape: int) -> Tensor:
    """About half of it True; every query may attend to two keys or more."""
    mask = torch.rand(shape, device=DEVICE) < 0.5
    mask[..., 1:3] = True
    return mask


def assert_close(
    actual: Tensor | tuple[Tensor, ...], expected: Tensor | tuple[Tensor, ...] | list, within=1e-6
) -> None:
    """No element is further off than `within`, times the largest element if that is above 1.

    A GPU adds up in another order and gets ten times as much.
    """
    if isinstance(actual, tuple):
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, within)
        return
    if isinstance(expected, list):
        expected = torch.tensor(expected, dtype=actual.dtype, device=actual.device)
    allowed = within * max(1.0, expected.abs().max().item()) * (1 if DEVICE.type == "cpu" else 10)
    torch.testing.assert_close(actual, expected, atol=allowed, rtol=0)


def assert_each_differs(actual: Tensor, other: Tensor, by: float = 1e-4) -> None:
    """Each vector along the last axis differs from its counterpart."""
    assert ((actual - other).abs().amax(dim=-1) > by).all()


def gradients(output: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """The gradient of a weighted sum of the output. All weights differ: the gradient of a plain sum hides much."""
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype, device=output.device)
    return torch.autograd.grad(output, inputs, grad_outputs=weights.view_as(output))


@torch.no_grad()
def scramble(module: nn.Module) -> None:
    """Noise on every parameter: biases that start at 0 and norms that start at 1 would hide a mix-up."""
    for parameter in module.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))


def share_weights(ours: nn.Module, theirs: nn.Module, to_torch: bool) -> None:
    """Scramble both modules, then copy the weights of one into the other."""
    scramble(ours)
    scramble(theirs)
    if to_torch:
        copy_to_torch(ours, theirs)
    else:
        copy_from_torch(theirs, ours)


@contextmanager
def without_signature_checks() -> Iterator[None]:
    """The package as users have it: the checks of types and shapes are pytest's alone."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@contextmanager
def refuses(message: str) -> Iterator[None]:
    """The block raises a ValueError with this text, in users' hands too."""
    with without_signature_checks(), pytest.raises(ValueError, match=re.escape(message)):
        yield


def hugging_face(name: str) -> type:
    """A class of transformers, whose import takes seconds: collecting the tests need not wait for it."""
    return getattr(importlib.import_module("transformers"), name)
