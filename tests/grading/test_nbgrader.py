"""nbgrader takes the assignment, and gives the same points for honest work."""

import ast
import json
import os
import shutil
import sys
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from tests.grading import term
from tests.grading.support import exported, run_module
from transformer_lab import cli
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.gradebook.nbgrader_gradebook import import_grades
from transformer_lab.grading.handout.assign import Policy, assign, choose
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.questions import FILE, read_questions
from transformer_lab.grading.handout.roster import Roster, keep_roster, read_roster
from transformer_lab.grading.marking.records import Graded, graded_so_far
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.reports.reports import write_reports

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
    told = run_module(course, "nbgrader", "validate", str(path), "solved.ipynb", errors=True)
    assert "cannot be converted" not in told, "it takes what a cell returns for points"
    untouched, right = told.split("Success")
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


def test_a_second_import_keeps_what_was_decided_by_hand(course, monkeypatch):
    api = pytest.importorskip("nbgrader.api", reason="needs the extra `instructor`")
    monkeypatch.setenv("PATH", os.environ["PATH"])  # which the import adds to
    assignment = Assignment.load(course / "assignment.json")
    marks = tuple(Mark(name, "ok", most, most) for name, most in EXERCISES.items())
    graded = [
        Graded(name, marks, (), submitted="2026-10-01T12:00:00+00:00", came_by="nbgrader")
        for name in ("ann", "b\udcffen")
    ]
    (course / "overrides.csv").write_text("student,exercise,points,comment\nann,softmax,0.5,\n")
    import_grades(gradebook(graded, assignment, Roster(), course).finals, assignment, course)
    with api.Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.find_grade("softmax_jacobian-check", notebook(course, "source").stem, "hw1", "ann").manual_score = 1.25
        book.db.commit()
    import_grades(gradebook(graded, assignment, Roster(), course).finals, assignment, course)
    assert exported(course) == {"ann": 1.75, "b\\udcffen": 5}


ROSTER = """id,name,email,extension,submitted
7001,Ann Doe,ann@example.org,,2026-10-02T10:00+00:00
7002,Ben May,ben@example.org,3 days,2026-10-02T10:00+00:00
7003,Cem Kaya,cem@example.org,,
7004,Dai Ito,dai@example.org,,
"""
ASKED = "## why (3)\n\nWhy?\n\n## when (2)\n\nWhen?\n"


@pytest.fixture(scope="module")
def blank(tmp_path_factory) -> Path:
    """An empty gradebook: nbgrader needs seconds to make one."""
    api = pytest.importorskip("nbgrader.api", reason="needs the extra `instructor`")
    path = tmp_path_factory.mktemp("blank") / "gradebook.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # it calls `alembic`
        with api.Gradebook(f"sqlite:///{path}"):
            return path


@pytest.fixture
def late(tmp_path, blank) -> Path:
    """A course with a due time and questions, and grades of it as `grade` leaves them: two are late, two are absent."""
    (tmp_path / "q.md").write_text(ASKED)
    (tmp_path / "roster.csv").write_text(ROSTER)
    policy = Policy(due="2026-10-01T12:00+00:00", late=10, questions=read_questions(tmp_path / "q.md"))
    assign(tmp_path / "hw1", EXERCISES, policy=policy)
    shutil.copy(blank, tmp_path / "hw1")
    (tmp_path / "grades" / "records").mkdir(parents=True)
    marks = tuple(Mark(name, "ok", most, most) for name, most in EXERCISES.items())
    for student in ("ann", "ben"):
        graded = Graded(
            student, marks, (), submitted="2026-11-01T00:00:00+00:00", came_by="nbgrader", texts={"why": "so"}
        )
        graded.save(tmp_path / "grades" / "records")
    return tmp_path


def decide(folder: Path, *lines: str) -> None:
    """Write decisions, and let `grade` make its reports with the roster."""
    grades = folder / "grades"
    (grades / "overrides.csv").write_text("\n".join(["student,exercise,points,comment", *lines, ""]))
    assignment, roster = Assignment.load(folder / "hw1" / "assignment.json"), read_roster(folder / "roster.csv")
    write_reports(graded_so_far(grades), assignment, grades, roster)
    keep_roster(folder / "roster.csv", grades)


def imported(folder: Path, monkeypatch) -> dict[str, tuple[float, float, float]]:
    """For each student: the sum of the cells, the penalty, and what nbgrader's export makes of them."""
    api = pytest.importorskip("nbgrader.api", reason="needs the extra `instructor`")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    key, course = folder / "hw1" / "assignment.json", folder / "hw1"
    assert cli.main(["nbgrader", str(folder / "grades"), "--assignment", str(key), "--course", str(course)]) == 0
    with api.Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        found = book.assignment_submissions("hw1")
        rows = {one.student.id: (one.score, one.late_submission_penalty) for one in found}
    return {student: (score, less, max(0, score - less)) for student, (score, less) in rows.items()}


class TestAnImport:
    def test_knows_the_roster_that_the_grades_were_made_with(self, late, monkeypatch):
        decide(late, "7003,total,4,orally", "dai@example.org,softmax,1,")
        assert imported(late, monkeypatch) == {
            "ann": (5, 1, 4),
            "ben": (5, 0, 5),
            "7003": (4, 0, 4),
            "7004": (1, 0, 1),
        }

    def test_carries_the_penalty_the_due_time_and_when_work_came(self, late, monkeypatch):
        decide(late, "ben,late,0.5,")
        assert imported(late, monkeypatch) == {"ann": (5, 1, 4), "ben": (5, 0.5, 4.5)}
        api = pytest.importorskip("nbgrader.api")
        with api.Gradebook(f"sqlite:///{late / 'hw1' / 'gradebook.db'}") as book:
            assert book.find_assignment("hw1").duedate == datetime(2026, 10, 1, 12)
            ben = book.find_submission("hw1", "ben")
            assert ben.timestamp == datetime(2026, 10, 2, 10), "the roster's"
            known = (ben.student.first_name, ben.student.last_name, ben.student.email)
            assert known == ("Ben", "May", "ben@example.org")
            assert ben.duedate == datetime(2026, 10, 4, 12)
            assert ben.total_seconds_late == 0

    def test_carries_totals_up_and_down_and_says_where(self, late, monkeypatch, capsys):
        decide(late, "ann,total,3,", "ben,total,7,")
        for _ in range(2):  # a second import adds nothing
            assert imported(late, monkeypatch) == {"ann": (5, 2, 3), "ben": (7, 0, 7)}
            told = capsys.readouterr().out
            assert "Ann Doe: the total 3, decided by hand, stands in nbgrader as a late submission penalty of 2" in told
            assert "Ben May: the total 7, decided by hand, stands in nbgrader as extra credit of 2" in told
        api = pytest.importorskip("nbgrader.api")
        with api.Gradebook(f"sqlite:///{late / 'hw1' / 'gradebook.db'}") as book:
            next(g for g in book.find_submission("hw1", "ben").notebooks[0].grades if g.extra_credit).extra_credit += 1
            book.db.commit()
        decide(late)
        assert imported(late, monkeypatch) == {"ann": (5, 1, 4), "ben": (6, 0, 6)}, "what nbgrader was told stays"

    def test_carries_what_was_decided_of_a_question_that_nobody_has_marked(self, late, monkeypatch):
        decide(late, "ann,why,3,")
        assert imported(late, monkeypatch) == {"ann": (8, 1, 7), "ben": (5, 0, 5)}
        api = pytest.importorskip("nbgrader.api")
        with api.Gradebook(f"sqlite:///{late / 'hw1' / 'gradebook.db'}") as book:
            waiting = {(g.student.id, g.name): g.needs_manual_grade for g in book.db.query(api.Grade)}
        words = {key: value for key, value in waiting.items() if key[1].endswith("-words")}
        assert words == {
            ("ann", "why-words"): False,
            ("ann", "when-words"): False,
            ("ben", "why-words"): True,
            ("ben", "when-words"): False,
        }


def test_nbgrader_itself_gives_honest_work_the_same_points(course):
    pytest.importorskip("nbgrader", reason="needs the extra `instructor`")
    (course.parent / "q.md").write_text(ASKED)
    assign(course / "hw1", {"softmax": 1}, policy=Policy(questions=read_questions(course.parent / "q.md")))
    for kind in ("source", "release"):  # the same course has questions
        shutil.copy(course / "hw1" / kind / "hw1" / FILE, course / kind / "hw1")
    shutil.rmtree(course / "hw1")
    paths = sorted((course / "release" / "hw1").glob("*.ipynb"))
    ours = [cell.source for path in paths for cell in nbformat.read(path, 4).cells]
    run_module(course, "nbgrader", "generate_assignment", "hw1", "--force")
    assert [cell.source for path in paths for cell in nbformat.read(path, 4).cells] == ours
    hand_in(course)
    run_module(course, "nbgrader", "autograde", "hw1")
    assert exported(course) == POINTS
