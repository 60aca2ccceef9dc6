"""A diff of a broken function and its repaired version, line by line, without comments and docstrings."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from difflib import SequenceMatcher

from transformer_lab.exercises.kinds import FindTheBug, renamed

Lines = dict[int, str]


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


def pieces(broken: Lines, fixed: Lines) -> Iterator[tuple[list[int], list[int]]]:
    """Both programs from top to bottom: the lines that go, and those that come in their place or stay."""
    old, new = [*broken], [*fixed]
    for tag, start, end, new_start, new_end in matcher(broken, fixed).get_opcodes():
        yield [] if tag == "equal" else old[start:end], new[new_start:new_end]


def changes(broken: Lines, fixed: Lines) -> Iterator[tuple[list[int], list[int]]]:
    """The pieces in which lines go; where nothing goes, there is nothing to point at."""
    return ((old, new) for old, new in pieces(broken, fixed) if old)


def unchanged(broken: Lines, fixed: Lines) -> Iterator[tuple[int, int]]:
    """The lines that stay, each by its number before and after the repair."""
    old, new = [*broken], [*fixed]
    for start, new_start, count in matcher(broken, fixed).get_matching_blocks():
        yield from zip(old[start : start + count], new[new_start : new_start + count], strict=True)


def matcher(broken: Lines, fixed: Lines) -> SequenceMatcher:
    return SequenceMatcher(None, [*broken.values()], [*fixed.values()], autojunk=False)


def steps(broken: Lines, fixed: Lines, old: list[int], new: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """A change in parts, each as small as can be: the lines that end up in one line of the repaired function.

    Nothing ends up in a line that is more like none of them than a later one is: it comes with the later one.
    """
    coming: list[int] = []
    for i, m in enumerate(new):
        coming.append(m)
        like = alike(broken, old, fixed, [m])
        if like is None or alike(fixed, new[i:], broken, [like]) == m:
            end = len(old) if m == new[-1] or like is None else old.index(like) + 1
            yield old[:end], coming
            old, coming = old[end:], []
    if old or coming:
        yield old, coming


def words(line: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", line)


def target(line: str) -> str:
    """What a line assigns to."""
    return line.partition(" = ")[0]


def alike(broken: Lines, old: list[int], fixed: Lines, new: list[int]) -> int | None:
    """The line that is most like the one that comes, or none: one that assigns to the same is, whatever it assigns."""
    if not new:
        return None
    coming = fixed[new[-1]]

    def likeness(n: int) -> tuple[bool, float]:
        share = SequenceMatcher(None, words(broken[n]), words(coming)).ratio()
        return " = " in coming and target(broken[n]) == target(coming), share

    return max(old, key=likeness, default=None)


def stays(line: str, coming: str) -> bool:
    """Whether all that is written in a line stays, in its order, in the line that comes: more is added, none goes."""
    rest = iter(words(coming))
    return all(word in rest for word in words(line))
