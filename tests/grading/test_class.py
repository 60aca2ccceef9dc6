"""Who is in a class, when work came, what looks alike, and what a term shows: each by hand, without a sandbox."""

import csv
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import OWN_WAY, answer_of
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.gradebook import slip_days
from transformer_lab.grading.gradebook.final_grades import gradebook
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lateness import days_late, moment, penalty
from transformer_lab.grading.handout.lesson_notebooks import where_to_look
from transformer_lab.grading.handout.roster import Person, Roster, read_roster
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.marking.similarity import MANY, alike, is_pasted, pieces
from transformer_lab.grading.reports import grade_tables
from transformer_lab.grading.reports.grade_tables import canvas, moodle, table
from transformer_lab.grading.reports.reports import write_reports
from transformer_lab.grading.reports.summaries import Summary
from transformer_lab.grading.reports.term import falling, family, persisting, separation
from transformer_lab.grading.reports.term_page import term_page
from transformer_lab.grading.submissions.file_owners import owner_of

HW = Assignment("hw1", {"softmax": 4, "causal_mask": 6}, seed="s", due="2026-10-01T12:00+00:00", late=10)
OWN = "id,name,email,extension\n7001,Ann Doe,ann@example.org,\n7002,Ben Müller,ben@example.org,2 days\n"
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,hw1 (55),Final Score
    Points Possible,,,,,10,(read only)
"Doe, Ann",12345,7001,ann@example.org,A,,
"Müller, Ben",777,7002,ben@example.org,A,,
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Last modified (submission),Feedback comments
Participant 12345,Ann Doe,ann@example.org,Submitted,,"Saturday, 3 October 2026, 9:00 AM",
Participant 777,Ben Müller,ben@example.org,,,-,
"""
NAMES = {
    OWN: {
        "7001": "7001",
        "ann": "7001",
        "doeann_12345": "7001",
        "Ben Müller_777": "7002",
        "muellerben": None,
        "x": None,
    },
    CANVAS: {"doeann_12345": "7001", "whoever_777": "7002", "ben@example.org": "7002", "s_7001": "7001", "doe": None},
    MOODLE: {
        "Ann Doe_12345": "ann@example.org",
        "Participant_777": "ben@example.org",
        "Participant 777": "ben@example.org",
        "ben": "ben@example.org",
    },
}


def roster(tmp_path: Path, text: str) -> Roster:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8-sig")
    return read_roster(tmp_path / "roster.csv")


@pytest.mark.parametrize("text", NAMES, ids=["our own", "Canvas", "Moodle"])
def test_a_submission_finds_its_person_by_number_or_by_name(tmp_path, text):
    read = roster(tmp_path, text)
    found = {name: person.id if (person := read.find(name)) else None for name in NAMES[text]}
    assert found == NAMES[text]


def test_a_student_of_moodle_has_one_id_though_each_assignment_numbers_them_anew(tmp_path):
    """Its table assign_user_mapping says whom an assignment calls `Participant 12345`: `term` needs what stays."""
    second = MOODLE.replace("12345", "23456").replace("777", "888")
    hidden = MOODLE.replace("ann@example.org", "").replace("ben@example.org", "")
    told = [[person.id for person in roster(tmp_path, text).people] for text in (MOODLE, second, hidden)]
    assert told[0] == told[1] == ["ann@example.org", "ben@example.org"]
    assert told[2] == ["Participant 12345", "Participant 777"]
    numbered = MOODLE.replace("Full name,", "Full name,ID number,").replace("Ann Doe,", "Ann Doe,7,")
    assert roster(tmp_path, numbered).people[0].id == "7"


def test_an_export_may_have_columns_of_ours_added(tmp_path):
    """An extension that somebody typed into Canvas's export was lost without a word."""
    for text in (CANVAS, MOODLE):
        head, *lines = text.splitlines()
        more = [f"{line},{'' if 'Points' in line else '2 days'},red" for line in lines]
        read = roster(tmp_path, "\n".join([f"{head},extension,group", *more]))
        assert {(person.extension, person.group) for person in read.people} == {("2 days", "red")}
        book = gradebook([graded("Ann Doe_12345", 4, 6)], HW, read, tmp_path)
        imported = moodle(book) if read.is_moodle else canvas(book)
        assert "red" not in imported
        assert "2 days" not in imported


def test_two_of_one_name_are_found_by_nobody_s_name(tmp_path):
    read = roster(tmp_path, "id,name\n1,Ann Doe\n2,Ann Doe\n")
    assert read.find("Ann Doe_99") is None
    assert read.find("Ann Doe_2").id == "2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", r"must have a column `id` .* \(it has a, b\)"),
        ("", r"must have a column `id`"),
        ("id\n1\n1\n", r"must name everybody once \(1 is in it twice\)"),
    ],
)
def test_a_roster_that_says_nothing_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        roster(tmp_path, text)


@pytest.mark.parametrize(
    ("submitted", "extension", "days"),
    [
        ("2026-10-01T12:00:00+00:00", "", 0),
        ("2026-10-01T12:00:01+00:00", "", 1),
        ("2026-10-02T12:00:01+00:00", "", 2),
        ("2026-10-03T12:00:00+00:00", "2 days", 0),
        ("2026-10-05T09:00:00+00:00", "2026-10-05T08:00+00:00", 1),
        ("", "", 0),
    ],
)
def test_days_begun_are_counted_from_the_time_that_holds_for_a_person(submitted, extension, days):
    assert days_late(HW, Person("1", extension=extension), submitted, "nbgrader") == days


def test_a_day_costs_a_share_of_all_points_and_nobody_falls_below_none():
    assert [penalty(HW, days, 7.5) for days in (0, 1, 2, 9)] == [0, 1, 2, 7.5]


def test_hours_of_grace_and_a_most_that_lateness_takes():
    hw = replace(HW, grace=6, late_most=25)
    came = ("2026-10-01T18:00:00+00:00", "2026-10-01T18:00:01+00:00", "2026-10-02T13:00:00+00:00")
    assert [days_late(hw, None, at, "nbgrader") for at in came] == [0, 1, 2]
    assert [penalty(hw, days, 7.5) for days in (1, 2, 3, 9)] == [1, 2, 2.5, 2.5]


def test_slip_days_of_a_term_cost_nothing_until_they_are_used_up(tmp_path):
    hw, first, second = replace(HW, slip_days=2), tmp_path / "first", tmp_path / "second"
    came = {"ann": "2026-10-02T11:00+00:00", "ben": "2026-10-04T11:00+00:00", "cem": "2026-10-01T11:00+00:00"}
    class_ = [replace(graded(name, 4, 6), student=name, submitted=at) for name, at in came.items()]
    for folder, after, taken, free in ((first, [], [0, 1, 0], [1, 2, 0]), (second, [first], [0, 3, 0], [1, 0, 0])):
        folder.mkdir()
        slip_days.keep(after, folder)
        finals = write_reports(class_, hw, folder).finals
        assert [one.penalty for one in finals] == taken
        assert [one.slip_days for one in finals] == free
    assert slip_days.used_before([first, second]) == {"ann": 2, "ben": 2, "cem": 0}
    assert "3 days late, 2 of them covered by slip days, of which none are left" in (first / "grades.csv").read_text()
    with pytest.raises(ValueError, match="--after takes folders of grades"):
        slip_days.used_before([tmp_path])


WORKSHEETS = {
    "German": (
        'ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung,"Bewertung kann geändert werden",'
        '"Zuletzt geändert (Abgabe)","Zuletzt geändert (Bewertung)","Feedback als Kommentar"',
        'Teilnehmer/in4102,"Doe Ann",a@b.c,,,"10,00",Ja,"Samstag, 3. Oktober 2026, 09:00",-,',
    ),
    "Spanish": (
        'Identificador,"Nombre completo","Dirección de correo",Estado,Calificación,"Calificación máxima",'
        '"La calificación puede ser cambiada","Última modificación (entrega)","Última modificación (calificación)",'
        '"Comentarios de retroalimentación"',
        '"Participante 4102","Doe Ann",a@b.c,,,"10,00",Sí,"sábado, 3 de octubre de 2026, 09:00",-,',
    ),
    "French": (
        'Identifiant,"Nom complet","Adresse de courriel",Statut,Note,"Note maximale","La note peut être modifiée",'
        '"Dernière modification (travail remis)","Dernière modification (note)","Feedback par commentaires"',
        '"Participant 4102","Doe Ann",a@b.c,,,"10,00",Oui,"samedi 3 octobre 2026, 09:00",-,',
    ),
    "Portuguese": (
        'Identificador,"Nome completo","Endereço de email",Status,Nota,"Nota máxima","Nota pode ser alterada",'
        '"Última modificação (envio)","Última modificação (nota)","Comentários de feedback"',
        '"Participante4102","Doe Ann",a@b.c,,,"10,00",Sim,"sábado, 3 out. 2026, 09:00",-,',
    ),
}


@pytest.mark.parametrize("language", WORKSHEETS)
def test_moodle_s_worksheet_is_read_and_filled_in_its_own_language(tmp_path, language):
    head, row = WORKSHEETS[language]
    table = roster(tmp_path, f"{head}\n{row}\n")
    book = gradebook([graded("Doe Ann_4102", 4, 6)], HW, table, tmp_path)
    (one,) = book.finals
    assert (one.name, one.days, table.is_moodle) == ("Doe Ann", 2, True)
    assert grade_tables.email(one) == "a@b.c"
    columns, filled = csv.reader(io.StringIO(grade_tables.moodle(book)))
    assert columns == next(csv.reader([head]))
    grade, feedback = columns[4], columns[-1]
    told = dict(zip(columns, filled, strict=True))
    assert told[grade] == "8"
    assert "2 days late: 2 points are taken off" in told[feedback]
    assert grade_tables.other_maximum(book) == ""


def test_a_worksheet_in_a_language_that_is_not_known_is_told_what_to_set(tmp_path):
    with pytest.raises(ValueError, match="set Moodle to one of them, and download it again"):
        roster(tmp_path, "Identifikatorius,Vardas\nDalyvis 4,Ann\n")


def test_a_group_hands_in_once_and_everybody_in_it_has_the_points(tmp_path):
    table = roster(tmp_path, "id,name,group\n1,Ann,red\n2,Ben,red\n3,Cem,red\n4,Dai,blue\n5,Eve,blue\n6,Fay,\n")
    class_ = [graded("Ann", 4, 6), graded("Cem", 4, 0), replace(graded("x", 4, 6), student="blue_77")]
    finals = {one.name: one for one in write_reports(class_, HW, tmp_path, table).finals}
    assert {name: one.total for name, one in finals.items()} == {
        **{"Ann": 9, "Ben": 9, "Cem": 3},  # Cem handed in alone
        **{"Dai": 9, "Eve": 9, "Fay": 0},
    }
    assert "handed in with Ann" in finals["Ben"].notes
    pages = {path.stem for path in (tmp_path / "feedback").iterdir()}
    assert pages == {"Ann", "2", "Cem", "4", "5"}
    assert "9 of 10 points" in (tmp_path / "feedback" / "2.html").read_text()


def test_feedback_goes_back_under_the_names_that_moodle_and_canvas_know(tmp_path):
    names = {
        "Ann_de Doe_12_assignsubmission_file_": "Ann de Doe_12_assignsubmission_file_feedback.html",
        "millsben_LATE_777_902_01_attention-2.ipynb": "millsben_LATE_777_902_feedback.html",
    }
    backs = {owner_of(name, name.endswith("b")).student: owner_of(name, name.endswith("b")).hand_back for name in names}
    assert [*backs.values()] == [*names.values()]
    class_ = [replace(graded(student, 4, 6), hand_back=back) for student, back in backs.items()]
    write_reports([*class_, graded("zoe", 4, 6)], HW, tmp_path)
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        assert sorted(archive.namelist()) == sorted(names.values())
        assert "10 points" in archive.read("millsben_LATE_777_902_feedback.html").decode()


def test_times_are_read_as_systems_write_them():
    assert moment("Saturday, 3 October 2026, 9:00 AM", "it").strftime("%d.%m.%Y") == "03.10.2026"
    assert moment("2026-10-03", "it") > moment("2026-10-03T20:00", "it")
    with pytest.raises(ValueError, match=r"it must be a time such as 2026-10-01 .* \(got soon\)"):
        moment("soon", "it")


def graded(student: str, *points: float, program: str = "", mistake: str | None = None) -> Graded:
    pairs = zip(HW.points.items(), points, strict=True)
    marks = tuple(
        Mark(n, "ok" if p == most else "wrong", p, most, mistake if p < most else None, program=program)
        for (n, most), p in pairs
    )
    return Graded(student, marks, (), submitted="2026-10-02T00:00:00+00:00", came_by="nbgrader")


@pytest.mark.parametrize("text", NAMES, ids=["our own", "Canvas", "Moodle"])
def test_tables_have_everybody_once_and_the_points_that_count(tmp_path, text):
    book = gradebook([graded("doeann_12345", 4, 6), graded("stranger", 4, 0)], HW, roster(tmp_path, text), tmp_path)
    totals = {row["student"]: row["points"] for row in csv.DictReader(io.StringIO(table(book)))}
    absent = next(id_ for id_ in (person.id for person in book.roster.people) if id_ in totals)
    late = "8" if text == MOODLE else "9"  # there the worksheet knows the time
    assert totals == {"doeann_12345": late, "stranger": "3", absent: "0"}
    notes = {row["student"]: row["notes"] for row in csv.DictReader(io.StringIO(table(book)))}
    assert (notes["stranger"], notes[absent]) == ("1 day late; is not on the roster", "handed in nothing")


def test_canvas_s_own_export_comes_back_with_its_columns_and_numbers(tmp_path):
    book = gradebook([graded("doeann_12345", 4, 6)], HW, roster(tmp_path, CANVAS), tmp_path)
    assert [*csv.reader(io.StringIO(canvas(book)))] == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw1 (55)"],
        ["    Points Possible", "", "", "", "", "10"],
        ["Doe, Ann", "12345", "7001", "ann@example.org", "A", "9"],
        ["Müller, Ben", "777", "7002", "ben@example.org", "A", "0"],
    ]


def test_moodle_s_worksheet_comes_back_in_its_order(tmp_path):
    book = gradebook([graded("Participant_777", 4, 6)], HW, roster(tmp_path, MOODLE), tmp_path)
    lines = [*csv.DictReader(io.StringIO(moodle(book)))]
    assert [(line["Identifier"], line["Grade"]) for line in lines] == [
        ("Participant 12345", "0"),
        ("Participant 777", "9"),
    ]
    assert lines[1]["Last modified (submission)"] == "-", "as it was"


def test_in_a_large_class_what_one_student_got_wrong_is_folded_away(tmp_path):
    two, one = [*catalogue["softmax"].mistakes][:2]
    for size in (11, 12):
        made = [two, two, one, *[None] * (size - 3)]
        marks = [Mark("softmax", "wrong" if m else "ok", 0 if m else 4, 4, mistake=m) for m in made]
        (tmp_path / f"{size}").mkdir()
        write_reports([Graded(f"s{i}", (m,), ()) for i, m in enumerate(marks)], HW, tmp_path / f"{size}")
        told = (tmp_path / f"{size}" / "report.html").read_text().partition("<h2>Commonest mistakes</h2>")[2]
        assert f"2 × <strong>{two}</strong>" in told
        assert (f"1 × <strong>{one}</strong>" in told) == (size == 11)
        assert ("<summary>1 mistake made by one student</summary>" in told) == (size == 12)


def test_nothing_in_a_name_adds_a_row_or_a_formula(tmp_path):
    book = gradebook([graded("eve\r\nann\x1b[2J", 4, 6), graded("=1+1", 4, 6)], HW, Roster(), tmp_path)
    lines = table(book).split("\n")
    assert len(lines) == 4
    assert "\x1b" not in table(book)
    assert lines[2].startswith("'=1+1,")


def test_a_mistake_that_has_left_the_catalogue_does_not_stop_the_report(tmp_path):
    write_reports([graded("ann", 0, 0, mistake="long_gone")], HW, tmp_path)
    assert "no longer in the catalogue" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ((10, 6), "Median 8 of 10 points, of the 2 who handed something in. 2 handed in nothing: "),
        ((), "Nobody handed in anything. 4 handed in nothing: "),
    ],
)
def test_the_median_is_of_those_who_handed_something_in_as_all_other_counts_are(tmp_path, there, told):
    people = roster(tmp_path, "id\n" + "".join(f"s{i}\n" for i in range(4)))
    made = [replace(graded(f"s{i}", points - 6, 6, mistake="overflow"), submitted="") for i, points in enumerate(there)]
    write_reports(made, HW, tmp_path, people)
    page = (tmp_path / "report.html").read_text()
    assert told in page
    assert not there or "1 student of 2 made the mistake" in page


def test_a_page_says_nothing_twice(tmp_path):
    """Lateness, a cell that can't be parsed, and what was left untouched."""
    fault = "the cell of `softmax` can't be parsed: '(' was never closed (line 2)"
    unread = Mark("softmax", "missing", 0, 4, message=f"T{fault[1:]}.", notes=(fault, "another note"))
    one = Graded(
        "ann", (unread, Mark("causal_mask", "ok", 6, 6)), (), submitted="2026-10-02T00:00:00+00:00", came_by="nbgrader"
    )
    left = [
        Mark(name, "missing", 0, most, message="There is no answer.", notes=(f"`{name}` is left as it was handed out",))
        for name, most in HW.points.items()
    ]
    write_reports(
        [one, Graded("ben", tuple(left), (), submitted="2026-10-01T00:00:00+00:00", came_by="nbgrader")], HW, tmp_path
    )
    page, report = ((tmp_path / name).read_text() for name in ("feedback/ann.html", "report.html"))
    assert page.count("1 day late") == 1
    assert "1 day late: 1 point less." in page
    assert page.count("be parsed") == 1
    assert "another note" in page
    assert report.count("left as") == 1
    assert "2 exercises are left as they were handed out: softmax, causal_mask" in report


@pytest.mark.parametrize("follows", ["softmax", ""])
def test_the_column_of_what_follows_is_there_where_it_says_something_and_is_explained(tmp_path, follows):
    marks = (Mark("softmax", "wrong", 0, 4), Mark("causal_mask", "wrong", 0, 6, follows=follows))
    write_reports([Graded("ann", marks, ())], HW, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert ("<th class=number>follow</th>" in page) == bool(follows)
    assert ("follow: how many of these fail only because an earlier answer" in page) == bool(follows)


# ── what looks alike ──


SOLUTION = catalogue["softmax"].solution_source()
RENAMED = (
    OWN_WAY.replace("top", "m")
    .replace("lifted", "e")
    .replace("whole", "z")
    .replace("\n    return", "\n    # so\n    return")
)
PLAIN = "import torch\ndef softmax(scores, dim):\n    return torch.softmax(scores, dim)\n"


def test_a_pasted_solution_is_known_by_its_text_and_if_long_by_its_shape():
    assert is_pasted("softmax", SOLUTION)
    assert not is_pasted("softmax", OWN_WAY)
    assert not is_pasted("softmax", PLAIN)
    long = catalogue["decoder_layer"].solution_source()
    assert is_pasted("decoder_layer", long)
    endless = f"def softmax(scores, dim):\n    return {' + '.join(['1'] * 900)}"
    assert not is_pasted("softmax", endless)
    assert not any(is_pasted(name, "def f(x:") for name in ("softmax", "decoder_layer"))


LONG_WAY = """import torch
def helped(first, second):
    return torch.sub(first, second.clamp(min=-1e30)).exp()
def softmax(scores, dim):
    top = scores.max(dim, keepdim=True).values
    lifted = helped(scores, top)
    whole = torch.zeros_like(top)
    for i in range(lifted.size(dim)):
        whole = whole.add(lifted.select(dim, i).unsqueeze(dim))
    return torch.mul(lifted, torch.reciprocal(whole).mul(1.0))
"""


def of_programs(exercise: str, **programs: str) -> list[Graded]:
    return [
        Graded(student, (Mark(exercise, "ok", 4, 4, program=program),), (), submitted="")
        for student, program in programs.items()
    ]


def groups(exercise: str, **programs: str) -> list[tuple[tuple[str, ...], float]]:
    found = alike(of_programs(exercise, **programs), exercise)
    return [(group.students, round(group.share, 2)) for group in found]


def test_copies_are_found_through_other_names_and_comments_and_what_many_write_is_no_copy():
    programs = {"ann": OWN_WAY, "ben": RENAMED} | {f"s{i}": PLAIN for i in range(20)}
    assert groups("softmax", **programs) == [(("ann", "ben"), 1.0)]


@pytest.mark.parametrize(("copies", "others"), [(5, 4), (3, 7), (9, 0), (40, 20)])
def test_long_code_that_many_have_is_shown_as_one_group(tmp_path, copies, others):
    """Whatever their number; one of them has changed names, and one the last number."""
    programs = {f"c{i:02}": LONG_WAY for i in range(copies)} | {f"s{i}": PLAIN for i in range(others)}
    programs["c01"] = LONG_WAY.replace("lifted", "e").replace("helped", "minus")
    programs["c02"] = LONG_WAY.replace("mul(1.0))", "mul(1.5))")
    ((students, share),) = groups("softmax", **programs)
    assert students == tuple(sorted(f"c{i:02}" for i in range(copies)))
    assert 0.8 <= share < 1
    write_reports(of_programs("softmax", **programs), HW, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert f"<strong>{copies} students</strong>" in page
    assert page.count('code/c00.html#softmax"') == 1, "one group, and not a pair for each two"


def test_short_code_that_many_write_alike_is_no_finding():
    """The usual way to write it, but for names; that of two alone is unusual."""
    short = "import torch\ndef softmax(scores, dim):\n    e = torch.exp(scores - scores.amax(dim, True))\n"
    short += "    total = torch.sum(e, dim=dim, keepdim=True)\n    return torch.div(e, total)\n"
    others = {f"s{i}": PLAIN for i in range(4)}
    assert groups("softmax", **{f"c{i}": short for i in range(5)}, **others) == []
    assert groups("softmax", c0=short, c1=short.replace("total", "t"), **others) == [(("c0", "c1"), 1.0)]


USUAL_ATTENTION = """import math
def scaled_dot_product_attention(query, key, value):
    d_k = query.shape[-1]
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    weights = F.softmax(scores, dim=-1)
    output = torch.matmul(weights, value)
    return output, weights
"""


def test_attention_as_everybody_writes_it_is_no_finding():
    name = "scaled_dot_product_attention"
    assert groups(name, **{f"s{i}": USUAL_ATTENTION for i in range(9)}) == []


def test_what_was_handed_out_and_the_solution_make_nobody_alike():
    """However long they are."""
    for name in ("mend_training_step", "multi_head_attention"):
        one = catalogue[name]
        for source in [one.solution_source(), *([one.handed_out()] if isinstance(one, FindTheBug) else [])]:
            assert len(pieces(source)) > MANY
            assert groups(name, **{f"s{i}": source for i in range(9)}) == []


def test_those_who_wrote_by_themselves_are_in_no_group():
    """The right answers that the exercises are tested with."""
    for name in ("softmax", "masked_softmax", "multi_head_attention", "leaks", "beam_search"):
        found = {one.__name__: answer.program for one in RIGHT_ANSWERS[name] if (answer := answer_of(one))}
        assert len(found) > 2
        assert groups(name, **found) == []


# ── a term ──


def summary(name: str, points: dict[str, int], **students: dict[str, tuple[float, str | None]]) -> Summary:
    told = {
        id_: {
            "student": id_, "name": id_, "total": sum(p for p, _ in done.values()), "handed_in": True,
            "exercises": {e: {"points": p, "verdict": "", "mistake": m} for e, (p, m) in done.items()},
        }
        for id_, done in students.items()
    }  # fmt: skip
    return Summary(name, points, told)


def test_a_kind_of_mistake_persists_where_somebody_makes_it_again():
    wrong, right = (0, "causal_is_true"), (1, None)
    one = summary("hw1", {"a": 1}, ann={"a": (0, "unscaled")}, ben={"a": (0, "overflow")}, cem={"a": wrong})
    two = summary(
        "hw2", {"b": 1}, ann={"b": (0, "scaled_by_length")}, ben={"b": right}, cem={"b": (0, "padding_is_true")}
    )
    found = persisting([one, two])
    assert {kind: (counts, again) for kind, counts, again in found if again} == {
        "scaled or divided in a wrong way": ([1, 1], ["ann"]),
        "true means hidden (a mask turned round)": ([1, 1], ["cem"]),
    }


def test_a_mistake_is_of_a_kind_only_if_its_name_says_so():
    """These share a word with a kind, and are something else."""
    for mistake in ("grows_with_the_width", "second_borrows_the_third", "root_mean_square", "loss_itself"):
        assert family("an_exercise", mistake) == f"an_exercise: {mistake}"
    assert family("softmax", "last_axis_always") == "the wrong axis"


def test_a_kind_says_what_its_mistakes_have_in_common():
    """A test that tries too little, and pairs that a prediction did not count, are no step of a computation."""
    left_out, overflows = "a step of the computation left out", "an exponential that overflows"
    kinds = {
        ("softmax", "overflow"): overflows,
        ("online_softmax", "without_the_maximum"): overflows,
        ("masked_softmax", "filled_with_minus_1e9"): "a low number where minus infinity belongs",
        ("layer_norm", "no_eps"): left_out,
        ("clinic_10", "no_step"): left_out,
        ("visible_pairs", "rows_of_padding_forgotten"): "visible_pairs: rows_of_padding_forgotten",
        ("is_attention", "without_a_batch"): "is_attention: without_a_batch",
        ("top_k_filter", "bar_dropped"): "top_k_filter: bar_dropped",
    }
    assert all(mistake in catalogue[exercise].mistakes for exercise, mistake in kinds)
    assert {one: family(*one) for one in kinds} == kinds


def test_the_page_on_a_term_names_the_mistakes_of_each_kind(tmp_path):
    made = {"softmax": (0, "overflow"), "top_k_filter": (0, "bar_dropped")}
    one = summary("hw1", {"softmax": 1, "top_k_filter": 1}, ann=made)
    two = summary("hw2", {"merge_partial": 1}, ann={"merge_partial": (0, "overflow")})
    page = term_page([one, two], tmp_path)
    assert "an exponential that overflows<br><small>merge_partial: overflow, softmax: overflow</small>" in page
    assert "<td class=text>top_k_filter: bar_dropped</td>" in page


def test_an_exercise_separates_if_the_better_do_better_in_it():
    good, bad = {"a": (3, None), "b": (3, None), "c": (0, None)}, {"a": (0, None), "b": (0, None), "c": (1, None)}
    students = {f"g{i}": good for i in range(5)} | {f"b{i}": bad for i in range(4)}
    found = {e: r for _, e, _, r in separation([summary("hw1", {"a": 3, "b": 3, "c": 1}, **students)])}
    assert found["a"] > 0.9
    assert found["c"] < -0.9


def test_who_did_well_and_does_no_more_falls_behind():
    hw = [
        summary(f"hw{i}", {"a": 1}, ann={"a": (p, None)}, ben={"a": (0.0, None)}) for i, p in enumerate((1.0, 1.0, 0.0))
    ]
    assert falling(hw) == [("ann", [1.0, 1.0, 0.0])]


def test_every_exercise_says_where_to_read_on():
    assert all(
        where_to_look(name).startswith(f"lesson {one.lesson} (`{one.lesson}_") for name, one in catalogue.items()
    )
