"""The places of a broken function where its repaired version has other lines, found by a diff of the two."""

import re
import sys
from collections.abc import Callable, Iterable
from itertools import chain

from faults.diffing import alike, changes, code_lines, repaired, stays, steps, target
from transformer_lab.exercises.engine.checking import Result, examine
from transformer_lab.exercises.engine.running import Attempt
from transformer_lab.exercises.kinds import FindTheBug

MOST = 0.4  # of the lines: where the repair changes more, no line is the place of the fault
NAME = re.compile(r"[A-Za-z_]\w*")
STATED = re.compile(r"\b(one|two|three) (?:defects?|ways)\b")
COUNTED = {"one": 1, "two": 2, "three": 3}
COMPILED = "<compiled>"  # the file that a function is in which was put together here


def places(exercise: FindTheBug) -> list[list[int]]:
    """The lines at fault, counted from 0, one list for each defect, or for each stretch of them; none if too many."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    found = [[line for line in there if not is_style(exercise, line)] for there, _ in changes(broken, fixed)]
    found = [there for there in found if there]
    are_few = len([*chain(*found)]) <= MOST * len(broken)
    if are_few and len(found) == count_of(exercise):
        return found
    return separated(exercise) or found * are_few


def count_of(exercise: FindTheBug) -> int:
    """How many defects a statement says there are."""
    stated = STATED.search(exercise.statement)
    return COUNTED[stated[1]] if stated else 1


def separated(exercise: FindTheBug) -> list[list[int]]:
    """The places where no lines stand between them: as many as the statement has defects, or else none are told."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    gone = {*NAME.findall("\n".join(broken.values()))} - {*NAME.findall("\n".join(fixed.values()))}
    found: list[list[int]] = []
    for old, new in chain(*(steps(broken, fixed, *one) for one in changes(broken, fixed))):
        there = [n for n in old if n != alike(broken, old, fixed, new) or not stays(broken[n], fixed[new[-1]])] or old
        names = {name for n in there for name in NAME.findall(broken[n])} & gone
        same = [one for one in found if names & {name for n in one for name in NAME.findall(broken[n])}]
        found = [one for one in found if one not in same] + [sorted([*chain(*same), *there])] * bool(there)
    return found if len(found) == count_of(exercise) and len([*chain(*found)]) < len(broken) - 1 else []


def is_style(exercise: FindTheBug, line: int) -> bool:
    """Whether a line that goes would do as well as the one in its place: the repair writes it otherwise, no more."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    coming = next(new for old, new in changes(broken, fixed) if line in old)
    alike = [m for m in coming if target(fixed[m]) == target(broken[line])]
    return len(alike) == 1 and examined(exercise, (fixed | {alike[0]: broken[line]}).values()).passed


def examined(exercise: FindTheBug, lines: Iterable[str]) -> Result:
    """The result of the function that has these lines."""
    return examine(exercise, Attempt(compiled(exercise, "\n".join(lines))), exercise.cases)


def compiled(exercise: FindTheBug, source: str) -> Callable:
    scope = dict(vars(sys.modules[exercise.reference.__module__]))
    exec(compile(source, COMPILED, "exec"), scope)
    return scope[exercise.name]
