"""nbgrader takes the assignment, and gives the same points for honest work."""

import ast
import json
import os
from pathlib import Path

import nbformat
import pytest

from tests.grading import term
from tests.grading.support import exported, run_module
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.assign import Policy, assign, choose
from transformer_lab.grading.assignment import Assignment
from transformer_lab.grading.final import gradebook
from transformer_lab.grading.gradebook import import_grades
from transformer_lab.grading.records import Graded
from transformer_lab.grading.roster import Roster
from transformer_lab.grading.scoring import Mark

EXERCISES = {"softmax": 2, "softmax_jacobian": 3}
ANSWERS = {"ann": ("softmax", "softmax_jacobian"), "ben": ("softmax_jacobian",)}
POINTS = {"ann": 5, "ben": 3}


@pytest.fixture
def course(tmp_path) -> Path:
    assign(tmp_path / "hw1", EXERCISES)
    return tmp_path / "hw1"


def notebook(course: Path, kind: str) -> Path:
    return next((course / kind / "hw1").glob("*.ipynb"))


def test_the_metadata_are_those_of_nbgrader_s_schema(course):
    for kind in ("source", "release"):
        described = [cell.metadata.nbgrader for cell in nbformat.read(notebook(course, kind), 4).cells]
        names = [one.grade_id for one in described]
        assert len(set(names)) == len(names)
        assert {one.schema_version for one in described} == {3}
        assert {one.grade_id: one.points for one in described if one.grade} == {
            f"{name}-check": points for name, points in EXERCISES.items()
        }
        assert all(one.locked for one in described if not one.solution)


def test_the_release_gives_nothing_away(course):
    text = notebook(course, "release").read_text()
    assignment = Assignment.load(course / "assignment.json")
    secrets = [assignment.seed, "BEGIN", "diag_embed", ".passed"]
    secrets += [mistake for name in EXERCISES for mistake in catalogue[name].mistakes if "_" in mistake]
    assert [secret for secret in secrets if secret in text] == []
    assert all(not cell.get("outputs") for cell in json.loads(text)["cells"])


def test_no_exercise_is_given_away_by_any_release(tmp_path):
    points = choose(sorted({exercise.lesson for exercise in catalogue.values()}), {})
    assert list(points) == list(catalogue)
    assign(tmp_path / "all", points)
    given = "\n".join(one.handed_out() for one in catalogue.values() if isinstance(one, FindTheBug))  # all may read it
    secrets = {}
    for name, exercise in catalogue.items():
        lines = [line for line in code_of(exercise.solution_source()) if len(line) > 30]
        lines += [word for m in exercise.mistakes.values() for word in (m.name, m.explanation) if "_" in word]
        secrets[name] = [line for line in lines if line not in given]
    for path in (tmp_path / "all" / "release" / "all").glob("*.ipynb"):
        handed_out = nbformat.read(path, 4)
        text = "\n".join(f"{cell.source} {json.dumps(cell.metadata)}" for cell in handed_out.cells)
        assert not any(cell.get("outputs") for cell in handed_out.cells)
        for name in catalogue:
            assert [secret for secret in secrets[name] if secret in text] == [], name


def code_of(source: str) -> list[str]:
    """The lines of all functions, but for their heads and docstrings: what they take, everybody may know."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    statements = [s for f in functions for s in f.body if not (isinstance(s, ast.Expr) and s is f.body[0])]
    return [line.strip() for s in statements for line in source.splitlines()[s.lineno - 1 : s.end_lineno]]


def hand_in(course: Path) -> None:
    for student, names in ANSWERS.items():
        answers = {name: "import torch\n" + catalogue[name].solution_source() for name in names}
        path = course / "submitted" / student / "hw1" / notebook(course, "release").name
        path.parent.mkdir(parents=True)
        nbformat.write(term.solved(notebook(course, "release"), answers), path)


def test_nbgrader_s_validation_fails_what_was_not_worked_on_and_passes_what_is_right(course):
    pytest.importorskip("nbgrader", reason="needs the extra `instructor`")
    path = notebook(course, "release")
    answers = {name: "import torch\n" + catalogue[name].solution_source() for name in EXERCISES}
    nbformat.write(term.solved(path, answers), course / "solved.ipynb")
    untouched, right = run_module(course, "nbgrader", "validate", str(path), "solved.ipynb").split("Success")
    assert "VALIDATION FAILED ON 2 CELL(S)" in untouched.upper()
    assert "failed" not in right


def test_what_is_handed_out_may_show_no_solutions(tmp_path):
    policy = Policy(no_solutions=True)
    assign(tmp_path / "hw1", EXERCISES, policy=policy)
    cells = nbformat.read(notebook(tmp_path / "hw1", "release"), 4).cells
    (set_up,) = (cell.source for cell in cells if cell.id.startswith("set-up"))
    assert "exercises.withhold('softmax', 'softmax_jacobian')" in set_up
    script = set_up + "\nprint(exercises.softmax.solution())\nprint(exercises.causal_mask.solution())"
    (tmp_path / "cells.py").write_text(script)
    shown = run_module(tmp_path, "cells")
    assert "softmax: no solution is shown, as this is an assignment" in shown
    assert "scores.amax" not in shown
    assert "def causal_mask(" in shown


@pytest.mark.filterwarnings("ignore:Object of type <Submitted")  # nbgrader's own
def test_a_second_import_keeps_what_was_decided_by_hand(course, monkeypatch):
    api = pytest.importorskip("nbgrader.api", reason="needs the extra `instructor`")
    monkeypatch.setenv("PATH", os.environ["PATH"])  # which the import adds to
    assignment = Assignment.load(course / "assignment.json")
    marks = tuple(Mark(name, "ok", most, most) for name, most in EXERCISES.items())
    graded = [Graded(name, marks, (), submitted="2026-10-01T12:00:00+00:00") for name in ("ann", "b\udcffen")]
    (course / "overrides.csv").write_text("student,exercise,points,comment\nann,softmax,0.5,\n")
    import_grades(gradebook(graded, assignment, Roster(), course).finals, assignment, course)
    with api.Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.find_grade("softmax_jacobian-check", notebook(course, "source").stem, "hw1", "ann").manual_score = 1.25
        book.db.commit()
    import_grades(gradebook(graded, assignment, Roster(), course).finals, assignment, course)
    assert exported(course) == {"ann": 1.75, "b\\udcffen": 5}


def test_nbgrader_itself_gives_honest_work_the_same_points(course):
    pytest.importorskip("nbgrader", reason="needs the extra `instructor`")
    ours = nbformat.read(notebook(course, "release"), 4)
    run_module(course, "nbgrader", "generate_assignment", "hw1", "--create", "--force")
    theirs = nbformat.read(notebook(course, "release"), 4)
    assert [cell.source for cell in theirs.cells] == [cell.source for cell in ours.cells]
    hand_in(course)
    run_module(course, "nbgrader", "autograde", "hw1")
    assert exported(course) == POINTS
