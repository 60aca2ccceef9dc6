"""What the commands say: who is a stranger, what is late, what to set in Moodle, and what is no class at all."""

import csv
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from transformer_lab import cli
from transformer_lab.grading import commands
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Roster, kept_roster, read_roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.marking.variant_marking import WHOSE
from transformer_lab.grading.reports import console, grade_tables
from transformer_lab.grading.reports.reports import write_reports
from transformer_lab.grading.submissions.file_names import file_name, page_name

HW = Assignment("hw1", {"softmax": 5, "causal_mask": 6}, seed="s", due="2026-10-01T12:00+00:00", late=10)
MOODLE = """Identifier,Full name,Email address,Grade,Maximum grade,Last modified (submission),Feedback comments
Participant 4102,Cem Kaya,cem@example.org,,{},"Saturday, 3 October 2026, 9:00 AM",
"""
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,hw1 (55)\n    Points Possible,,,,,{}\nDoe,12,70,a@b.c,A,\n"


def graded(student: str, *notes: str) -> Graded:
    marks = tuple(Mark(name, "missing", 0, most, notes=notes) for name, most in HW.points.items())
    return Graded(student, marks, (), "d", submitted="2026-10-02T00:00:00+00:00", came_by="nbgrader")


def roster(folder: Path, text: str) -> Roster:
    (folder / "roster.csv").write_text(text)
    return read_roster(folder / "roster.csv")


def said(folder: Path, text: str, *students: str) -> str:
    book = gradebook([graded(one) for one in students], HW, roster(folder, text), folder)
    return "\n".join(console.after_grading(book, folder))


# ── at the end of a run ──


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MOODLE.format("100.00"), "Moodle has a maximum of 100.00 for what has 11 here: set Moodle's to 11 before"),
        (MOODLE.format("100.00").replace("Maximum grade", "Maximum Grade"), "Moodle has a maximum of 100.00"),
        (MOODLE.format('"100,00"'), "Moodle has a maximum of 100,00 for what has 11 here"),
        (CANVAS.format("10"), "Canvas has a maximum of 10 for what has 11 here: set Canvas's to 11 before"),
        (MOODLE.format("11.00"), ""),
        (CANVAS.format("11"), ""),
        ("id\n1\n", ""),
    ],
)
def test_another_maximum_is_named(tmp_path, text, told):
    found = said(tmp_path, text, "a_12")
    assert told in found
    assert ("has a maximum" in found) == bool(told)


def test_strangers_are_counted_and_a_wrong_roster_is_asked_about(tmp_path):
    text = "id,name\n1,Ann\n2,Ben\n"
    assert "roster" not in said(tmp_path, text, "ann", "ben")
    assert "1 of 3 are not on the roster (zoe)." in said(tmp_path, text, "ann", "ben", "zoe")
    told = said(tmp_path, text, *(f"x{i}" for i in range(6)), "ann")
    assert "6 of 7 are not on the roster (x0, x1, x2, x3, x4 …). Is it this class's?" in told


def test_who_did_not_say_whose_numbers_they_had_is_named(tmp_path):
    unsaid = Mark("softmax", "missing", 0, 1, message=WHOSE, program="softmax = 1")
    book = write_reports([Graded("ann", (unsaid,), ()), graded("ben")], HW, tmp_path)
    told = "\n".join(console.after_grading(book, tmp_path))
    assert "1 student answered for numbers of their own with `STUDENT` empty, which counts as missing (ann)." in told
    assert "<code>STUDENT</code> at its top is empty" in (tmp_path / "report.html").read_text()


def test_late_work_is_counted_and_by_what(tmp_path):
    told = said(tmp_path, MOODLE.format("11"), "Cem Kaya_4102", "zoe")
    assert "2 students are late (of all, 1 by the roster's time; 1 by nbgrader's timestamp.txt)" in told
    by = {"ann": "files", "ben": "Canvas", "cem": "Canvas LATE", "dai": "Moodle", "eve": ""}
    class_ = [replace(graded(name), came_by=system) for name, system in by.items()]
    for file_times, days, unsure in ((False, [0, 0, 1, 1, 0], 2), (True, [1, 0, 1, 1, 0], 1)):
        book = gradebook(class_, replace(HW, file_times=file_times), Roster(), tmp_path)
        assert [one.days for one in book.finals] == days
        assert f"Of {unsure} student" in "\n".join(console.after_grading(book, tmp_path))


def test_what_could_not_be_read_is_named_and_the_others_are_graded(tmp_path):
    """A date in another language in one row, and a notebook that is too large."""
    text = MOODLE.format("11").replace("Saturday, 3 October", "šeštadienis, 3 spalio") + "Participant 5,Ann,,,11,-,\n"
    table, large = roster(tmp_path, text), replace(graded("Ann_5"), left_out=("a.ipynb may have 20 MiB (it has 22)",))
    book = gradebook([graded("Cem Kaya_4102"), large], HW, table, tmp_path)
    told = "\n".join(console.after_grading(book, tmp_path))
    assert "Not read, of 2 students, so look at it yourself; all else is graded:\n  Ann_5: a.ipynb may have" in told
    assert (
        "Cem Kaya_4102: not known whether it is late: the time in the roster's row of Cem Kaya (from Moodle in" in told
    )
    assert [one.days for one in book.finals] == [0, 1]


def test_the_tables_of_the_roster_s_own_system_are_written_and_named(tmp_path):
    for text, names in (
        ("id\n1\n", {"moodle.csv", "canvas.csv"}),
        (MOODLE.format(11), {"moodle.csv"}),
        (CANVAS.format(11), {"canvas.csv"}),
    ):
        table = roster(tmp_path, text)
        (tmp_path / "out").mkdir(exist_ok=True)
        book = write_reports([graded("ann")], HW, tmp_path / "out", table)
        assert {path.name for path in (tmp_path / "out").iterdir()} & {"moodle.csv", "canvas.csv"} == names
        first = next(iter(console.after_grading(book, tmp_path / "out")))
        assert {name for name in ("moodle.csv", "canvas.csv") if name in first} == names


@pytest.mark.parametrize("text", [CANVAS.format(11), "id\n1\n"])
def test_a_stranger_s_number_is_in_no_table_for_canvas(tmp_path, text):
    book = gradebook([graded("Eve_4102")], HW, roster(tmp_path, text), tmp_path)
    (row,) = (row for row in csv.DictReader(io.StringIO(grade_tables.canvas(book))) if row["Student"] == "Eve_4102")
    assert (row["ID"], row["SIS User ID"]) == ("", "")


def test_an_untouched_notebook_makes_one_note(tmp_path):
    marks = tuple(
        Mark(name, "missing", 0, most, notes=(f"`{name}` is left as it was handed out",))
        for name, most in HW.points.items()
    )
    one = Graded("ann", marks, ("odd",))
    assert grade_tables.notes_of(one) == ["odd", "2 exercises are left as they were handed out: softmax, causal_mask"]


def test_lost_marks_make_one_note_and_none_where_all_is_right(tmp_path):
    gone = "the cell of `{}` is gone; found the function elsewhere"
    marks = tuple(Mark(name, "ok", most, most, notes=(gone.format(name),)) for name, most in HW.points.items())
    assert grade_tables.notes_of(Graded("ann", marks, ())) == [
        "the marks of cells are lost; 2 answers were found by the names of their functions"
    ]
    write_reports([Graded("ann", marks, ())], HW, tmp_path)
    assert "is gone" not in (tmp_path / "feedback" / "ann.html").read_text()
    wrong = tuple(replace(mark, verdict="wrong", points=0) for mark in marks)
    write_reports([Graded("ann", wrong, ())], HW, tmp_path)
    assert (tmp_path / "feedback" / "ann.html").read_text().count("is gone") == 2


def test_seed_and_grades_are_for_nobody_else(tmp_path, homework, monkeypatch):
    monkeypatch.setattr(commands, "executor", in_this_process)
    before = os.umask(0o022)
    try:
        assert grade(homework, class_of(tmp_path / "in", homework, "ann"), tmp_path / "out") == 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    secret = [homework / "hw1" / "assignment.json", homework / "hw1" / "source", *(tmp_path / "out").rglob("*")]
    assert {path.name: oct(path.stat().st_mode) for path in secret if path.stat().st_mode & 0o077} == {}


def test_pages_for_students_are_named_after_them_and_stay_apart(tmp_path):
    names = [
        "Anna Müller_4100",
        "Anna Mu\u0308ller_4100",
        "李雷_1",
        "a_b",
        "a b",
        "../x",
        ".",
        "%",
        "a" * 300,
        "é" * 150,
    ]
    assert page_name(names[0]) == names[0]
    pages = [page_name(name) for name in names]
    assert len({page.casefold() for page in pages}) == len(names)
    assert all("/" not in page and not page.startswith(".") and len(page.encode()) < 250 for page in pages)
    write_reports([graded(names[0])], HW, tmp_path)
    assert [path.stem for path in (tmp_path / "feedback").iterdir()] == names[:1]
    assert [path.stem for path in (tmp_path / "code").iterdir()] == [file_name(names[0])]


# ── rosters ──


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_roster_may_have_the_separators_of_a_spreadsheet(tmp_path, separator):
    text = "id,name,email\n7001,Ann,a@b.c\n".replace(",", separator)
    (one,) = roster(tmp_path, text).people
    assert (one.id, one.name, one.email) == ("7001", "Ann", "a@b.c")


# ── commands ──


@pytest.fixture(scope="module")
def homework(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("said")
    (folder / "q.md").write_text("## why (11)\n\nWhy?\n")
    assert cli.main(["assign", "--questions", str(folder / "q.md"), "--out", str(folder / "hw1")]) == 0
    return folder


def grade(homework: Path, place: Path, out: Path, *more: str) -> int:
    key = str(homework / "hw1" / "assignment.json")
    return cli.main(["grade", str(place), "--assignment", key, "--out", str(out), "--trust", *more])


def refusal(capsys, *arguments) -> str:
    assert grade(*arguments) == 2
    return capsys.readouterr().err


def class_of(folder: Path, homework: Path, *students: str) -> Path:
    for student in students:
        (folder / student).mkdir(parents=True)
        text = (homework / "hw1" / "release" / "hw1" / "questions.ipynb").read_text()
        (folder / student / "questions.ipynb").write_text(text)
    return folder


def in_this_process(options):
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1)


def test_what_we_wrote_ourselves_is_no_class(homework, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commands, "executor", in_this_process)
    assert grade(homework, class_of(tmp_path / "in", homework, "ann"), tmp_path / "grades") == 0
    for place, what in (
        (homework / "hw1", "it is the folder of an assignment: what nbgrader collects lies in its submitted/"),
        (homework / "hw1" / "release", "it is the release of an assignment"),
        (homework / "hw1" / "source", "it is the source of an assignment"),
        (tmp_path / "grades", "it is a folder of grades"),
    ):
        assert what in refusal(capsys, homework, place, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_zip_file_without_a_notebook_is_said_to_have_none(homework, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    told = refusal(capsys, homework, tmp_path / "class.zip", tmp_path / "out")
    assert "class.zip must hold notebooks, one for each student or in a folder for each (it holds none)" in told
    assert not (tmp_path / "out").exists()
    (tmp_path / "out" / "unpacked" / "class").mkdir(parents=True)
    refusal(capsys, homework, tmp_path / "class.zip", tmp_path / "out")
    assert [*(tmp_path / "out").iterdir()] == []


def test_a_folder_of_something_else_is_not_written_to(homework, tmp_path, capsys):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("x")
    told = refusal(capsys, homework, class_of(tmp_path / "in", homework, "ann"), tmp_path / "thesis")
    assert "--out must be a new folder, or one of grades" in told
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]


def test_wrong_decisions_are_refused_before_anything_is_graded(homework, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commands, "executor", in_this_process)
    place, out = class_of(tmp_path / "in", homework, "ann"), tmp_path / "out"
    (tmp_path / "roster.csv").write_text("id,name\n1,Ann\n")
    assert grade(homework, place, out, "--roster", str(tmp_path / "roster.csv")) == 0
    assert [one.id for one in kept_roster(out).people] == ["1"]
    (out / "overrides.csv").write_text("student,exercise,points\nzoe,total,1\n")
    monkeypatch.setattr("transformer_lab.grading.marking.course.grade_one", lambda *_: pytest.fail("graded"))
    assert "line 2: a student is named" in refusal(capsys, homework, place, out, "--regrade")
    (out / "overrides.csv").write_text("student,exercise,points\nann,total,1\n")
    other = class_of(tmp_path / "other", homework, "ben")  # a new grading would forget ann
    told = refusal(capsys, homework, other, out, "--regrade")
    assert f"must find the work of all who were graded into {out} (there is none of ann): put it where" in told
    (out / "overrides.csv").write_text("student,exercise,points\n")
    (tmp_path / "roster.csv").write_text("id,name,extension\n1,Ann,soon\n")
    told = refusal(capsys, homework, place, out, "--regrade", "--roster", str(tmp_path / "roster.csv"))
    assert "must be a time" in told
    assert len([*(out / "records").iterdir()]) == 1


def test_a_run_without_a_roster_keeps_none(homework, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "executor", in_this_process)
    place, out = class_of(tmp_path / "in", homework, "ann"), tmp_path / "out"
    (tmp_path / "roster.csv").write_text("id,name\n1,Ann\n")
    assert grade(homework, place, out, "--roster", str(tmp_path / "roster.csv")) == 0
    assert grade(homework, place, out) == 0
    assert kept_roster(out).people == ()


def test_lateness_needs_a_time_and_one_that_is_over_is_named(tmp_path, capsys):
    (tmp_path / "q.md").write_text("## why (11)\n\nWhy?\n")
    one = ["assign", "--questions", str(tmp_path / "q.md"), "--out", str(tmp_path / "hw1")]
    assert cli.main([*one, "--late", "10"]) == 2
    assert "--late 10 needs --due, the time after which work is late (there is none)" in capsys.readouterr().err
    assert cli.main([*one, "--late", "110", "--due", "2026-10-01"]) == 2
    assert "--late must be from 0 to 100 percent (got 110)" in capsys.readouterr().err
    assert cli.main([*one, "--late", "10", "--due", "2001-10-01"]) == 0
    assert "--due 2001-10-01 is over already: whatever is handed in now is late." in capsys.readouterr().err


def test_one_assignment_is_one(homework, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commands, "executor", in_this_process)
    assert grade(homework, class_of(tmp_path / "in", homework, "ann"), tmp_path / "out") == 0
    assert cli.main(["term", str(tmp_path / "out"), "--out", str(tmp_path / "term")]) == 0
    assert "1 assignment: see" in capsys.readouterr().out
