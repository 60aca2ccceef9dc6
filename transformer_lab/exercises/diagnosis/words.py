"""How code is shown in words: short, and what was written by mistake with its surroundings, never a whole line."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformer_lab.exercises.diagnosis.base import Base

LONGEST = 44  # letters of code
SIGNS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
    ast.USub: "-",
    ast.Invert: "~",
    ast.Not: "not",
    ast.UAdd: "+",
    ast.Break: "break",
    ast.Continue: "continue",
}
AXES = {"dim", "dim0", "dim1", "axis", "start_dim", "end_dim", "dims"}
OF_AXES = {"softmax", "log_softmax", "sum", "mean", "amax", "amin", "argmax", "size", "transpose", "unsqueeze"}
OF_AXES |= {"squeeze", "cumsum", "flip", "argsort", "sort", "stack", "cat", "flatten", "movedim", "swapaxes", "gather"}


@dataclass(frozen=True)
class Words:
    """What was done; `whole` says whether the surroundings belong to it."""

    text: str
    whole: bool = True
    number: bool = False

    def of(self, parent: ast.AST, new: ast.AST, base: "Base") -> Callable[[], str]:
        """The words with the surroundings of what is new, put together when they are asked for."""

        def in_words() -> str:
            where = surroundings(parent, new, base) if self.whole else ""
            text = self.text
            if self.number and isinstance(parent, ast.Call | ast.keyword) and of_axes(parent, base):
                text = f"the axis is {ast.unparse(new)}"
            return f"{text}, in `{where}`" if where else text

        return in_words


def of_axes(parent: ast.AST, base: "Base") -> bool:
    """Whether a number that is handed over here is an axis."""
    if isinstance(parent, ast.keyword):
        return parent.arg in AXES
    return isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") in OF_AXES


def surroundings(parent: ast.AST, new: ast.AST, base: "Base") -> str:
    """The largest expression around a place that is short enough to be read; the slip is made meanwhile."""
    shown = code(new) if isinstance(new, ast.BinOp | ast.Compare | ast.Call | ast.Slice) else ""
    node = parent
    for _ in range(4):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Slice):
            text = ast.unparse(node)
            if len(text) > LONGEST:
                break
            shown = text
        elif not isinstance(node, ast.keyword | ast.Slice):
            break
        node = base.parents[node]
    return shown


def code(node: ast.AST) -> str:
    """The source of a node, shortened."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2].rstrip()} …"


def sign(operator: ast.AST) -> str:
    return f"`{SIGNS[type(operator)]}`"


def called(call: ast.Call) -> str:
    """The name of what is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else code(function)


def head(statement: ast.stmt) -> str:
    """The first line of a statement."""
    line = ast.unparse(statement).splitlines()[0]
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2].rstrip()} …"
