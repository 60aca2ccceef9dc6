"""The source of a learner's function as a syntax tree, and the functions that come of it when it is changed."""

import ast
import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from textwrap import dedent
from types import CodeType, FunctionType

from transformer_lab.exercises.diagnosis.bare_source import BareSource
from transformer_lab.exercises.diagnosis.loop_limit import NAME, LoopLimit, is_loop, limited
from transformer_lab.exercises.diagnosis.mutation import Mutation, applied

FILE = "<mutation>"


class SourceTree:
    """A function with the helpers of its module that it calls, and the names that they find where they stand.

    Raises:
        OSError, TypeError, SyntaxError: the source is not at hand, or is no `def`.
    """

    def __init__(self, function: Callable):
        function = inspect.unwrap(function)
        if not isinstance(function, FunctionType):
            raise TypeError("it is no function of Python's own")
        self.name = function.__name__
        self.first_line = function.__code__.co_firstlineno
        self.scope = dict(function.__globals__)
        self.functions = [tree_of(one) for one in with_helpers(function)]
        nodes = [node for tree in self.functions for node in ast.walk(tree)]
        self.parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        self.looping = {tree for tree in self.functions if any(map(is_loop, ast.walk(tree)))}
        self._codes: dict[ast.FunctionDef, CodeType] = {}

    def function(self, mutations: Sequence[Mutation] = ()) -> Callable:
        """The function with some mutations. A loop without an end raises `EndlessLoop` in it.

        Raises:
            SyntaxError, ValueError: with these mutations it is no program.
        """
        limit = LoopLimit()
        scope = {**self.scope, NAME: limit}
        with applied(mutations):
            for tree in self.functions:
                exec(self.code(tree, any(one.function is tree for one in mutations)), scope)
        function = scope[self.name]
        assert callable(function)
        return limit.of_each_call(function)

    def code(self, tree: ast.FunctionDef, mutated: bool) -> CodeType:
        if not mutated and tree in self._codes:
            return self._codes[tree]
        with limited(tree) if tree in self.looping else nullcontext():
            code = compile(ast.Module([tree], []), FILE, "exec")
        if not mutated:
            self._codes[tree] = code
        return code

    def place(self, mutation: Mutation) -> tuple[str, str]:
        """The line where a mutation is made, or the helper's name, and the source that stands there."""
        inside = mutation.function is self.functions[0]
        line = f"line {self.first_line + mutation.line - 1}" if inside else f"`{mutation.function.name}`"
        return line, mutation.old_source(self.parents)


def with_helpers(function: FunctionType) -> list[FunctionType]:
    """A function, and the functions of its module that it calls, directly or through others."""
    found: dict[str, FunctionType] = {}
    pending: list[object] = [function]
    while pending:
        one = pending.pop()
        if isinstance(one, FunctionType) and one.__name__ not in found and one.__module__ == function.__module__:
            found[one.__name__] = one
            pending += [one.__globals__[name] for name in global_names(one.__code__) if name in one.__globals__]
    return list(found.values())


def tree_of(function: FunctionType) -> ast.FunctionDef:
    tree = BareSource().visit(ast.parse(dedent(inspect.getsource(function)))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise SyntaxError("it is no `def`")
    tree.decorator_list = []
    return ast.fix_missing_locations(tree)


def global_names(code: object) -> set[str]:
    """The names that a code object looks up, and those in the functions within it."""
    if not isinstance(code, CodeType):
        return set()
    return set(code.co_names).union(*map(global_names, code.co_consts))
