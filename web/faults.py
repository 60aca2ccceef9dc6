"""The places of a broken function where its repaired version has other lines, found by a diff of the two.

Nobody writes them by hand. A page that knows them lets a learner point at the fault before mending it.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import chain

from transformer_lab.exercises.engine.checking import examine
from transformer_lab.exercises.engine.running import Attempt
from transformer_lab.exercises.kinds import FindTheBug, renamed

MOST = 0.4  # of the lines: where the repair changes more, no line is the place of the fault
Lines = dict[int, str]


def places(exercise: FindTheBug) -> list[list[int]]:
    """The lines at fault, counted from 0, one list for each stretch of them; none if they are too many."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    found = [[line for line in there if not is_style(exercise, line)] for there, _ in changes(broken, fixed)]
    found = [there for there in found if there]
    return found if len([*chain(*found)]) <= MOST * len(broken) else []


def repaired(exercise: FindTheBug) -> str:
    return renamed(exercise.reference, exercise.name)


def code_lines(source: str) -> Lines:
    """The lines of a program that do something, by their numbers, without comments; docstrings are none."""
    lines, tree = source.splitlines(), ast.parse(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    said = {n for node in ast.walk(tree) if is_text(node) for n in range(node.lineno - 1, node.end_lineno or 0)}
    return {n: line.rstrip() for n, line in enumerate(lines) if line.strip() and n not in said}


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def changes(broken: Lines, fixed: Lines) -> Iterator[tuple[list[int], list[int]]]:
    """The lines that go and those that come in their place; where nothing goes, there is nothing to point at."""
    old, new = [*broken], [*fixed]
    match = SequenceMatcher(None, [*broken.values()], [*fixed.values()], autojunk=False)
    for tag, start, end, new_start, new_end in match.get_opcodes():
        if tag in ("replace", "delete"):
            yield old[start:end], new[new_start:new_end]


def is_style(exercise: FindTheBug, line: int) -> bool:
    """Whether a line that goes would do as well as the one in its place: the repair writes it otherwise, no more."""
    source = repaired(exercise)
    broken, fixed = code_lines(exercise.handed_out()), code_lines(source)
    target = broken[line].partition(" = ")[0]
    coming = next(coming for going, coming in changes(broken, fixed) if line in going)
    alike = [n for n in coming if fixed[n].partition(" = ")[0] == target]
    if len(alike) != 1:
        return False
    lines = source.splitlines()
    lines[alike[0]] = broken[line]
    scope = dict(vars(sys.modules[exercise.reference.__module__]))
    exec(compile("\n".join(lines), "<repaired>", "exec"), scope)
    return examine(exercise, Attempt(scope[exercise.name]), exercise.cases).passed
