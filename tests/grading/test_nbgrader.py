"""nbgrader takes the assignment, and gives the same points for honest work."""

import ast
import json
from pathlib import Path

import nbformat
import pytest

from tests.grading import term
from tests.grading.support import exported, run_module
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.assign import assign, choose
from transformer_lab.grading.assignment import Assignment

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
    for path in (tmp_path / "all" / "release" / "all").glob("*.ipynb"):
        handed_out = nbformat.read(path, 4)
        text = "\n".join(f"{cell.source} {json.dumps(cell.metadata)}" for cell in handed_out.cells)
        assert not any(cell.get("outputs") for cell in handed_out.cells)
        for name, exercise in catalogue.items():
            lines = code_of(exercise.solution_source())
            mistakes = [word for m in exercise.mistakes.values() for word in (m.name, m.explanation) if "_" in word]
            secrets = [*(line for line in lines if len(line) > 30), *mistakes]
            assert [secret for secret in secrets if secret in text and secret not in given] == [], name


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


def test_nbgrader_itself_gives_honest_work_the_same_points(course):
    pytest.importorskip("nbgrader", reason="needs the extra `instructor`")
    ours = nbformat.read(notebook(course, "release"), 4)
    run_module(course, "nbgrader", "generate_assignment", "hw1", "--create", "--force")
    theirs = nbformat.read(notebook(course, "release"), 4)
    assert [cell.source for cell in theirs.cells] == [cell.source for cell in ours.cells]
    hand_in(course)
    run_module(course, "nbgrader", "autograde", "hw1")
    assert exported(course) == POINTS
