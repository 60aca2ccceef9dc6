"""The source of a function of the package, assembled so that it runs where nothing has been imported."""

import ast
import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import TypeGuard

PACKAGE = __name__.partition(".")[0]


class Standalone:
    """Assembles import lines and constants, then the function, then everything else of the package that it calls."""

    def __init__(self, function: Callable):
        self.imports: dict[str, set[str]] = {}  # from which module which names; "" for whole modules
        self.constants: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.take(function.__name__, sys.modules[function.__module__])

    def take(self, name: str, module: ModuleType) -> None:
        """Add the definition of a name at the top level of a module; a builtin has none there, and is skipped."""
        source = inspect.getsource(module)
        statement = statements_by_name(source).get(name)
        if statement is None or name in self.functions or name in self.constants:
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self.take_import(name, statement)
            return
        kept = self.functions if isinstance(statement, ast.FunctionDef | ast.ClassDef) else self.constants
        left_out = {line for part in ast.walk(statement) if is_check(part) for line in lines_of(part)}
        text = source.splitlines()
        kept[name] = "\n".join(text[line - 1] for line in lines_of(statement) if line not in left_out)
        for used in names_used(statement, left_out):
            self.take(used, module)

    def take_import(self, name: str, statement: ast.Import | ast.ImportFrom) -> None:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(PACKAGE):
            self.take(name, sys.modules[statement.module or ""])
            return
        alias = next(one for one in statement.names if name == (one.asname or one.name))
        origin = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        self.imports.setdefault(origin, set()).add(ast.unparse(alias))

    def __str__(self) -> str:
        modules = [(name, f"import {name}") for name in self.imports.get("", ())]
        parts = [(name, f"from {name} import {', '.join(sorted(self.imports[name]))}") for name in self.imports if name]
        outside = [one for one in modules + parts if one[0].partition(".")[0] not in sys.stdlib_module_names]
        inside = [one for one in modules + parts if one not in outside]
        modules_first = lambda line: (line.startswith("from"), line)  # noqa: E731
        blocks = ["\n".join(sorted((line for _, line in group), key=modules_first)) for group in (inside, outside)]
        top = "\n\n".join(block for block in (*blocks, "\n".join(self.constants.values())) if block)
        return "\n\n\n".join([top, *self.functions.values()] if top else self.functions.values()) + "\n"


@lru_cache(maxsize=16)
def statements_by_name(source: str) -> dict[str, ast.stmt]:
    """The statement at the top level of a module that binds each name, the first if there are several."""
    return {name: statement for statement in reversed(ast.parse(source).body) for name in bound_by(statement)}


def bound_by(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top level of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def lines_of(statement: ast.stmt) -> range:
    """The line numbers of a statement, without those of its decorators."""
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def is_check(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether this is a statement `check_…(…)`, which validates arguments and so is no part of a solution."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.startswith("check_")


def names_used(statement: ast.stmt, left_out: set[int]) -> list[str]:
    """The names that a statement looks up and does not bind itself, in textual order, outside the lines left out."""
    decorators = {id(node) for one in getattr(statement, "decorator_list", ()) for node in ast.walk(one)}
    nodes = [node for node in ast.walk(statement) if id(node) not in decorators]
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    loaded = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    in_order = sorted(loaded, key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(one.id for one in in_order if one.id not in own and one.lineno not in left_out))
