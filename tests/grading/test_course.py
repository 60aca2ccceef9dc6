"""A term: hand out, collect from twenty students, grade, tell each what is wrong and the instructor what is common."""

import csv
import json
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import nbformat
import pytest

from tests.grading import term
from tests.grading.support import exported, needs_bwrap, run_module
from transformer_lab import cli
from transformer_lab.exercises import catalogue
from transformer_lab.grading import course, fresh
from transformer_lab.grading.assign import Key
from transformer_lab.grading.fresh import fresh_cases
from transformer_lab.grading.reports import write_reports

EXERCISES = {"softmax": 1, "scaled_dot_product_attention": 1}
NAMES = ("student", "points", *EXERCISES)


@pytest.fixture(scope="module")
def classroom(tmp_path_factory) -> Path:
    """A folder with an assignment, hw1/, and what the class handed in, submitted/."""
    folder = tmp_path_factory.mktemp("term")
    points = [f"{name}={most}" for name, most in EXERCISES.items()]
    assert cli.main(["assign", "--exercise", *points, "--seconds", "6", "--out", str(folder / "hw1")]) == 0
    term.hand_in(next((folder / "hw1" / "release" / "hw1").glob("*.ipynb")), folder / "submitted")
    return folder


def grade(classroom: Path, out: str, *more: str) -> int:
    paths = ["--key", str(classroom / "hw1" / "key.json"), "--out", str(classroom / out)]
    return cli.main(["grade", str(classroom / "submitted"), *paths, "--jobs", "2", *more])


@pytest.fixture(scope="module")
def grades(classroom) -> Path:
    assert grade(classroom, "grades") == 0
    return classroom / "grades"


def rows(grades: Path) -> dict[str, dict]:
    with (grades / "grades.csv").open() as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@needs_bwrap
class TestATerm:
    def test_everybody_gets_what_they_deserve(self, grades):
        assert {student: float(row["points"]) for student, row in rows(grades).items()} == term.POINTS

    def test_unusual_verdicts_stand_in_the_table(self, grades):
        unusual = {student: row["unusual"] for student, row in rows(grades).items() if row["unusual"]}
        assert unusual == {student: f"softmax: {verdict}" for student, verdict in term.VERDICTS.items()}

    @pytest.mark.parametrize(
        ("student", "note"),
        [
            ("mia", "`softmax` is left as it was handed out"),
            ("nat", "the cell of `softmax` is gone; found the function elsewhere"),
            ("pia", "`softmax` is defined in 2 cells; the last that is filled in counts"),
            ("quin", "quin.ipynb is no notebook that can be read"),
            ("rex", "no notebook was handed in (a link is none)"),
        ],
    )
    def test_it_says_what_it_did_about_odd_notebooks(self, grades, student, note):
        assert note in rows(grades)[student]["notes"]

    def test_feedback_names_the_mistake_and_gives_nothing_away(self, grades, classroom):
        pages = {path.stem: path.read_text() for path in (grades / "feedback").iterdir()}
        assert len(pages) == len(term.POINTS)
        assert "softmax: 0 of 1 (overflow)" in pages["eva"]
        key = Key.load(classroom / "hw1" / "key.json")
        secrets = [key.seed, "a word of kim", *hidden(key)]
        for student, page in pages.items():
            assert [word for word in secrets if word in page] == (["a word of kim"] if student == "kim" else [])
            assert "scores.amax" not in page  # of the reference
            assert "<b>" not in page

    def test_no_file_is_written_outside(self, grades, classroom):
        assert sorted(path.name for path in classroom.iterdir()) == ["grades", "hw1", "submitted"]
        assert {path.name for path in grades.iterdir()} == {
            *("records", "feedback", "grades.csv", "report.html", "graded-with")
        }
        assert all(path.parent == grades / "feedback" for path in (grades / "feedback").rglob("*"))

    def test_the_report_counts_the_commonest_mistakes(self, grades):
        report = (grades / "report.html").read_text()
        assert "softmax: overflow (3)" in report
        assert "scaled_dot_product_attention: unscaled (3)" in report
        assert "3 × <strong>overflow</strong>" in report
        assert "0.45 / 1" in report  # softmax: right in the four honest, nat, oda, pia, sam, tom
        assert "kim" in report[report.index("To look at") :]
        assert "eva" not in report[report.index("To look at") :]

    def test_a_second_run_regrades_nothing_and_changes_nothing(self, grades, classroom, monkeypatch):
        before = {path: path.read_bytes() for path in sorted(grades.rglob("*")) if path.is_file()}
        monkeypatch.setattr(course, "grade_one", lambda *_: pytest.fail("graded again"))
        assert grade(classroom, "grades") == 0
        assert {path: path.read_bytes() for path in sorted(grades.rglob("*")) if path.is_file()} == before

    def test_a_run_that_was_cut_off_goes_on_and_gives_the_same_marks(self, grades, classroom):
        shutil.copytree(grades, classroom / "again")
        done = sorted((classroom / "again" / "records").iterdir())
        for path in done[::4]:
            path.unlink()
        (classroom / "again" / "records" / "half.part").write_text("{")
        untouched = {path: path.stat().st_mtime_ns for path in done if path.exists()}
        assert grade(classroom, "again") == 0
        assert (classroom / "again" / "grades.csv").read_bytes() == (grades / "grades.csv").read_bytes()
        assert {path: path.stat().st_mtime_ns for path in untouched} == untouched
        shutil.rmtree(classroom / "again")

    def test_another_key_is_refused_where_grades_lie(self, grades, classroom, capsys):
        key = json.loads((classroom / "hw1" / "key.json").read_text())
        (classroom / "hw1" / "other.json").write_text(json.dumps(key | {"seed": "other"}))
        submitted, other = str(classroom / "submitted"), str(classroom / "hw1" / "other.json")
        assert cli.main(["grade", submitted, "--key", other, "--out", str(grades)]) == 2
        assert "must hold grades of this key and these private checks, jailed or trusted as" in capsys.readouterr().err
        (classroom / "hw1" / "other.json").unlink()

    def test_grades_go_into_nbgrader_s_gradebook_and_out_again(self, grades, classroom):
        pytest.importorskip("nbgrader", reason="needs the extra `instructor`")
        course = classroom / "hw1"
        run_module(course, "transformer_lab.cli", "nbgrader", str(grades), "--key", "key.json", "--course", ".")
        assert exported(course) == term.POINTS

    def test_a_notebook_that_changed_is_graded_again(self, grades, classroom):
        submissions = course.find_submissions(classroom / "submitted", "hw1")
        key = Key.load(classroom / "hw1" / "key.json")
        path = classroom / "submitted" / "mia.ipynb"
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        assert [s.student for s in course.still_to_grade(submissions, key, "", grades)] == ["mia"]
        path.write_bytes(before)
        assert course.still_to_grade(submissions, key, "", grades) == []


def hidden(key: Key) -> list[str]:
    """The fresh inputs as they would be printed."""
    cases = [case for name in key.points for case in fresh_cases(catalogue[name], key.seed)]
    numbers = [x for case in cases for x in case.arguments.values() if hasattr(x, "flatten") and x.numel()]
    return [f"{x.flatten()[0].item():.4f}" for x in numbers if abs(x.flatten()[0].item()) > 0.001]


@needs_bwrap
def test_private_checks_reach_the_processes_that_grade(classroom, tmp_path, monkeypatch):
    monkeypatch.setattr(fresh, "MAKERS", {})
    monkeypatch.setattr(fresh, "PRIVATE", set())
    private = tmp_path / "private.py"
    private.write_text(
        "from torch import full\nfrom transformer_lab.grading.fresh import maker\n\n"
        "@maker('softmax')\ndef _(generator):\n    return {'scores': full((77,), 3.0), 'dim': 0}\n"
    )
    (tmp_path / "in").mkdir()
    answer = "def softmax(scores, dim):\n    return scores.softmax(dim) * (1 + (scores.numel() == 77))"
    release = next((classroom / "hw1" / "release" / "hw1").glob("*.ipynb"))
    nbformat.write(term.solved(release, {"softmax": answer}), tmp_path / "in" / "ann.ipynb")
    paths = [tmp_path / "in", "--key", classroom / "hw1" / "key.json", "--out", tmp_path / "out", "--private", private]
    assert cli.main(["grade", *map(str, paths), "--jobs", "1"]) == 0
    assert rows(tmp_path / "out")["ann"]["points"] == "0"
    assert "Right on the visible cases, wrong on others" in (tmp_path / "out" / "feedback" / "ann.html").read_text()


@needs_bwrap
def test_a_process_that_ends_loses_nothing(classroom, tmp_path, monkeypatch):
    key = Key.load(classroom / "hw1" / "key.json")
    submissions = course.find_submissions(classroom / "submitted", "hw1")[:2]
    waiting = course.still_to_grade(submissions, key, "", tmp_path)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(exec, "import os; os._exit(1)")
        with pytest.raises(RuntimeError, match=r"a process that graded ended .*the same command goes on from here"):
            list(course.grade_all(waiting, key, tmp_path, pool))
    assert course.still_to_grade(submissions, key, "", tmp_path) == waiting


@needs_bwrap
def test_threads_of_one_process_take_turns_at_its_jail(classroom, tmp_path):
    """As on a dask worker with several threads; a machine with an accelerator grades on its processor, too."""
    key = Key.load(classroom / "hw1" / "key.json")
    honest = [s for s in course.find_submissions(classroom / "submitted", "hw1") if s.student in term.HONEST]
    waiting = course.still_to_grade(honest, key, "", tmp_path)
    with ThreadPoolExecutor(4) as pool:
        graded = list(course.grade_all(waiting, key, tmp_path, pool))
    course.close_jail()
    assert {one.student: one.points for one in graded} == dict.fromkeys(term.HONEST, 2)


@needs_bwrap
def test_a_machine_with_an_accelerator_grades_on_its_processor(classroom, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_LAB_DEVICE", "meta")  # every machine has this one
    key = Key.load(classroom / "hw1" / "key.json")
    (ann,) = (s for s in course.find_submissions(classroom / "submitted", "hw1") if s.student == "ann")
    course.still_to_grade([ann], key, "", tmp_path)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        (graded,) = course.grade_all([ann], key, tmp_path, pool)
    assert graded.points == 2


def test_where_grading_fails_it_says_at_whom_and_does_not_begin_the_others(classroom, tmp_path, monkeypatch):
    key, begun = Key.load(classroom / "hw1" / "key.json"), []

    def fail(submission, *_):
        begun.append(submission.student)
        time.sleep(0.05)
        raise KeyError("why")

    monkeypatch.setattr(course, "grade_one", fail)
    submissions = course.find_submissions(classroom / "submitted", "hw1")
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(RuntimeError, match=r"grading .*sam failed \(KeyError: 'why'\); what is done is kept"),
    ):
        list(course.grade_all(submissions, key, tmp_path, pool))
    assert len(begun) < 4


def test_what_was_graded_without_a_jail_is_not_taken_for_more(classroom, tmp_path):
    key = Key.load(classroom / "hw1" / "key.json")
    course.still_to_grade([], key, "", tmp_path, trust=True)
    with pytest.raises(ValueError, match=r"jailed or trusted as now \(it holds others\)"):
        course.still_to_grade([], key, "", tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"student": "ann"}', '{"marks": [{"verdict": "ok"}]}'])
def test_a_broken_record_is_named(tmp_path, text):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "ann.json").write_text(text)
    with pytest.raises(ValueError, match=r"ann.json must be a record of grading .* delete it"):
        course.graded_so_far(tmp_path)


def test_submissions_are_found_from_wherever_they_are_graded(classroom, monkeypatch):
    monkeypatch.chdir(classroom)
    found = course.find_submissions(Path("submitted"), "hw1")
    assert all(Path(path).is_absolute() for submission in found for path in submission.paths)


# ── what can't be done is said ──


def refused(capsys, *arguments: object) -> str:
    assert cli.main([str(argument) for argument in arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lessons", "99"], "a lesson with exercises must be one of 00, 01"),
        (["--exercise", "sofmax=2"], "an exercise must be one of dot_product, softmax"),
        (["--exercise", "softmax=much"], "--exercise takes NAME=POINTS, such as softmax=2 (got softmax=much)"),
        (["--exercise", "softmax=0"], "the points of an exercise must be positive (softmax=0)"),
        ([], "an assignment needs at least one lesson or exercise (got none)"),
        (["--exercise", "softmax=inf"], "the points of an exercise must be positive (softmax=inf)"),
        (["--lessons", "01", "--seconds", "0"], "the seconds for an answer must be positive, and at most 3600 (got 0)"),
    ],
)
def test_what_cannot_be_assigned_is_refused(tmp_path, capsys, arguments, message):
    assert message in refused(capsys, "assign", *arguments, "--out", tmp_path / "hw")


def test_a_folder_that_holds_something_is_not_written_to(classroom, capsys):
    message = refused(capsys, "assign", "--lessons", "01", "--out", classroom / "hw1")
    assert "must be new or empty (it holds" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "must be a file written by `transformer-lab assign` (there is none)"),
        ("{", "must be a key written by `transformer-lab assign` (Expecting"),
        ('{"name": "hw1", "points": {}, "format": 7}', "the key must have format 1 (it has 7): assign again"),
        ('{"name": "hw1", "points": {"sofmax": 1}}', "an exercise must be one of dot_product"),
        ("[1]", "must be a key written by `transformer-lab assign`"),
    ],
)
def test_a_wrong_key_is_refused(tmp_path, capsys, text, message):
    if text is not None:
        (tmp_path / "key.json").write_text(text)
    (tmp_path / "in").mkdir()
    arguments = ("--key", tmp_path / "key.json", "--out", tmp_path / "out")
    assert message in refused(capsys, "grade", tmp_path / "in", *arguments)


def test_a_folder_without_notebooks_is_refused(classroom, tmp_path, capsys):
    arguments = ("--key", classroom / "hw1" / "key.json", "--out", tmp_path / "out")
    (tmp_path / "in").mkdir()
    assert "must hold notebooks, one for each student" in refused(capsys, "grade", tmp_path / "in", *arguments)
    assert "the submissions must be a folder (there is none" in refused(capsys, "grade", tmp_path / "no", *arguments)
    wrong = refused(capsys, "grade", classroom / "submitted", *arguments, "--private", tmp_path / "no.py")
    assert "--private takes a Python file (there is none" in wrong
    wrong = refused(capsys, "grade", classroom / "submitted", *arguments, "--trust", "--executor", "ray://x")
    assert "--executor takes dask://HOST:PORT (got ray://x)" in wrong
    wrong = refused(capsys, "grade", classroom / "submitted", *arguments, "--trust", "--jobs", "0")
    assert "--jobs must be at least 1 (got 0)" in wrong
    assert "must hold grades written by" in refused(capsys, "nbgrader", tmp_path, *arguments[:2], "--course", tmp_path)


def test_without_a_jail_nothing_runs_unless_trusted(classroom, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    key = classroom / "hw1" / "key.json"
    message = refused(capsys, "grade", classroom / "submitted", "--key", key, "--out", tmp_path)
    assert "install it, for instance with `apt install bubblewrap` (found no `bwrap`)" in message
    assert not (tmp_path / "grades.csv").exists()


def test_trust_warns_and_grades(classroom, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    (tmp_path / "in").mkdir()
    shutil.copy(classroom / "submitted" / "ann.ipynb", tmp_path / "in")
    key = classroom / "hw1" / "key.json"
    arguments = ["grade", tmp_path / "in", "--key", key, "--out", tmp_path / "out", "--trust", "--jobs", "1"]
    assert cli.main([*map(str, arguments)]) == 0
    assert "Grading WITHOUT a jail" in capsys.readouterr().err
    assert rows(tmp_path / "out")["ann"]["points"] == "2"


@pytest.mark.parametrize("command", ["assign", "grade", "solutions", "nbgrader"])
def test_help_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert f"transformer-lab {command} " in capsys.readouterr().out.split("\n\n", 1)[1]


def test_names_of_files_stay_in_their_folder_and_apart():
    names = ["ann", "../ann", "an/n", "é" + "f", "\u0e9f", "a" * 300, "a" * 301, "%2e", "."]
    files = [course.file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 200 for name in files)


def test_reports_of_nobody_can_be_written(classroom, tmp_path):
    write_reports([], Key.load(classroom / "hw1" / "key.json"), tmp_path)
    assert "No known mistake was recognised." in (tmp_path / "report.html").read_text()
