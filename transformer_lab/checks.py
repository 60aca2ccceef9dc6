"""Checks of arguments that several modules share. Each error states the rule, then the fact.

A check reads types and sizes, never a number in a tensor: the processor would have to wait for the GPU.
"""

from numbers import Integral, Real

import torch
from torch import Tensor

WHOLE = (torch.int64, torch.int32)  # what ids of tokens may be
SMALLEST, LARGEST = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max  # what float32 can divide by


def check_vectors(name: str, x: Tensor, d_model: int, length: str = "T") -> None:
    """Raise a ValueError unless `x` has the shape (B, length, d_model) and a floating-point type."""
    if not isinstance(x, Tensor) or x.ndim != 3 or x.size(-1) != d_model or not x.is_floating_point():
        rule = f"{name} must be floating-point numbers of shape (B, {length}, {d_model})"
        raise ValueError(f"{rule} (got {described(x)})")


def check_tokens(name: str, tokens: Tensor) -> None:
    """Raise a ValueError unless `tokens` has the shape (B, T) and an integer type."""
    if not isinstance(tokens, Tensor) or tokens.ndim != 2 or tokens.dtype not in WHOLE:
        raise ValueError(f"{name} must be token ids, torch.int64 or int32, of shape (B, T) (got {described(tokens)})")


def check_text(name: str, tokens: Tensor, least: int) -> None:
    """Raise a ValueError unless `tokens` has the shape (n,) and an integer type, and n is at least `least`."""
    if not isinstance(tokens, Tensor) or tokens.ndim != 1 or tokens.dtype not in WHOLE or len(tokens) < least:
        rule = f"{name} must be token ids, torch.int64 or int32, of shape (n,) with n at least {least}"
        raise ValueError(f"{rule} (got {described(tokens)})")


def check_targets(logits: Tensor, name: str, targets: Tensor, pad_id: int) -> None:
    """Raise a ValueError unless the targets are (B, T) token ids and the logits are (B, T, vocab)."""
    check_tokens(name, targets)
    check_whole(pad_id=pad_id)
    check_floats("logits", logits, 3)
    if logits.shape[:-1] != targets.shape:
        shapes = f"{tuple(logits.shape)}, {tuple(targets.shape)}"
        raise ValueError(f"logits must have the shape (B, T, vocab), and {name} (B, T) (got {shapes})")


def check_floats(name: str, x: Tensor, least_axes: int = 0) -> None:
    """Raise a ValueError unless `x` has a floating-point type and at least this many axes."""
    if not isinstance(x, Tensor) or x.ndim < least_axes or not x.is_floating_point():
        rule = f"must be floating-point numbers of {least_axes} axes or more"
        raise ValueError(f"{name} {rule} (got {described(x)})")


def check_boolean(mask: Tensor) -> None:
    """Raise a ValueError unless the mask is boolean."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise ValueError(f"a mask must be torch.bool, True = may attend (got {described(mask)})")


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless `mask` is boolean and broadcasts to `shape`, the shape of the scores."""
    check_boolean(mask)
    fits = mask.ndim <= len(shape) and all(m in (1, s) for m, s in zip(mask.shape[::-1], shape[::-1], strict=False))
    if not fits:
        raise ValueError(f"a mask must broadcast to the scores {tuple(shape)} (got {tuple(mask.shape)})")


def is_whole(number: object) -> bool:
    """Whether this is an integer: Python's, numpy's, or a symbolic length of torch.export. True does not count."""
    return isinstance(number, (int, Integral, torch.SymInt)) and not isinstance(number, bool)


def check_whole(**numbers: int) -> None:
    """Raise a ValueError unless each number, given by its name, is an integer."""
    for name, number in numbers.items():
        if not is_whole(number):
            raise ValueError(f"{name} ({number!r}) must be a whole number")


def check_least(least: int, **numbers: int) -> None:
    """Raise a ValueError unless each number, given by its name, is an integer of at least `least`."""
    check_whole(**numbers)
    for name, number in numbers.items():
        if number < least:
            raise ValueError(f"{name} ({number}) must be at least {least}")


def check_probability(**numbers: float) -> None:
    """Raise a ValueError unless each number, given by its name, lies between 0 and 1."""
    for name, number in numbers.items():
        if not 0 <= number <= 1:
            raise ValueError(f"{name} ({number}) must be from 0 to 1")


def check_temperature(temperature: float) -> None:
    """Raise a ValueError unless logits can be divided by it: a float32 of 1e-45 has no reciprocal."""
    number = isinstance(temperature, Real) and not isinstance(temperature, bool)
    if not (number and SMALLEST <= temperature <= LARGEST):
        rule = f"must be above 0, a number from {SMALLEST:.1e} to {LARGEST:.1e} by which float32 can divide"
        raise ValueError(f"temperature ({temperature!r}) {rule}; for the most probable token: `greedy`, or top_k=1")


def check_heads(d_model: int, n_heads: int) -> None:
    """Raise a ValueError unless the features can be divided equally among the heads, with at least one for each."""
    check_least(1, d_model=d_model, n_heads=n_heads)
    if d_model % n_heads:
        raise ValueError(f"d_model ({d_model}) must be divisible by n_heads ({n_heads})")


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Raise a ValueError unless each group of keys and values serves the same number of heads."""
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(f"n_heads ({n_heads}) must be divisible by n_kv_heads ({n_kv_heads})")


def described(x: object) -> str:
    return f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
