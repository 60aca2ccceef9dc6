"""Predictions for numbers of one's own: each student gets others, drawn from the assignment's key and the student's id.

A notebook that is handed out shows them to whoever has written their id into it; grading draws the same again. What is
asked for is a number or a choice, not a function: of functions the hidden cases are the variants.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from math import isclose

import torch

from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine import comparing
from transformer_lab.exercises.engine.cards import INFO, OPEN, Card
from transformer_lab.exercises.engine.running import Case, run
from transformer_lab.exercises.exercise import NotPassed
from transformer_lab.exercises.kinds import Predict
from transformer_lab.grading.handout.assignment import find_exercise
from transformer_lab.grading.handout.roster import folded

STUDENT = 'STUDENT = ""  # your id in this course: the number, user name or e-mail address that you were told'
INVITATION = (
    "**Here you answer for your own numbers**, in place of a function. Write your id into the cell at the top, run it, "
    "then the next cell. Write the number that comes out, or an expression that gives it."
)
APART = 1e-2  # the share by which a mistake must lie off what is right
DRAWS = 6
PLAIN = (bool, int, float, str, type(None))


# ── which numbers ──


def is_plain(value: object) -> bool:
    """Whether a value can be shown, and typed, as it is."""
    if isinstance(value, dict):
        return all(map(is_plain, [*value, *value.values()]))
    return all(map(is_plain, value)) if isinstance(value, list | tuple) else isinstance(value, PLAIN)


def own_case(name: str, student: str, key: str) -> Case:
    """The numbers of a student: of some draws the first on which most mistakes give themselves away."""
    exercise = find_exercise(name)
    digest = hashlib.sha256(f"{key} {folded(student)} {name}".encode()).digest()
    generator = torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    draws = [Case(f"the numbers of {student}", exercise.case_generators[0](generator)) for _ in range(DRAWS)]
    return max(draws, key=lambda case: sum(is_apart(exercise, m.function, case) for m in exercise.mistakes.values()))


def is_apart(exercise: Exercise, mistake: Callable, case: Case) -> bool:
    """Whether a mistake comes to something else than what is right, beyond rounding."""
    right, wrong = exercise.expected(case).value, run(mistake, case).value
    if isinstance(right, float) and isinstance(wrong, int | float):
        return not isclose(right, wrong, rel_tol=APART)
    return right != wrong


OF_MANY_KINDS = ("bytes_per_token",)  # one's numbers are of one kind, and most mistakes are about another


def refuse_unfit(names: Iterable[str]) -> None:
    """See that exercises can be asked with numbers of one's own.

    Raises:
        ValueError: one can't, as it is no prediction, or is about tensors; says which can.
    """
    for name in names:
        if not is_fit(name):
            fit = ", ".join(one for one in catalogue if is_fit(one))
            raise ValueError(f"numbers of one's own can be drawn for {fit} (got {name})")


def is_fit(name: str) -> bool:
    exercise = find_exercise(name)
    if not isinstance(exercise, Predict) or not exercise.case_generators or name in OF_MANY_KINDS:
        return False
    case = Case("any", exercise.case_generators[0](torch.Generator("cpu").manual_seed(0)))
    return is_plain(dict(case.arguments)) and is_plain(exercise.expected(case).value)


# ── what a student sees ──


def show(name: str, student: str | int, key: str) -> Card:
    """A student's own numbers, as a card."""
    id_ = str(student).strip()
    if not folded(id_):
        return Card(OPEN, f"{name}: whose numbers?", "Write your id into `STUDENT` at the top, and run its cell first.")
    lines = [line for one, x in own_case(name, id_, key).arguments.items() for line in told(one, x)]
    words = f"What does it come to? Write it as `{name}` below."
    return Card(INFO, f"{name}: the numbers of {id_}", "\n".join([*lines, words]))


def told(name: str, value: object) -> Iterator[str]:
    """An argument as lines of code; of a list of descriptions each with its index."""
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        yield f"  {name}:"
        yield from (f"  {i:>4}  {part}" for i, part in enumerate(value))
    else:
        yield f"  {name} = {comparing.show(value, len(name) + 5)}"


def taken(name: str, answer: object) -> Card:
    """What is said of an answer before it is marked. `nbgrader validate`, which counts errors, is told of none."""
    if answer is ...:
        if os.environ.get("NBGRADER_EXECUTION") == "validate":
            raise NotPassed(f"{name} has not been answered.")
        return Card(OPEN, f"{name}: not answered yet", "Replace the `...` above.")
    what = "a function, of which your numbers are taken" if callable(answer) else f"`{answer!r}`"
    return Card(INFO, f"{name}: you answer {what}", "Whether it is right, you learn when it has been graded.")
