"""The answer's own source: which small change of it makes it right, or leaves one known mistake?"""

import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from transformer_lab.exercises import checking
from transformer_lab.exercises.diagnosis.edits import Base, Edit
from transformer_lab.exercises.diagnosis.sketch import mark
from transformer_lab.exercises.diagnosis.slips import slips
from transformer_lab.exercises.running import Attempt, Case, run
from transformer_lab.exercises.specification import Mistake, Specification
from transformer_lab.exercises.time_limit import OutOfTime, time_limit

SECONDS = 0.3  # of computing, for all changes together
EACH = 0.3  # by the clock, for one change on the case that failed
PROMISING = 1.0  # for one that does well there, on all cases
MOST_ENDLESS = 3  # changes that take longer: a loop without an end


@dataclass(frozen=True)
class Mend:
    """A place of the answer, its line and what stands there; the mistake that remains if that is changed."""

    place: tuple[str, str]
    remaining: Mistake | None


def mends(exercise: Specification, answer: Callable, failed: Case) -> list[Mend]:
    """All that were found in time. None where the source is not at hand, or time can't be limited."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return []
    try:
        base = Base.of_function(answer)
        edits = sorted(slips(base), key=lambda edit: edit.rank)
    except (OSError, TypeError, SyntaxError, ValueError, AttributeError, KeyError):
        return []
    return list(tried(exercise, base, edits, failed, inspect.unwrap(answer).__code__.co_firstlineno))


def tried(exercise: Specification, base: Base, edits: list[Edit], failed: Case, first_line: int) -> Iterator[Mend]:
    """Where a mistake remains, the change must not throw a value away: without it any answer lacks something."""
    deadline = time.thread_time() + SECONDS
    known = [exercise.expected(failed), *(exercise.mistaken(one, failed) for one in exercise.mistakes.values())]
    goals = {mark(failed, checking.effect(exercise, failed, outcome)) for outcome in known}
    endless = 0
    for number, edit in enumerate(edits):
        if endless == MOST_ENDLESS or (number % 4 == 0 and time.thread_time() > deadline):
            return
        try:
            with time_limit(EACH):
                function = base.function([edit])
                if not near(mark_of(exercise, failed, function), goals):
                    continue
            with time_limit(PROMISING):
                result = checking.examine_values(exercise, Attempt(function), exercise.cases)
        except OutOfTime:
            endless += 1
            continue
        except Exception:
            continue
        if result.passed or (result.mistake and not edit.names_lost()):
            yield Mend(place(edit, base, first_line), result.mistake)


def mark_of(exercise: Specification, case: Case, function: Callable) -> float:
    return mark(case, checking.effect(exercise, case, run(function, case)))


def near(one: float, goals: set[float]) -> bool:
    return any(abs(one - goal) < 1e-4 for goal in goals)


def place(edit: Edit, base: Base, first_line: int) -> tuple[str, str]:
    """The line where the change is made, and what stands there."""
    inside = edit.function is base.functions[0]
    return f"line {first_line + edit.line - 1}" if inside else f"`{edit.function.name}`", edit.old_text(base.parents)
