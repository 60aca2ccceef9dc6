"""What a statement of a notebook binds and uses: so an answer's program is put together."""

import ast
import symtable
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeGuard

COMPOUND = ast.If | ast.For | ast.While | ast.With | ast.Try | ast.TryStar | ast.Match | ast.AsyncFor | ast.AsyncWith
ALWAYS = "*"  # bound by what may mean any name: `from math import *`, `from __future__ import annotations`
CHANGES = {  # methods that change what they are called on, as do those of torch whose names end in `_`
    *("append", "appendleft", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard"),
    *("clear", "sort", "reverse", "register_buffer", "register_parameter", "add_module", "load_state_dict", "eval"),
    "train",
}
SETS_UP = ("add_", "set_", "register_")  # as methods begin that do so: `parser.add_argument("--low")`
CHANGES_WHAT_IT_IS_GIVEN = {"shuffle", "fill_diagonal", "heapify", "heappush", "setattr"}


def bound_by(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top of a cell binds. One that only does something binds none."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name} | {root_of(one.value) for one in statement.decorator_list if registers(one)} - {""}
    if isinstance(statement, ast.Import):
        return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        if statement.module == "__future__":
            return {ALWAYS}
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)} | walruses(statement)
    if isinstance(statement, COMPOUND):
        inner = [node for node in ast.walk(statement) if not isinstance(node, COMPOUND)]
        stored = {node.id for node in inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return stored.union(*(bound_by(node) for node in inner if isinstance(node, ast.stmt)))
    return walruses(statement) if isinstance(statement, ast.Expr) else set()


def walruses(statement: ast.stmt) -> set[str]:
    """The names that `:=` binds in a statement."""
    return {node.target.id for node in ast.walk(statement) if isinstance(node, ast.NamedExpr)}


def changed_by(statement: ast.stmt) -> set[str]:
    """The names of what a statement changes without binding it: `rows.append(1)`, alone or in a loop."""
    changed = set()
    for node in ast.walk(statement) if isinstance(statement, ast.Expr | COMPOUND) else ():
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and changes(node.func.attr):
            changed.add(root_of(node.func.value))
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if node.args and (name in CHANGES_WHAT_IT_IS_GIVEN or is_in_place(name)):
            changed.add(root_of(node.args[0]))
    return changed - {""}


def changes(method: str) -> bool:
    return method in CHANGES or method.startswith(SETS_UP) or is_in_place(method)


def is_in_place(name: str) -> bool:
    """Whether torch would give this name to what changes a tensor: `fill_`, `nn.init.zeros_`."""
    return name.endswith("_") and not name.startswith("_")


def registers(decorator: ast.expr) -> TypeGuard[ast.Attribute]:
    """Whether it adds a function to what it belongs to: `@softmax.register`."""
    return isinstance(decorator, ast.Attribute) and decorator.attr == "register"


def root_of(expression: ast.expr) -> str:
    """The name with which `model.layers[0].weight` begins; empty where it begins with none."""
    while isinstance(expression, ast.Attribute | ast.Subscript):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def is_stub(statement: ast.stmt) -> bool:
    """Whether a function has nothing in it but a docstring, `...`, `pass`, `return` and `raise NotImplementedError`.

    A name that is nothing but `...` or None is one, too.
    """
    if isinstance(statement, ast.Assign):
        return is_idle(statement.value)
    if not isinstance(statement, ast.FunctionDef):
        return False
    return all(
        isinstance(s, ast.Pass)
        or (isinstance(s, ast.Return) and (s.value is None or is_idle(s.value)))
        or (isinstance(s, ast.Raise) and "NotImplementedError" in ast.dump(s))
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in statement.body
    )


def is_idle(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, ...)


@lru_cache(maxsize=5_000)  # a statement is looked at for each exercise of its notebook
def names_used(statement: ast.stmt) -> set[str]:
    """The names of the notebook that a statement uses; those of its loops, or local to its functions, are none."""
    targets = [loop.target for loop in ast.walk(statement) if isinstance(loop, ast.For)]
    its_own = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    try:
        return names_of_the_module(symtable.symtable(ast.unparse(statement), "answer", "exec")) - its_own
    except SyntaxError:  # two parameters of one name, say: running it will tell
        return set()


def names_of_the_module(scope: symtable.SymbolTable) -> set[str]:
    """The names that a scope and those within it look up in the module."""
    at_the_top = scope.get_type() == "module"
    names = {s.get_name() for s in scope.get_symbols() if (s.is_referenced() if at_the_top else s.is_global())}
    return names.union(*map(names_of_the_module, scope.get_children()))


def in_force(binders: Iterable[ast.stmt], name: str) -> Iterator[ast.stmt]:
    """Of statements that bind a name, the last first: that one, and those on which it builds: `x = x + 1`, `if`."""
    for statement in binders:
        yield statement
        adds = isinstance(statement, ast.Import | ast.ImportFrom | ast.AugAssign | ast.Expr | COMPOUND)
        adds |= isinstance(statement, ast.FunctionDef) and statement.name != name  # it is registered with that
        if not (adds or (isinstance(statement, ast.Assign | ast.AnnAssign) and name in names_used(statement))):
            return


def modules_imported(statements: Iterable[ast.AST], package: str = "") -> Iterator[str]:
    """The modules that statements import, wherever in them, and those that may be ones: `a.b` of `from a import b`.

    `package` is that of the statements, from which `from .b import c` starts.
    """
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join(filter(None, (*above, node.module)))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
