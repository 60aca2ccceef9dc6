"""Mutations that belong together: the same change in several places, or two names exchanged."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from transformer_lab.exercises.diagnosis.mutation import FAIR, Mutation
from transformer_lab.exercises.diagnosis.mutations import own_names
from transformer_lab.exercises.diagnosis.source_tree import SourceTree

MOST_PLACES = 8  # that are changed together


def joint_mutations(tree: SourceTree, single: Sequence[Mutation]) -> Iterator[tuple[Mutation, ...]]:
    """Yield joint mutations: first the same change in all of two to eight places of a function, last in two of them."""
    groups: dict[tuple, list[Mutation]] = defaultdict(list)
    for one in single:
        if (key := change_of(one)) is not None:
            groups[one.function, key].append(one)
    yield from (tuple(group) for group in groups.values() if 2 <= len(group) <= MOST_PLACES)
    for function in tree.functions:
        yield from exchanged_names(function)
    for group in groups.values():
        if 2 < len(group) <= MOST_PLACES:
            yield from combinations(group, 2)


def change_of(mutation: Mutation) -> tuple | None:
    """A key that two mutations share if they are the same change: of a number (whatever its sign) or of a name."""
    old, new = number_of(mutation.old), number_of(mutation.new)
    if old is not None and new is not None:
        return abs(old), abs(new), old * new >= 0
    if isinstance(mutation.old, ast.Name) and isinstance(mutation.new, ast.Name):
        return mutation.old.id, mutation.new.id
    return None


def number_of(node: object) -> int | float | None:
    match node:
        case ast.Constant(bool()):
            return None
        case ast.Constant(int() | float() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return -value
    return None


def with_a_tolerance(tree: SourceTree) -> tuple[Mutation, ...]:
    """Replace tests of exact equality of two tensors by `torch.allclose`."""
    found = []
    for function in tree.functions:
        for parent in ast.walk(function):
            for field, value in ast.iter_fields(parent):
                for index, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if sides := compared_exactly(part):
                        close = ast.parse("torch.allclose(x, x, rtol=1e-3, atol=1e-4)", mode="eval").body
                        assert isinstance(close, ast.Call)
                        close.args = [*sides]
                        found.append(Mutation(parent, field, index, close, function, part.lineno, FAIR))
    return tuple(found)


def compared_exactly(node: object) -> tuple[ast.expr, ast.expr] | None:
    """The sides of `torch.equal(a, b)` or of `(a == b).all()`."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("torch"), "equal"), [one, other]):
            return one, other
        case ast.Call(ast.Attribute(ast.Compare(one, [ast.Eq()], [other]), "all"), []):
            return one, other
    return None


def exchanged_names(function: ast.FunctionDef) -> Iterator[tuple[Mutation, ...]]:
    """Exchange two names of a function wherever they are read."""
    reads: dict[str, list[tuple[ast.AST, str, int | None, ast.Name]]] = defaultdict(list)
    names = own_names(function)
    for parent in [node for statement in function.body for node in ast.walk(statement)]:
        for field, value in ast.iter_fields(parent):
            for index, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in names:
                    reads[part.id].append((parent, field, index, part))
    for one, other in combinations(reads, 2):
        places = [(place, other) for place in reads[one]] + [(place, one) for place in reads[other]]
        if len(places) <= MOST_PLACES:
            yield tuple(
                Mutation(parent, field, index, ast.Name(name, ast.Load()), function, old.lineno, FAIR)
                for (parent, field, index, old), name in places
            )
