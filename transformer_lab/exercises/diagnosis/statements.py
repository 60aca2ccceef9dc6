"""Slips with whole statements: a step left out, two in the other order, a condition that is not asked."""

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise

from transformer_lab.exercises.diagnosis import wordings
from transformer_lab.exercises.diagnosis.edits import COMMON, FAIR, Edit


def slips_in(function: ast.FunctionDef) -> Iterator[Edit]:
    """The slips of a function's statements, block by block."""
    for one in function.args.args:
        if one.arg in ("weights", "scores", "logits"):
            (first,) = ast.parse(f"{one.arg} = {one.arg}.softmax(-1)").body
            new = [first, *function.body]
            yield Edit(
                function, "body", None, new, wordings.softmax_first(one.arg), function, function.body[0].lineno, FAIR
            )
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                for line, new, text, rank in of_block(block, node):
                    yield Edit(node, name, None, new, text, function, line, rank)
        if isinstance(node, ast.If | ast.While):
            yield from of_condition(node, function)
        if isinstance(node, ast.AugAssign):
            plain = ast.Assign([node.target], node.value)
            yield from of_statement(node, plain, wordings.not_accumulated(node), function)


def of_block(block: list[ast.stmt], owner: ast.AST) -> Iterator[tuple[int, list[ast.stmt], Callable[[], str], int]]:
    """Line, new block, words and rank of each slip of one block."""
    for i, statement in enumerate(block):
        rest = [*block[:i], *block[i + 1 :]] or [ast.Pass()]
        if not isinstance(statement, ast.Return | ast.Pass):
            yield statement.lineno, rest, wordings.step_missing(statement), COMMON
        if isinstance(statement, ast.If):
            taken = [*block[:i], *statement.body, *block[i + 1 :]]
            yield statement.lineno, taken, wordings.always(statement.test), FAIR
        if isinstance(statement, ast.Break | ast.Continue):
            other = ast.Continue() if isinstance(statement, ast.Break) else ast.Break()
            text = wordings.instead_of_word(other, statement)
            yield statement.lineno, [*block[:i], other, *block[i + 1 :]], text, COMMON
    for i, (one, two) in enumerate(pairwise(block)):
        if not isinstance(two, ast.Return):
            swapped = [*block[:i], two, one, *block[i + 2 :]]
            yield one.lineno, swapped, wordings.steps_swapped(one, two), FAIR
        if isinstance(one, ast.For | ast.While) and isinstance(two, ast.Return):
            inside = type(one)(**dict(ast.iter_fields(one)))
            inside.body = [*one.body, two]
            yield one.lineno, [*block[:i], inside, two], wordings.returned_too_early(), COMMON


def of_condition(node: ast.If | ast.While, function: ast.FunctionDef) -> Iterator[Edit]:
    turned = ast.UnaryOp(ast.Not(), node.test)
    yield Edit(node, "test", None, turned, wordings.condition_turned(node.test), function, node.lineno, FAIR)


def of_statement(old: ast.stmt, new: ast.stmt, text: Callable[[], str], function: ast.FunctionDef) -> Iterator[Edit]:
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and old in block:
                yield Edit(node, name, block.index(old), new, text, function, old.lineno, COMMON)
