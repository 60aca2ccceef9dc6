"""What lessons promise of their exercises: none is solved by copying what stands above, and how long they take."""

import ast
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from notebooks.build import SOURCES, text_to_notebook
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine.running import Attempt

LESSONS = [path for path in sorted(SOURCES.glob("[0-9]*.py")) if '# %% exercise="' in path.read_text("utf-8")]
START = (SOURCES / "00_start_here.py").read_text("utf-8")
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def defined_above(path: Path) -> dict[str, Callable]:
    """The functions that a lesson defines in the cells before its first exercise."""
    code = [cell for cell in text_to_notebook(path).cells if cell.cell_type == "code"]
    first = next(number for number, cell in enumerate(code) if "exercise" in cell.metadata)
    statements = [line for cell in code[:first] for line in ast.parse(cell.source).body]
    scope: dict = {}
    for line in statements:
        if isinstance(line, DEFINITIONS):
            with suppress(NameError):  # a default that the lesson has computed
                exec(compile(ast.Module([line], []), path.name, "exec"), scope)
    return {name: x for name, x in scope.items() if inspect.isfunction(x) and x.__code__.co_filename == path.name}


def exercises_of(path: Path) -> list[Exercise]:
    return [exercise for exercise in catalogue.values() if exercise.lesson == path.stem[:2]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_exercise_is_solved_by_a_function_of_its_lesson(path):
    copies, above = [], defined_above(path)
    for exercise in exercises_of(path):
        arguments = len(exercise.cases[0].arguments)
        for name, function in above.items():
            if len(inspect.signature(function).parameters) == arguments:
                passed = exercise.examine(Attempt(function), exercise.cases).passed
                copies += [f"{name} solves {exercise.name}"] * passed
    assert copies == []


@pytest.mark.parametrize("path", LESSONS[1:], ids=lambda path: path.stem)
def test_the_table_of_lessons_says_how_long_each_takes(path):
    reading = re.search(r"\*\*Time:\*\* (\d+) minutes", path.read_text("utf-8"))[1]
    solving = sum(exercise.minutes for exercise in exercises_of(path))
    row = re.search(rf"^# \| {path.stem[:2]} \| .*\({path.stem}\.ipynb\).* \| (\d+) \+ (\d+) \|$", START, re.MULTILINE)
    assert row, "lesson 00 has a row for each lesson"
    assert (row[1], int(row[2])) == (reading, 5 * round(solving / 5))
