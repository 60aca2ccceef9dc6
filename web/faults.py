"""The places of a broken function where its repaired version has other lines, found by a diff of the two.

Nobody writes them by hand. A page that knows them lets a learner point at the fault before mending it, and says what it
does: which mistake the check recognises where this place alone is left as it was, and the smallest case that fails.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from html import escape
from itertools import chain
from math import isfinite

import torch
from drawn import Drawn, decimals_of, is_small

from transformer_lab.exercises.engine.cards import inline
from transformer_lab.exercises.engine.checking import Result, examine
from transformer_lab.exercises.engine.running import Attempt, as_tuple
from transformer_lab.exercises.kinds import FindTheBug, renamed

COUNT = re.compile(r"^(One|Two) of (two|three) (is|are) mended\. ")  # which is said of an answer, and not of a fault
CLOSE = 1e-5  # between two numbers that are the same but for rounding
MOST = 0.4  # of the lines: where the repair changes more, no line is the place of the fault
NAME = re.compile(r"[A-Za-z_]\w*")
STATED = re.compile(r"\b(one|two|three) defects?\b")
COUNTED = {"one": 1, "two": 2, "three": 3}
Lines = dict[int, str]


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
    for old, new in steps(broken, fixed):
        there = [n for n in old if n != alike(broken, old, fixed, new) or not stays(broken[n], fixed[new[0]])] or old
        names = {name for n in there for name in NAME.findall(broken[n])} & gone
        same = [one for one in found if names & {name for n in one for name in NAME.findall(broken[n])}]
        found = [one for one in found if one not in same] + [sorted([*chain(*same), *there])] * bool(there)
    stated = STATED.search(exercise.statement)
    count = COUNTED[stated[1]] if stated else 1
    return found if len(found) == count and len([*chain(*found)]) < len(broken) - 1 else []


def steps(broken: Lines, fixed: Lines) -> Iterator[tuple[list[int], list[int]]]:
    """The changes, each as small as can be: the lines that end up in one line of the repaired function."""
    for old, new in changes(broken, fixed):
        for m in new:
            like = alike(broken, old, fixed, [m])
            end = len(old) if m == new[-1] or like is None else old.index(like) + 1
            yield old[:end], [m]
            old = old[end:]
        if not new:
            yield old, new


def words(line: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", line)


def alike(broken: Lines, old: list[int], fixed: Lines, new: list[int]) -> int | None:
    """The line that is most like the one that comes, or none."""
    if not new:
        return None
    coming = words(fixed[new[0]])
    return max(old, key=lambda n: SequenceMatcher(None, words(broken[n]), coming).ratio(), default=None)


def stays(line: str, coming: str) -> bool:
    """Whether all that is written in a line stays, in its order, in the line that comes: more is added, none goes."""
    rest = iter(words(coming))
    return all(word in rest for word in words(line))


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
    lines = repaired(exercise).splitlines()
    broken = code_lines(exercise.handed_out())
    lines[coming[0] : coming[-1] + 1] = [broken[n] for n in left]
    return examine(exercise, Attempt(compiled(exercise, lines)), exercise.cases)


def compiled(exercise: FindTheBug, lines: list[str]) -> Callable:
    scope = dict(vars(sys.modules[exercise.reference.__module__]))
    exec(compile("\n".join(lines), "<repaired>", "exec"), scope)
    return scope[exercise.name]


def left_alone(exercise: FindTheBug, place: list[int]) -> Result:
    """The result of the repaired function in which this place alone is as it was."""
    broken, fixed = code_lines(exercise.handed_out()), code_lines(repaired(exercise))
    lines = {m: [line] for m, line in fixed.items()}
    for old, new in steps(broken, fixed):
        if {*place} & {*old} and new:
            lines |= {m: [] for m in new} | {new[0]: [broken[n] for n in old]}
    return examine(exercise, Attempt(compiled(exercise, [*chain(*lines.values())])), exercise.cases)


def cause(exercise: FindTheBug, place: list[int]) -> str:
    """What the check says, as HTML, of a function in which this place alone is broken, or how far off it is then."""
    left, coming = change_at(exercise, place[0])
    result = examined(exercise, left, coming) if coming and {*place} == {*left} else left_alone(exercise, place)
    if result.mistake and result.mistake.name != "still_broken":
        return inline(COUNT.sub("", result.mistake.explanation).replace(" still ", " "))
    return off_by(exercise, result)


def off_by(exercise: FindTheBug, result: Result) -> str:
    """How many of the numbers of the smallest case that fails are not the right ones, and by how much at most."""
    if result.case is None:
        return ""
    alone, label = "With this alone left as it is,", f"“{escape(result.case.label)}”"
    if result.outcome.error is not None:
        return f"{alone} the case {label} raises an error."
    right, given = (as_tuple(one.value) for one in (exercise.expected(result.case), result.outcome))
    pairs = [*zip(map(numbers_of, right), map(numbers_of, given), strict=True)]
    if any(one.shape != other.shape for one, other in pairs):
        return f"{alone} what comes out has another shape in the case {label}."
    far = torch.cat([(one - other).abs().flatten() for one, other in pairs])
    off, most = int((~(far < CLOSE)).sum()), float(far.max())
    what = f"{off} of {len(far)} numbers {'is' if off == 1 else 'are'} wrong" if len(far) > 1 else "the number is wrong"
    by = f"{most:,.0f}" if most >= 1000 else f"{most:.3g}"
    much = f", {'by up to' if off > 1 else 'by'} {by}" if isfinite(most) else ": not even finite"
    return f"{alone} {what} in the case {label}{much}."


def numbers_of(value: object) -> torch.Tensor:
    return torch.as_tensor(value).double()


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
