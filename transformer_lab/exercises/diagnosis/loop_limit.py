"""A limit on the loops of a mutated function: a number of rounds, which is the same on every machine."""

import ast
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeGuard

import torch
from torch.overrides import TorchFunctionMode

from transformer_lab.exercises.engine.comparing import is_huge
from transformer_lab.exercises.engine.time_limit import OutOfTime

MOST_ROUNDS = 5000  # of all loops in one call; no right answer and no mistake takes more than 2520
NAME = "_one_more_round"  # what each loop begins with


class EndlessLoop(OutOfTime):
    """Raised in a loop that runs for too long."""


class WithoutEndlessLists(TorchFunctionMode):
    """Within the block, no tensor is made of lists that contain one another: torch would end the whole process."""

    MAKERS = (torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor.new_tensor)

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        if func in self.MAKERS and any(isinstance(x, (list, tuple)) and is_huge(x) for x in args):
            raise ValueError("these lists have too many parts")
        return func(*args, **(kwargs or {}))


def without_endless_lists(function: Callable) -> Callable:
    """The function, in which torch makes no tensor of such lists."""

    @functools.wraps(function)
    def guarded(*arguments: object) -> object:
        with WithoutEndlessLists():
            return function(*arguments)

    return guarded


class LoopLimit:
    """Counts the rounds of one function."""

    def __init__(self) -> None:
        self.left = MOST_ROUNDS

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise EndlessLoop

    def of_each_call(self, function: Callable) -> Callable:
        """The function, which gets all its rounds back whenever it is called."""

        @functools.wraps(function)
        def called(*arguments: object) -> object:
            self.left = MOST_ROUNDS
            return function(*arguments)

        return called


def bodies_of_loops(tree: ast.AST) -> list[list[ast.stmt]]:
    return list({id(node.body): node.body for node in ast.walk(tree) if is_loop(node)}.values())


@contextmanager
def limited(bodies: list[list[ast.stmt]]) -> Iterator[None]:
    """Within the block, the body of each of these loops starts by counting a round."""
    for body in bodies:
        body.insert(0, count_at(body[0].lineno))
    try:
        yield
    finally:
        for body in bodies:
            del body[0]


def is_loop(node: ast.AST) -> TypeGuard[ast.For | ast.While]:
    return isinstance(node, ast.For | ast.While)


def count_at(line: int) -> ast.stmt:
    here = {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}
    return ast.Expr(ast.Call(ast.Name(NAME, ast.Load(), **here), [], [], **here), **here)
