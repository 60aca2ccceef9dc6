"""What somebody has done who made a slip, in words: "`<` stands where `<=` belongs, in `i < n`"."""

import ast
from collections.abc import Callable

from transformer_lab.exercises.diagnosis.words import SIGNS, Words, called, code, head, sign


def another_operator(old: ast.AST, new: ast.AST) -> Words:
    return Words(f"{sign(new)} stands where {sign(old)} belongs")


another_comparison = another_word = another_operator


def instead(new: object, old: object) -> Words:
    return Words(f"`{new!r}` stands where `{old!r}` belongs")


def instead_of_name(new: str, old: str) -> Words:
    return Words(f"`{new}` stands where `{old}` belongs")


def another_number(new: object, old: object) -> Words:
    return Words(f"a number is {new!r}, which is wrong", number=True)


def sign_missing(node: ast.UnaryOp) -> Words:
    return Words(f"the {sign(node.op)} is left out")


def left_out(node: ast.AST) -> Words:
    return Words(f"the condition `{code(node)}` is left out", whole=False)


def never_asked(test: ast.AST) -> Words:
    return Words(f"`{code(test)}` is not asked", whole=False)


def turned_around(test: ast.AST) -> Words:
    return Words(f"the two cases of `{code(test)}` are swapped", whole=False)


def inverted() -> Words:
    return Words("the mask is inverted")


def no_mask() -> Words:
    return Words("no mask is handed over")


def first_left_out() -> Words:
    return Words("the range leaves out its first number")


def counted_from_one() -> Words:
    return Words("it is counted from 1")


def sign_too_many() -> Words:
    return Words("there is a minus too many")


def one_off() -> Words:
    return Words("a position is off by one")


def ends_elsewhere() -> Words:
    return Words("the range ends one too early or too late")


def reshaped() -> Words:
    return Words("`reshape` or `view` is used where axes must be transposed: the numbers keep their order", whole=False)


def over_everything(name: str) -> Words:
    return Words(f"`{name}` runs over all axes together", whole=False)


def twice(name: str) -> Words:
    return Words(f"`{name}` is applied twice", whole=False)


def softmax_first(name: str) -> Callable[[], str]:
    return lambda: f"`{name}` goes through a softmax first"


def not_transposed() -> Words:
    return Words("a matrix is not transposed")


def reversed_order() -> Words:
    return Words("the order is reversed")


def only_one_returned(one: ast.AST) -> Words:
    return Words(f"`{code(one)}` alone is returned", whole=False)


def index_missing() -> Words:
    return Words("an index is left out")


def side_missing(operator: ast.AST, side: ast.AST, where: str) -> Words:
    text = f"`{SIGNS[type(operator)]} {code(side)}`" if where == "behind" else f"`{code(side)} {SIGNS[type(operator)]}`"
    return Words(f"{text} is left out")


def sides_swapped(operator: ast.AST) -> Words:
    return Words(f"the two sides of {sign(operator)} are swapped")


def root_too_many() -> Words:
    return Words("there is a square root too many")


def other_brackets() -> Words:
    return Words("the brackets are set otherwise")


def call_missing(call: ast.Call) -> Words:
    return Words(f"`{called(call)}(…)` is left out")


def another_function(old: ast.expr, new: ast.expr) -> Words:
    one, other = (f.attr if isinstance(f, ast.Attribute) else code(f) for f in (old, new))
    return Words(f"`{other}` stands where `{one}` belongs")


def arguments_swapped(call: ast.Call) -> Words:
    return Words(f"two arguments of `{called(call)}` are swapped")


def argument_missing(call: ast.Call, argument: ast.AST) -> Words:
    return Words(f"`{code(argument)}` is left out of `{called(call)}(…)`", whole=False)


def another_slice() -> Words:
    return Words("the slice has another start or end")


def step_missing(statement: ast.stmt) -> Callable[[], str]:
    return lambda: f"the step `{head(statement)}` is left out"


def steps_swapped(one: ast.stmt, two: ast.stmt) -> Callable[[], str]:
    return lambda: f"the step `{head(two)}` comes too early, before `{head(one)}`"


def always(test: ast.AST) -> Callable[[], str]:
    return lambda: f"what belongs to the condition `{code(test)}` is always done"


def condition_turned(test: ast.AST) -> Callable[[], str]:
    return lambda: f"the condition `{code(test)}` is turned around"


def instead_of_word(new: ast.stmt, old: ast.stmt) -> Callable[[], str]:
    return lambda: f"{sign(new)} stands where {sign(old)} belongs"


def returned_too_early() -> Callable[[], str]:
    return lambda: "the `return` stands inside the loop, which then ends after its first round"


def not_accumulated(node: ast.AugAssign) -> Callable[[], str]:
    return lambda: f"`{code(node.target)} =` stands where `{code(node.target)} {SIGNS[type(node.op)]}=` belongs"
