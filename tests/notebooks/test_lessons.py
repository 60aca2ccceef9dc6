"""What lessons promise of their exercises: none is solved by copying what stands above, and how long they take."""

import ast
import inspect
import re
import symtable
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

import transformer_lab
from notebooks.build import NOTEBOOKS, SOURCES, execute, text_to_notebook
from tests.notebook_rules import is_of_an_exercise, names_from_elsewhere, without_magics
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine.running import Attempt

LESSONS = [path for path in sorted(SOURCES.glob("[0-9]*.py")) if '# %% exercise="' in path.read_text("utf-8")]
START = (SOURCES / "00_start_here.py").read_text("utf-8")
IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (*IMPORTS, ast.FunctionDef, ast.ClassDef)


def defined_in(path: Path) -> dict[str, Callable]:
    """The functions that a lesson defines in its cells, those of its exercises left out."""
    code = [cell for cell in text_to_notebook(path).cells if cell.cell_type == "code"]
    own = [cell for cell in code if not is_of_an_exercise(cell) and not cell.metadata.get("own")]
    statements = [line for cell in own for line in ast.parse(without_magics(cell.source)).body]
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
    copies, functions = [], defined_in(path)
    for exercise in exercises_of(path):
        arguments = len(exercise.cases[0].arguments)
        for name, function in functions.items():
            if len(inspect.signature(function).parameters) == arguments:
                passed = exercise.examine(Attempt(function), exercise.cases).passed
                copies += [f"{name} solves {exercise.name}"] * passed
    assert copies == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_solution_binds_no_name_that_its_lesson_uses(path):
    code = [cell for cell in text_to_notebook(path).cells if cell.cell_type == "code" and not is_of_an_exercise(cell)]
    used = set().union(*(names_from_elsewhere(cell.source) for cell in code if not cell.metadata.get("own")))
    shadowed = []
    for exercise in exercises_of(path):
        body = ast.parse(exercise.solution_source()).body
        bound = {name for line in body if not isinstance(line, IMPORTS) for name in names_bound(line)}
        bound -= set(transformer_lab.__all__)  # a function of the package's that comes along is the one a lesson uses
        shadowed += [f"the solution of {exercise.name} binds {name}" for name in sorted(bound & used)]
    assert shadowed == []


def names_bound(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top level binds."""
    table = symtable.symtable(ast.unparse(statement), "solution", "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}


def test_a_lesson_with_all_answers_in_their_places_shows_what_it_shows_without():
    path = min(LESSONS[1:], key=lambda path: int(re.search(r"\*\*Time:\*\* (\d+)", path.read_text("utf-8"))[1]))
    lesson, stored = text_to_notebook(path), nbformat.read(NOTEBOOKS / f"{path.stem}.ipynb", as_version=4)
    checks = set()
    for cell, following in pairwise(lesson.cells):
        if "exercise" in cell.metadata:
            cell.source = catalogue[cell.metadata.exercise].solution_source()
            checks.add(following.id)
    execute(lesson)
    for cell, before in zip(lesson.cells, stored.cells, strict=True):
        if cell.id in checks:
            assert "passed" in cell.outputs[0].data["text/plain"]
        elif cell.cell_type == "code" and "tolerance" not in cell.metadata:
            assert text_of(cell) == text_of(before), cell.source


def text_of(cell: NotebookNode) -> str:
    """What a cell has put out in letters."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


@pytest.mark.parametrize("path", LESSONS[1:], ids=lambda path: path.stem)
def test_the_table_of_lessons_says_how_long_each_takes(path):
    reading = re.search(r"\*\*Time:\*\* (\d+) minutes", path.read_text("utf-8"))[1]
    solving = sum(exercise.minutes for exercise in exercises_of(path))
    row = re.search(rf"^# \| {path.stem[:2]} \| .*\({path.stem}\.ipynb\).* \| (\d+) \+ (\d+) \|$", START, re.MULTILINE)
    assert row, "lesson 00 has a row for each lesson"
    assert (row[1], int(row[2])) == (reading, 5 * round(solving / 5))
