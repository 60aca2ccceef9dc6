"""The grades as tables: our own with everything in it, and those that Canvas and Moodle import."""

import csv
import io
from collections.abc import Iterable

from transformer_lab.grading.final import Final, Gradebook
from transformer_lab.grading.records import Graded

USUAL = ("ok", "wrong", "missing")
MOODLE = ("Identifier", "Full name", "Email address", "Grade", "Feedback comments")
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def table(book: Gradebook) -> str:
    """One line a student: the total, the points of each exercise, lateness, decisions, what needs a look, notes."""
    names, most = [*book.assignment.most], f"{book.assignment.total:g}"
    head = ["student", "id", "name", "points", "of", *names, "computed", "days late", "penalty", "by hand"]
    head += ["to mark"] if book.assignment.questions else []
    rows = [
        [
            *(one.student, one.id, one.name, f"{one.total:g}", most),
            *(f"{one.points[name]:g}" for name in names),
            *(f"{one.computed:g}", str(one.days or ""), f"{one.penalty:g}" if one.penalty else ""),
            "; ".join(f"{d.exercise}: {d.points:g}{f' ({d.comment})' if d.comment else ''}" for d in one.decided),
            *(["; ".join(one.waiting)] if book.assignment.questions else []),
            "; ".join(f"{mark.exercise}: {mark.verdict}" for mark in one.marks if mark.verdict not in USUAL),
            "; ".join([*one.notes, *(notes_of(one.graded) if one.graded else [])]),
        ]
        for one in book.finals
    ]
    return written([*head, "unusual", "notes"], rows)


def notes_of(one: Graded) -> list[str]:
    return list(dict.fromkeys([*one.notes, *(note for mark in one.marks for note in mark.notes)]))


def written(head: Iterable[str], rows: Iterable[list[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([defused(cell) for cell in row])
    return text.getvalue()


def defused(cell: str) -> str:
    """One line, without what a terminal obeys; and a spreadsheet must not take a student's text for a formula."""
    cell = "".join(c if c.isprintable() else " " for c in cell)
    return f"'{cell}" if len(cell) > 1 and cell.startswith(("=", "+", "-", "@")) else cell  # a `-` alone is Moodle's


def moodle(book: Gradebook) -> str:
    """What Moodle's "Upload grading worksheet" takes: its own worksheet with grades, if that is the roster."""
    if not book.roster.is_moodle:
        head = ("ID number", *MOODLE[1:])
        rows = [[one.id, one.name, email(one), f"{one.total:g}", comment(one, book)] for one in book.finals]
        return written(head, rows)
    columns = [*book.roster.columns, *(c for c in MOODLE[3:] if c not in book.roster.columns)]
    rows, finals = [], {one.id: one for one in book.finals if one.person}
    for person in book.roster.people:  # all are there: who handed in nothing, too
        one = finals[person.id]
        filled = person.row | {"Grade": f"{one.total:g}", "Feedback comments": comment(one, book)}
        rows.append([filled.get(column, "") for column in columns])
    return written(columns, rows)


def email(one: Final) -> str:
    return one.person.email if one.person else ""


def comment(one: Final, book: Gradebook) -> str:
    """What a student reads beside the grade: points and verdicts, nothing else."""
    if one.graded is None:
        return "nothing was handed in"
    parts = [f"{m.exercise}: {one.points[m.exercise]:g} of {m.most:g}" for m in one.marks]
    for name, question in book.assignment.questions.items():
        given = "not marked yet" if name in one.waiting else f"{one.points[name]:g} of {question.points:g}"
        parts.append(f"{name}: {given}")
    parts += [f"{one.days} days late: -{one.penalty:g}"] if one.penalty else []
    return "; ".join(parts)


def canvas(book: Gradebook) -> str:
    """What Canvas's gradebook imports: a column with the assignment's name, and the points possible below the head.

    With Canvas's own export as roster, the column of that name, which ends in Canvas's number, is filled.
    """
    name, given = book.assignment.name, book.roster.columns
    column = next((c for c in given if c == name or c.startswith(f"{name} (")), name)
    head = [*(c for c in CANVAS if not book.roster.is_canvas or c in given), column]
    possible = {"Student": "    Points Possible", column: f"{book.assignment.total:g}"}
    rows = [possible]
    for one in book.finals:
        number = one.student.rpartition("_")[2]
        own = {"Student": one.name or one.student, "ID": number if number.isdecimal() else "", "SIS User ID": one.id}
        own |= {"SIS Login ID": email(one)}
        known = one.person.row if one.person and book.roster.is_canvas else own
        rows.append({**known, column: f"{one.total:g}"})
    return written(head, [[row.get(c, "") for c in head] for row in rows])
