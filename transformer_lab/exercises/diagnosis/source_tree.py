"""The source of a learner's function as a syntax tree, and the functions compiled from it once it is changed."""

import ast
import inspect
import warnings
from collections.abc import Callable, Sequence
from textwrap import dedent
from types import CodeType, FunctionType

from transformer_lab.exercises.diagnosis.loop_limit import (
    NAME,
    LoopLimit,
    bodies_of_loops,
    limited,
    without_endless_lists,
)
from transformer_lab.exercises.diagnosis.mutation import Mutation, applied

FILE = "<mutation>"


class SourceTree:
    """A function with the helpers of its module that it calls, and the names that these can look up.

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
        functions = with_helpers(function)
        self.functions = [tree_of(one) for one in functions]
        called = set().union(*(global_names(one.__code__) for one in functions))
        self.of_lists = not called.isdisjoint(("tensor", "as_tensor", "asarray", "new_tensor"))
        nodes = [node for tree in self.functions for node in ast.walk(tree)]
        self.parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        self.loops = {tree: bodies_of_loops(tree) for tree in self.functions}
        self._codes: dict[ast.FunctionDef, CodeType] = {}

    def function(self, mutations: Sequence[Mutation] = ()) -> Callable:
        """The function with some mutations applied. In it, an infinite loop raises `EndlessLoop`.

        Raises:
            SyntaxError, ValueError: with these mutations it is no program.
        """
        limit = LoopLimit()
        scope = {**self.scope, NAME: limit}
        with applied(mutations):
            for tree in self.functions:
                exec(self.code(tree, [one for one in mutations if one.function is tree]), scope)
        function = scope[self.name]
        assert callable(function)
        return limit.of_each_call(without_endless_lists(function) if self.of_lists else function)

    def code(self, tree: ast.FunctionDef, mutations: Sequence[Mutation]) -> CodeType:
        """The code of one function, with the mutations that lie in it. Mutated expressions don't affect its loops."""
        if not mutations and tree in self._codes:
            return self._codes[tree]
        of_statements = any(isinstance(one.new, list) for one in mutations)
        with limited(bodies_of_loops(tree) if of_statements else self.loops[tree]), warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # `None[0]`: the learner has written no such thing
            code = compile(ast.Module([tree], []), FILE, "exec")
        if not mutations:
            self._codes[tree] = code
        return code

    def place(self, mutation: Mutation) -> tuple[str, str]:
        """The line of a mutation, or the name of the helper that it changes, and the source that it replaces."""
        inside = mutation.function is self.functions[0]
        line = f"line {self.first_line + mutation.line - 1}" if inside else f"`{mutation.function.name}`"
        return line, mutation.old_source(self.parents)


class BareSource(ast.NodeTransformer):
    """Removes annotations, docstrings, and guards that only raise an error."""

    def visit_FunctionDef(self, function: ast.FunctionDef) -> ast.AST:
        for argument in (*function.args.args, *function.args.kwonlyargs, function.args.kwarg):
            if argument is not None:
                argument.annotation = None
        function.returns = None
        function.body = [s for s in function.body if not is_text(s) and not is_guard(s)] or [ast.Pass()]
        return self.generic_visit(function)

    def visit_AnnAssign(self, statement: ast.AnnAssign) -> ast.AST:
        if statement.value is None:
            return ast.copy_location(ast.Pass(), statement)
        return ast.copy_location(ast.Assign([statement.target], statement.value), statement)


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_guard(statement: ast.stmt) -> bool:
    """Whether this is a statement of the form `if …: raise`."""
    return isinstance(statement, ast.If) and all(isinstance(s, ast.Raise) for s in statement.body + statement.orelse)


def with_helpers(function: FunctionType) -> list[FunctionType]:
    """A function, and the functions of its module that it calls, directly or indirectly."""
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
    """The global names that a code object, or a function within it, looks up."""
    if not isinstance(code, CodeType):
        return set()
    return set(code.co_names).union(*map(global_names, code.co_consts))
