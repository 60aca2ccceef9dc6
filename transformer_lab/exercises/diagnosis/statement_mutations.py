"""Mutations of statements: leave out a step, exchange the order of two, ignore a condition."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from transformer_lab.exercises.diagnosis.mutation import COMMON, FAIR, Mutation

NewBlock = tuple[int, list[ast.stmt], int]  # the line of a mutation, the block with it, its rank


def in_function(function: ast.FunctionDef) -> Iterator[Mutation]:
    """The mutations of a function's statements, block by block."""
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                for line, new, rank in of_block(block):
                    yield Mutation(node, name, None, new, function, line, rank)
        if isinstance(node, ast.If | ast.While):
            turned = ast.UnaryOp(ast.Not(), node.test)
            yield Mutation(node, "test", None, turned, function, node.lineno, FAIR)


def of_block(block: list[ast.stmt]) -> Iterator[NewBlock]:
    for i, statement in enumerate(block):
        for new, rank in of_statement(statement):
            yield statement.lineno, [*block[:i], *new, *block[i + 1 :]] or [ast.Pass()], rank
    for i, (one, two) in enumerate(pairwise(block)):
        if not isinstance(two, ast.Return):
            yield one.lineno, [*block[:i], two, one, *block[i + 2 :]], FAIR


def of_statement(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], int]]:
    """Replace a statement: by nothing, by what its condition guards, by a `return` after its loop, and so on."""
    if not isinstance(statement, ast.Return | ast.Pass):
        yield [], COMMON
    match statement:
        case ast.For(body=[*steps, ast.Return() as last]) | ast.While(body=[*steps, ast.Return() as last]) if steps:
            loop = type(statement)(**dict(ast.iter_fields(statement)))
            loop.body = steps
            yield [loop, last], COMMON
        case ast.If(body=body):
            yield body, FAIR
        case ast.Break():
            yield [ast.Continue()], COMMON
        case ast.Continue():
            yield [ast.Break()], COMMON
        case ast.AugAssign(target, _, value):
            yield [ast.Assign([target], value)], COMMON
        case ast.Assign([ast.Name() as target], value):
            yield [ast.AugAssign(target, ast.Add(), value)], FAIR
