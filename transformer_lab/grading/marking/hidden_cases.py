"""Hidden cases: for each exercise, cases that nobody has seen, drawn at grading time from the assignment's seed.

The visible cases come with other numbers, and the exercise's case generators draw other shapes, axes, masks, lengths
and tokens. So an answer fails that knows the visible cases by heart, or is right for their shapes alone.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, TypeGuard

import torch
from torch import Tensor

from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine.running import Case, run
from transformer_lab.exercises.engine.specification import Domain
from transformer_lab.grading.sandbox import protocol

PRIVATE: set[str] = set()  # the files that were run
CASES_OF_A_GENERATOR = 3


def add_private(source: str) -> None:
    """Run a file of an instructor's own case generators, given as text; once in each process.

    Raises:
        ValueError: it raises an error; says which.
    """
    if source in PRIVATE:
        return
    try:
        exec(compile(source, "<private>", "exec"), {"__name__": "private"})
    except Exception as error:
        raise ValueError(f"the private file must run ({type(error).__name__}: {error})") from None
    PRIVATE.add(source)


def draw_cases(exercise: Exercise, seed: str) -> list[Case]:
    """The hidden cases of an exercise: the same for the same seed, on every machine."""
    digest = hashlib.sha256(f"{seed} {exercise.name}".encode()).digest()
    generator = torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    shaken = [
        shake(case, generator, exercise.domains)
        for case in exercise.cases
        if any(map(has_numbers, case.arguments.values()))
    ]
    by_hand = exercise.cases[0].by_hand
    made = [
        Case("hidden", make(generator), by_hand=by_hand)
        for make in exercise.case_generators
        for _ in range(CASES_OF_A_GENERATOR)
    ]
    return shaken + made


def try_out(names: Iterable[str], seed: str) -> None:
    """See that the references take every hidden case, lest all answers be wrong.

    Raises:
        ValueError: a case generator, or a reference on what it draws, raises an error; says which.
    """
    for name in names:
        try:
            for case in draw_cases(catalogue[name], seed):
                if error := run(catalogue[name].reference, case).error:
                    raise error
                tensors: list[Tensor] = []
                protocol.frame({"arguments": protocol.encode(case.arguments, tensors, functions=True)}, tensors)
        except Exception as error:
            raise ValueError(
                f"the reference of {name} must take what its case generators draw ({type(error).__name__}: {error})"
            ) from None


def has_numbers(argument: object) -> TypeGuard[Tensor]:
    return isinstance(argument, Tensor) and argument.is_floating_point() and argument.numel() > 0


def shake(case: Case, generator: torch.Generator, domains: dict[str, Domain]) -> Case:
    """The case with its finite numbers moved by about a quarter of their spread; layout and special values stay.

    An argument that not every tensor may be is then brought back to where it is defined.
    """
    moved: dict[str, Any] = {name: shaken(x, generator) if has_numbers(x) else x for name, x in case.arguments.items()}
    moved |= {name: domain.onto(moved[name]) for name, domain in domains.items()}
    return Case(case.label, moved, case.loose, by_hand=case.by_hand)


def shaken(x: Tensor, generator: torch.Generator) -> Tensor:
    finite = x.isfinite()
    spread = x[finite].double().std(correction=0).clamp(min=0.1) if finite.any() else 0.1
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64, device="cpu") * spread / 4
    moved = torch.empty_like(x)  # keeps the order of the axes in memory
    return moved.copy_(torch.where(finite, x.double() + noise, x.double()))
