"""What the tests of grading share."""

import ast
import csv
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer_lab.grading.jail import Jail
from transformer_lab.grading.notebooks import Answer, Cell, Notebook, find_answer
from transformer_lab.grading.walls import NoJail


def what_is_missing() -> str | None:
    """Why there can be no jail on this machine, or None; `.ci/run` sees to it that there is one."""
    try:
        with Jail():
            return None
    except NoJail as missing:
        return str(missing)


MISSING = what_is_missing()
needs_bwrap = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")


def answer_of(function: Callable) -> Answer | None:
    """A function of a module as a student's answer, with what it needs; None if it needs other modules of ours."""
    function = inspect.unwrap(function)
    module = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    for statement in module.body:
        statement.decorator_list = []
    source = ast.unparse(module)
    cell = Cell("", function.__name__, source, source, tuple(ast.parse(source).body))
    answer = find_answer(Notebook([cell]), function.__name__, {})
    elsewhere = ("transformer_lab", "tests.", ".reference")
    return None if any(word in answer.program for word in elsewhere) else answer


def renamed(function: Callable, name: str) -> str | None:
    """The program of a function under another name; None if it needs other modules of ours."""
    answer = answer_of(function)
    return answer and answer.program.replace(function.__name__, name)


def run_module(folder: Path, *command: str) -> str:
    """What `python -m …` prints in a folder, where it finds this package."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def exported(course: Path) -> dict[str, float]:
    """Each student's score, as nbgrader exports it from a course."""
    run_module(course, "nbgrader", "export")
    with (course / "grades.csv").open() as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
