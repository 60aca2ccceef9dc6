"""Runs inside the sandbox: an answer's program is run as a notebook's cells are, in the session that they expect.

There are `display` and `get_ipython`, `await` stands outside of functions, and a statement that only does something may
fail. What is imported and is not there fails when it is used. A GPU that is asked for is the processor.
"""

import __future__

import ast
import asyncio
import builtins
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

OWN = "transformer_lab"  # which holds the answers: it is missed at once
ARITHMETIC = "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow rpow matmul rmatmul neg and or invert"
OTHERS = "lt le gt ge iter len bool int float index contains array"
FUTURE = functools.reduce(int.__or__, (getattr(__future__, one).compiler_flag for one in __future__.all_feature_names))
CAUGHT = "try: ...\nexcept ImportError as _error: {name} = __absent__(_error)"
CAUGHT_ALL = "try: ...\nexcept ImportError as _error: __absent__(_error, True)"
GPU = re.compile(r"(cuda|mps)(:\d+)?")


class Absent:
    """What could not be imported: it can be named, called, and put before a function. As a value it raises why."""

    def __init__(self, error: ImportError):
        vars(self)["error"] = error

    def __getattr__(self, name: str) -> "Absent":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: object) -> "Absent":
        return self

    def __call__(self, *given: Any, **_: Any) -> Any:
        """The function that it decorates, or what it shows the progress of; else nothing."""
        passed = isinstance(given[0], Iterable) and not isinstance(given[0], torch.Tensor | str | dict) if given else 0
        return given[0] if given and (passed or callable(given[0])) and not isinstance(given[0], Absent) else self

    def __mro_entries__(self, bases: tuple) -> tuple:
        return ()

    def __enter__(self) -> "Absent":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def fail(self, *_: object) -> NoReturn:
        raise vars(self)["error"]


for name in f"{ARITHMETIC} {OTHERS}".split():
    setattr(Absent, f"__{name}__", Absent.fail)


class Shell(Absent):
    """IPython, which is not there: its commands do nothing, and print nothing."""

    def __iter__(self) -> Any:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __contains__(self, _: object) -> bool:
        return False


class Processor(TorchFunctionMode):
    """Has the processor stand for a GPU."""

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        args = tuple(map(instead, args))
        return func(*args, **{name: instead(value) for name, value in (kwargs or {}).items()})


def instead(value: Any) -> Any:
    is_gpu = isinstance(value, str | torch.device) and GPU.fullmatch(str(value))
    return torch.device("cpu") if is_gpu else value


class Imports(ast.NodeTransformer):
    """Has each import that nothing else takes care of bind an `Absent` where it fails."""

    def visit_Try(self, node: ast.Try) -> ast.AST:
        for part in (node.handlers, node.orelse, node.finalbody):
            part[:] = [self.visit(one) for one in part]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        return node if "suppress" in ast.dump(node.items[0]) else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [self.caught(ast.Import([one]), one.asname or one.name.partition(".")[0], node) for one in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        if node.module == "__future__":
            return node
        made = []
        for one in node.names:
            is_shell = one.name == "get_ipython" and f"{node.module}".startswith("IPython")  # which has none here
            alone = ast.ImportFrom("builtins" if is_shell else node.module, [one], node.level)
            made.append(self.caught(alone, one.asname or one.name, node))
        return made

    def caught(self, alone: ast.stmt, name: str, node: ast.stmt) -> ast.stmt:
        """The import of one name, part of that of `node`."""
        (made,) = ast.parse(CAUGHT_ALL if name == "*" else CAUGHT.format(name=name)).body
        made.body = [alone]  # type: ignore[attr-defined]
        for one in ast.walk(made):
            ast.copy_location(one, node)
        return made


class Session:
    """Runs a program, and keeps what it could not import."""

    def __init__(self) -> None:
        self.missed: list[ImportError] = []  # of those that would have bound any name
        shell = Shell(ImportError("there is no IPython in grading"))
        vars(builtins).update(display=shell, get_ipython=lambda: shell, __absent__=self.absent)

    def absent(self, error: ImportError, all_names: bool = False) -> Absent:
        """What to bind in the place of what could not be imported."""
        if all_names:
            self.missed.append(error)
        elif f"{error.name}.".startswith(f"{OWN}."):
            raise error
        return Absent(error)

    def run(self, program: str, filename: str, namespace: dict[str, Any]) -> None:
        """Run its statements, one after the other."""
        if GPU.search(program):
            Processor().__enter__()
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(program, filename, "exec", flags | ast.PyCF_ONLY_AST)
        for statement in Imports().visit(tree).body:
            code = compile(ast.Module([statement], []), filename, "exec", flags, dont_inherit=True)
            flags |= code.co_flags & FUTURE
            with suppress(Exception) if isinstance(statement, ast.Expr) else nullcontext():
                if code.co_flags & inspect.CO_COROUTINE:
                    asyncio.run(eval(code, namespace))
                else:
                    exec(code, namespace)

    def as_used(self, function: Any) -> Any:
        """The function, which says what it could not import where that is why it fails."""
        if not callable(function):
            return function

        @functools.wraps(function)
        def used(*args: Any, **kwargs: Any) -> Any:
            try:
                value = function(*args, **kwargs)
            except NameError as error:
                if self.missed and type(error) is NameError:
                    raise self.missed[0] from None
                raise
            return value.fail() if isinstance(value, Absent) else value

        return used
