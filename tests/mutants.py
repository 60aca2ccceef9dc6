"""Every small change of a reference: the wrong answers that nobody thought of.

A mutant changes one place of the source: an operator, a constant, an axis, a call, the name of a parameter.
"""

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

from transformer_lab.exercises.diagnosis.bare_source import BareSource
from transformer_lab.exercises.engine.running import run
from transformer_lab.exercises.exercise import Exercise

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
METHODS = {"amax": "amin", "sum": "mean", "exp": "sigmoid", "softmax": "log_softmax", "sin": "cos", "cos": "sin"}
METHODS |= {"tril": "triu"}
MUTANT = "<mutant>"


def mutants_of(exercise: Exercise) -> Iterator[tuple[str, Callable]]:
    """`(description, function)` for each small change of an exercise's reference, or of a function that it calls.

    Left as they are: types, guards that only raise an error (no case is invalid), and statements that no case reaches,
    as those for parameters that the exercise does not have.
    """
    tree = BareSource().visit(ast.parse(exercise.solution_source()))
    reached, places = lines_reached(tree, exercise), Places(tree)
    seen: Counter[str] = Counter()
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = function.args.args
        parameters = [one.arg for one in arguments[: len(arguments) - len(function.args.defaults)]]
        for node in nodes_on(reached, function.body):
            for change in changes(node, parameters):
                description = f"{function.name}: {ast.unparse(node)} → {ast.unparse(change)}"
                seen[description] += 1
                times = f" ({seen[description]})" if seen[description] > 1 else ""
                with places.holding(change, node):
                    mutant = compiled(tree)[exercise.name]
                yield description + times, mutant


def nodes_on(lines: set[int], statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of the statements that reach a line."""
    for statement in statements:
        inner = [*getattr(statement, "body", []), *getattr(statement, "orelse", [])]
        end = min([part.lineno - 1 for part in inner], default=statement.end_lineno or statement.lineno)
        if lines.isdisjoint(range(statement.lineno, max(end, statement.lineno) + 1)):
            continue
        nested = {id(node) for part in inner for node in ast.walk(part)}
        yield from (node for node in ast.walk(statement) if id(node) not in nested)
        yield from nodes_on(lines, inner)


def lines_reached(tree: ast.Module, exercise: Exercise) -> set[int]:
    """The lines of a tree that some case of the exercise executes."""
    scope = compiled(tree)
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        lines.add(frame.f_lineno)
        return trace if frame.f_code.co_filename == MUTANT else None

    for case in exercise.cases:
        before = sys.gettrace()
        sys.settrace(lambda frame, *_: trace if frame.f_code.co_filename == MUTANT else None)
        try:
            run(scope[exercise.name], case)
        finally:
            sys.settrace(before)
    return lines


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
        yield call.args[0].value if isinstance(call.args[0], ast.Starred) else call.args[0]
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


class Places:
    """Where each node of a tree stands: one is put into another's place, and the other back, without a copy."""

    def __init__(self, tree: ast.Module):
        self.of: dict[ast.AST, tuple[ast.AST | list, str | int]] = {}
        for parent in ast.walk(tree):
            for name, value in ast.iter_fields(parent):
                items = enumerate(value) if isinstance(value, list) else [(name, value)]
                holder = value if isinstance(value, list) else parent
                self.of |= {item: (holder, place) for place, item in items if isinstance(item, ast.AST)}

    @contextmanager
    def holding(self, change: ast.expr, target: ast.AST) -> Iterator[None]:
        """Within it the change stands where the target stood."""
        self.put(ast.fix_missing_locations(ast.copy_location(change, target)), target)
        try:
            yield
        finally:
            self.put(target, target)

    def put(self, node: ast.AST, target: ast.AST) -> None:
        holder, place = self.of[target]
        if isinstance(holder, list):
            holder[place] = node
        else:
            setattr(holder, place, node)


def compiled(tree: ast.Module) -> dict:
    """What a tree defines."""
    scope: dict = {}
    exec(compile(tree, MUTANT, "exec"), scope)
    return scope
