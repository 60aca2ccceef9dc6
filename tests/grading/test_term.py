"""A term of three assignments with sixty students of all kinds, from an empty folder to grades in Moodle's shape."""

import csv
import io
import json
import re
import secrets
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.grading import sixty
from tests.grading.support import needs_bwrap
from transformer_lab import cli
from transformer_lab.grading import commands
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Roster, read_roster
from transformer_lab.grading.marking import course, scoring
from transformer_lab.grading.marking.records import graded_so_far
from transformer_lab.grading.reports import grade_tables
from transformer_lab.grading.submissions.file_names import page_name

pytestmark = needs_bwrap
KEY = "a1b2c3d4"  # everybody's own numbers are the same in each run
DUE = "2026-10-01T23:59+00:00"


@pytest.fixture(scope="module")
def term(tmp_path_factory, sandbox) -> Path:
    """The commands of docs/instructors.md, for each assignment; grading in this process, each program judged once."""
    folder, judged, judge = tmp_path_factory.mktemp("term"), {}, scoring.judge

    def remembered(exercise, answer, *rest):
        key = exercise.name, answer.program, answer.notes
        if key not in judged:
            judged[key] = judge(exercise, answer, *rest)
        return judged[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "sandbox", lambda seconds, trust: sandbox)
        patch.setattr(scoring, "judge", remembered)
        patch.setattr(commands, "executor", here)
        patch.setattr(secrets, "token_hex", lambda n, drawn=secrets.token_hex: KEY if n == 4 else drawn(n))
        for number, (name, points) in enumerate(sixty.TERM.items(), 1):
            exercises = [f"{exercise}={most}" for exercise, most in points.items() if exercise != sixty.VARIANT]
            options = ["--exercise", *exercises, "--excuse", "--due", DUE, "--late", "10", "--no-solutions"]
            options += ["--variant", sixty.VARIANT] if sixty.VARIANT in points else []
            if name == "hw2":
                (folder / "questions.md").write_text(sixty.ASKED)
                options += ["--questions", str(folder / "questions.md")]
            assert cli.main(["assign", *options, "--out", str(folder / name)]) == 0
            key = Assignment.load(folder / name / "assignment.json").key
            sixty.hand_in(folder / name / "release" / name, folder / f"{name}.zip", number, key)
            (folder / f"{name}.csv").write_text(sixty.worksheet('"Thursday, 1 October 2026, 9:00 PM"'))
            assert grade(folder, name) == 0
        before = rows(folder / "hw2-grades" / "grades.csv")
        saved = sixty.mark_by_hand(folder / "hw2-grades" / "marking.html", folder / "marked.json")
        assert grade(folder, "hw2", "--marked", str(saved)) == 0
        (folder / "before.json").write_text(json.dumps(before))
        folders = [str(folder / f"{name}-grades") for name in sixty.TERM]
        assert cli.main(["term", *folders, "--out", str(folder / "term")]) == 0
        yield folder


def here(options):
    """An executor that works in this process."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1)


def grade(folder: Path, name: str, *more: str) -> int:
    options = ["--assignment", str(folder / name / "assignment.json"), "--roster", str(folder / f"{name}.csv")]
    return cli.main(["grade", str(folder / f"{name}.zip"), *options, "--out", str(folder / f"{name}-grades"), *more])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def by_kind(folder: Path, name: str) -> dict[str, set[float]]:
    points = {row["id"]: float(row["points"]) for row in rows(folder / f"{name}-grades" / "grades.csv")}
    kinds: dict[str, set[float]] = {}
    for number, _, kind in sixty.students():
        kinds.setdefault(kind, set()).add(points[f"{number}@example.org"])
    return kinds


def test_there_are_sixty(term):
    assert len(sixty.students()) == 60
    assert all(len(rows(term / f"{name}-grades" / "grades.csv")) == 60 for name in sixty.TERM)


@pytest.mark.parametrize(("name", "most", "half"), [("hw1", 5, 2), ("hw2", 5, 1), ("hw3", 4, 2)])
def test_everybody_gets_what_they_deserve(term, name, most, half):
    given = by_kind(term, name)
    for kind in ("right", "pasted", "copied", "misspelt"):
        assert given[kind] == {most}, kind
    assert given["late"] == {round(most - 2 * 0.1 * most, 2)}  # two days begun
    assert given["half"] == {half}
    for kind in ("mistaken", "crashing", "broken", "gone"):
        assert given[kind] == {0}, kind
    assert given["turning"] == {0 if name == "hw2" else most}
    assert given["borrowing"] == {most - 1 if name == "hw3" else most}


def test_words_wait_until_they_are_marked_and_stay_marked(term):
    before = json.loads((term / "before.json").read_text())
    assert [row["to mark"] for row in before].count(sixty.QUESTION) == 50
    assert {row[sixty.QUESTION] for row in before} == {"0"}
    for more in ([], ["--regrade"]):
        assert grade(term, "hw2", *more) == 0
        after = rows(term / "hw2-grades" / "grades.csv")
        assert sum(float(row[sixty.QUESTION]) for row in after) == 32
        assert not any(row["to mark"] for row in after)
    page = (term / "hw2-grades" / "feedback" / f"{record_of('right')}.html").read_text()
    assert "why_masked: 1 of 1" in page
    assert "&lt;i&gt;So&lt;/i&gt; it is." in page
    assert "It would copy it." not in page, "what the marker reads"
    assert "why_masked: 1 of 1" in rows(term / "hw2-grades" / "moodle.csv")[0]["Feedback comments"]


def record_of(kind: str) -> str:
    number, name, _ = next(one for one in sixty.students() if one[2] == kind)
    return page_name(f"{name}_{number}")


def test_everybody_was_asked_other_numbers_and_only_one_s_own_count(term):
    graded = {row["id"]: row for row in rows(term / "hw3-grades" / "grades.csv")}
    borrowing = next(graded[f"{n}@example.org"] for n, _, kind in sixty.students() if kind == "borrowing")
    assert (borrowing["kv_cache_bytes"], borrowing["computed"]) == ("0", "4")
    assert "worked with the numbers of `1000@example.org`, who is somebody else" in borrowing["notes"]
    programs = {
        mark["program"]
        for path in (term / "hw3-grades" / "records").glob("*.json")
        for mark in json.loads(path.read_text())["marks"]
        if mark["exercise"] == sixty.VARIANT and mark["verdict"] == "ok"
    }
    right = [kind for _, _, kind in sixty.students() if kind in ("right", "turning", "late", "copied", "misspelt")]
    assert len(programs) == len(right) + 1, "and the pasted function, of both who pasted it"
    report = (term / "hw3-grades" / "report.html").read_text()
    assert "12 students of 58 made the mistake <strong>one_of_the_two</strong> in <code>kv_cache_bytes</code>" in report


def test_moodle_s_worksheet_comes_back_filled(term):
    given, before = rows(term / "hw1-grades" / "moodle.csv"), rows(term / "hw1.csv")
    assert [*given[0]] == [*before[0]]
    assert [row["Identifier"] for row in given] == [row["Identifier"] for row in before]
    assert given[0] == before[0] | {
        "Grade": "5", "Feedback comments": "softmax: 2 of 2; scaled_dot_product_attention: 3 of 3"
    }  # fmt: skip
    assert given[-1]["Feedback comments"] == "nothing was handed in"


def test_canvas_takes_the_table(term):
    folder = term / "hw1-grades"
    assert not (folder / "canvas.csv").exists(), "the roster is Moodle's"
    assignment, worksheet = Assignment.load(term / "hw1" / "assignment.json"), read_roster(term / "hw1.csv")
    book = replace(gradebook(graded_so_far(folder), assignment, worksheet, folder), roster=Roster())
    lines = [*csv.DictReader(io.StringIO(grade_tables.canvas(book)))]
    assert [*lines[0]] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw1"]
    assert (lines[0]["Student"], lines[0]["hw1"]) == ("    Points Possible", "5")
    assert (lines[1]["Student"], lines[1]["ID"], lines[1]["hw1"]) == ("Ann DoeAa", "1000", "5")


def test_the_report_opens_with_what_to_teach_and_flags_what_looks_alike(term):
    report = (term / "hw1-grades" / "report.html").read_text()
    assert report.index("Teach next") < report.index("<h2>Exercises")
    assert "12 students of 58 made the mistake <strong>overflow</strong> in <code>softmax</code>" in report
    assert "2 handed in nothing: " in report
    alike = report[report.index("Answers that look alike") :]
    copied = [f"{name}_{number}" for number, name, kind in sixty.students() if kind == "copied"]
    pasted = [f"{name}_{number}" for number, name, kind in sixty.students() if kind == "pasted"]
    one, other = sorted(copied)
    assert f">{one}</a> and " in alike
    assert f">{other}</a>: in <code>softmax</code> they have 100 % of what is their own in common" in alike
    assert alike.count("of what is their own in common") == 1
    both = r">{}</a>: <a [^>]*>softmax</a>, <a [^>]*>scaled_dot_product_attention</a> are the package\'s own solution"
    assert all(re.search(both.format(re.escape(student)), alike) for student in pasted)
    assert alike.count("the package's own solution") == len(pasted)


def test_every_link_of_a_report_leads_somewhere(term):
    for name in sixty.TERM:
        folder = term / f"{name}-grades"
        links = re.findall(r'href="([^"#]+)', (folder / "report.html").read_text())
        assert links
        assert all((folder / unquote(link)).is_file() for link in links)


def test_what_persists_and_what_separates_over_the_term(term):
    page = (term / "term" / "term.html").read_text()
    assert "3 assignments, 60 students" in page
    lines = rows(term / "term" / "term.csv")
    assert [*lines[0]] == ["id", "name", "hw1", "hw2", "hw3", "sum", "of"]
    assert (lines[0]["sum"], lines[0]["of"]) == ("14", "14")
    assert page.index("Take up again") < page.index("Which mistake persists")
    assert "<strong>The wrong axis</strong>: 12 students made such a mistake in more than one assignment" in page
    assert "True means hidden (a mask turned round)</strong>" not in page, "in one assignment alone"
    assert sixty.QUESTION in page[page.index("Which exercise separates") :]
    links = re.findall(r'href="([^"#]+)', page)
    assert links
    assert all((term / "term" / unquote(link)).is_file() for link in links)
    falls = page[page.index("Who falls behind") :]
    assert "Nobody" in falls  # the turning ones have come back in the last


def test_a_decision_and_a_new_grading_leave_each_other_alone(term):
    folder = term / "hw1-grades"
    number, name, _ = next(one for one in sixty.students() if one[2] == "late")
    mistaken = next(n for n, _, kind in sixty.students() if kind == "mistaken")
    absent = next(n for n, _, kind in sixty.students() if kind == "gone")
    (folder / "overrides.csv").write_text(
        "student,exercise,points,comment\n"
        f"{name}_{number},late,0,was ill\n"
        f"Participant {mistaken},softmax,1.5,explained it\n"
        f"Participant {absent},total,4,orally\n"
    )
    for more in ([], ["--regrade"]):
        assert grade(term, "hw1", *more) == 0
        given = {row["id"]: row for row in rows(folder / "grades.csv")}
        assert given[f"{number}@example.org"]["points"] == "5"
        assert (given[f"{mistaken}@example.org"]["points"], given[f"{mistaken}@example.org"]["computed"]) == (
            "1.5",
            "0",
        )
        assert given[f"{absent}@example.org"]["points"] == "4"
        assert given[f"{mistaken}@example.org"]["by hand"] == "softmax: 1.5 (explained it)"
        assert "was ill" in (folder / "overrides.csv").read_text()
    (folder / "overrides.csv").write_text("student,exercise,points,comment\n")
    assert grade(term, "hw1") == 0
    assert by_kind(term, "hw1")["mistaken"] == {0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nobody,softmax,1,", "line 2: a student is named as in the column `student` of grades.csv, or by id, name or"),
        ("x,sofmax,1,", "must name one of softmax, scaled_dot_product_attention, late, total (it names sofmax)"),
        ("x,softmax,much,", "it must give points from 0 on (it gives much)"),
        ("x,softmax,-1,", "must give points from 0 on (it gives -1)"),
    ],
)
def test_a_decision_that_cannot_be_read_is_named(term, capsys, line, message):
    path = term / "hw1-grades" / "overrides.csv"
    path.write_text(f"student,exercise,points,comment\n{line}\n")
    try:
        assert grade(term, "hw1") == 2
        assert message in capsys.readouterr().err
    finally:
        path.write_text("student,exercise,points,comment\n")


def test_the_time_it_is_due_may_change_without_grading_anew(term, monkeypatch):
    key = term / "hw3" / "assignment.json"
    text = key.read_text()
    monkeypatch.setattr(course, "grade_one", lambda *_: pytest.fail("graded again"))
    key.write_text(text.replace(DUE, "2026-10-05"))
    assert grade(term, "hw3") == 0
    assert by_kind(term, "hw3")["late"] == {4}
    key.write_text(text)
    assert Assignment.load(key).due == DUE
