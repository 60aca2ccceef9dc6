"""What changes from one assignment to the next: slip days, groups, who is there, what a system calls them."""

import csv
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.grading.test_class import HW, MOODLE, WORKSHEETS, graded, roster
from transformer_lab.grading.gradebook import slip_days
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout.roster import Roster
from transformer_lab.grading.reports import console, grade_tables
from transformer_lab.grading.reports.reports import write_reports
from transformer_lab.grading.reports.summaries import read_summary, totals
from transformer_lab.grading.reports.term import falling, table
from transformer_lab.grading.reports.term_page import write_term

NOBODY = Roster()
SLIPS = replace(HW, slip_days=3)  # 10 points; 1 a day


def came(student: str, day: int, *points: float):
    """Handed in on a day of October; it is due on the 1st at noon."""
    return replace(graded(student, *(points or (4, 6))), submitted=f"2026-10-{day:02}T11:00:00+00:00")


def written(folder: Path, name: str, class_: list, table: Roster = NOBODY, after=None, **policy):
    """The grades of an assignment, in the folder of its name, and what `grade` says in the end."""
    out = folder / name
    out.mkdir(exist_ok=True)
    slip_days.keep(after, out)
    before = totals(out)
    book = write_reports(class_, replace(SLIPS, name=name, **policy), out, table)
    return book, "\n".join(console.after_grading(book, out, before))


# ── slip days ──


def test_slip_days_are_used_up_beside_an_extension_and_remembered(tmp_path):
    """Ann needs 2 and 2 days of 3. Ben has two days more for the second, so he needs none there."""
    text = "id,extension\nann,\nben,{}\n"
    one, told = written(tmp_path, "hw1", [came("ann", 3), came("ben", 4)], roster(tmp_path, text.format("")))
    assert [(g.slip_days, g.slips_left, g.total) for g in one.finals] == [(2, 1, 10), (3, 0, 10)]
    assert "2 students used 5 slip days (no earlier assignment was named by --after)" in told
    later, after = [came("ann", 3), came("ben", 3)], [tmp_path / "hw1"]
    for named in (after, None):  # None: the same command later, in which --after was forgotten
        two, told = written(tmp_path, "hw2", later, roster(tmp_path, text.format("2 days")), named)
        assert [(g.days, g.slip_days, g.total) for g in two.finals] == [(2, 1, 9), (0, 0, 10)]
        assert "1 student used 1 slip day (1 had none left after hw1)" in told
    rows = [*csv.DictReader(io.StringIO((tmp_path / "hw2" / "grades.csv").read_text()))]
    assert [row["slip days"] for row in rows] == ["1", ""]
    assert "2 days late, 1 of them covered by slip days, of which none are left" in rows[0]["notes"]
    written(tmp_path, "hw1", [came("ann", 2), came("ben", 4)])  # ann came a day earlier: the second follows
    two, _ = written(tmp_path, "hw2", later)
    assert two.finals[0].slip_days == 2
    two, _ = written(tmp_path, "hw2", later, after=[])
    assert [g.slip_days for g in two.finals] == [2, 2]


def test_what_an_earlier_version_kept_still_counts(tmp_path):
    (tmp_path / "hw2").mkdir()
    (tmp_path / "hw2" / slip_days.NAME).write_text('{"ann": 2}')
    for _ in range(2):
        book, told = written(tmp_path, "hw2", [came("ann", 3)])
        assert [(g.days, g.slip_days, g.total) for g in book.finals] == [(2, 1, 9)]
        assert "1 student used 1 slip day (0 had none left after earlier assignments)" in told


def test_one_day_is_said_to_be_covered(tmp_path):
    book, _ = written(tmp_path, "hw1", [came("ann", 2)])
    assert "1 day late, covered by slip days, of which 2 are left" in book.finals[0].notes
    assert grade_tables.comment(book.finals[0], book).endswith("1 day late, covered by slip days, of which 2 are left")


@pytest.mark.parametrize(
    ("day", "points", "policy", "used"),
    [
        (3, (0, 0), {}, 0),  # there is nothing that lateness could take
        (7, (4, 6), {"late_most": 20}, 0),  # 6 days cost 2 points, and so do 3
        (5, (4, 6), {"late_most": 20}, 3),  # 4 days cost 2 points, and 1 day 1
        (3, (0, 1), {}, 2),  # one point is spared only by both
    ],
)
def test_no_slip_day_is_used_where_it_spares_nothing(tmp_path, day, points, policy, used):
    book, _ = written(tmp_path, "hw1", [came("ann", day, *points)], **policy)
    assert book.finals[0].slip_days == used
    (tmp_path / "hw1" / "overrides.csv").write_text("student,exercise,points\nann,total,5\n")
    book, _ = written(tmp_path, "hw1", [came("ann", day, *points)], **policy)
    assert book.finals[0].slip_days == 0, "the total is decided by hand, whatever the day"


def test_grades_that_are_named_wrongly_are_refused(tmp_path):
    written(tmp_path, "hw1", [came("ann", 2)])
    for after in (["hw1", "hw1"], ["hw2"]):
        (tmp_path / "hw2").mkdir(exist_ok=True)
        with pytest.raises(ValueError, match="--after takes the grades of earlier assignments, each once, and not"):
            slip_days.keep([tmp_path / name for name in after], tmp_path / "hw2")


def test_ids_that_are_nobody_s_here_are_said_to_be(tmp_path):
    written(tmp_path, "hw1", [came("Ann Doe_123", 2)])
    _, told = written(tmp_path, "hw2", [came("Ann Doe_456", 2)], after=[tmp_path / "hw1"])
    assert "Nobody here used slip days in hw1, by their ids: was everybody's id another one there?" in told


# ── one person, one row ──


def test_who_comes_later_or_leaves_has_empty_cells_and_does_not_fall_behind(tmp_path):
    first = roster(tmp_path, "id,name\n1,Ann\n2,Ben\n3,Vic\n")
    second = roster(tmp_path, "id,name\n1,Ann\n2,Ben\n4,Zoe\n")
    written(tmp_path, "hw1", [came("Ann", 1), came("Ben", 1), came("Vic", 1)], first)
    written(tmp_path, "hw2", [came("Ann", 1), came("Zoe", 1)], second)
    term = write_term([tmp_path / "hw1", tmp_path / "hw2"], tmp_path / "term")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(table(term)))}
    assert {name: (row["hw1"], row["hw2"], row["sum"], row["of"]) for name, row in rows.items()} == {
        "Ann": ("10", "10", "20", "20"),
        "Ben": ("10", "0", "10", "20"),
        "Vic": ("10", "", "10", "10"),
        "Zoe": ("", "10", "10", "10"),
    }
    assert [id_ for id_, _ in falling(term)] == ["2"]
    page = (tmp_path / "term" / "term.html").read_text().partition("Who came later, or left")[2]
    assert "Vic</a>: not in hw2" in page
    assert "Zoe</a>: not in hw1" in page
    assert "Ben" not in page


def test_without_a_roster_who_is_missing_handed_in_nothing(tmp_path):
    written(tmp_path, "hw1", [came("ann", 1), came("ben", 1)])
    written(tmp_path, "hw2", [came("ann", 1)])
    term = write_term([tmp_path / "hw1", tmp_path / "hw2"], tmp_path / "term")
    assert [row["hw2"] for row in csv.DictReader(io.StringIO(table(term)))] == ["10", "0"]
    assert [id_ for id_, _ in falling(term)] == ["ben"]


def test_a_stranger_of_moodle_s_has_the_row_of_their_name(tmp_path):
    """Vic has left, but Moodle's zip file of the second assignment still has his work, under another number."""
    by_moodle = [replace(came(name, 1), came_by="Moodle") for name in ("Vic Ha_11", "Kim Lee_12", "Kim Lee_13")]
    class_ = roster(tmp_path, "id,name\nv@x,Vic Ha\nk@x,Kim Lee\nl@x,Kim Lee\n")
    written(tmp_path, "hw1", [came("v@x", 1), came("k@x", 1), came("l@x", 1)], class_)
    written(tmp_path, "hw2", by_moodle, roster(tmp_path, "id\nz@x\n"))
    term = write_term([tmp_path / "hw1", tmp_path / "hw2"], tmp_path / "term")
    rows = {row["id"]: row["hw2"] for row in csv.DictReader(io.StringIO(table(term)))}
    assert rows == {"v@x": "10", "k@x": "", "l@x": "", "Kim Lee_12": "10", "Kim Lee_13": "10", "z@x": "0"}


@pytest.mark.parametrize("column", ["ID-Nummer", "Anmeldename"])
def test_moodle_s_other_identities_are_known_in_its_languages(tmp_path, column):
    head, row = WORKSHEETS["German"]
    table = roster(tmp_path, f"{head.replace('E-Mail-Adresse', column)}\n{row.replace('a@b.c', 's7001')}\n")
    assert [one.id for one in table.people] == ["s7001"]
    (line,) = csv.DictReader(io.StringIO(grade_tables.moodle(gradebook([graded("x_4102", 4, 6)], HW, table, tmp_path))))
    assert (line[column], line["Bewertung"]) == ("s7001", "8")


def test_numbers_that_moodle_gives_anew_are_said_to_be_no_ids(tmp_path):
    """Anonymous marking shows neither names nor addresses, in German, too."""
    hidden = 'ID,Status,Bewertung,"Zuletzt geändert (Abgabe)"\nTeilnehmer/in4102,,,-\n'
    for text, is_said in ((hidden, True), (MOODLE, False), (MOODLE.replace("ann@example.org", ""), True)):
        _, told = written(tmp_path, "hw1", [came("x_4102", 1)], roster(tmp_path, text))
        assert ("so a student's id is their number in this assignment" in told) == is_said


def test_canvas_s_student_for_trying_is_in_no_class(tmp_path):
    text = "Student,ID,SIS User ID,SIS Login ID\n    Points Possible,,,\n{}\n"
    people = '"Doe, Ann",1,7001,ann\n"Student, Test",2,,4f2a\n"Student, Test",3,7003,tes'
    assert [one.id for one in roster(tmp_path, text.format(people)).people] == ["7001", "7003"]


def test_two_versions_of_one_person_under_two_names_are_one_row(tmp_path):
    """The second came by mail, and lies in a folder of its own, as the document says."""
    first = replace(came("Ann Doe_12345", 1, 4, 0), hand_back="Ann Doe_12345_assignsubmission_file_feedback.html")
    mended = came("ann", 2, 0, 6)
    mended = replace(mended, marks=(replace(mended.marks[0], verdict="missing"), mended.marks[1]))
    book, _ = written(tmp_path, "hw1", [first, mended], roster(tmp_path, MOODLE))
    assert [(one.student, one.id, one.points) for one in book.finals if one.graded] == [
        ("ann", "ann@example.org", HW.points)
    ]
    assert "handed in as Ann Doe_12345, too: the last answer to each exercise counts" in book.finals[0].notes
    assert [path.name for path in (tmp_path / "hw1" / "feedback").iterdir()] == ["ann.html"]
    with zipfile.ZipFile(tmp_path / "hw1" / "feedback.zip") as archive:
        assert archive.namelist() == [first.hand_back]


def test_pages_of_who_is_taken_out_go(tmp_path):
    written(tmp_path, "hw1", [came("ann", 1), came("vic", 1)])
    written(tmp_path, "hw1", [came("ann", 1)])
    assert [path.name for path in (tmp_path / "hw1" / "code").iterdir()] == ["ann.html"]


# ── groups ──


def test_a_partner_is_as_late_as_who_handed_in_and_has_slip_days_of_their_own(tmp_path):
    text = "id,group,submitted,extension\nann,red,2026-10-03T10:00+00:00,\nben,red,,\ncem,red,-,1 day\n"
    one = replace(came("ann", 1), came_by="Canvas LATE", submitted="", hand_back="doeann_LATE_1_2_feedback.html")
    book, told = written(tmp_path, "hw1", [one], roster(tmp_path, text))
    assert {final.id: (final.days, final.slip_days) for final in book.finals} == {
        **{"ann": (2, 2), "ben": (2, 2), "cem": (1, 1)},
    }
    assert "3 students are late (of all, 3 by the roster's time)" in told
    with zipfile.ZipFile(tmp_path / "hw1" / "feedback.zip") as archive:
        assert archive.namelist() == [one.hand_back], "once, for Canvas has one name for the group"


def test_points_that_another_run_changes_are_named(tmp_path):
    """A group that is another one by now changes an old assignment, if it is graded again with the new roster."""
    text = "id,name,group\n1,Ann,red\n2,Ben,{}\n3,Cem,blue\n"
    class_ = [came("Ann", 1, 4, 6), came("Cem", 1, 4, 0)]
    _, told = written(tmp_path, "hw1", class_, roster(tmp_path, text.format("red")))
    assert "Since" not in told
    _, told = written(tmp_path, "hw1", class_, roster(tmp_path, text.format("blue")))
    assert "Since the last run, 1 student has other points: Ben 10 → 4" in told
    _, told = written(tmp_path, "hw1", class_[:1], roster(tmp_path, "id,name\n1,Ann\n"))
    assert "2 students have other points: Cem 4 → not there, Ben 4 → not there" in told
    assert read_summary(tmp_path / "hw1").has_roster
