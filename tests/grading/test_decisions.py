"""Decisions by hand: whom a line means, which lines are wrong, and what is said where work came after a decision."""

from dataclasses import replace
from pathlib import Path

import pytest

from transformer_lab.grading.gradebook.final_grades import check_decisions, gradebook
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Roster, read_roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.reports import grade_tables
from transformer_lab.grading.reports.reports import write_reports

HW = Assignment("hw1", {"softmax": 4, "causal_mask": 6}, seed="s", due="2026-10-01T12:00+00:00", late=10)
MOODLE = """Identifier,Full name,Email address,Grade,Maximum grade,Last modified (submission),Feedback comments
Participant 4102,Cem Kaya,cem@example.org,,10.00,"Saturday, 3 October 2026, 9:00 AM",
Participant 4109,Jan Vos,jan@example.org,,10.00,-,
"""
HEAD = "student,exercise,points,comment\n"
CEM = "Cem Kaya_4102"


def graded(student: str = CEM, points: float = 0, program: str = "one", digest: str = "d1") -> Graded:
    marks = (Mark("softmax", "wrong", points, 4, program=program), Mark("causal_mask", "ok", 6, 6))
    return Graded(student, marks, (), digest, submitted="2026-10-01T00:00:00+00:00", came_by="nbgrader")


def moodle(folder: Path) -> Roster:
    (folder / "moodle.csv").write_text(MOODLE)
    return read_roster(folder / "moodle.csv")


def decide(folder: Path, *lines: str, head: str = HEAD) -> None:
    (folder / "overrides.csv").write_text(head + "".join(f"{line}\n" for line in lines))


FORMS = [CEM, "Participant 4102", "4102", "Cem Kaya", "Kaya, Cem", "cem kaya", "CEM@example.org", "cem"]


@pytest.mark.parametrize("form", FORMS)
def test_a_student_is_named_as_the_roster_or_the_submission_names_them(tmp_path, form):
    decide(tmp_path, f'"{form}",softmax,1.5,')
    one, absent = gradebook([graded()], HW, moodle(tmp_path), tmp_path).finals
    assert (one.points["softmax"], absent.points["softmax"]) == (1.5, 0)


@pytest.mark.parametrize("form", [CEM, "Cem Kaya", "cem kaya"])
def test_without_a_roster_the_name_of_the_submission_is_enough(tmp_path, form):
    decide(tmp_path, f"{form},softmax,1.5,")
    (one,) = gradebook([graded()], HW, Roster(), tmp_path).finals
    assert one.points["softmax"] == 1.5


def test_a_name_that_two_have_is_nobody_s(tmp_path):
    decide(tmp_path, "Cem Kaya,softmax,1.5,")
    with pytest.raises(ValueError, match="line 2: a student is named as"):
        gradebook([graded(), graded("Cem Kaya_5000")], HW, Roster(), tmp_path)


def test_all_wrong_lines_are_named_at_once(tmp_path):
    decide(tmp_path, "Cem,sofmax,much,", "Cem Kaya,softmax,1,", "", "zoe,total,3,")
    with pytest.raises(ValueError, match="must hold a student, an exercise and points in each line") as caught:
        gradebook([graded()], HW, moodle(tmp_path), tmp_path)
    _, first, second = str(caught.value).split("\n")
    assert "line 2: it must name one of softmax, causal_mask, late, total (it names sofmax); it must give" in first
    forms = "as in the column `student` of grades.csv, or by id, name or e-mail address of the roster"
    assert second.strip() == f"line 5: a student is named {forms} (the line names zoe)"


def test_what_excel_makes_of_the_table_is_read(tmp_path):
    decide(tmp_path, "Cem Kaya;softmax;1,5;", head="\ufeffstudent;exercise;points;comment\n")
    assert gradebook([graded()], HW, moodle(tmp_path), tmp_path).finals[0].points["softmax"] == 1.5


def test_an_answer_that_came_after_a_decision_is_said_to(tmp_path):
    roster = moodle(tmp_path)
    decide(tmp_path, "Cem Kaya,softmax,0.5,copied")
    assert write_reports([graded()], HW, tmp_path, roster).finals[0].notes == ("2 days late",)
    better = graded(points=4, program="two", digest="d2")
    for _ in range(2):  # until the line is written anew
        one = write_reports([better], HW, tmp_path, roster).finals[0]
        assert one.points["softmax"] == 0.5
        held = "`softmax` was decided by hand before that: 0.5 still counts, 4 is computed"
        assert one.notes[1:] == (f"answered `softmax` anew since; {held}",)
    decide(tmp_path, "Cem Kaya,softmax,0.5,copied again")
    assert write_reports([better], HW, tmp_path, roster).finals[0].notes == ("2 days late",)


def test_a_decision_stands_on_what_there_was_before_the_run_that_reads_it(tmp_path):
    decide(tmp_path, "Cem Kaya,total,3,")
    check_decisions([graded()], [CEM], HW, moodle(tmp_path), tmp_path)
    one = gradebook([graded(digest="d2")], HW, moodle(tmp_path), tmp_path).finals[0]
    assert "handed in something else since; `total` was decided by hand before that: 3 still counts" in one.notes


def comments(folder: Path, *lines: str) -> list[str]:
    decide(folder, *lines)
    book = gradebook([graded(points=4)], HW, moodle(folder), folder)
    return [grade_tables.comment(one, book) for one in book.finals]


def test_a_comment_says_why_the_grade_is_not_the_sum_of_its_parts(tmp_path):
    parts = "softmax: 4 of 4; causal_mask: 6 of 6"
    late, absent = "2 days late: 2 points are taken off", "nothing was handed in"
    assert comments(tmp_path) == [f"{parts}; {late}", absent]
    assert comments(tmp_path, "Cem Kaya,late,0,", "Jan Vos,total,3,") == [
        f"{parts}; 2 days late: nothing is taken off, as your instructor set it",
        f"{absent}; your instructor set the total to 3",
    ]
    assert comments(tmp_path, "Cem Kaya,total,7,orally", "Jan Vos,softmax,1,") == [
        f"{parts}; {late}; whatever these add to, your instructor set the total to 7 (orally)",
        f"{absent}; softmax: 1 of 4 (set by your instructor)",
    ]


def test_one_day_is_one_day(tmp_path):
    roster = moodle(tmp_path)
    person = replace(roster.people[0], submitted="2026-10-02T10:00+00:00")
    book = gradebook([graded(points=4)], HW, replace(roster, people=(person,)), tmp_path)
    assert grade_tables.comment(book.finals[0], book).endswith("; 1 day late: 1 point is taken off")
