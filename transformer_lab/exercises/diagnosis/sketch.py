"""Two numbers that tell apart what functions do on an exercise's cases, and are the same on every machine.

They only narrow the search: whatever has nearly the same two numbers is run, and compared as answers are. A case in
which rounding or chance decides what a function does is `unsteady` for it, and left out of its sketch.
"""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Number

import numpy as np
import torch
from torch import Tensor

from transformer_lab.exercises.engine.comparing import Standard
from transformer_lab.exercises.engine.running import Case, Outcome

NEAR = 2e-4  # sketches that are no farther apart may be of the same outcomes
STEADY = 1e-5  # marks of a case that are farther apart on two machines are no marks
MOST = 4096  # numbers of a value that count
MOST_CASES = 64

_random = np.random.RandomState(7)  # a generator that never changes
FACTORS = _random.standard_normal(MOST)
SHARES = _random.uniform(0.5, 1.5, (2, MOST_CASES))


def marks_of(outcomes: Mapping[Case, Outcome], effect: Callable[[Case, Outcome], Outcome]) -> np.ndarray:
    """What a function did on some cases, of which at most 64 count: a number for each."""
    return np.array([mark(case, effect(case, outcome)) for case, outcome in outcomes.items()][:MOST_CASES])


def sketches(marks: np.ndarray, unsteady: np.ndarray) -> np.ndarray:
    """The sketches (n, 2) of marks (cases,), where n times some are left out: those of `unsteady` (n,), as bits."""
    return counts(unsteady, len(marks)) @ (SHARES[:, : len(marks)] * marks).T


def counts(unsteady: np.ndarray, cases: int) -> np.ndarray:
    """(n, cases): which cases count."""
    return (unsteady[:, None] >> np.arange(cases, dtype=np.uint64) & np.uint64(1)) == 0


def mark(case: Case, outcome: Outcome) -> float:
    """One number for one outcome; of an error its type and the sizes that it names."""
    if outcome.error is not None:
        text = re.sub(r"\b0x[0-9a-f]{6,}", "", str(outcome.error).partition("\n")[0])  # addresses differ
        digits = re.findall(r"\d+", text)
        return chance(f"{type(outcome.error).__name__} {digits}")
    kinds, numbers = taken_apart(outcome.value)
    if Standard.of(case).any_float:
        kinds = kinds.replace("float64", "float32")
    coarse = case.loose or "16" in kinds  # such numbers round too coarsely to tell anything apart
    values = np.array(numbers[:MOST], dtype=np.float64)
    finite = np.isfinite(values)
    holes = zlib.crc32(np.where(finite, 0, np.where(np.isnan(values), 1, np.sign(values) + 3)).tobytes())
    return chance(f"{kinds} {len(numbers)} {holes}") + (0.0 if coarse else total(np.where(finite, values, 0.0)))


def total(values: np.ndarray) -> float:
    """A number that changes with each of them, and by no more than the share by which one is rounded."""
    return float(np.arcsinh(values) @ FACTORS[: len(values)]) / max(1, len(values)) ** 0.5


def taken_apart(value: object) -> tuple[str, list[float]]:
    """The types of a value's parts, and its numbers one after the other."""
    if isinstance(value, Tensor):
        if value.device.type != "cpu":
            return f"{value.device.type} {tuple(value.shape)}", []
        kind = "float16" if value.dtype in (torch.float16, torch.bfloat16) else str(value.dtype)
        return f"{kind}{tuple(value.shape)}", value.detach().double().flatten().tolist()
    if isinstance(value, (tuple, list)):
        parts = [taken_apart(part) for part in value]
        return str([kinds for kinds, _ in parts]), [x for _, numbers in parts for x in numbers]
    if isinstance(value, (Number, np.generic)) and not isinstance(value, complex):
        return "number", [float(value)]  # type: ignore[arg-type]
    return f"{type(value).__name__} {value!r}" if isinstance(value, (str, type(None))) else type(value).__name__, []


def chance(text: str) -> float:
    """A number from 0 to 1 that follows from a text."""
    return zlib.crc32(text.encode()) / 2**32


def comparable(cases: Sequence[Case]) -> list[Case]:
    """The cases that tell answers apart: where several answers are right, two with the same mistake may differ."""
    return [case for case in cases if not case.several]
