"""All small changes of a function that may introduce a mistake somebody makes, or undo it."""

import ast
from collections.abc import Iterator
from itertools import chain

from transformer_lab.exercises.diagnosis import statement_mutations
from transformer_lab.exercises.diagnosis.call_mutations import Change, called, is_range, of_call
from transformer_lab.exercises.diagnosis.missing_parts import of_axis, of_einsum, of_operand, of_result, scaled
from transformer_lab.exercises.diagnosis.mutation import COMMON, FAIR, RARE, Mutation
from transformer_lab.exercises.diagnosis.replacements import COMPARISONS, OPERATORS
from transformer_lab.exercises.diagnosis.source_tree import SourceTree


def mutations(tree: SourceTree) -> list[Mutation]:
    """All mutations of a tree, starting with those that undo the commonest mistakes."""
    return sorted((one for function in tree.functions for one in in_function(function)), key=lambda one: one.rank)


def in_function(function: ast.FunctionDef) -> Iterator[Mutation]:
    names, unused = own_names(function), unused_names(function)
    for node in [node for statement in function.body for node in ast.walk(statement)]:
        for name, value in ast.iter_fields(node):
            for index, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.expr):
                    for new, rank in chain(changes(part, node, names), of_unused(part, node, unused)):
                        yield Mutation(node, name, index, new, function, part.lineno, rank)
    yield from statement_mutations.in_function(function)


def own_names(function: ast.FunctionDef) -> dict[str, bool]:
    """The names of required parameters and of assigned values, and for each whether it is a parameter."""
    given = function.args.args[: len(function.args.args) - len(function.args.defaults)]
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = {one.arg: True for one in given}
    return names | {name: False for name in stored if name not in names and name != "_"}


def unused_names(function: ast.FunctionDef) -> list[str]:
    """The parameters that are never read."""
    read = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return [one.arg for one in function.args.args if one.arg not in read]


def of_unused(node: ast.expr, parent: ast.AST, unused: list[str]) -> Iterator[Change]:
    """Use an unused parameter in what is returned, in a sum, or in place of a number."""
    for name in unused:
        if isinstance(parent, ast.Return):
            yield from of_result(node, name)
        elif isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub):
            yield ast.BinOp(ast.Name(name, ast.Load()), ast.Mult(), node), FAIR
        if isinstance(node, ast.Constant) and node.value is not None:
            yield ast.Name(name, ast.Load()), FAIR


def changes(node: ast.expr, parent: ast.AST, names: dict[str, bool]) -> Iterator[Change]:
    """The replacements of one expression, each with a rank for how often it is what somebody meant."""
    match node:
        case ast.BinOp():
            yield from of_operation(node)
        case ast.Compare(left, [operator], [right]):
            for i, other in enumerate(COMPARISONS.get(type(operator), ())):
                yield ast.Compare(left, [other()], [right]), COMMON if i == 0 else FAIR
        case ast.UnaryOp(_, operand) if not isinstance(operand, ast.Constant):
            yield operand, COMMON
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            yield from of_number(-value)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values), COMMON
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest), COMMON
        case ast.IfExp(test, body, orelse):
            yield from ((body, FAIR), (orelse, FAIR), (ast.IfExp(test, orelse, body), COMMON))
        case ast.Constant(bool() as value):
            yield ast.Constant(not value), COMMON
        case ast.Constant(int() | float() as value) if not isinstance(parent, ast.UnaryOp):
            yield from of_number(value)
        case ast.Constant(None):
            yield from ((ast.Name(name, ast.Load()), FAIR) for name in names if "mask" in name)
        case ast.Constant(str() as value) if "->" in value:
            yield from of_einsum(value)
        case ast.Constant("mean" | "sum" | "none" as value):
            yield from ((ast.Constant(other), COMMON) for other in ("mean", "sum") if other != value)
        case ast.Call():
            yield from of_call(node, names)
            yield from of_axis(node, names)
        case ast.Attribute(inner, "T" | "mT" | "H" as turned):
            yield inner, COMMON
            if turned == "T":
                yield ast.Attribute(inner, "mT", ast.Load()), COMMON
        case ast.Name(name, ast.Load()) if name in names:
            yield from of_name(node, parent, names)
        case ast.Tuple(elements, ast.Load()) | ast.List(elements, ast.Load()) if len(elements) > 1:
            if not any(isinstance(one, ast.Starred | ast.Slice) for one in elements):
                yield type(node)(elements[::-1], ast.Load()), COMMON
            if isinstance(parent, ast.Return):
                yield from ((one, COMMON) for one in elements)
        case ast.Subscript(value, _, ast.Load()):
            yield value, FAIR
        case ast.Slice(lower, upper, step):
            yield from of_slice(lower, upper, step)


def of_name(node: ast.Name, parent: ast.AST, names: dict[str, bool]) -> Iterator[Change]:
    """Use another name; invert or drop a mask; change a sign, apply a softmax, add or subtract one where it fits."""
    if "mask" in node.id:
        yield from ((ast.UnaryOp(ast.Invert(), node), COMMON), (ast.Constant(None), COMMON))
    if isinstance(parent, ast.Tuple | ast.List | ast.Return):
        yield ast.UnaryOp(ast.USub(), node), COMMON
    ordered = isinstance(parent, ast.Compare) and not isinstance(parent.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn)
    if ordered or isinstance(parent, ast.Subscript) or is_range(parent):
        for operator in (ast.Add(), ast.Sub()):
            yield ast.BinOp(node, operator, ast.Constant(1)), FAIR
    if isinstance(parent, ast.BinOp):
        yield from of_operand(node, parent, names)
    if isinstance(parent, ast.Call):
        yield ast.Attribute(node, "mT", ast.Load()), RARE
        if called(parent.func) in ("view", "reshape", "unflatten"):
            yield ast.UnaryOp(ast.USub(), ast.Constant(1)), FAIR
    if isinstance(parent, ast.Attribute | ast.Call | ast.Tuple | ast.Return):
        softmax = ast.Attribute(node, "softmax", ast.Load())
        yield ast.Call(softmax, [ast.UnaryOp(ast.USub(), ast.Constant(1))], []), RARE
    for other in names:
        if other != node.id:
            yield ast.Name(other, ast.Load()), FAIR if names[other] == names[node.id] else RARE


def of_operation(node: ast.BinOp) -> Iterator[Change]:
    """Change the operator, drop a side, swap the sides, take a root, or place the brackets differently."""
    left, operator, right = node.left, node.op, node.right
    for i, similar in enumerate(OPERATORS.get(type(operator), ())):
        yield ast.BinOp(left, similar(), right), COMMON if i == 0 else FAIR
    yield from ((left, COMMON), (right, FAIR))
    if not isinstance(operator, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
        yield ast.BinOp(right, operator, left), COMMON
    if isinstance(operator, ast.MatMult):
        yield from scaled(node)
    if isinstance(operator, ast.Div | ast.Mult):
        yield ast.BinOp(left, operator, ast.BinOp(right, ast.Pow(), ast.Constant(0.5))), FAIR
    if isinstance(operator, ast.Pow):
        yield ast.BinOp(left, operator, ast.BinOp(right, ast.Div(), ast.Constant(2))), FAIR
    if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div) and isinstance(left, ast.BinOp):
        yield ast.BinOp(left.left, left.op, ast.BinOp(left.right, operator, right)), RARE
        yield ast.BinOp(ast.BinOp(left.left, operator, right), left.op, left.right), RARE
    match left, right:
        case ast.Call(ast.Name(this), [inside], []), ast.Call(ast.Name(that), [rest], []) if this == that:
            yield ast.Call(left.func, [ast.BinOp(inside, operator, rest)], []), FAIR
    sides = (left, right)
    for one, other in (sides, sides[::-1]):
        if isinstance(one, ast.Call) and len(one.args) == 1 and isinstance(one.func, ast.Name):
            yield ast.Call(one.func, [ast.BinOp(other, operator, one.args[0])], one.keywords), FAIR


def of_number(value: int | float) -> Iterator[Change]:
    """Try neighbours; other axes where a number may be one; else the opposite sign, factors of 2 and 10, 0 and 1."""
    near = [value + 1, value - 1]
    if isinstance(value, float) and abs(value) < 4:
        near += [value + 0.5, value - 0.5, 1.0, -1.0]
    axes = [axis for axis in (0, 1, 2, 3, -1, -2, -3) if isinstance(value, int) and -4 < value < 4]
    others = [-value, 2 * value, value / 2, 10 * value, value / 10, 0 * value, 0 * value + 1]
    more = [] if axes else [other for other in others if isinstance(value, float) or other == int(other)]
    for other in dict.fromkeys([*near, *axes, *more]):
        if other != value and abs(other) < 1e15:
            same = int(other) if isinstance(value, int) else float(other) or 0.0
            yield ast.Constant(same), COMMON if other in near + axes else FAIR
    if isinstance(value, float) and (value == 0 or value <= -100):  # it fills what a softmax shall not see
        yield ast.Constant(float("-inf")), COMMON


def of_slice(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None) -> Iterator[Change]:
    """Drop a bound or move it by one; drop the step; swap the bounds; of a whole axis, drop the first or the last."""
    one, minus_one = ast.Constant(1), ast.Constant(-1)
    if lower is not None:
        yield ast.Slice(None, upper, step), COMMON
        yield ast.Slice(ast.BinOp(lower, ast.Add(), one), upper, step), COMMON
        yield ast.Slice(ast.BinOp(lower, ast.Sub(), one), upper, step), FAIR
    if upper is not None:
        yield ast.Slice(lower, None, step), COMMON
        yield ast.Slice(lower, ast.BinOp(upper, ast.Add(), one), step), COMMON
        yield ast.Slice(lower, ast.BinOp(upper, ast.Sub(), one), step), COMMON
    if step is not None:
        yield ast.Slice(lower, upper, None), COMMON
    if lower is not None or upper is not None:
        yield ast.Slice(upper, lower, step), COMMON
    match lower, upper:
        case ast.Constant(int() as value), None if value > 0:
            yield ast.Slice(None, ast.UnaryOp(ast.USub(), lower), step), COMMON
        case None, ast.UnaryOp(ast.USub(), ast.Constant() as value):
            yield ast.Slice(value, None, step), COMMON
    if lower is None and upper is None and step is None:
        yield from ((ast.Slice(one, None, None), FAIR), (ast.Slice(None, minus_one, None), FAIR))
