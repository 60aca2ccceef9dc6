"""What a kernel runs before a lesson whose claims are tried: shift every seed, and note asserts instead of raising.

It imports neither pytest nor the package: `begin(offset)` is the first thing that the kernel does.
"""

import ast
import random
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing.context import SpawnProcess

import numpy
import torch

# A seed that says which data there are, or which inputs a check tries, is no chance that a claim could lean on: the
# committed checkpoint learned one split of the numbers, and would have seen what is held out by another.
FIXED = (("transformer_lab.data.number_names", "number_names"), ("transformer_lab.exercises", None))
TOP = 2**63
asserts: list[tuple[int, str, bool]] = []  # the number of the cell that ran, the condition, whether it held


def begin(offset: int) -> None:
    """Shift every seed from now on by the offset, and note the asserts of the cells that follow."""
    shift_seeds(offset)
    shift_processes(offset)
    shell, begun = get_ipython(), []  # noqa: F821 (a kernel has it)
    shell.events.register("pre_run_cell", begun.append)
    shell.ast_transformers.append(NoteAsserts())
    shell.user_ns["note_assert"] = lambda held, text: asserts.append((len(begun) - 1, text, bool(held)))


class NoteAsserts(ast.NodeTransformer):
    """`assert held` becomes `note_assert(held, "held")`, so that the lesson goes on where it does not hold.

    Those of a function or class are no claims: they guard its arguments. So is what a `try` expects to fail.
    """

    def leave_alone(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_ClassDef = visit_Try = leave_alone

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        name = ast.Name("note_assert", ast.Load())
        call = ast.Call(name, [node.test, ast.Constant(ast.unparse(node.test))], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))


def shift_seeds(offset: int) -> None:
    """Add the offset to every seed that torch, numpy or `random` is given."""

    def shifted(seed):
        if seed is None or is_fixed():
            return seed
        return (seed + offset) % TOP if isinstance(seed, int) else f"{seed} {offset}"

    def first_argument_shifted(seeding: Callable) -> Callable:
        return lambda seed=None, *rest, **options: seeding(shifted(seed), *rest, **options)

    class Generator(torch.Generator):  # a type written in C: its method cannot be replaced
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(shifted(seed))

    torch.Generator = Generator
    torch.manual_seed = torch.random.manual_seed = first_argument_shifted(torch.manual_seed)
    for name in ("seed", "default_rng"):
        setattr(numpy.random, name, first_argument_shifted(getattr(numpy.random, name)))
    seed_random = random.Random.seed
    random.Random.seed = lambda self, a=None, version=2: seed_random(self, shifted(a), version)
    random.seed = random._inst.seed


def shift_processes(offset: int) -> None:
    """Have the processes that are spawned from now on, such as the ranks of lesson 17, shift their seeds as well."""
    begin_process = SpawnProcess.__init__

    def __init__(self, group=None, target=None, **options):
        begin_process(self, group, target and partial(run_shifted, offset, target), **options)

    SpawnProcess.__init__ = __init__


def run_shifted(offset: int, target: Callable, *arguments, **options):
    """What such a process runs."""
    shift_seeds(offset)
    return target(*arguments, **options)


def is_fixed() -> bool:
    """Whether one of the callers must get the seed that it gives."""
    frame = sys._getframe(1)
    while frame := frame.f_back:
        module = frame.f_globals.get("__name__", "")
        for fixed, function in FIXED:
            if (module + ".").startswith(fixed + ".") and function in (None, frame.f_code.co_name):
                return True
    return False
