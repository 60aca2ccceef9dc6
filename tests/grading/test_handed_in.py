"""Every form in which notebooks are handed in is read, by students or by their systems; each file finds its owner."""

import json
import os
import stat
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from transformer_lab.grading.submissions.answers import find_answer
from transformer_lab.grading.submissions.notebooks import read_notebooks
from transformer_lab.grading.submissions.pile import Submission
from transformer_lab.grading.submissions.submissions import find_submissions

ANSWER = "def softmax(scores, dim):\n    return scores.softmax(dim)"
OLDER = ANSWER.replace("scores.softmax", "-scores.softmax")


def notebook(source: str = ANSWER) -> str:
    return json.dumps(new_notebook(cells=[new_code_cell(source, metadata={"exercise": "softmax"})]))


def write(path: Path, text: str | None = None, at: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook() if text is None else text, encoding="utf-8")
    if at:
        os.utime(path, (at, at))
    return path


def zipped(path: Path, files: dict[str, str], **info: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            member = zipfile.ZipInfo(name, (2026, 3, 1, 12, 30, 0))
            for key, value in info.items():
                setattr(member, key, value)
            archive.writestr(member, text)
    return path


def found(place: Path, tmp_path: Path) -> dict[str, Submission]:
    return {one.student: one for one in find_submissions(place, "hw1", tmp_path / "unpacked")}


def answer(submission: Submission) -> tuple[str | None, str]:
    """The program of the answer, and all notes."""
    whole = read_notebooks(map(Path, submission.paths))
    one = find_answer(whole, "softmax", {})
    return one.program, "\n".join((*submission.notes, *whole.notes, *one.notes))


FORMS = {
    "a file": ["ann.ipynb"],
    "a file in capitals": ["ann.IPYNB"],
    "a folder": ["ann/01_attention.ipynb"],
    "a folder in a folder": ["ann/homework/week 1/01_attention.ipynb"],
    "nbgrader": ["ann/hw1/01_attention.ipynb"],
    "with the checkpoints of JupyterLab": ["ann/hw1/01.ipynb", "ann/hw1/.ipynb_checkpoints/01-checkpoint.ipynb"],
    "with what macOS adds": ["ann/01.ipynb", "__MACOSX/ann/._01.ipynb"],
}


@pytest.mark.parametrize("names", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_files_and_folders_are_read_zipped_or_not(tmp_path, names, form):
    if form == "zip":
        place = zipped(tmp_path / "class.zip", {name: notebook() for name in names})
    else:
        place = tmp_path / "class"
        for name in names:
            write(place / name)
    submissions = found(place, tmp_path)
    assert answer(submissions["ann"]) == (ANSWER, "")


def test_a_class_in_a_folder_of_its_own_within_the_zip(tmp_path):
    files = {f"submitted/{name}/hw1/01.ipynb": notebook() for name in ("ann", "ben")}
    assert [*found(zipped(tmp_path / "c.zip", files), tmp_path)] == ["ann", "ben"]


def test_an_older_download_leaves_nobody_behind(tmp_path):
    for names in (("ann", "ben"), ("ben", "cem")):
        place = zipped(tmp_path / "class.zip", {f"{name}/01.ipynb": notebook() for name in names})
        assert [*found(place, tmp_path)] == [*names]


CANVAS = {
    "doeann_12345_900_01_attention.ipynb": ANSWER,
    "doeann_12345_901_02_multi_head.ipynb": "x = 1",
    "millsben_LATE_777_902_01_attention-2.ipynb": ANSWER,
}
MOODLE = {
    "Ann Doe_12345_assignsubmission_file_/01_attention.ipynb": ANSWER,
    "Ann Doe_12345_assignsubmission_onlinetext_/onlinetext.html": "hello",
    "Ben Müller_777_assignsubmission_file/homework/01_attention.ipynb": ANSWER,
    "Participant_9_assignsubmission_file_01_attention.ipynb": ANSWER,
}


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (CANVAS, {"doeann_12345": 2, "millsben_777": 1}),
        (MOODLE, {"Ann Doe_12345": 1, "Ben Müller_777": 1, "Participant_9": 1}),
    ],
    ids=["Canvas", "Moodle"],
)
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_the_names_of_canvas_and_moodle_tell_the_students(tmp_path, files, students, form):
    place = tmp_path / "submissions"
    if form == "zip":
        place = zipped(tmp_path / "submissions.zip", {name: notebook(text) for name, text in files.items()})
    for name, text in files.items() if form == "folder" else ():
        write(place / name, notebook(text))
    submissions = found(place, tmp_path)
    assert {student: len(one.paths) for student, one in submissions.items()} == students
    assert {answer(one)[0] for one in submissions.values()} == {ANSWER}
    if files is CANVAS:
        assert [submissions[name].came_by for name in students] == ["Canvas", "Canvas LATE"]


def test_a_student_s_own_zip_is_unpacked(tmp_path):
    zipped(tmp_path / "class" / "ann" / "homework.zip", {"homework/01.ipynb": notebook()})
    zipped(tmp_path / "class" / "ben.zip", {"01.ipynb": notebook()})
    submissions = found(tmp_path / "class", tmp_path)
    assert [answer(submissions[name])[0] for name in ("ann", "ben")] == [ANSWER, ANSWER]


def test_an_archive_writes_nothing_outside_follows_no_link_and_is_not_believed(tmp_path):
    out = {"../../evil.ipynb": notebook(), "/etc/evil.py": "x = 1", "a/../../b.ipynb": notebook()}
    zipped(tmp_path / "class" / "ann.zip", out)
    link = {"external_attr": (stat.S_IFLNK | 0o777) << 16}
    zipped(tmp_path / "class" / "ben.zip", {"01.ipynb": "/etc/passwd"}, **link)
    (tmp_path / "class" / "cem.zip").write_bytes(b"PK\x03\x04 no archive")
    zipped(tmp_path / "class" / "dai.zip", {"big.ipynb": " " * (21 << 20), "01.ipynb": notebook()})
    submissions = found(tmp_path / "class", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "unpacked"]
    assert all(Path(path).is_relative_to(tmp_path / "unpacked") for path in submissions["ann"].paths)
    assert len(submissions["ann"].paths) == 3
    assert submissions["ben"].paths == ()
    assert "cem.zip can't be unpacked (BadZipFile" in submissions["cem"].notes[0]
    assert submissions["dai"].left_out == ("big.ipynb in dai.zip is left out: a file may have 20 MiB",)
    assert answer(submissions["dai"])[0] == ANSWER


def test_archives_in_archives_share_what_a_student_may_unpack(tmp_path):
    inner = zipped(tmp_path / "inner.zip", {f"{i}.ipynb": notebook() for i in range(60)}).read_bytes()
    files = {f"{i}.zip": inner for i in range(5)} | {"00.ipynb": notebook()}
    zipped(tmp_path / "class" / "ann.zip", files)
    submission = found(tmp_path / "class", tmp_path)["ann"]
    assert len(submission.paths) == 200 - 5  # files, of which five were archives
    assert "the rest of 3.zip is left out: it is too much" in submission.notes


def test_one_file_that_cannot_be_unpacked_costs_its_student_alone(tmp_path):
    """A notebook with a video in it, a damaged file, too many files: as Moodle, Canvas and others zip a class."""
    files = {"Ann Doe_1_assignsubmission_file_/01.ipynb": notebook() + " " * (21 << 20), "bob/01.ipynb": "DAMAGED"}
    files |= {"cem_9_10_01.ipynb": notebook(), "eve/01.ipynb": notebook()} | {
        f"dai/{i}.ipynb": "{}" for i in range(210)
    }
    place = zipped(tmp_path / "class.zip", files)
    place.write_bytes(place.read_bytes().replace(b"DAMAGED", b"DEMAGED", 1))
    submissions = found(place, tmp_path)
    assert submissions["Ann Doe_1"].left_out == ("01.ipynb in class.zip is left out: a file may have 20 MiB",)
    assert submissions["bob"].left_out[0].startswith("01.ipynb in class.zip can't be unpacked (BadZipFile")
    assert submissions["dai"].left_out == ("the rest of class.zip is left out: it is too much",)
    assert [answer(submissions[name])[0] for name in ("cem_9", "eve")] == [ANSWER, ANSWER]


def test_what_is_no_file_is_not_waited_for_and_no_date_is_too_odd(tmp_path):
    for name in ("ann/timestamp.txt", "ann/01.zip", "ben.zip", "cem.ipynb"):
        (tmp_path / "class" / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / "class" / name)
    write(tmp_path / "class" / "dai.ipynb", at=1 << 40)
    write(tmp_path / "class" / "eve" / "hw1" / "01.ipynb")
    write(tmp_path / "class" / "eve" / "hw1" / "timestamp.txt", "0001-01-01 00:00:00+14:00")
    submissions = found(tmp_path / "class", tmp_path)
    assert submissions["ann"].left_out == (
        "01.zip is left out: it is no file",
        "timestamp.txt is left out: it is no file",
    )
    assert all(submissions[name].left_out for name in ("ben", "cem"))
    assert answer(submissions["dai"])[0] == answer(submissions["eve"])[0] == ANSWER


def test_what_is_no_notebook_is_named(tmp_path):
    write(tmp_path / "class" / "ann" / "homework.pdf", "")
    (tmp_path / "class" / "ben").mkdir()
    submissions = found(tmp_path / "class", tmp_path)
    assert submissions["ann"].notes == ("no notebook was handed in (but homework.pdf)",)
    assert submissions["ben"].notes == ("no notebook was handed in (the folder is empty)",)


DAY = 86_400
COPIES = {
    "by time": {"01_attention.ipynb": (OLDER, 3 * DAY), "01_attention (1).ipynb": (ANSWER, 5 * DAY)},
    "by time, whatever the names": {"01 (1).ipynb": (OLDER, 3 * DAY), "01.ipynb": (ANSWER, 5 * DAY)},
    "by number, of one moment": {"01.ipynb": (OLDER, 5 * DAY), "01 (1).ipynb": (ANSWER, 5 * DAY)},
    "of three": {
        "01-Copy1.ipynb": (OLDER, DAY), "01-Copy2.ipynb": (ANSWER, DAY), "01.ipynb": (OLDER, DAY)
    },
    "the newest is empty": {"01.ipynb": (ANSWER, DAY), "01 (1).ipynb": ("def softmax(scores, dim):\n    ...", 2 * DAY)},
    "in two folders": {"old/01.ipynb": (OLDER, DAY), "new/01.ipynb": (ANSWER, 2 * DAY)},
}  # fmt: skip


@pytest.mark.parametrize("copies", COPIES.values(), ids=COPIES)
def test_the_newest_copy_that_answers_counts_and_is_named(tmp_path, copies):
    for name, (source, at) in copies.items():
        write(tmp_path / "class" / "ann" / name, notebook(source), at)
    program, notes = answer(found(tmp_path / "class", tmp_path)["ann"])
    assert program == ANSWER
    (right,) = (name for name, (source, _) in copies.items() if source == ANSWER)
    assert f"`softmax` is in {len(copies)} notebooks; {right} is the newest that answers it, and counts" in notes


def test_a_notebook_of_format_3_is_read(tmp_path):
    cell = {"cell_type": "code", "input": ["import torch\n", ANSWER], "language": "python", "outputs": []}
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}]}
    write(tmp_path / "class" / "ann.ipynb", json.dumps(old))
    assert answer(found(tmp_path / "class", tmp_path)["ann"])[0] == ANSWER


def test_what_a_python_file_beside_the_notebook_defines_is_taken_along(tmp_path):
    ann = tmp_path / "class" / "ann"
    write(ann / "01.ipynb", notebook("from helpers import scaled\n\n\n" + ANSWER.replace("scores.", "scaled(scores).")))
    write(ann / "helpers.py", "from more import two\n\n\ndef scaled(x):\n    return two * x\n")
    write(ann / "more.py", "two = 2\n")
    program, notes = answer(found(tmp_path / "class", tmp_path)["ann"])
    scope: dict = {}
    exec(program, scope)
    assert scope["scaled"](3) == 6
    assert "helpers.py, from beside the notebook, was taken along" in notes
    assert "helpers.py was handed in beside the notebook" in notes


def test_an_answer_in_a_python_file_alone_is_found(tmp_path):
    write(tmp_path / "class" / "ann.py", ANSWER)
    program, notes = answer(found(tmp_path / "class", tmp_path)["ann"])
    assert program == ANSWER
    assert "found the function elsewhere" in notes


NOON = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp())
EARLY = NOON - 30 * DAY
WHEN, STAMP = "2026-03-01T12:00:00+00:00", "2026-02-02 15:58:23.948203 UTC"


def test_when_it_came_is_told_by_what_the_student_cannot_write(tmp_path):
    """A student hands in a timestamp.txt, at any depth, or zips old files: it says nothing."""
    place = tmp_path / "class"
    write(place / "ann.ipynb", at=NOON)
    write(place / "ben" / "hw1" / "01.ipynb", at=NOON)
    write(place / "ben" / "hw1" / "timestamp.txt", STAMP)
    for folder in ("cem", "dai/hw1/hw1", "Eve_5_assignsubmission_file_", "Fay_6_assignsubmission_file_/hw1"):
        write(place / folder / "01.ipynb", at=NOON)
        write(place / folder / "timestamp.txt", STAMP, at=EARLY)
    zipped(place / "Gil_7_assignsubmission_file_" / "my.zip", {"01.ipynb": notebook(), "hw1/timestamp.txt": STAMP})
    os.utime(place / "Gil_7_assignsubmission_file_" / "my.zip", (NOON, NOON))
    write(place / "hoe_LATE_8_1_x_9_assignsubmission_file_.ipynb", at=EARLY)
    told = {name: (one.submitted, one.came_by) for name, one in found(place, tmp_path).items()}
    assert told == {
        **dict.fromkeys(("ann", "cem", "dai"), (WHEN, "files")),
        "ben": ("2026-02-02T15:58:23+00:00", "nbgrader"),
        **dict.fromkeys(("Eve_5", "Fay_6", "Gil_7"), (WHEN, "Moodle")),
        "hoe_8": ("", "Canvas LATE"),
    }
