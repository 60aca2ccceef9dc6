"""The places of a broken function where its repaired version has other lines, found by a diff of the two.

Nobody writes them by hand. A page that knows them lets a learner point at the fault before mending it, and says what it
does: which mistake the check recognises where this place alone is left as it was, and the smallest case that fails.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from difflib import SequenceMatcher
from html import escape
from itertools import chain

from drawn import Drawn, decimals_of, is_small

from transformer_lab.exercises.engine.cards import inline
from transformer_lab.exercises.engine.checking import Result, examine
from transformer_lab.exercises.engine.running import Attempt, as_tuple
from transformer_lab.exercises.kinds import FindTheBug, renamed

COUNT = re.compile(r"^(One|Two) of three (is|are) mended\. ")  # which is said of an answer, and not of a fault
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
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    target = broken[line].partition(" = ")[0]
    _, coming = change_at(exercise, line)
    alike = [n for n in coming if fixed[n].partition(" = ")[0] == target]
    return len(alike) == 1 and examined(exercise, [line], alike).passed


def change_at(exercise: FindTheBug, line: int) -> tuple[list[int], list[int]]:
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    return next(change for change in changes(broken, fixed) if line in change[0])


def examined(exercise: FindTheBug, left: list[int], coming: list[int]) -> Result:
    """The result of the repaired function in which some lines of the broken one stand where others should come."""
    broken, lines = code_lines(exercise.handed_out()), repaired(exercise).splitlines()
    lines[coming[0] : coming[-1] + 1] = [broken[n] for n in left]
    scope = dict(vars(sys.modules[exercise.reference.__module__]))
    exec(compile("\n".join(lines), "<repaired>", "exec"), scope)
    return examine(exercise, Attempt(scope[exercise.name]), exercise.cases)


def cause(exercise: FindTheBug, place: list[int]) -> str:
    """What the check says, as HTML, of a function in which this place alone is broken; empty where it has no name."""
    left, coming = change_at(exercise, place[0])
    mistake = examined(exercise, left, coming).mistake if coming else None
    return inline(COUNT.sub("", mistake.explanation).replace(" still ", " ")) if mistake else ""


def exact(value: object) -> Drawn:
    return Drawn.of(value, decimals=decimals_of(Drawn.of(value).numbers))


def symptom(exercise: FindTheBug) -> str:
    """The smallest case that fails, as HTML: what is given, what is right, and what the broken function returns."""
    result = examine(exercise, Attempt(exercise.broken), exercise.cases)
    assert result.case is not None
    returned = {"right": exercise.expected(result.case).value, "what it returns": result.outcome.value}
    drawn = {name: exact(x) for name, x in result.case.arguments.items() if not callable(x) and is_small(x)}
    if all(is_small(x) for value in returned.values() for x in as_tuple(value)):
        drawn |= {name: Drawn.of(value, exercise.returns) for name, value in returned.items()}
    right = drawn.get("right")
    figure = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{one.html(right if name == 'what it returns' else None)}</dd></div>"
        for name, one in drawn.items()
    )
    label = f'<p class="label">The smallest case that fails: {escape(result.case.label)}</p>'
    return f'{label}<div class="which"><dl class="given-figure">{figure}</dl></div>'
