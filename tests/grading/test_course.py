"""A term: hand out, collect from twenty students, grade, tell each what is wrong and the instructor what is common."""

import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
import torch

from tests.grading import term
from tests.grading.in_processes import described, grade_or_end
from tests.grading.support import exported, needs_bwrap
from transformer_lab import cli
from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lesson_notebooks import NOTEBOOKS, lesson_notebook
from transformer_lab.grading.marking import course, processes, records
from transformer_lab.grading.marking.hidden_cases import draw_cases
from transformer_lab.grading.marking.processes import process_pool
from transformer_lab.grading.reports.reports import write_reports
from transformer_lab.grading.submissions.submissions import find_submissions

EXERCISES = {"softmax": 1, "scaled_dot_product_attention": 1}
NAMES = ("student", "points", *EXERCISES)


@pytest.fixture(scope="module", autouse=True)
def _nothing_says_how_many_threads():
    """As where an instructor grades; tests that run side by side are told to use one."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            patch.delenv(variable, raising=False)
        yield


@pytest.fixture(scope="module")
def classroom(tmp_path_factory) -> Path:
    """A folder with an assignment, hw1/, and what the class handed in, submitted/."""
    folder = tmp_path_factory.mktemp("term")
    points = [f"{name}={most}" for name, most in EXERCISES.items()]
    assert cli.main(["assign", "--exercise", *points, "--seconds", "6", "--out", str(folder / "hw1")]) == 0
    term.hand_in(next((folder / "hw1" / "release" / "hw1").glob("*.ipynb")), folder / "submitted")
    return folder


def grade(classroom: Path, out: str, *more: str) -> int:
    paths = ["--assignment", str(classroom / "hw1" / "assignment.json"), "--out", str(classroom / out)]
    return cli.main(["grade", str(classroom / "submitted"), *paths, "--jobs", "2", *more])


@pytest.fixture(scope="module")
def grades(classroom) -> Path:
    assert grade(classroom, "grades") == 1  # one notebook can't be read
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
            ("mia", "2 exercises are left as they were handed out: softmax, scaled_dot_product_attention"),
            ("nat", "the marks of cells are lost; 2 answers were found by the names of their functions"),
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
        assignment = Assignment.load(classroom / "hw1" / "assignment.json")
        secrets = [assignment.seed, "a word of kim", *hidden(assignment)]
        for student, page in pages.items():
            assert [word for word in secrets if word in page] == (["a word of kim"] if student == "kim" else [])
            assert "scores.amax" not in page  # of the reference
            assert "<b>" not in page

    def test_no_file_is_written_outside(self, grades, classroom):
        assert sorted(path.name for path in classroom.iterdir()) == ["grades", "hw1", "submitted"]
        assert {path.name for path in grades.iterdir()} == {
            *("records", "feedback", "code", "grades.csv", "moodle.csv", "canvas.csv", "overrides.csv"),
            *("report.html", "summary.json", "graded-with"),
        }
        for folder in ("feedback", "code"):
            assert all(path.parent == grades / folder for path in (grades / folder).rglob("*"))

    def test_the_report_counts_the_commonest_mistakes(self, grades):
        report = (grades / "report.html").read_text()
        for exercise, mistake in (("softmax", "overflow"), ("scaled_dot_product_attention", "unscaled")):
            assert f"{mistake} in {exercise} 3 students" in report
        assert "3 × <strong>overflow</strong>" in report
        assert "0.45 / 1" in report  # softmax: right in the four honest, nat, oda, pia, sam, tom
        assert "kim" in report[report.index("To look at") :]
        assert "eva" not in report[report.index("To look at") :]

    def test_a_second_run_regrades_nothing_and_changes_nothing(self, grades, classroom, monkeypatch):
        before = {path: path.read_bytes() for path in sorted(grades.rglob("*")) if path.is_file()}
        monkeypatch.setattr(course, "grade_one", lambda *_: pytest.fail("graded again"))
        assert grade(classroom, "grades") == 1
        assert {path: path.read_bytes() for path in sorted(grades.rglob("*")) if path.is_file()} == before

    def test_a_run_that_was_cut_off_goes_on_and_gives_the_same_marks(self, grades, classroom, monkeypatch):
        """Here on a machine with an accelerator, which grades on its processor all the same."""
        monkeypatch.setenv("TRANSFORMER_LAB_DEVICE", "meta")  # every machine has this one
        shutil.copytree(grades, classroom / "again")
        done = sorted((classroom / "again" / "records").iterdir())
        for path in done[::4]:
            path.unlink()
        (classroom / "again" / "records" / "half.part").write_text("{")
        untouched = {path: path.stat().st_mtime_ns for path in done if path.exists()}
        assert grade(classroom, "again", "--jobs", "1") == 1
        assert (classroom / "again" / "grades.csv").read_bytes() == (grades / "grades.csv").read_bytes()
        assert {path: path.stat().st_mtime_ns for path in untouched} == untouched
        shutil.rmtree(classroom / "again")

    def test_another_key_is_refused_where_grades_lie(self, grades, classroom, capsys):
        assignment = json.loads((classroom / "hw1" / "assignment.json").read_text())
        (classroom / "hw1" / "other.json").write_text(json.dumps(assignment | {"seed": "other"}))
        submitted, other = str(classroom / "submitted"), str(classroom / "hw1" / "other.json")
        assert cli.main(["grade", submitted, "--assignment", other, "--out", str(grades)]) == 2
        assert (
            "must hold grades of this assignment and these private checks, sandboxed or trusted as"
            in capsys.readouterr().err
        )
        (classroom / "hw1" / "other.json").unlink()

    @pytest.mark.filterwarnings("ignore:Object of type <Submitted")  # nbgrader's own
    def test_grades_go_into_nbgrader_s_gradebook_and_out_again(self, grades, classroom, tmp_path, monkeypatch):
        pytest.importorskip("nbgrader", reason="needs the extra `instructor`")
        monkeypatch.setenv("PATH", os.environ["PATH"])  # which the import adds to
        (tmp_path / "records").mkdir()
        for one in records.graded_so_far(grades):
            replace(one, marks=tuple(replace(mark, points=mark.most - mark.points) for mark in one.marks)).save(
                tmp_path / "records"
            )
        folder, key = str(classroom / "hw1"), str(classroom / "hw1" / "assignment.json")
        for imported in (tmp_path, grades):  # the second import replaces the first
            assert cli.main(["nbgrader", str(imported), "--assignment", key, "--course", folder]) == 0
        assert exported(classroom / "hw1") == term.POINTS

    def test_a_notebook_that_changed_is_graded_again(self, grades, classroom):
        submissions = find_submissions(classroom / "submitted", "hw1")
        assignment = Assignment.load(classroom / "hw1" / "assignment.json")
        path = classroom / "submitted" / "mia.ipynb"
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        assert [s.student for s in course.still_to_grade(submissions, assignment, "", grades)] == ["mia"]
        path.write_bytes(before)
        assert course.still_to_grade(submissions, assignment, "", grades) == []


def hidden(assignment: Assignment) -> list[str]:
    """The first two numbers of each hidden input as they would be printed; one alone may stand in a visible case."""
    cases = [case for name in assignment.points for case in draw_cases(catalogue[name], assignment.seed)]
    tensors = [x for case in cases for x in case.arguments.values() if isinstance(x, torch.Tensor) and x.ndim]
    pairs = [x.flatten()[:2].tolist() for x in tensors if x.is_floating_point() and x.size(-1) > 1]
    return [f"{one:.4f}, {other:.4f}" for one, other in pairs if abs(one) > 0.001]


@needs_bwrap
def test_private_checks_reach_the_processes_that_grade(classroom, tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue["softmax"], "case_generators", [*catalogue["softmax"].case_generators])
    private = tmp_path / "private.py"
    private.write_text(
        "from torch import full\nfrom transformer_lab import exercises\n\n"
        "@exercises.softmax.hidden_case\ndef one(generator):\n    return {'scores': full((77,), 3.0), 'dim': 0}\n"
    )
    (tmp_path / "in").mkdir()
    answer = (
        "def softmax(scores, dim):\n    e = (scores - scores.amax(dim, True)).exp() * (1 + (scores.numel() == 77))\n"
    )
    answer += "    return e / (scores - scores.amax(dim, True)).exp().sum(dim, True)"
    release = next((classroom / "hw1" / "release" / "hw1").glob("*.ipynb"))
    nbformat.write(term.solved(release, {"softmax": answer}), tmp_path / "in" / "ann.ipynb")
    paths = [
        tmp_path / "in",
        "--assignment",
        classroom / "hw1" / "assignment.json",
        "--out",
        tmp_path / "out",
        "--private",
        private,
    ]
    assert cli.main(["grade", *map(str, paths), "--jobs", "1"]) == 0
    assert rows(tmp_path / "out")["ann"]["points"] == "0"
    assert "Right on the visible cases, wrong on others" in (tmp_path / "out" / "feedback" / "ann.html").read_text()


def test_processes_that_grade_are_there_at_once_without_threads_and_with_what_was_said_last(monkeypatch):
    monkeypatch.setattr(processes, "start_method", lambda: "forkserver")
    for word in ("first", "last"):
        monkeypatch.setenv("TOLD", word)
        with process_pool(1) as pool:
            found = pool.submit(described).result()
        assert found.pop("seconds") < 1  # of the processor: to import torch takes more
        assert found == {
            "threads": [1, 1],
            "loaded": ["torch"],
            "told": word,
            "leaves Ctrl-C to its parent": True,
        }


ONE_AFTER_THE_OTHER = """
import json
from transformer_lab.grading.sandbox.launching import AHEAD
from transformer_lab.grading.marking.processes import loaded, process_pool, start_method
with loaded("bubblewrap"):
    from tests.grading.in_processes import described, has_sandbox
    method, boxes, processes, ahead = start_method(), [], [], [len(AHEAD)]
    for times in (2, 1):
        with process_pool(1) as pool:
            processes.append(pool.submit(described).result())
            boxes += [pool.submit(has_sandbox, time == 1).result() for time in range(times)]
        ahead.append(len(AHEAD))
print(json.dumps([method, processes, boxes, ahead]))
"""


@needs_bwrap
def test_a_process_without_threads_is_forked_and_the_first_fork_gets_the_sandbox_that_was_started_ahead():
    """It ends its sandbox, and gets one of its own, as the second fork does."""
    done = subprocess.run([sys.executable, "-c", ONE_AFTER_THE_OTHER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    method, forks, boxes, ahead = json.loads(done.stdout)
    assert (method, ahead, done.stderr) == ("fork", [1, 0, 0], "")
    assert [(one["started here"], one["said"]) for one in boxes] == [(False, 1), (True, 1), (True, 1)]
    end = time.monotonic() + 600
    while left := [pid for one in boxes if (pid := one["pid"]) in running()]:
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert [one["threads"][0] for one in forks] == [1, 1]
    assert all(one["seconds"] < 1 for one in forks)


def running() -> set[int]:
    """The processes that have not ended."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just gone
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2]
            found |= {pid} if rest.split()[0] != "Z" else set()
    return found


def test_a_process_with_another_thread_is_not_forked():
    held = threading.Event()
    thread = threading.Thread(target=held.wait)
    thread.start()
    try:
        assert processes.start_method() == "forkserver"
    finally:
        held.set()
        thread.join()


def test_who_ends_the_process_that_grades_is_named_and_all_others_are_graded(classroom, tmp_path, monkeypatch):
    monkeypatch.setattr(course, "grade_one", grade_or_end)
    assignment = Assignment.load(classroom / "hw1" / "assignment.json")
    submissions = find_submissions(classroom / "submitted", "hw1")[:8]
    waiting = course.still_to_grade(submissions, assignment, "", tmp_path)
    graded = {one.student: one for one in course.grade_all(waiting, assignment, tmp_path, lambda: process_pool(2), 2)}
    assert sorted(graded) == sorted(one.student for one in submissions)
    assert sorted(student for student, one in graded.items() if one.points == 0) == ["ben", "cem"]
    assert graded["ben"].notes == (
        "ben could not be graded (the process that graded ended, perhaps for want of memory)",
    )
    assert graded["cem"].notes == ("cem could not be graded (KeyError: 'why')",)
    write_reports(records.graded_so_far(tmp_path), assignment, tmp_path)
    assert rows(tmp_path)["ben"]["unusual"] == "softmax: ungraded; scaled_dot_product_attention: ungraded"
    assert "ben could not be graded" in (tmp_path / "report.html").read_text()
    again = course.still_to_grade(submissions, assignment, "", tmp_path)
    assert [one.student for one in again] == ["ben", "cem"]


@needs_bwrap
def test_threads_of_one_process_take_turns_at_its_sandbox(classroom, tmp_path, sandbox, monkeypatch):
    """As on a dask worker with several threads."""
    monkeypatch.setattr(course, "SANDBOX", [sandbox])
    assignment = replace(Assignment.load(classroom / "hw1" / "assignment.json"), seconds=sandbox.seconds)
    honest = [s for s in find_submissions(classroom / "submitted", "hw1") if s.student in term.HONEST]
    waiting = course.still_to_grade(honest, assignment, "", tmp_path)
    graded = list(course.grade_all(waiting, assignment, tmp_path, lambda: ThreadPoolExecutor(4), 4))
    assert [sandbox] == course.SANDBOX
    assert {one.student: one.points for one in graded} == dict.fromkeys(term.HONEST, 2)


def test_what_was_graded_without_a_sandbox_is_not_taken_for_more(classroom, tmp_path):
    assignment = Assignment.load(classroom / "hw1" / "assignment.json")
    course.still_to_grade([], assignment, "", tmp_path, trust=True)
    with pytest.raises(ValueError, match=r"sandboxed or trusted as now \(it holds others\)"):
        course.still_to_grade([], assignment, "", tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"student": "ann"}', '{"marks": [{"verdict": "ok"}]}'])
def test_a_broken_record_is_named(tmp_path, text):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "ann.json").write_text(text)
    with pytest.raises(ValueError, match=r"ann.json must be a record of grading .* delete it"):
        records.graded_so_far(tmp_path)


def test_submissions_are_found_from_wherever_they_are_graded(classroom, monkeypatch):
    monkeypatch.chdir(classroom)
    found = find_submissions(Path("submitted"), "hw1")
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
        ("{", "must be an assignment written by `transformer-lab assign` (Expecting"),
        ('{"name": "hw1", "points": {}, "format": 7}', "the assignment must have format 1 (it has 7): assign again"),
        ('{"name": "hw1", "points": {"sofmax": 1}}', "an exercise must be one of dot_product"),
        ("[1]", "must be an assignment written by `transformer-lab assign`"),
    ],
)
def test_a_wrong_key_is_refused(tmp_path, capsys, text, message):
    if text is not None:
        (tmp_path / "assignment.json").write_text(text)
    (tmp_path / "in").mkdir()
    arguments = ("--assignment", tmp_path / "assignment.json", "--out", tmp_path / "out")
    assert message in refused(capsys, "grade", tmp_path / "in", *arguments)


def test_a_folder_without_notebooks_is_refused(classroom, tmp_path, capsys):
    arguments = ("--assignment", classroom / "hw1" / "assignment.json", "--out", tmp_path / "out")
    (tmp_path / "in").mkdir()
    assert "must hold notebooks, one for each student" in refused(capsys, "grade", tmp_path / "in", *arguments)
    assert "the submissions must be a folder or a zip file (there is none" in refused(
        capsys, "grade", tmp_path / "no", *arguments
    )
    wrong = refused(capsys, "grade", classroom / "submitted", *arguments, "--private", tmp_path / "no.py")
    assert "--private takes a Python file (there is none" in wrong
    wrong = refused(capsys, "grade", classroom / "submitted", *arguments, "--trust", "--executor", "ray://x")
    assert "--executor takes dask://HOST:PORT (got ray://x)" in wrong
    wrong = refused(capsys, "grade", classroom / "submitted", *arguments, "--trust", "--jobs", "0")
    assert "--jobs must be at least 1 (got 0)" in wrong
    assert "must hold grades written by" in refused(capsys, "nbgrader", tmp_path, *arguments[:2], "--course", tmp_path)


def test_without_a_sandbox_nothing_runs_unless_trusted(classroom, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assignment = classroom / "hw1" / "assignment.json"
    message = refused(capsys, "grade", classroom / "submitted", "--assignment", assignment, "--out", tmp_path)
    assert "install it, for instance with `apt install bubblewrap` (found no `bwrap`)" in message
    assert not (tmp_path / "grades.csv").exists()


def test_trust_warns_and_grades(classroom, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    (tmp_path / "in").mkdir()
    shutil.copy(classroom / "submitted" / "ann.ipynb", tmp_path / "in")
    assignment = classroom / "hw1" / "assignment.json"
    arguments = [
        "grade",
        tmp_path / "in",
        "--assignment",
        assignment,
        "--out",
        tmp_path / "out",
        "--trust",
        "--jobs",
        "1",
    ]
    assert cli.main([*map(str, arguments)]) == 0
    assert "Grading WITHOUT a sandbox" in capsys.readouterr().err
    assert rows(tmp_path / "out")["ann"]["points"] == "2"


@pytest.mark.parametrize("command", ["assign", "grade", "solutions", "nbgrader"])
def test_help_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert f"transformer-lab {command} " in capsys.readouterr().out.split("\n\n", 1)[1]


def test_help_and_version_need_no_torch():
    script = "import sys; from transformer_lab import cli; cli.parser().format_help(); print('torch' in sys.modules)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5  # seconds of the processor


def test_what_grades_never_loads_nbformat_which_takes_a_second():
    script = "import sys; from transformer_lab.grading.marking import course; "
    script += "from transformer_lab.grading.reports import console, reports; print('nbformat' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("command", ["assign", "solutions"])
def test_without_the_lessons_notebooks_it_says_what_to_do(tmp_path, capsys, monkeypatch, command):
    elsewhere = tmp_path / "site-packages" / "notebooks"
    monkeypatch.setattr("transformer_lab.grading.handout.lesson_notebooks.NOTEBOOKS", elsewhere)
    message = refused(capsys, command, "--lessons", "01", "--out", tmp_path / "hw1")
    assert "notebooks, which the installed package has not (there are none in" in message
    assert "clone the repository, and give --notebooks REPOSITORY/notebooks" in message
    assert not (tmp_path / "hw1").exists()


def test_notebooks_may_lie_anywhere(tmp_path):
    (tmp_path / "lessons").mkdir()
    shutil.copy(lesson_notebook(NOTEBOOKS, "00"), tmp_path / "lessons")
    options = ["--lessons", "00", "--out", str(tmp_path / "hw1"), "--notebooks", str(tmp_path / "lessons")]
    assert cli.main(["assign", *options]) == 0
    assert list((tmp_path / "hw1" / "release" / "hw1").glob("00_*.ipynb"))


def test_names_of_files_stay_in_their_folder_and_apart():
    names = ["ann", "../ann", "an/n", "é" + "f", "\u0e9f", "a" * 300, "a" * 301, "%2e", "."]
    files = [records.file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 200 for name in files)


def test_reports_of_nobody_can_be_written(classroom, tmp_path):
    write_reports([], Assignment.load(classroom / "hw1" / "assignment.json"), tmp_path)
    assert "No known mistake was recognised." in (tmp_path / "report.html").read_text()
