"""Candidates: the functions on which a learner's test is tried. Only their return values can be observed.

A candidate has no name, no code and no attributes; which function it calls is kept elsewhere. In grading that function
is on the other side of the sandbox's wall. This file is also read inside the sandbox, where the package is not.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

MOST = 1 << 22  # numbers that a call may take or compute: it runs where nobody limits its memory
MOST_ROWS = 1 << 12  # over which a candidate may go in a loop
ALIGNED, PLACES = 64, 32  # bytes between the places at which a value may start, and how many there are
CHANCE = random.SystemRandom()

Ask = Callable[[Sequence, Mapping, "Sequence[Tensor] | None"], Any]  # arguments by place and by name, what flows back


class Candidate:
    """A callable that shows nothing of the function it calls, not even where an error was raised."""

    __slots__ = ("__weakref__",)

    def __init__(self, ask: Ask):
        ASKED[self] = ask

    def __repr__(self) -> str:
        return "<a candidate>"

    def __call__(self, *given: Any, **named: Any) -> Any:
        leaves = tracked(given, named) if torch.is_grad_enabled() else []
        return Call.apply(self, given, named, *leaves) if leaves else ask(self, given, named)


ASKED: WeakKeyDictionary[Candidate, Ask] = WeakKeyDictionary()


class Call(torch.autograd.Function):
    """A call as a single autograd operation, so that its gradients do not show what it consists of either."""

    @staticmethod
    def forward(ctx: Any, candidate: Candidate, given: Sequence, named: Mapping, *_: Tensor) -> Any:
        ctx.call = candidate, given, named
        return ask(candidate, given, named)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        candidate, given, named = ctx.call
        return None, None, None, *ask(candidate, given, named, gradients)


def ask(candidate: Candidate, given: Sequence, named: Mapping, gradients: Sequence[Tensor] | None = None) -> Any:
    try:
        return ASKED[candidate](given, named, gradients)
    except (TypeError, ValueError, RuntimeError) as error:
        kind, text = type(error), str(error)
    raise kind(text)  # anew, or its traceback would lead to the code


def tracked(given: Sequence, named: Mapping) -> list[Tensor]:
    return [x for x in (*given, *named.values()) if isinstance(x, Tensor) and x.requires_grad]


def answered(
    function: Callable, takes: Callable, given: Sequence, named: Mapping, gradients: Sequence[Tensor] | None = None
) -> Any:
    """The value of a function for arguments that `takes` accepts, or the gradients of those that are tracked.

    Its value is laid out anew, and an error is one and the same for all functions: neither must tell them apart.

    Raises:
        TypeError: there are too many arguments, or too few.
        ValueError: they are not such as the statement says; says how.
        RuntimeError: the function raises an error.
    """
    copies = {id(x): x.detach().clone().requires_grad_() for x in tracked(given, named)} if gradients else {}
    given = [copies.get(id(x), x) for x in given]
    arguments = takes(*given, **{name: copies.get(id(x), x) for name, x in named.items()})
    try:
        with torch.set_grad_enabled(gradients is not None):
            value = function(*(x.clone() if isinstance(x, Tensor) else x for x in arguments))
            return laid_out(value) if gradients is None else flown_back(value, gradients, [*copies.values()])
    except Exception:
        pass
    raise RuntimeError("it raises an error on these arguments")


def flown_back(value: Any, gradients: Sequence[Tensor], leaves: list[Tensor]) -> list[Tensor]:
    outputs = value if isinstance(value, tuple) else (value,)
    sums = [(x * g).sum() for x, g in zip(outputs, gradients, strict=True) if x.requires_grad]
    if not sums:
        return [torch.zeros_like(x) for x in leaves]
    return [*torch.autograd.grad(sums, leaves, allow_unused=True, materialize_grads=True)]


def laid_out(value: Any) -> Any:
    """A copy that starts anywhere in its memory, since where that lies follows from what has been computed before."""
    if isinstance(value, tuple):
        return tuple(map(laid_out, value))
    if not isinstance(value, Tensor):
        return value
    step = ALIGNED // value.element_size()
    start = step * CHANCE.randrange(PLACES)
    room = value.new_empty(value.numel() + step * PLACES)
    return room[start : start + value.numel()].view(value.shape).copy_(value.detach())


# ── what `takes` of an exercise asks ──


def need_tensor(name: str, x: object, shape: str, fits: Callable[[Tensor], bool], floats: bool) -> None:
    """Check that an argument is a tensor of floating-point or integer numbers, of a shape that fits.

    Raises:
        ValueError: it is not.
    """
    sort = "floating-point" if floats else "whole"
    if not isinstance(x, Tensor):
        raise ValueError(f"{name} must be a tensor {shape} (got {type(x).__name__})")
    whole = not x.is_floating_point() and x.dtype != torch.bool and not x.is_complex()
    if not (x.dtype in (torch.float32, torch.float64) if floats else whole):
        raise ValueError(f"{name} must be a tensor of {sort} numbers (got {x.dtype})")
    if not fits(x):
        raise ValueError(f"{name} must be {shape} (got {tuple(x.shape)})")


def need_few(count: int) -> None:
    """Check that a call does not have to compute more than anybody needs.

    Raises:
        ValueError: it has to.
    """
    if count > MOST:
        raise ValueError(f"a candidate must not have to compute more than {MOST} numbers at once (got {count})")
