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
import torch
from nbformat import NotebookNode

import transformer_lab
from notebooks.build import NOTEBOOKS, SOURCES, execute, text_to_notebook
from tests.notebook_rules import is_of_an_exercise, names_from_elsewhere, without_magics
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine import checking
from transformer_lab.exercises.engine.running import Attempt, as_tuple

LESSONS = [path for path in sorted(SOURCES.glob("[0-9]*.py")) if '# %% exercise="' in path.read_text("utf-8")]
START = (SOURCES / "00_start_here.py").read_text("utf-8")
IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (*IMPORTS, ast.FunctionDef, ast.ClassDef)


class AxisLater(ast.NodeTransformer):
    """The edit that makes of a function of one sentence one of a batch: each axis counted from 0 comes one later."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        for keyword in node.keywords:
            if keyword.arg in ("dim", "axis", "dim0", "dim1"):
                keyword.value = later(keyword.value)
        if isinstance(node.func, ast.Attribute) and node.func.attr in TAKE_AXES:
            node.args = [later(argument) for argument in node.args]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "stack" and not node.keywords:
            node.keywords = [ast.keyword("dim", ast.Constant(1))]
        return node


class TransposeOfTheLast(ast.NodeTransformer):
    """The edit `.T` → `.mT`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Attribute(node.value, "mT", node.ctx) if node.attr == "T" else node


TAKE_AXES = ("softmax", "transpose", "sum", "mean", "flatten", "unbind", "movedim", "swapaxes", "amax")


def later(value: ast.expr) -> ast.expr:
    counted = isinstance(value, ast.Constant) and type(value.value) is int and value.value >= 0
    return ast.Constant(value.value + 1) if counted else value


EDITS: dict[str, Callable[[ast.stmt], ast.AST] | None] = {
    "": None,
    ".T → .mT: ": TransposeOfTheLast().visit,
    "dim → dim + 1: ": AxisLater().visit,
}


def defined_in(path: Path, edit: Callable[[ast.stmt], ast.AST] | None) -> dict[str, Callable]:
    """The functions that a lesson defines in its cells, or what an edit makes of them; its exercises are left out."""
    code = [cell for cell in text_to_notebook(path).cells if cell.cell_type == "code"]
    own = [cell for cell in code if not is_of_an_exercise(cell) and not cell.metadata.get("own")]
    return functions_of("\n".join(without_magics(cell.source) for cell in own), path.name, edit)


def functions_of(source: str, name: str, edit: Callable[[ast.stmt], ast.AST] | None) -> dict[str, Callable]:
    """The functions that a source defines, or those that an edit changes; whatever else it does is left out."""
    scope: dict = {}
    changed = set()
    for line in [line for line in ast.parse(source).body if isinstance(line, DEFINITIONS)]:
        before = ast.unparse(line)
        after = ast.unparse(ast.fix_missing_locations(edit(line))) if edit else before
        if isinstance(line, ast.FunctionDef) and (edit is None or after != before):
            changed.add(line.name)
        with suppress(NameError):  # a default that the lesson has computed
            exec(compile(after, name, "exec"), scope)
    return {key: x for key, x in scope.items() if key in changed}


def stacked(function: Callable, axes: int) -> Callable:
    """The function called for each part of its tensors that has so many axes; the results are stacked again."""

    def of_all(*given):
        first = next(x for x in given if isinstance(x, torch.Tensor))
        if first.ndim <= axes:
            return function(*given)
        rows = [of_all(*(x[i] if isinstance(x, torch.Tensor) else x for x in given)) for i in range(len(first))]
        parts = [torch.stack(part) for part in zip(*map(as_tuple, rows), strict=True)]
        return tuple(parts) if isinstance(rows[0], tuple) else parts[0]

    return of_all


def copies_in(functions: dict[str, Callable], exercises: list[Exercise], edit: str) -> list[str]:
    """Which exercises are solved by one of these functions, as it is or called for each sentence of a batch."""
    found = []
    for exercise in exercises:
        tensors = [x for x in exercise.cases[0].arguments.values() if isinstance(x, torch.Tensor)]
        for name, function in functions.items():
            if len(inspect.signature(function).parameters) != len(exercise.parameters):
                continue
            ways = {"": function} | {f", stacked from {n}": stacked(function, n) for n in (1, 2, 3) if tensors}
            for how, attempt in ways.items():
                if exercise.examine(Attempt(attempt), exercise.cases).passed:
                    found.append(f"{edit}{name}{how} solves {exercise.name}")
    return found


WITH_COPIES = """
import math
import torch
import torch.nn.functional as F

def attend(query, key, value):
    weights = F.softmax(query / math.sqrt(query.size(-1)) @ key.T, dim=-1)
    return weights @ value, weights

def split(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=1))

def merge(heads):
    return torch.cat(list(heads.unbind(0)), dim=1)

def jacobian(p):
    return torch.diag(p) - torch.outer(p, p)
"""


def exercises_of(path: Path) -> list[Exercise]:
    return [exercise for exercise in catalogue.values() if exercise.lesson == path.stem[:2]]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_catalogue_has_the_order_of_the_lesson(path):
    """A check that passes names the next exercise, and the map of all shows them in this order."""
    stubs = [cell.metadata.exercise for cell in text_to_notebook(path).cells if "exercise" in cell.metadata]
    assert [exercise.name for exercise in exercises_of(path)] == stubs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_exercise_is_solved_by_a_function_of_its_lesson(path, monkeypatch):
    monkeypatch.setattr(checking, "recognised", lambda *_: None)  # no mistake is named: that takes longer than to judge
    copies = []
    for what, edit in EDITS.items():
        copies += copies_in(defined_in(path, edit), exercises_of(path), what)
    assert copies == []


@pytest.mark.filterwarnings("ignore")
def test_small_edits_of_a_function_of_a_lesson_would_be_seen(monkeypatch):
    monkeypatch.setattr(checking, "recognised", lambda *_: None)
    names = ("scaled_dot_product_attention", "softmax_jacobian", "split_heads", "merge_heads")
    exercises = [catalogue[name] for name in names]
    copies = []
    for what, edit in EDITS.items():
        copies += copies_in(functions_of(WITH_COPIES, "lesson", edit), exercises, what)
    assert ".T → .mT: attend solves scaled_dot_product_attention" in copies
    assert "attend, stacked from 2 solves scaled_dot_product_attention" in copies
    assert "jacobian, stacked from 1 solves softmax_jacobian" in copies
    assert "split, stacked from 2 solves split_heads" in copies
    assert "dim → dim + 1: split solves split_heads" in copies
    assert "dim → dim + 1: merge solves merge_heads" in copies


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
