"""Running a learner's function on a case: what it returned, raised, printed and changed."""

import builtins
import io
import random
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeGuard
from weakref import ReferenceType, ref

import numpy as np
import torch
from numpy.random import mtrand
from torch import Tensor
from torch.overrides import TorchFunctionMode

SEED = 20170612  # from which every answer draws its random numbers: the same for everybody, and at each call
MUCH_LARGER = 3  # times as many numbers
SPARE = np.random.MT19937(SEED)  # for numpy, while an answer runs
PYTHONS = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
PACKAGE = [*Path(__file__).parents][:3][-1]  # in the sandbox this file lies elsewhere, two folders deep
NO_INPUT = "an answer must work with its arguments alone (nobody is there to type)"
NO_SOFTMAX = "a softmax must be made from `torch.exp` here, and not by torch's own, or by its `logsumexp`"
OURS = (str(PACKAGE), str(Path(torch.__file__).parent), *PYTHONS)  # what may call an answer


@dataclass(frozen=True, eq=False)
class Case:
    """Named arguments to try a function on, in the order of its parameters, and a short description of them.

    A tuple of tensors is handed over as an iterator, which gives each of them once.
    A case is `loose` if its numbers are so large, or so coarse (half precision, where sums nearly cancel), that a right
    answer may be 10 times as far off as usual. It has `several` right answers if what the exercise asks for leaves a
    choice there: then its properties are the judge. What is to be done `by_hand`, "gradients" or "softmax", an answer
    must not leave to torch; and "keys" of a long text, which would be far larger than the arguments, it must not make.
    """

    label: str
    arguments: Mapping[str, object]
    loose: bool = False
    several: bool = False
    by_hand: str = ""

    @property
    def device(self) -> torch.device:
        return next((x.device for x in self.arguments.values() if isinstance(x, Tensor)), torch.device("cpu"))

    def to(self, device: torch.device) -> "Case":
        move = {name: moved(x, device) for name, x in self.arguments.items()}
        return replace(self, label=f"{self.label}, on {device.type}", arguments=move)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one call: the value or the error, the printed text, and the names of the arguments it changed."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""
    changed: tuple[str, ...] = ()
    gradients: dict[str, Tensor] = field(default_factory=dict)


def run(function: Callable, case: Case, seed: int | None = None) -> Outcome:
    """Call the function on copies of the arguments, catching an error and keeping the printed text.

    With a `seed` the random numbers that it draws are the same at each call.
    """
    copies = {name: duplicate(argument) for name, argument in case.arguments.items()}
    with kept_by_hand(case):
        value, error, printed = call(function, list(copies.values()), case.device, seed)
    changed = tuple(name for name, before in case.arguments.items() if differs(before, copies[name]))
    return Outcome(value, error, printed, changed)


def run_with_gradients(function: Callable, case: Case, seed: int | None = None) -> Outcome:
    """Call the function on arguments that track gradients, and backpropagate a fixed random gradient through it."""
    leaves = {
        name: x.clone().requires_grad_() if is_floating(x) else duplicate(x) for name, x in case.arguments.items()
    }
    with kept_by_hand(case):
        value, error, printed = call(function, list(leaves.values()), case.device, seed)
    if error is not None:
        return Outcome(value, error, printed)
    outputs = [x for x in as_tuple(value) if isinstance(x, Tensor) and x.requires_grad]
    if case.by_hand == "softmax" and any(map(makes_a_softmax, outputs)):
        return Outcome(value, RuntimeError(NO_SOFTMAX), printed)
    inputs = {name: x for name, x in leaves.items() if is_floating(x)}
    if not outputs or not inputs:
        return Outcome(value, None, printed)
    # The gradient of each sum by its output is the random one. To be handed these, torch would import sympy first.
    sums = [(x * like_random(x)).sum() for x in outputs]
    found = torch.autograd.grad(sums, list(inputs.values()), allow_unused=True, materialize_grads=True)
    return Outcome(value, None, printed, gradients=dict(zip(inputs, found, strict=True)))


class Attempt:
    """An answer to try on cases, here in this process. The grader has its own kind, which asks a sandboxed process.

    It draws the same random numbers at each call, so that nobody's verdict is a matter of luck.
    """

    def __init__(self, function: Callable, seed: int = SEED):
        self.function, self.seed = function, seed

    def run(self, case: Case) -> Outcome:
        return run(self.function, case, self.seed)

    def run_with_gradients(self, case: Case) -> Outcome:
        return run_with_gradients(self.function, case, self.seed)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Within the block, torch, numpy and Python draw from this seed; afterwards their generators are restored.

    Those of torch are the processor's and, if that is another, the device's own.
    """
    own = getattr(torch, device.type) if device.type in ("cuda", "mps") else None
    bits, numpys, pythons = mtrand.get_bit_generator(), np.random.get_state(legacy=False), random.getstate()
    with torch.random.fork_rng([device] if own else [], device_type=device.type if own else "cuda"):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would take as long as a call
        if own:
            own.manual_seed(seed)
        random.setstate(started(seed))
        mtrand.set_bit_generator(SPARE)  # that of the session rests meanwhile
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(pythons)
            mtrand.set_bit_generator(bits)
            if numpys["has_gauss"]:  # all that numpy keeps elsewhere: the second of two normal numbers
                np.random.set_state(numpys)


@cache
def started(seed: int) -> tuple:
    """The state of Python's generator after seeding, because setting a state is quicker than seeding."""
    return random.Random(seed).getstate()


def call(
    function: Callable, arguments: list, device: torch.device, seed: int | None = None
) -> tuple[object, BaseException | None, str]:
    """`(value, error, printed)` of one call, which leaves random state, torch's settings and warning filters unchanged.

    Within the call `device` is torch's default, so that a new tensor lies where the arguments lie.
    """
    printed = io.StringIO()
    with (
        redirect_stdout(printed),
        redirect_stderr(printed),
        warnings.catch_warnings(),
        torch.random.fork_rng(devices=[]) if seed is None else seeded(seed, device),
        settings_kept(),
        without_input(),
        nullcontext() if device == torch.get_default_device() else device,  # every call of torch pays for the latter
    ):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments), None, printed.getvalue()
        except (Exception, SystemExit) as error:  # an answer that calls exit() must not end the session
            return None, error, printed.getvalue()


SETTINGS: tuple[tuple[Callable, Callable], ...] = (  # of torch: what reads each, and what sets it
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.get_default_device, lambda device: set_default_device(device)),
)


@contextmanager
def settings_kept() -> Iterator[None]:
    """Within the block, torch's settings may change; afterwards they are restored."""
    before = [read() for read, _ in SETTINGS]
    try:
        yield
    finally:
        for (read, restore), value in zip(SETTINGS, before, strict=True):
            if read() != value:
                restore(value)


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Within the block, torch computes on one thread, as grading does.

    The arguments of a case are small, so a second thread saves nothing; but where other work keeps the processors busy,
    the threads wait for each other at every operation, ten times as long and more than the operation itself takes.
    """
    with settings_kept():
        torch.set_num_threads(1)
        yield


def set_default_device(device: torch.device) -> None:
    """Make this torch's default device, unless it is already the default when none is set."""
    torch.set_default_device(None)
    if torch.get_default_device() != device:
        torch.set_default_device(device)


@contextmanager
def without_autograd() -> Iterator[None]:
    """Within the block, torch cannot compute gradients, because nothing that it saved for them is handed out."""
    inside = True

    def unpack(saved: Tensor) -> Tensor:
        if inside:
            raise RuntimeError("gradients must be computed by hand here, and not by torch's autograd")
        return saved

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        try:
            yield
        finally:
            inside = False


def kept_by_hand(case: Case) -> AbstractContextManager:
    """Within the block, what a case wants done by hand raises an error if it is not; a softmax is looked for later."""
    if case.by_hand == "gradients":
        return without_autograd()
    return SmallTensors(case) if case.by_hand == "keys" else nullcontext()


class SmallTensors(TorchFunctionMode):
    """Within the block, an answer may make no tensor far larger than the largest argument; expanding one is free."""

    def __init__(self, case: Case):
        super().__init__()
        self.most = MUCH_LARGER * max(x.numel() for x in case.arguments.values() if isinstance(x, Tensor))

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        made = func(*args, **(kwargs or {}))
        for x in as_tuple(made):
            if isinstance(x, Tensor) and min(x.numel(), x.untyped_storage().size() // x.itemsize) > self.most:
                shape = "a tensor of shape " + str(tuple(x.shape))
                raise RuntimeError(f"keys and values of a long text must not be made here (got {shape})")
        return made


def makes_a_softmax(output: Tensor) -> bool:
    """Return whether torch's own softmax or log-sum-exp has made a tensor, which autograd has noted."""
    waiting, met = [output.grad_fn], set()
    while waiting:
        step = waiting.pop()
        if step is None or step in met:
            continue
        if any(part in step.name() for part in ("Softmax", "Logsumexp", "DotProductAttention")):
            return True
        met.add(step)
        waiting += [before for before, _ in step.next_functions]
    return False


@contextmanager
def without_input() -> Iterator[None]:
    """Within the block, `input()` raises an error, because a check would wait for ever."""

    def refuse(*_: object) -> str:
        raise EOFError(NO_INPUT)

    before, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = before


def where(error: BaseException) -> str:
    """The learner's own line that an error comes from: "line 3: `scores = query @ key`"; empty if there is none.

    The learner's own file is the first that we call into. What lies beside it counts as well: the cells of a notebook
    share a folder. A library that the answer calls lies elsewhere, wherever it was installed.
    """
    if hasattr(error, "place"):  # it was raised in another process, which said where
        return error.place
    frames = traceback.extract_tb(error.__traceback__)
    folders = [Path(frame.filename).parent for frame in frames if not frame.filename.startswith(OURS)]
    own = [frame for frame in frames if folders and Path(frame.filename).parent == folders[0]]
    return f"line {own[-1].lineno}: `{own[-1].line}`" if own and own[-1].line else ""


def as_tuple(value: object) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_floating(value: object) -> TypeGuard[Tensor]:
    return isinstance(value, Tensor) and value.is_floating_point()


def is_stream(value: object) -> TypeGuard[tuple[Tensor, ...]]:
    """Whether an argument is passed as an iterator of tensors."""
    return isinstance(value, tuple) and bool(value) and all(isinstance(part, Tensor) for part in value)


def moved(argument: object, device: torch.device) -> object:
    if is_stream(argument):
        return tuple(part.to(device) for part in argument)
    return argument.to(device) if isinstance(argument, Tensor) else argument


def duplicate(argument: object) -> object:
    """A copy of data (a tensor keeps its strides); modules and functions are passed as they are."""
    if isinstance(argument, Tensor):
        return argument.clone()
    if is_stream(argument):
        return handed_out([part.clone() for part in argument])
    return deepcopy(argument) if isinstance(argument, (list, dict)) else argument


def handed_out(parts: list[Tensor]) -> Iterator[Tensor]:
    """Yield each tensor once; raise a ValueError if more than the first and the last are kept."""
    given: list[ReferenceType[Tensor]] = []
    while parts:
        if (kept := sum(one() is not None for one in given)) > 2:
            raise ValueError(f"what the iterator gives must not be kept ({kept} of {len(given)} are still there)")
        part = parts.pop(0)
        given.append(ref(part))
        yield part
        del part


def differs(before: object, after: object) -> bool:
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        return before.shape != after.shape or not torch.equal(before, after)
    return isinstance(before, (list, dict)) and before != after


def like_random(x: Tensor) -> Tensor:
    generator = torch.Generator("cpu").manual_seed(x.numel())
    return torch.randn(x.shape, generator=generator, device="cpu").to(x.device, x.dtype)
