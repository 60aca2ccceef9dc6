"""Answers that look alike: pasted solutions, and pairs of students whose code has the same unusual parts.

An answer is read as a sequence of the nodes of its syntax tree, without its own names. What counts are pieces of the
sequence that few answers of the class have, and the package's solution has not. It is a reason to look, not a proof.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from transformer_lab.exercises import catalogue
from transformer_lab.grading.records import Graded

PIECE = 12  # nodes
LONG = 45  # nodes of a function that nobody writes twice by chance
UNUSUAL = 0.1  # of the class, and at least two
ALIKE, LEAST = 0.8, 10  # share of unusual pieces that two answers have in common, and how many these are


@dataclass(frozen=True)
class Pair:
    """Two students whose answers to an exercise look alike."""

    exercise: str
    one: str
    other: str
    share: float | int


def nodes(tree: ast.AST) -> Iterator[str]:
    """The nodes of a syntax tree in order: kinds, constants, attributes; names that the code itself binds are `_`."""
    stored = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    own = {node.id for node in stored} | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    def visit(node: ast.AST) -> Iterator[str]:
        if is_text(node) or isinstance(node, ast.Import | ast.ImportFrom | ast.expr_context):
            return
        told = getattr(node, "id", None) or getattr(node, "attr", None)
        told = told or (repr(node.value)[:50] if isinstance(node, ast.Constant) else "")
        yield f"{type(node).__name__} {'_' if told in own else told}"
        for child in ast.iter_child_nodes(node):
            if not isinstance(node, ast.arg) and child is not getattr(node, "returns", None):
                yield from visit(child)

    return visit(tree)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@cache
def sequence(source: str) -> tuple[str, ...]:
    try:
        return tuple(nodes(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def pieces(source: str) -> set[bytes]:
    whole = sequence(source)
    runs = ("\0".join(whole[i : i + PIECE]) for i in range(len(whole) - PIECE + 1))
    return {hashlib.blake2b(run.encode(errors="replace"), digest_size=8).digest() for run in runs}


def functions(source: str) -> Iterator[ast.FunctionDef]:
    try:
        yield from (s for s in ast.parse(source).body if isinstance(s, ast.FunctionDef))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def is_pasted(exercise: str, program: str) -> bool:
    """Whether an answer has a function of the package's solution: with its docstring, or, if long, but for names."""
    solution = [*functions(solution_of(exercise))]
    texts = {text for one in solution if (text := ast.get_docstring(one))}
    long = {found for one in solution if len(found := tuple(nodes(one))) >= LONG}
    given = [*functions(program)]
    try:
        return any(ast.get_docstring(one) in texts or tuple(nodes(one)) in long for one in given)
    except RecursionError:  # code that is nested without end
        return False


@cache
def solution_of(exercise: str) -> str:
    return catalogue[exercise].solution_source()


def pasted(graded: list[Graded]) -> list[tuple[str, str]]:
    """Student and exercise, wherever the package's solution was handed in."""
    marks = ((one.student, mark) for one in graded for mark in one.marks if mark.program)
    return [
        (student, m.exercise) for student, m in marks if m.exercise in catalogue and is_pasted(m.exercise, m.program)
    ]


def alike(graded: list[Graded], exercise: str) -> list[Pair]:
    """The pairs whose answers to an exercise have the same unusual pieces, the most alike first."""
    programs = {one.student: m.program for one in graded for m in one.marks if m.exercise == exercise and m.program}
    found = {student: pieces(program) for student, program in programs.items()}
    counted = Counter(piece for pieces_ in found.values() for piece in pieces_)
    most = max(2, round(UNUSUAL * len(found)))
    common = pieces(solution_of(exercise)) if exercise in catalogue else set()
    unusual = {s: {p for p in own if counted[p] <= most} - common for s, own in found.items()}
    holders: dict[bytes, list[str]] = {}
    for student, own in unusual.items():
        for piece in own:
            holders.setdefault(piece, []).append(student)
    shared = Counter(pair for students in holders.values() for pair in combinations(sorted(students), 2))
    pairs = [
        Pair(exercise, one, other, count / len(unusual[one] | unusual[other]))
        for (one, other), count in shared.items()
        if count >= LEAST
    ]
    return sorted((pair for pair in pairs if pair.share >= ALIKE), key=lambda pair: -pair.share)
