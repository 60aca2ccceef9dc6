"""What comes out of a line: whether it is what comes out of it in the repaired function, too, in the case that fails.

Both functions are run, and what a line binds or returns is kept each time it was run.
"""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from faults.diffing import code_lines, repaired, unchanged
from faults.places import COMPILED, compiled
from transformer_lab.exercises.engine.checking import examine
from transformer_lab.exercises.engine.comparing import show
from transformer_lab.exercises.engine.running import Attempt, Case
from transformer_lab.exercises.kinds import FindTheBug

SHORT = 40  # letters of a value that stands in a sentence
Values = dict[int, list[dict[str, Any]]]  # by line, and each time: what its names stood for afterwards


def probes(exercise: FindTheBug) -> dict[int, str]:
    """Of each line that stays and can be told of: what comes out of it, as HTML."""
    case = examine(exercise, Attempt(exercise.broken), exercise.cases).case
    assert case is not None
    broken, fixed = exercise.handed_out(), repaired(exercise)
    given, right = values(exercise, broken, case), values(exercise, fixed, case)
    both = [(n, given.get(n), right.get(m)) for n, m in unchanged(code_lines(broken), code_lines(fixed))]
    said = {n: sentence(ours, theirs) for n, ours, theirs in both if ours and theirs}
    return {n: one for n, one in said.items() if one}


def sentence(given: list[dict[str, Any]], right: list[dict[str, Any]]) -> str:
    """What is wrong when a right line is run for the first time comes from above; later it may come from below."""
    names = [f"<code>{escape(name)}</code>" for name in given[0] if name] or ["what it returns"]
    all_ = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    is_, comes, they = ("are", "come", "they") if len(names) > 1 else ("is", "comes", "it")
    if not is_same(given[0], right[0]):
        return f"This line is right, but {all_} {is_} wrong by now: look further up."
    if not is_same(given, right):
        return ""
    value = next(iter(given[0].values()))
    is_one = len(names) == len(given) == 1 and isinstance(value, (Tensor, int, float))
    shown = show(value) if is_one else ""
    exactly = f": <code>{escape(shown)}</code>" if shown and len(shown) <= SHORT else ""
    return f"This line is right, and in the case below {all_} {comes} out of it as {they} should{exactly}."


def is_same(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        alike = one.shape == other.shape and one.dtype == other.dtype
        return alike and torch.allclose(one.double(), other.double(), equal_nan=True)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [*one] == [*other] and all(map(is_same, one.values(), other.values()))
    return (callable(one) and callable(other)) or one == other


def values(exercise: FindTheBug, source: str, case: Case) -> Values:
    """What the lines of a function give on a case, each time that they are run."""
    found: Values = {}
    function = compiled(exercise, source)
    with traced(exercise.name, bound(source), found):
        Attempt(function).run(case)
    return found


def bound(source: str) -> dict[int, list[str]]:
    """The names that each line binds, by its number; a line that returns binds the name that is empty."""
    names = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Return):
            names[node.lineno - 1] = [""]
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.For)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            inside = [one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            names[node.lineno - 1] = [one.id for one in inside if one.id not in {"_", *read_in(targets)}]
    return {n: one for n, one in names.items() if one}


def read_in(targets: list[ast.expr]) -> set[str]:
    """The names that stand between the brackets of what is assigned to."""
    inside = [one.slice for target in targets for one in ast.walk(target) if isinstance(one, ast.Subscript)]
    return {one.id for part in inside for one in ast.walk(part) if isinstance(one, ast.Name)}


@contextmanager
def traced(name: str, names: dict[int, list[str]], found: Values) -> Iterator[None]:
    """While this lasts, calls of a function leave what its lines gave."""
    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: follower(names, found) if is_of(frame, name) else None)
    try:
        yield
    finally:
        sys.settrace(before)


def is_of(frame: FrameType, name: str) -> bool:
    return frame.f_code.co_filename == COMPILED and frame.f_code.co_name == name


def follower(names: dict[int, list[str]], found: Values) -> Callable:
    """What is called before each line, and at the end: by then the line before has given what it gives."""
    last = -1

    def follow(frame: FrameType, event: str, arg: object) -> Callable:
        nonlocal last
        scope = frame.f_locals | {"": arg}
        if event in ("line", "return") and all(one in scope for one in names.get(last, ["?"])):
            found.setdefault(last, []).append({one: kept(scope[one]) for one in names[last]})
        last = frame.f_lineno - 1
        return follow

    return follow


def kept(value: Any) -> Any:
    """A value that stays as it is now, whatever is done in place to the one that it was."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [kept(one) for one in value]
    return {name: kept(one) for name, one in value.items()} if isinstance(value, dict) else value
