"""The slips that people make, as edits: every small change of a function that somebody may make by mistake."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from transformer_lab.exercises.diagnosis import statements, wordings
from transformer_lab.exercises.diagnosis.edits import Base, Edit
from transformer_lab.exercises.diagnosis.wordings import Words

COMMON, FAIR, RARE = 0, 1, 2  # ranks of slips

Change = tuple[ast.expr, Words, int]

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
KIN = (  # functions that are taken for one another
    ("amax", "amin", "sum", "mean"),
    ("max", "min", "sum"),
    ("argmax", "argmin"),
    ("softmax", "log_softmax", "sigmoid"),
    ("exp", "log"),
    ("sin", "cos", "tan"),
    ("tril", "triu"),
    ("any", "all"),
    ("var", "std"),
    ("cumsum", "cumprod"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("eye", "ones", "zeros"),
    ("relu", "gelu", "sigmoid", "tanh"),
    ("stack", "cat"),
    ("sqrt", "square"),
    ("mean", "sum", "prod"),
    ("append", "extend"),
    ("log", "log2", "log10"),
)

REDUCTIONS = {"sum", "mean", "max", "min", "amax", "amin", "var", "std", "any", "all", "argmax"}
TWICE = {"softmax", "log_softmax", "exp", "sqrt", "log"}


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
