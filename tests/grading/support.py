"""What the tests of grading share."""

import ast
import csv
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from transformer_lab.grading.submissions.answers import Answer, find_answer
from transformer_lab.grading.submissions.cells import Cell
from transformer_lab.grading.submissions.notebooks import Notebook

needs_bwrap = pytest.mark.usefixtures("bwrap")

# A right softmax that nobody else writes so.
OWN_WAY = """import torch
def softmax(scores, dim):
    top = scores.max(dim, keepdim=True).values.clamp(min=-1e30)
    lifted = torch.exp(torch.sub(scores, top))
    whole = lifted.sum(dim=dim, keepdim=True).add(0.0)
    return torch.mul(lifted, torch.reciprocal(whole).mul(1.0))
"""


def answer_of(function: Callable) -> Answer | None:
    """A function of a module as a student's answer, with what it needs; None if it needs other modules of ours."""
    function = inspect.unwrap(function)
    source, body = without_decorators(function.__module__)
    answer = find_answer(Notebook([Cell("", function.__name__, source, source, body)]), function.__name__, {})
    elsewhere = ("transformer_lab", "tests.", ".reference")
    return None if any(word in answer.program for word in elsewhere) else answer


@cache
def without_decorators(module: str) -> tuple[str, tuple[ast.stmt, ...]]:
    """The source of a module without its decorators, and its statements; hundreds of answers stand in one module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    for shared in [one for one in tree.body if isinstance(one, ast.ImportFrom) and f"{one.module}".endswith(".shared")]:
        i = tree.body.index(shared)  # what a lesson's exercises share comes along
        tree.body[i : i + 1] = ast.parse(inspect.getsource(sys.modules[f"{shared.module}"])).body
    for statement in tree.body:
        statement.decorator_list = []
    source = ast.unparse(tree)
    return source, tuple(ast.parse(source).body)


def renamed(function: Callable, name: str) -> str | None:
    """The program of a function under another name; None if it needs other modules of ours."""
    answer = answer_of(function)
    return answer and answer.program.replace(function.__name__, name)


def run_module(folder: Path, *command: str, errors: bool = False) -> str:
    """What `python -m …` prints in a folder, where it finds this package; what it says on stderr, too, if asked for."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = f"{os.environ['PYTHONPATH']}:{Path(__file__).parents[2]}"
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + (done.stderr if errors else "")


def exported(course: Path) -> dict[str, float]:
    """Each student's score, as nbgrader exports it from a course."""
    run_module(course, "nbgrader", "export")
    with (course / "grades.csv").open() as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}


def descendants(pid: int) -> set[int]:
    """The processes below a process, as this machine sees them."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
    found, fresh = set(), {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh}
        found |= fresh
    return found
