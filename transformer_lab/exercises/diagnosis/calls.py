"""Slips with calls: one left out, another function, arguments swapped or left out, a range that begins elsewhere."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from transformer_lab.exercises.diagnosis import wordings
from transformer_lab.exercises.diagnosis.edits import COMMON, FAIR
from transformer_lab.exercises.diagnosis.similar import KIN, REDUCTIONS, TWICE
from transformer_lab.exercises.diagnosis.words import Words

Change = tuple[ast.expr, Words, int]


def of_call(call: ast.Call) -> Iterator[Change]:
    """The call left out, its kin, arguments in another order, an argument or a keyword left out."""
    first = call.args[0] if call.args else None
    if first is not None and not (isinstance(call.func, ast.Attribute) and is_value(call.func.value)):
        yield first.value if isinstance(first, ast.Starred) else first, wordings.call_missing(call), COMMON
    if isinstance(call.func, ast.Attribute) and is_value(call.func.value):
        yield call.func.value, wordings.call_missing(call), COMMON
    for other in kin(call.func):
        yield ast.Call(other, call.args, call.keywords), wordings.another_function(call.func, other), COMMON
    for i, (one, two) in enumerate(pairwise(call.args)):
        if not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred):
            swapped = [*call.args[:i], two, one, *call.args[i + 2 :]]
            yield ast.Call(call.func, swapped, call.keywords), wordings.arguments_swapped(call), COMMON
    for i, argument in enumerate(call.args):
        rest = [*call.args[:i], *call.args[i + 1 :]]
        if rest or isinstance(call.func, ast.Attribute):
            yield ast.Call(call.func, rest, call.keywords), wordings.argument_missing(call, argument), FAIR
    for keyword in call.keywords:
        others = [other for other in call.keywords if other is not keyword]
        yield ast.Call(call.func, call.args, others), wordings.argument_missing(call, keyword), COMMON

    if isinstance(call.func, ast.Attribute) and call.func.attr in ("transpose", "permute", "swapaxes", "movedim"):
        inner = call.func.value if is_value(call.func.value) else call.args[0]
        yield reshaped(inner, call), wordings.reshaped(), COMMON
    name = getattr(call.func, "attr", "")
    if name in REDUCTIONS and (call.keywords or (call.args and is_value(call.func.value))):  # type: ignore[attr-defined]
        whole = [] if is_value(call.func.value) else call.args[:1]  # type: ignore[attr-defined]
        yield ast.Call(call.func, whole, []), wordings.over_everything(name), COMMON
    if name in TWICE and is_value(call.func.value):  # type: ignore[attr-defined]
        again = ast.Call(ast.Attribute(call, name, ast.Load()), call.args, call.keywords)
        yield again, wordings.twice(name), FAIR
    if is_range(call) and len(call.args) == 1:
        one = ast.Constant(1)
        later = ast.BinOp(call.args[0], ast.Add(), one)
        yield ast.Call(call.func, [one, *call.args], call.keywords), wordings.first_left_out(), COMMON
        yield ast.Call(call.func, [one, later], call.keywords), wordings.counted_from_one(), COMMON
    if is_range(call) and not isinstance(call.args[-1], ast.Name | ast.Constant):
        for sign in (ast.Add(), ast.Sub()):
            end = ast.BinOp(call.args[-1], sign, ast.Constant(1))
            yield ast.Call(call.func, [*call.args[:-1], end], call.keywords), wordings.ends_elsewhere(), COMMON
    if ast.unparse(call) == "float('-inf')":
        yield from ((ast.Constant(x), wordings.another_number(x, 0), COMMON) for x in (-1e9, 0.0, 1e-9))


def reshaped(inner: ast.expr, transposed: ast.expr) -> ast.expr:
    """The numbers of a tensor in their old order, in the shape that it would have if it were transposed."""
    shape = ast.Attribute(transposed, "shape", ast.Load())
    return ast.Call(ast.Attribute(inner, "reshape", ast.Load()), [shape], [])


def is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
        "range",
        "arange",
    )


def one_off(node: ast.expr) -> Iterator[Change]:
    for operator in (ast.Add(), ast.Sub()):
        yield ast.BinOp(node, operator, ast.Constant(1)), wordings.one_off(), FAIR


def is_value(node: ast.expr) -> bool:
    """Whether the dot behind it leads to a method, and not into a module."""
    return not (isinstance(node, ast.Name) and node.id in ("torch", "math", "F", "np", "functional", "nn"))


def kin(function: ast.expr) -> Iterator[ast.expr]:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    others = dict.fromkeys(other for group in KIN if name in group for other in group if other != name)
    for other in others:
        if isinstance(function, ast.Attribute):
            yield ast.Attribute(function.value, other, ast.Load())
        else:
            yield ast.Name(other, ast.Load())
