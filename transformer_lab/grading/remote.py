"""The grader's side of a call: what an answer did, rebuilt from a message, and the functions that it is given."""

import builtins
from collections.abc import Callable, Iterable
from itertools import zip_longest
from math import prod

import torch
from torch import Tensor

from transformer_lab.exercises.running import Case, Outcome
from transformer_lab.grading import wire

MOST_CALLS = 20_000
MOST_WORK = 1 << 24  # of all calls together


def outcome_of(message: dict, tensors: list[Tensor], case: Case) -> Outcome:
    """The outcome that a message describes. What it says is believed as far as an answer may say it of itself.

    Raises:
        wire.Malformed, ValueError, TypeError, KeyError: it is no description of an outcome.
    """
    gradients = {name: wire.decode(tree, tensors) for name, tree in message["gradients"].items()}
    if not all(isinstance(x, Tensor) and x.shape == case.arguments[name].shape for name, x in gradients.items()):
        raise ValueError("a gradient has the wrong shape")
    return Outcome(
        value=wire.decode(message["value"], tensors),
        error=revived(message["error"]) if message["error"] is not None else None,
        printed=str(message["printed"]),
        changed=tuple(name for name in message["changed"] if name in case.arguments),
        gradients=gradients,
    )


def revived(told: dict) -> Exception:
    """The error that was told: of the nearest type that Python itself has, with its text and place."""
    kinds = [getattr(builtins, str(name), None) for name in told["kinds"]]
    known = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))
    kind = next(known, RuntimeError)
    try:
        error = kind(str(told["text"]))
    except TypeError:  # a UnicodeDecodeError, say, takes more than a text
        error = RuntimeError(str(told["text"]))
    error.place = str(told["place"])
    if told["name"] is not None and isinstance(error, ImportError | NameError):
        error.name = str(told["name"])
    return error


def refusal(error: Exception) -> dict:
    """Says that a function raised an error."""
    return {"raised": type(error).__name__, "text": str(error)[:1000]}


def work(tensors: Iterable[Tensor]) -> int:
    """How many numbers may come of these tensors by broadcasting and one product of matrices, as attention does both.

    Shapes alone decide: an empty tensor of shape (60000, 0) makes a matrix of 60000 × 60000 zeros.
    """
    axes = [max(1, *sizes) for sizes in zip_longest(*(reversed(x.shape) for x in tensors), fillvalue=1)]
    return prod(axes) * max(axes, default=1)


def parts(value: object) -> int:
    """How many values a value has in it."""
    if isinstance(value, dict):
        return sum(map(parts, value.values()))
    return sum(map(parts, value)) if isinstance(value, list | tuple) else 1


class Given:
    """A function of a case that an answer may call: it runs here, and so does its gradient."""

    def __init__(self, function: Callable):
        self.function = function
        self.calls: list[tuple[list[Tensor], list[Tensor]]] = []
        self.work = 0

    def call(self, message: dict, tensors: list[Tensor]) -> tuple[dict, list[Tensor]]:
        """The reply to one call: the value, and a token by which its gradient can be asked for."""
        if len(self.calls) >= MOST_CALLS:
            return refusal(RuntimeError(f"a function was called more than {MOST_CALLS} times")), []
        inputs = [x.requires_grad_() if x.is_floating_point() else x for x in tensors]
        arguments, named = wire.decode(message["arguments"], inputs)
        self.work += work(inputs) + parts(arguments) ** 2
        if self.work > MOST_WORK:
            return refusal(RuntimeError("a function was called too often, or with too much")), []
        try:
            value = self.function(*arguments, **named)
        except Exception as error:
            return refusal(error), []
        outputs: list[Tensor] = []
        tree = wire.encode(value, outputs, None)
        self.calls.append((inputs, outputs))
        return {"value": tree, "token": [message["call"], len(self.calls) - 1]}, outputs

    @staticmethod
    def gradient(functions: dict[int, "Given"], message: dict, gradients: list[Tensor]) -> tuple[dict, list[Tensor]]:
        """The gradients of one call's inputs, given those of its outputs; an empty tensor where there is none."""
        index, call = message["gradient"]
        inputs, outputs = functions[index].calls[call]
        floating = [x for x in outputs if x.is_floating_point()]
        pulled = [(x, g) for x, g in zip(floating, gradients, strict=True) if x.requires_grad]
        wanted = [x for x in inputs if x.requires_grad]
        found = iter(
            torch.autograd.grad(
                [x for x, _ in pulled],
                wanted,
                [g.reshape(x.shape) for x, g in pulled],
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
            if pulled and wanted
            else [torch.zeros_like(x) for x in wanted]
        )
        return {}, [next(found) if x.requires_grad else torch.empty(0) for x in inputs]
