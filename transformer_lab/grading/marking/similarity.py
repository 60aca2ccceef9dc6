"""Answers that look alike: pasted solutions, and groups of students whose code has the same parts of its own.

An answer is read as a sequence of the nodes of its syntax tree, without its own names. What counts are pieces of the
sequence that neither the package's solution has, nor what was handed out: a few if few answers of the class have them,
and many, as only long code has, however many have them. It is a reason to look, not a proof.
"""

import ast
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import ceil, log

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.marking.records import Graded

PIECE = 12  # nodes
LONG = 45  # nodes of a function that nobody writes twice by chance
ALIKE = 0.8  # of the pieces that count two answers have in common
UNUSUAL, LEAST = 0.1, 10  # of the class, and at least two, who have a piece; so many such pieces are enough
MANY = 50  # pieces that are enough however many have them: attention in its usual three lines has up to 45


@dataclass(frozen=True)
class Group:
    """Students whose answers to an exercise look alike, each like another's: `share` is that of the least alike.

    `alone` counts the pieces that several of them have, and nobody else. `rarity` says how few of the class have the
    rarest of what they share: many pieces that everybody writes don't outweigh a few that two alone have.
    """

    exercise: str
    students: tuple[str, ...]
    share: float | int
    alone: int = 0
    rarity: float | int = 0.0


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


def alike(graded: list[Graded], exercise: str) -> list[Group]:
    """The groups whose answers to an exercise have the same pieces of their own, what is rarest first."""
    programs = {one.student: m.program for one in graded for m in one.marks if m.exercise == exercise and m.program}
    given = given_to_all(exercise)
    own = {student: frozenset(pieces(program) - given) for student, program in programs.items()}
    counted = Counter(piece for found in own.values() for piece in found)
    most = max(2, round(UNUSUAL * len(own)))
    unusual = {student: frozenset(p for p in found if counted[p] <= most) for student, found in own.items()}
    links = near(unusual, LEAST) | near(own, MANY)
    groups = []
    for who in joined(links):
        within = Counter(piece for student in who for piece in own[student])
        shared = [piece for piece, count in within.items() if count > 1]
        alone = sum(counted[piece] == within[piece] for piece in shared)
        rarity = sum(log(len(own) / count) for count in sorted(counted[piece] for piece in shared)[:LEAST])
        least = min(share for pair, share in links.items() if pair <= who)
        groups.append(Group(exercise, tuple(sorted(who)), least, alone, rarity))
    return sorted(groups, key=by_rarity)


def by_rarity(group: Group) -> tuple[float, int]:
    return -group.rarity, -group.alone


@cache
def given_to_all(exercise: str) -> set[bytes]:
    """The pieces of what everybody may have read: the solution, and the function that was handed out to be mended."""
    if exercise not in catalogue:
        return set()
    one = catalogue[exercise]
    return pieces(solution_of(exercise)) | (pieces(one.handed_out()) if isinstance(one, FindTheBug) else set())


def near(sets: dict[str, frozenset[bytes]], least: int) -> dict[frozenset[str], float]:
    """The pairs of students whose sets have a share of ALIKE in common, and `least` pieces, each with its share.

    Of students with one and the same set, each is paired with the first alone.
    """
    holders: dict[frozenset[bytes], list[str]] = defaultdict(list)
    for student, found in sets.items():
        if len(found) >= least:
            holders[found].append(student)
    links = {frozenset((who[0], other)): 1.0 for who in holders.values() for other in who[1:]}
    for one, other in candidates([*holders]):
        both = len(one & other)
        share = both / (len(one) + len(other) - both)
        if both >= least and share >= ALIKE:
            links[frozenset((holders[one][0], holders[other][0]))] = share
    return links


def candidates(sets: list[frozenset[bytes]]) -> set[tuple[frozenset[bytes], frozenset[bytes]]]:
    """The pairs of sets that may have a share of ALIKE in common.

    Those that do have one in common of the few rarest pieces of each: of so many as may be missing, and one more.
    """
    counted = Counter(piece for found in sets for piece in found)
    having: dict[bytes, list[frozenset[bytes]]] = defaultdict(list)
    for found in sets:
        for piece in sorted(found, key=lambda p: (counted[p], p))[: len(found) - ceil(ALIKE * len(found)) + 1]:
            having[piece].append(found)
    return {pair for some in having.values() for pair in combinations(some, 2)}


def joined(links: Iterable[frozenset[str]]) -> list[set[str]]:
    """The students that links join, directly or through others."""
    groups: list[set[str]] = []
    for pair in links:
        touched = [group for group in groups if group & pair]
        groups = [group for group in groups if not group & pair] + [set(pair).union(*touched)]
    return groups
