"""The answer's own source: which small change of it makes it right, or leaves one known mistake?"""

import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from transformer_lab.exercises import checking
from transformer_lab.exercises.comparing import is_huge
from transformer_lab.exercises.diagnosis.base import Base
from transformer_lab.exercises.diagnosis.edits import Edit
from transformer_lab.exercises.diagnosis.rounds import Endless
from transformer_lab.exercises.diagnosis.sketch import mark
from transformer_lab.exercises.diagnosis.slips import slips
from transformer_lab.exercises.memory_limit import memory_limit
from transformer_lab.exercises.running import Attempt, Case, run
from transformer_lab.exercises.specification import Mistake, Specification
from transformer_lab.exercises.time_limit import OutOfTime, time_limit

MOST_TRIED = 400  # changes of one answer; every machine tries as many
MOST_ENDLESS = 3  # changes by which a loop has no end
SECONDS = 2.0  # of computing, for all changes together, should they be slow
MOST_SECONDS = 5.0  # of computing, for one that hangs where rounds can't be counted


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
    for edit in edits[:MOST_TRIED]:
        if endless == MOST_ENDLESS or time.thread_time() > deadline:
            return
        try:
            with time_limit(MOST_SECONDS), memory_limit():
                result = examined(exercise, base.function([edit]), failed, goals)
        except Endless:
            endless += 1
            continue
        except OutOfTime:
            return
        except Exception:
            continue
        if result and (result.passed or (result.mistake and not edit.names_lost())):
            yield Mend(place(edit, base, first_line), result.mistake)


def examined(exercise: Specification, function: Callable, failed: Case, goals: set[float]) -> checking.Result | None:
    """What comes of an examination of a function, if it does well on the case that failed."""
    outcome = run(function, failed)
    if is_huge(outcome.value) or not near(mark(failed, checking.effect(exercise, failed, outcome)), goals):
        return None
    return checking.examine_values(exercise, Attempt(function), exercise.cases)


def near(one: float, goals: set[float]) -> bool:
    return any(abs(one - goal) < 1e-4 for goal in goals)


def place(edit: Edit, base: Base, first_line: int) -> tuple[str, str]:
    """The line where the change is made, and what stands there."""
    inside = edit.function is base.functions[0]
    return f"line {first_line + edit.line - 1}" if inside else f"`{edit.function.name}`", edit.old_text(base.parents)
