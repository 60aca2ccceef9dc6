"""The grades as tables: our own with everything in it, and those that Canvas and Moodle import."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping

from transformer_lab.grading.gradebook.final_grades import FinalGrade, Gradebook
from transformer_lab.grading.gradebook.overrides import LATE, TOTAL
from transformer_lab.grading.handout.moodle_columns import english_names
from transformer_lab.grading.handout.roster import OURS, Roster
from transformer_lab.grading.marking.records import Graded

USUAL = ("ok", "wrong", "missing")
MOODLE = ("Identifier", "Full name", "Email address", "Grade", "Feedback comments")
UNTOUCHED = "`{}` is left as it was handed out"
GONE = "the cell of `{}` is gone; found the function elsewhere"
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def table(book: Gradebook) -> str:
    """One line a student: the total, the points of each exercise, lateness, decisions, what needs a look, notes."""
    names, most = [*book.assignment.most], f"{book.assignment.total:g}"
    slips = ["slip days"] if book.assignment.slip_days else []
    head = ["student", "id", "name", "points", "of", *names, "computed", "days late", *slips, "penalty", "by hand"]
    head += ["to mark"] if book.assignment.questions else []
    rows = [
        [
            *(one.student, one.id, one.name, f"{one.total:g}", most),
            *(f"{one.points[name]:g}" for name in names),
            *(f"{one.computed:g}", str(one.days or ""), *([str(one.slip_days or "")] if slips else [])),
            f"{one.penalty:g}" if one.penalty else "",
            "; ".join(f"{d.exercise}: {d.points:g}{f' ({d.comment})' if d.comment else ''}" for d in one.decided),
            *(["; ".join(one.waiting)] if book.assignment.questions else []),
            "; ".join(f"{mark.exercise}: {mark.verdict}" for mark in one.marks if mark.verdict not in USUAL),
            "; ".join([*one.notes, *(notes_of(one.graded) if one.graded else [])]),
        ]
        for one in book.finals
    ]
    return written([*head, "unusual", "notes"], rows)


def notes_of(one: Graded) -> list[str]:
    """What was odd, each once; exercises that were left alone are named together."""
    notes = [*one.notes, *(note for mark in one.marks for note in mark.notes)]
    alone = [mark.exercise for mark in one.marks if UNTOUCHED.format(mark.exercise) in mark.notes]
    if len(alone) > 1:
        notes = [note for note in notes if note not in map(UNTOUCHED.format, alone)]
        notes.append(f"{len(alone)} exercises are left as they were handed out: {', '.join(alone)}")
    gone = [GONE.format(mark.exercise) for mark in one.marks if GONE.format(mark.exercise) in mark.notes]
    if len(gone) > 1:  # Colab and VS Code lose the marks of all cells, which is nobody's fault
        notes = [note for note in notes if note not in gone]
        notes.append(f"the marks of cells are lost; {len(gone)} answers were found by the names of their functions")
    return list(dict.fromkeys(notes))


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
    english = english_names(book.roster.columns)
    known = [english.get(c, c) for c in book.roster.columns]
    theirs = [c for c in book.roster.columns if c.casefold().strip() not in OURS]
    columns = [*theirs, *(c for c in MOODLE[3:] if c not in known)]
    rows, finals = [], {one.id: one for one in book.finals if one.person}
    for person in book.roster.people:  # all are there: who handed in nothing, too
        one = finals[person.id]
        filled = person.row | {"Grade": f"{one.total:g}", "Feedback comments": comment(one, book)}
        rows.append([filled.get(english.get(column, column), "") for column in columns])
    return written(columns, rows)


def email(one: FinalGrade) -> str:
    return one.person.email if one.person else ""


def comment(one: FinalGrade, book: Gradebook) -> str:
    """What a student reads beside the grade: points and verdicts, nothing else."""
    by_hand = {decision.exercise: decision for decision in one.decided}
    parts = [] if one.graded else ["nothing was handed in"]
    for name, most in book.assignment.most.items():
        given = "not marked yet" if name in one.waiting else f"{one.points[name]:g} of {most:g}"
        given += " (set by your instructor)" if name in by_hand else ""
        parts += [f"{name}: {given}"] if one.graded or name in by_hand else []
    parts += lateness(one, LATE in by_hand)
    if (total := by_hand.get(TOTAL)) is not None:
        because = f" ({total.comment})" if total.comment else ""
        whatever = "whatever these add to, " if one.graded else ""
        parts.append(f"{whatever}your instructor set the total to {total.points:g}{because}")
    return "; ".join(parts)


def lateness(one: FinalGrade, by_hand: bool) -> list[str]:
    """What is said of late work: what it costs, and who says so."""
    late = [one.late_in_words] if one.days else []
    points = "point is" if one.penalty == 1 else "points are"
    taken = f"{one.penalty:g} {points} taken off" if one.penalty else "nothing is taken off"
    if not by_hand:
        return [": ".join([*late, taken])] if one.penalty else late
    return [f"{': '.join([*late, taken])}, as your instructor set it"]


def canvas(book: Gradebook) -> str:
    """What Canvas's gradebook imports: a column with the assignment's name, and the points possible below the head.

    With Canvas's own export as roster, the column of that name, which ends in Canvas's number, is filled.
    """
    column, given = canvas_column(book), book.roster.columns
    head = [*(c for c in CANVAS if not book.roster.is_canvas or c in given), column]
    possible = {"Student": "    Points Possible", column: f"{book.assignment.total:g}"}
    rows = [possible]
    for one in book.finals:
        number = "" if book.roster.people else one.student.rpartition("_")[2]  # a stranger's may be somebody else's
        own = {"Student": one.name or one.student, "ID": number if number.isdecimal() else ""}
        own |= {"SIS User ID": one.id if one.person or not book.roster.people else "", "SIS Login ID": email(one)}
        known = one.person.row if one.person and book.roster.is_canvas else own
        rows.append({**known, column: f"{one.total:g}"})
    return written(head, [[row.get(c, "") for c in head] for row in rows])


def canvas_column(book: Gradebook) -> str:
    name = book.assignment.name
    return next((c for c in book.roster.columns if c == name or c.startswith(f"{name} (")), name)


def other_maximum(book: Gradebook) -> str:
    """The points of which the roster's system thinks that the assignment has them, if it has others."""
    columns = ("Maximum grade",) if book.roster.is_moodle else (canvas_column(book),)
    rows = [person.row for person in book.roster.people] if book.roster.is_moodle else [book.roster.possible]
    for told in filter(None, (row.get(column, "") for row in rows for column in columns)):
        try:
            if float(told.replace(",", ".")) != book.assignment.total:
                return told
        except ValueError:  # `Excellent`, of a scale
            return told
    return ""


def made_for(roster: Roster) -> Mapping[str, Callable[[Gradebook], str]]:
    """The tables for other systems, by file: that of the system whose export the roster is, else both."""
    tables: dict[str, Callable[[Gradebook], str]] = {} if roster.is_canvas else {"moodle.csv": moodle}
    return tables if roster.is_moodle else tables | {"canvas.csv": canvas}
