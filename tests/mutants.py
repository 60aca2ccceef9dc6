"""Every small change of a reference implementation: the wrong answers that nobody thought of.

A mutant changes one place of the source: an operator, a constant, an axis, a call, the name of a parameter.
"""

import ast
import copy
import inspect
from collections.abc import Callable, Iterator
from itertools import pairwise

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
}
METHODS = {"amax": "amin", "sum": "mean", "exp": "sigmoid", "softmax": "log_softmax", "sin": "cos", "cos": "sin"}
METHODS |= {"tril": "triu"}


def mutants(source: str, scope: dict) -> Iterator[tuple[str, Callable]]:
    """`(description, function)` for each small change of the function that `source` defines."""
    tree = ast.parse(source)
    parameters = [argument.arg for argument in tree.body[0].args.args]
    for index, node in enumerate(ast.walk(tree)):
        for change in changes(node, parameters):
            changed = replaced(tree, index, change)
            description = f"line {node.lineno}: {ast.unparse(node)} → {ast.unparse(change)}"
            yield description, compiled(changed, scope)


def changes(node: ast.AST, parameters: list[str]) -> Iterator[ast.expr]:
    """The small changes of one node."""
    match node:
        case ast.BinOp(left, operator, right):
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
            yield ast.BinOp(right, operator, left)
        case ast.Compare(left, [ast.NotEq()], right):
            yield from (ast.Compare(left, [other()], right) for other in (ast.Eq, ast.Lt, ast.Gt))
        case ast.UnaryOp(ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Call():
            yield from changed_calls(node)
        case ast.Name(name, ast.Load()) if name in parameters:
            yield from (ast.Name(other, ast.Load()) for other in parameters if other != name)
        case ast.Tuple(elements, ast.Load()) if len(elements) > 1:
            yield ast.Tuple(elements[::-1], ast.Load())


def changed_calls(call: ast.Call) -> Iterator[ast.expr]:
    """The call left out, another function of the same kind, arguments in another order, a keyword left out."""
    if call.args:
        yield call.args[0]
    if isinstance(call.func, ast.Attribute):
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id in ("torch", "math")):
            yield call.func.value
        if call.func.attr in METHODS:
            yield ast.Call(
                ast.Attribute(call.func.value, METHODS[call.func.attr], ast.Load()), call.args, call.keywords
            )
    for i, (first, second) in enumerate(pairwise(call.args)):
        yield ast.Call(call.func, [*call.args[:i], second, first, *call.args[i + 2 :]], call.keywords)
    for keyword in call.keywords:
        yield ast.Call(call.func, call.args, [other for other in call.keywords if other is not keyword])


def replaced(tree: ast.Module, index: int, change: ast.expr) -> ast.Module:
    """A copy of the tree in which the node with this index of `ast.walk` is another."""
    tree = copy.deepcopy(tree)
    target = list(ast.walk(tree))[index]
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, change)
            elif isinstance(value, list):
                value[:] = [change if item is target else item for item in value]
    return ast.fix_missing_locations(tree)


def compiled(tree: ast.Module, scope: dict) -> Callable:
    namespace = dict(scope)
    exec(compile(tree, "<mutant>", "exec"), namespace)
    return namespace[tree.body[0].name]


def mutants_of(exercise) -> Iterator[tuple[str, Callable]]:
    """The mutants of an exercise's reference implementation."""
    yield from mutants(exercise.solution_source(), inspect.unwrap(exercise.reference).__globals__)
