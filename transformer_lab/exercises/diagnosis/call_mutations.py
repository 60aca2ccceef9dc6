"""Mutations of calls: leave one out, call another function, swap or drop arguments, start a range elsewhere."""

import ast
from collections.abc import Collection, Iterator
from itertools import combinations

from transformer_lab.exercises.diagnosis.mutation import COMMON, FAIR
from transformer_lab.exercises.diagnosis.replacements import REDUCTIONS, SIMILAR_FUNCTIONS

Change = tuple[ast.expr, int]  # what is put in place of an expression, and a rank


def of_call(call: ast.Call, names: Collection[str]) -> Iterator[Change]:
    """All replacements of a call."""
    yield from of_whole_call(call, names)
    yield from of_arguments(call, names)
    if isinstance(call.func, ast.Attribute):
        yield from of_method(call, call.func)
    if is_range(call):
        yield from of_range(call)


def of_whole_call(call: ast.Call, names: Collection[str]) -> Iterator[Change]:
    """Leave the call out, call a similar function, swap two nested calls, or add a residual connection around it."""
    first = call.args[0] if call.args else None
    receiver = call.func.value if has_receiver(call) else None  # type: ignore[attr-defined]
    if receiver is not None:
        yield receiver, COMMON
    if first is not None and (receiver is None or isinstance(receiver, ast.Constant)):
        yield first.value if isinstance(first, ast.Starred) else first, COMMON
    for other in similar(call.func):
        yield ast.Call(other, call.args, call.keywords), COMMON
    if isinstance(first, ast.Call) and len(call.args) == len(first.args) == 1:
        yield ast.Call(first.func, [ast.Call(call.func, first.args, call.keywords)], first.keywords), FAIR
    while isinstance(first, ast.Call) and first.args:
        first = first.args[0]
    if isinstance(call.func, ast.Name) and isinstance(first, ast.Name) and first.id in names:
        yield ast.BinOp(first, ast.Add(), call), FAIR


def of_arguments(call: ast.Call, names: Collection[str]) -> Iterator[Change]:
    """Swap two arguments, leave one out, or name one as the function's own parameter is named."""
    for i, j in combinations(range(len(call.args)), 2):
        if not isinstance(call.args[i], ast.Starred) and not isinstance(call.args[j], ast.Starred):
            swapped = [*call.args]
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield ast.Call(call.func, swapped, call.keywords), COMMON if j == i + 1 else FAIR
    for i in range(len(call.args)):
        rest = [*call.args[:i], *call.args[i + 1 :]]
        if rest or isinstance(call.func, ast.Attribute):
            yield ast.Call(call.func, rest, call.keywords), FAIR
    for keyword in call.keywords:
        yield ast.Call(call.func, call.args, [other for other in call.keywords if other is not keyword]), COMMON
        if keyword.arg and keyword.arg in names and isinstance(keyword.value, ast.Constant | ast.UnaryOp):
            own = ast.keyword(keyword.arg, ast.Name(keyword.arg, ast.Load()))
            rest_of_them = [own if other is keyword else other for other in call.keywords]
            yield ast.Call(call.func, call.args, rest_of_them), COMMON


def of_method(call: ast.Call, method: ast.Attribute) -> Iterator[Change]:
    """Transpose instead of reshaping, reduce over all axes, or sort in the opposite order."""
    name, receiver = method.attr, has_receiver(call)
    if name in ("reshape", "view") and receiver:
        yield ast.Attribute(method.value, "mT", ast.Load()), FAIR
    if name in REDUCTIONS and (call.keywords or (call.args and receiver)):
        yield ast.Call(method, [] if receiver else call.args[:1], []), COMMON
    if name in ("sort", "argsort") and not any(one.arg in ("descending", "reverse") for one in call.keywords):
        for order in ("descending", "reverse"):
            yield ast.Call(method, call.args, [*call.keywords, ast.keyword(order, ast.Constant(True))]), COMMON


def of_range(call: ast.Call) -> Iterator[Change]:
    """Start the range at 1 or at 0, or make it one longer or shorter."""
    one = ast.Constant(1)
    match call.args:
        case [end]:
            yield ast.Call(call.func, [one, end], call.keywords), COMMON
            yield ast.Call(call.func, [one, ast.BinOp(end, ast.Add(), one)], call.keywords), COMMON
        case [ast.Constant(1), ast.BinOp(end, ast.Add(), ast.Constant(1))]:
            yield ast.Call(call.func, [end], call.keywords), COMMON
    if call.args and not isinstance(call.args[-1], ast.Name | ast.Constant):
        for sign in (ast.Add(), ast.Sub()):
            end = ast.BinOp(call.args[-1], sign, one)
            yield ast.Call(call.func, [*call.args[:-1], end], call.keywords), COMMON


def is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node.func) in ("range", "arange")


def has_receiver(call: ast.Call) -> bool:
    """Whether the call is a method of a value, rather than a function of a module."""
    modules = ("torch", "math", "F", "np", "functional", "nn")
    function = call.func
    return isinstance(function, ast.Attribute) and not (
        isinstance(function.value, ast.Name) and function.value.id in modules
    )


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def similar(function: ast.expr) -> Iterator[ast.expr]:
    """The functions that are mistaken for this one."""
    name = called(function)
    for other in dict.fromkeys(other for group in SIMILAR_FUNCTIONS if name in group for other in group):
        if other != name and isinstance(function, ast.Attribute):
            yield ast.Attribute(function.value, other, ast.Load())
        elif other != name:
            yield ast.Name(other, ast.Load())
