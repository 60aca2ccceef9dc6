"""A base is a function that edits are made in, with the helpers that it calls; and the functions that come of it."""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from types import CodeType, FunctionType

from transformer_lab.exercises.diagnosis import rounds
from transformer_lab.exercises.diagnosis.bare import Bare
from transformer_lab.exercises.diagnosis.edits import Edit, made

FILE = "<slip>"


@dataclass(eq=False)
class Base:
    """A function with the helpers that it calls, as trees, and the names that they find where they stand."""

    name: str
    functions: list[ast.FunctionDef]
    scope: dict[str, object]
    parents: dict[ast.AST, ast.AST] = field(init=False)  # of every node the one that it is a part of
    _codes: dict[ast.FunctionDef, CodeType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes = [node for function in self.functions for node in ast.walk(function)]
        self.parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}

    @classmethod
    def of_text(cls, name: str, text: str) -> "Base":
        """A function whose source stands on its own."""
        scope: dict[str, object] = {}
        exec(compile(text, FILE, "exec"), scope)
        tree = Bare().visit(ast.parse(text))
        functions = [ast.fix_missing_locations(s) for s in tree.body if isinstance(s, ast.FunctionDef)]
        return cls(name, functions, scope)

    @classmethod
    def of_function(cls, function: Callable) -> "Base":
        """A function of a module, with the module's other functions that it calls."""
        found: dict[str, FunctionType] = {}
        pending = [inspect.unwrap(function)]
        while pending:
            one = pending.pop()
            if not isinstance(one, FunctionType) or one.__name__ in found or one.__module__ != function.__module__:
                continue
            found[one.__name__] = one
            pending += [one.__globals__[name] for name in names_of(one.__code__) if name in one.__globals__]
        trees = [Bare().visit(ast.parse(dedent(inspect.getsource(one)))).body[0] for one in found.values()]
        functions = [ast.fix_missing_locations(tree) for tree in trees if isinstance(tree, ast.FunctionDef)]
        for tree in functions:
            tree.decorator_list = []
        return cls(function.__name__, functions, dict(inspect.unwrap(function).__globals__))

    def function(self, edits: Sequence[Edit] = ()) -> Callable:
        """The function with some edits made. A loop without an end raises `rounds.Endless` in it.

        Raises:
            SyntaxError, ValueError: with these edits it is no program.
        """
        count = rounds.Rounds()
        scope = {**self.scope, rounds.NAME: count}
        with made(edits):
            for tree in self.functions:
                exec(self.code(tree, any(edit.function is tree for edit in edits)), scope)
        function = scope[self.name]
        assert callable(function)
        return count.of_each_call(function)

    def code(self, tree: ast.FunctionDef, edited: bool) -> CodeType:
        if not edited and tree in self._codes:
            return self._codes[tree]
        with rounds.counted(tree):
            code = compile(ast.Module([tree], []), FILE, "exec")
        if not edited:
            self._codes[tree] = code
        return code


def names_of(code: object) -> set[str]:
    """The names that a code object looks up, and those in the functions within it."""
    if not isinstance(code, CodeType):
        return set()
    return set(code.co_names).union(*map(names_of, code.co_consts))
