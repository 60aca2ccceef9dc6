"""An edit is a small change of a function's source, made in place and taken back; a base is what edits are made of."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent
from types import FunctionType

from transformer_lab.exercises.mutants import Bare

FILE = "<slip>"


@dataclass(frozen=True, eq=False)
class Edit:
    """One place of a tree, what is put there, and what somebody who did so has done: `in_words()`."""

    parent: ast.AST
    field: str
    index: int | None  # in a list of nodes
    new: object
    in_words: Callable[[], str]
    function: ast.FunctionDef  # in which it lies
    line: int
    rank: int  # 0 for the commonest slips

    def words(self) -> str:
        with made([self]):
            return self.in_words()

    def set(self, value: object) -> object:
        """Put something in the edit's place, and return what was there."""
        if self.index is None:
            before = getattr(self.parent, self.field)
            setattr(self.parent, self.field, value)
        else:
            nodes = getattr(self.parent, self.field)
            before, nodes[self.index] = nodes[self.index], value
        return before


@contextmanager
def made(edits: Sequence[Edit]) -> Iterator[None]:
    """The edits, made for a while."""
    before = [edit.set(edit.new) for edit in edits]
    try:
        yield
    finally:
        for edit, value in zip(reversed(edits), reversed(before), strict=True):
            edit.set(value)


@dataclass(eq=False)
class Base:
    """A function with the helpers that it calls, as trees, and the names that they find where they stand."""

    name: str
    functions: list[ast.FunctionDef]
    scope: dict[str, object]
    _codes: dict = field(default_factory=dict)

    @classmethod
    def of_text(cls, name: str, text: str) -> "Base":
        """A function whose source stands on its own."""
        scope: dict[str, object] = {}
        exec(compile(text, FILE, "exec"), scope)
        tree = Bare().visit(ast.parse(text))
        return cls(name, [s for s in tree.body if isinstance(s, ast.FunctionDef)], scope)

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
        functions = [tree for tree in trees if isinstance(tree, ast.FunctionDef)]
        for tree in functions:
            tree.decorator_list = []
        return cls(function.__name__, functions, dict(vars(sys.modules[function.__module__])))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Of every node the one that it is a part of."""
        nodes = [node for function in self.functions for node in ast.walk(function)]
        return {child: node for node in nodes for child in ast.iter_child_nodes(node)}

    def function(self, edits: Sequence[Edit] = ()) -> Callable:
        """The function with some edits made.

        Raises:
            SyntaxError, ValueError: with these edits it is no program.
        """
        scope = dict(self.scope)
        with made(edits):
            for tree in self.functions:
                exec(self.code(tree, any(edit.function is tree for edit in edits)), scope)
        function = scope[self.name]
        assert callable(function)
        return function

    def code(self, tree: ast.FunctionDef, edited: bool) -> object:
        if not edited and tree in self._codes:
            return self._codes[tree]
        code = compile(ast.fix_missing_locations(ast.Module([tree], [])), FILE, "exec")
        if not edited:
            self._codes[tree] = code
        return code


def names_of(code: object) -> set[str]:
    """The names that a code object looks up, and those in the functions within it."""
    within = [names_of(one) for one in code.co_consts if hasattr(one, "co_names")]  # type: ignore[attr-defined]
    return set(code.co_names).union(*within)  # type: ignore[attr-defined]
