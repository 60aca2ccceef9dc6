"""The comparison with a healthy twin, call by call: the first difference names the function that makes it."""

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transformer_lab.training.experiments.clinic.patients import FILES, Program, load
from transformer_lab.training.experiments.clinic.tools import bench
from transformer_lab.training.experiments.clinic.tools.reading import Reading


class Event(NamedTuple):
    """The beginning or the end of a call: whose, inside which other call, and the numbers that go in or come out."""

    function: str
    inside: str
    ends: bool
    numbers: list[Tensor]


def numbers_in(value: Any) -> list[Tensor]:
    """All numbers of a value, those of a model with its gradients, as tensors of their own."""
    if isinstance(value, Tensor):
        return [value.detach().clone()]
    if isinstance(value, nn.Module):
        if "_parameters" not in vars(value):
            return []  # it is only being made
        weights = [x.detach().clone() for p in value.parameters() for x in (p, p.grad) if x is not None]
        return [*weights, torch.tensor(value.training)]
    if isinstance(value, torch.optim.Optimizer):
        return [torch.tensor([len(group["params"]), group["weight_decay"]]) for group in value.param_groups]
    if isinstance(value, str):
        return [torch.tensor([*value.encode()])]
    if isinstance(value, bool | int | float):
        return [torch.tensor(value)]
    if isinstance(value, list | tuple | range):
        return [number for part in value for number in numbers_in(part)]
    return []


def is_of(module: ModuleType, value: Any) -> bool:
    """Whether a class or a function is defined in this file of the program, and written there by hand."""
    return value.__module__ == module.__name__ and getattr(value, "__qualname__", "").split(".")[0] in vars(module)


class Watch:
    """Writes down the beginning and the end of each call of a program's functions."""

    def __init__(self, program: Program):
        self.events: list[Event] = []
        self.running = ["the script"]
        self.unwatched: list[tuple[Any, str, Any]] = []
        for module in (getattr(program, file) for file in FILES):
            for owner in [module, *(x for x in vars(module).values() if inspect.isclass(x) and is_of(module, x))]:
                for name, value in [*vars(owner).items()]:
                    if inspect.isfunction(value) and is_of(module, value):
                        self.unwatched.append((owner, name, value))
                        setattr(owner, name, self.watched(value))

    def stop(self) -> None:
        """Give the program its own functions back."""
        for owner, name, value in self.unwatched:
            setattr(owner, name, value)

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, of which both ends are written down."""

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            name, values = function.__qualname__, [*given, *named.values()]
            self.events.append(Event(name, self.running[-1], False, numbers_in(values)))
            self.running.append(name)
            result = function(*given, **named)
            self.running.pop()
            self.events.append(Event(name, self.running[-1], True, numbers_in([result, *values])))
            return result

        return call


def rehearse(program: Program, seed: int) -> list[Event]:
    """All calls while the program splits its numbers, takes two steps of training and answers four chats."""
    watch = Watch(program)
    try:
        run_through(program, seed)
    finally:
        watch.stop()
    return watch.events


def run_through(program: Program, seed: int) -> None:
    """A short run of everything that the program can do."""
    data, training = program.data, program.training
    numbers, test = data.split_numbers(100, seed)
    tokenizer, recipe = data.all_names(), training.Recipe(n_steps=2, chats=8, seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = program.model.Decoder(program.model.Sizes(len(tokenizer.pieces), d_model=32))
        for gain in (p for p in model.parameters() if p.ndim == 1):
            nn.init.uniform_(gain, 0.5, 1.5)  # as after a training: no gain is like another
        for _ in training.train(model, tokenizer, numbers, recipe):
            pass
        chats = [*bench.some_chats(program, 4, seed), *([data.turn(number)] for number in test[:2])]
        program.generation.answers(model, tokenizer, chats)


@functools.cache
def of_healthy(seed: int) -> list[Event]:
    """All calls of the healthy program."""
    return rehearse(load(), seed)


def same(one: Event, other: Event) -> bool:
    """Whether two events agree but for rounding."""
    if one[:3] != other[:3] or len(one.numbers) != len(other.numbers):
        return False
    pairs = zip(one.numbers, other.numbers, strict=True)
    return all(a.shape == b.shape and torch.allclose(a.double(), b.double(), atol=1e-6) for a, b in pairs)


def first_difference(program_events: list[Event], twin_events: list[Event]) -> tuple[int, str] | None:
    """The number of the first event that differs, and the function that makes the difference; None if all agree.

    Where a call *ends* otherwise, though it began alike, it is that function; where it *begins* otherwise, it is the
    one from which it was called.
    """
    for i, (one, other) in enumerate(zip(program_events, twin_events, strict=False)):
        if not same(one, other):
            return i, one.function if one.ends else one.inside
    return None


def twin(program: Program, seed: int = 0) -> Reading:
    """Run the program beside a healthy copy; the first call that differs names the function."""
    found, n_events = first_difference(mine := rehearse(program, seed), of_healthy(seed)), len(mine)
    if found is None:
        return Reading(False, f"no difference in {n_events} events")
    return Reading(True, f"event {found[0]} of {n_events} is the first that differs: look at `{found[1]}`")
