"""The places of a broken function where its repaired version has other lines, found by a diff of the two."""

import re
import sys
from collections.abc import Callable
from itertools import chain

from faults.diffing import alike, changes, code_lines, repaired, stays, steps
from transformer_lab.exercises.engine.checking import Result, examine
from transformer_lab.exercises.engine.running import Attempt
from transformer_lab.exercises.kinds import FindTheBug

MOST = 0.4  # of the lines: where the repair changes more, no line is the place of the fault
NAME = re.compile(r"[A-Za-z_]\w*")
STATED = re.compile(r"\b(one|two|three) defects?\b")
COUNTED = {"one": 1, "two": 2, "three": 3}
COMPILED = "<compiled>"  # the file that a function is in which was put together here


def places(exercise: FindTheBug) -> list[list[int]]:
    """The lines at fault, counted from 0, one list for each stretch of them; none if they are too many."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    found = [[line for line in there if not is_style(exercise, line)] for there, _ in changes(broken, fixed)]
    found = [there for there in found if there]
    return found if len([*chain(*found)]) <= MOST * len(broken) else separated(exercise)


def separated(exercise: FindTheBug) -> list[list[int]]:
    """The places where much is repaired: as many as the statement has defects, or else none can be told apart."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    gone = {*NAME.findall("\n".join(broken.values()))} - {*NAME.findall("\n".join(fixed.values()))}
    found: list[list[int]] = []
    for old, new in chain(*(steps(broken, fixed, *one) for one in changes(broken, fixed))):
        there = [n for n in old if n != alike(broken, old, fixed, new) or not stays(broken[n], fixed[new[0]])] or old
        names = {name for n in there for name in NAME.findall(broken[n])} & gone
        same = [one for one in found if names & {name for n in one for name in NAME.findall(broken[n])}]
        found = [one for one in found if one not in same] + [sorted([*chain(*same), *there])] * bool(there)
    stated = STATED.search(exercise.statement)
    count = COUNTED[stated[1]] if stated else 1
    return found if len(found) == count and len([*chain(*found)]) < len(broken) - 1 else []


def is_style(exercise: FindTheBug, line: int) -> bool:
    """Whether a line that goes would do as well as the one in its place: the repair writes it otherwise, no more."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    target = broken[line].partition(" = ")[0]
    coming = next(new for old, new in changes(broken, fixed) if line in old)
    alike = [m for m in coming if fixed[m].partition(" = ")[0] == target]
    return len(alike) == 1 and examined(exercise, {alike[0]: [line]}).passed


def examined(exercise: FindTheBug, kept: dict[int, list[int]]) -> Result:
    """The result of the repaired function in which some of its lines are those of the broken one."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    lines = chain(*([broken[n] for n in kept[m]] if m in kept else [line] for m, line in fixed.items()))
    return examine(exercise, Attempt(compiled(exercise, "\n".join(lines))), exercise.cases)


def compiled(exercise: FindTheBug, source: str) -> Callable:
    scope = dict(vars(sys.modules[exercise.reference.__module__]))
    exec(compile(source, COMPILED, "exec"), scope)
    return scope[exercise.name]
