"""The source of a learner's function with everything it uses of its notebook, so that it runs in another one."""

import ast
import builtins
import inspect
import linecache
import math
import symtable
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import dedent
from types import FunctionType, ModuleType

from torch import dtype

from transformer_lab.exercises.engine import comparing

MOST_LETTERS = 10_000  # of a constant
WELL_KNOWN = ("torch", "torch.nn.functional", "math", "typing")  # where a value may be found that does not say
NO_TYPES = "from __future__ import annotations  # they are not looked up"
NO_SOURCE = "its own source, which can't be read: write it as a `def` in a cell"


@dataclass(frozen=True)
class OwnSource:
    """Source that defines a function in a namespace of its own, and a description of what it lacks there."""

    source: str
    missing: tuple[str, ...] = ()


def own_source(name: str, answer: Callable) -> OwnSource:
    """The source of an answer under the name of its exercise: imports, constants, helpers and the function itself."""
    collected = Collected()
    try:
        collected.take(name, answer)
    except Exception:  # a value too strange to be looked at
        return OwnSource("", (NO_SOURCE,))
    parts = [*collected.imports.values(), *collected.constants.values(), *collected.definitions.values()]
    return OwnSource("\n".join([NO_TYPES, *parts]) + "\n", tuple(collected.missing))


@dataclass
class Collected:
    """Collects what a function needs, one thing at a time; what a thing uses comes before the thing itself."""

    imports: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def take(self, name: str, value: object) -> None:
        """Collect what a name refers to."""
        if name in self.seen:
            return
        self.seen.add(name)
        if line := as_import(name, value):
            self.imports[name] = line
        elif (text := as_constant(value)) is not None:
            self.constants[name] = f"{name} = {text}"
        elif callable(value) and (found := definition(value)):
            self.take_definition(name, found)
        else:
            what = comparing.kind(value)
            self.missing.append(NO_SOURCE if len(self.seen) == 1 else f"`{name}`, {what}, which is not kept with it")

    def take_definition(self, name: str, found: tuple[str, str, dict[str, object]]) -> None:
        source, defined, surroundings = found
        self.seen.add(defined)
        for used in sorted(names_from_outside(source) - {defined}):
            if used in surroundings and surroundings[used] is not getattr(builtins, used, ...):
                self.take(used, surroundings[used])
        self.definitions[defined] = f"\n\n{source.rstrip()}"
        if defined != name:
            self.definitions[name] = f"\n\n{name} = {defined}"


def as_import(name: str, value: object) -> str | None:
    """The line that imports a value under this name; None for what a notebook itself defines."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    own_name = str(value).removeprefix("torch.") if isinstance(value, dtype) else getattr(value, "__name__", name)
    for place in (getattr(value, "__module__", None), *WELL_KNOWN):
        if place == "__main__" or place not in sys.modules or as_constant(value) is not None:
            continue
        for attribute in (name, own_name):
            if vars(sys.modules[place]).get(attribute) is value:
                return f"from {place} import {attribute} as {name}"
    return None


def as_constant(value: object) -> str | None:
    """A number, a string, or a list, tuple, set or dict of these, as source; None for anything else."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if not isinstance(value, str | bytes | int | float | complex | list | tuple | dict | set | None):
        return None
    try:
        text = repr(value)
        same = len(text) <= MOST_LETTERS and ast.literal_eval(text) == value
    except (ValueError, SyntaxError, RecursionError, TypeError, RuntimeError):
        return None
    return text if same is True else None


def definition(value: Callable) -> tuple[str, str, dict[str, object]] | None:
    """The source of a function or class, the name that it defines, and what its names refer to; None if not found."""
    function = inspect.unwrap(value)
    inner = function
    if isinstance(function, type):  # before Python 3.13 the source of a notebook's class is found by its methods alone
        inner = next((one for one in vars(function).values() if isinstance(one, FunctionType)), None)
    if not isinstance(inner, FunctionType):
        return None
    try:
        source = class_source(function, inner) if isinstance(function, type) else dedent(inspect.getsource(function))
        (statement,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError, StopIteration):
        return None
    if (defined := name_of(statement)) is None:
        return None
    return source, defined, inner.__globals__ | dict(inspect.getclosurevars(inner).nonlocals)


def name_of(statement: ast.stmt) -> str | None:
    """The name that a `def`, a `class` or a `name = lambda …` defines; None for a lambda inside something else."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name
    return None


def class_source(kind: type, method: FunctionType) -> str:
    """The source of a class that is in the same cell or file as one of its methods."""
    text = "".join(linecache.getlines(method.__code__.co_filename))
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    found = next(node for node in classes if node.name == kind.__name__)
    first = min([found.lineno, *(one.lineno for one in found.decorator_list)])
    return dedent("\n".join(text.splitlines()[first - 1 : found.end_lineno]))


def names_from_outside(source: str) -> set[str]:
    """The outer names that a definition looks up: in its body, decorators and defaults, not in annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    table = symtable.symtable(ast.unparse(tree), "<answer>", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_referenced()} | global_names(table)


def global_names(scope: symtable.SymbolTable) -> set[str]:
    own = {s.get_name() for s in scope.get_symbols() if scope.get_type() != "module" and s.is_global()}
    return own.union(*map(global_names, scope.get_children()))
