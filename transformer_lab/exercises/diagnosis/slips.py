"""The slips that people make, as edits: every small change of a function that somebody may make by mistake."""

import ast
from collections.abc import Iterator

from transformer_lab.exercises.diagnosis import statements, wordings
from transformer_lab.exercises.diagnosis.base import Base
from transformer_lab.exercises.diagnosis.calls import Change, is_range, of_call, one_off, reshaped
from transformer_lab.exercises.diagnosis.edits import COMMON, FAIR, RARE, Edit
from transformer_lab.exercises.diagnosis.similar import COMPARISONS, OPERATORS


def slips(base: Base) -> list[Edit]:
    """Every slip in a base, in an order that never changes: so a slip is known by its number."""
    return [edit for function in base.functions for edit in slips_in(function, base)]


def slips_in(function: ast.FunctionDef, base: Base) -> Iterator[Edit]:
    names = own_names(function)
    for node in [node for statement in function.body for node in ast.walk(statement)]:
        for name, value in ast.iter_fields(node):
            for index, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.expr):
                    for new, words, rank in changes(part, node, name, names):
                        yield Edit(node, name, index, new, words.of(node, new, base), function, part.lineno, rank)
    yield from statements.slips_in(function)


def own_names(function: ast.FunctionDef) -> dict[str, bool]:
    """The names of a function's values, parameters without defaults and what it assigns; which are parameters?"""
    given = function.args.args[: len(function.args.args) - len(function.args.defaults)]
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    names = {one.arg: True for one in given}
    return names | {name: False for name in stored if name not in names and name != "_"}


def changes(node: ast.expr, parent: ast.AST, place: str, names: dict[str, bool]) -> Iterator[Change]:
    """The slips of one expression that is the `place` of its parent."""
    match node:
        case ast.BinOp():
            yield from of_operation(node)
        case ast.Compare(left, [operator], [right]):
            for i, other in enumerate(COMPARISONS.get(type(operator), ())):
                new = ast.Compare(left, [other()], [right])
                yield new, wordings.another_comparison(operator, new.ops[0]), COMMON if i == 0 else FAIR
        case ast.UnaryOp(_, operand) if not isinstance(operand, ast.Constant):
            yield operand, wordings.sign_missing(node), COMMON
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            yield from of_number(-value, parent, place)
        case ast.BoolOp(operator, values):
            opposite = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield ast.BoolOp(opposite, values), wordings.another_word(operator, opposite), COMMON
            for i, value in enumerate(values):
                rest = [*values[:i], *values[i + 1 :]]
                left = rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
                yield left, wordings.left_out(value), COMMON
        case ast.IfExp(test, body, orelse):
            yield body, wordings.never_asked(test), FAIR
            yield orelse, wordings.never_asked(test), FAIR
            yield ast.IfExp(test, orelse, body), wordings.turned_around(test), COMMON
        case ast.Constant(bool() as value):
            yield ast.Constant(not value), wordings.instead(not value, value), COMMON
        case ast.Constant(int() | float() as value) if not isinstance(parent, ast.UnaryOp):
            yield from of_number(value, parent, place)
        case ast.Constant("mean" | "sum" | "none" as value):
            yield from ((ast.Constant(o), wordings.instead(o, value), COMMON) for o in ("mean", "sum") if o != value)
        case ast.Call():
            yield from of_call(node)
        case ast.Attribute(inner, "T" | "mT" | "H"):
            yield inner, wordings.not_transposed(), COMMON
            yield reshaped(inner, node), wordings.reshaped(), COMMON
        case ast.Name(name, ast.Load()) if name in names:
            if "mask" in name:
                yield ast.UnaryOp(ast.Invert(), node), wordings.inverted(), COMMON
                yield ast.Constant(None), wordings.no_mask(), COMMON
            if isinstance(parent, ast.Tuple | ast.List | ast.Return):
                yield ast.UnaryOp(ast.USub(), node), wordings.sign_too_many(), COMMON
            if isinstance(parent, ast.Subscript | ast.Compare) or is_range(parent):
                yield from one_off(node)
            for another in names:
                if another != name:
                    rank = FAIR if names[another] == names[name] else RARE
                    yield ast.Name(another, ast.Load()), wordings.instead_of_name(another, name), rank
        case ast.Tuple(elements, ast.Load()) | ast.List(elements, ast.Load()) if len(elements) > 1:
            flipped = elements[::-1]
            if not any(isinstance(one, ast.Starred | ast.Slice) for one in elements):
                yield type(node)(flipped, ast.Load()), wordings.reversed_order(), COMMON
            if isinstance(parent, ast.Return):
                yield from ((one, wordings.only_one_returned(one), COMMON) for one in elements)
        case ast.Subscript(value, _, ast.Load()):
            yield value, wordings.index_missing(), FAIR
        case ast.Slice(lower, upper, step):
            yield from of_slice(lower, upper, step)


def of_operation(node: ast.BinOp) -> Iterator[Change]:
    left, operator, right = node.left, node.op, node.right
    for i, other in enumerate(OPERATORS.get(type(operator), ())):
        new = ast.BinOp(left, other(), right)
        yield new, wordings.another_operator(operator, new.op), COMMON if i == 0 else FAIR
    yield left, wordings.side_missing(operator, right, "behind"), COMMON
    yield right, wordings.side_missing(operator, left, "before"), FAIR
    if not isinstance(operator, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
        yield ast.BinOp(right, operator, left), wordings.sides_swapped(operator), COMMON
    if isinstance(operator, ast.Div | ast.Mult):
        root = ast.BinOp(right, ast.Pow(), ast.Constant(0.5))
        yield ast.BinOp(left, operator, root), wordings.root_too_many(), FAIR
    if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div) and isinstance(left, ast.BinOp):
        inner = ast.BinOp(left.right, operator, right)  # brackets in another place
        yield ast.BinOp(left.left, left.op, inner), wordings.other_brackets(), RARE
        outer = ast.BinOp(left.left, operator, right)
        yield ast.BinOp(outer, left.op, left.right), wordings.other_brackets(), RARE


def of_number(value: int | float, parent: ast.AST, place: str) -> Iterator[Change]:
    """Neighbours; other axes where a number may be one; for others also another sign, factors of 2 and 10, 0 and 1."""
    near = [value + 1, value - 1]
    if isinstance(value, float) and abs(value) < 4:
        near += [value + 0.5, value - 0.5, 1.0, -1.0]
    axes = [axis for axis in (0, 1, 2, 3, -1, -2, -3) if isinstance(value, int) and -4 < value < 4]
    others = [-value, 2 * value, value / 2, 10 * value, value / 10, 0 * value, 0 * value + 1]
    more = [] if axes else [other for other in others if isinstance(value, float) or other == int(other)]
    for other in dict.fromkeys([*near, *axes, *more]):
        if other != value and abs(other) < 1e15:
            same = int(other) if isinstance(value, int) else float(other) or 0.0
            yield ast.Constant(same), wordings.another_number(same, value), COMMON if other in near + axes else FAIR


def of_slice(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None) -> Iterator[Change]:
    words, one, minus_one = wordings.another_slice(), ast.Constant(1), ast.Constant(-1)
    if lower is not None:
        yield ast.Slice(None, upper, step), words, COMMON
        yield ast.Slice(ast.BinOp(lower, ast.Add(), one), upper, step), words, COMMON
        yield ast.Slice(ast.BinOp(lower, ast.Sub(), one), upper, step), words, FAIR
    if upper is not None:
        yield ast.Slice(lower, None, step), words, COMMON
        yield ast.Slice(lower, ast.BinOp(upper, ast.Add(), one), step), words, COMMON
        yield ast.Slice(lower, ast.BinOp(upper, ast.Sub(), one), step), words, COMMON
    if step is not None:
        yield ast.Slice(lower, upper, None), words, COMMON
    if lower is not None or upper is not None:
        yield ast.Slice(upper, lower, step), words, COMMON
    if lower is None and upper is None and step is None:
        yield ast.Slice(one, None, None), words, FAIR
        yield ast.Slice(None, minus_one, None), words, FAIR
