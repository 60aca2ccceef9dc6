"""What an instructor decides by hand: a table beside the grades, which grading reads and never writes again.

    student,exercise,points,comment
    ann,softmax,1.5,"a slip of the pen"
    ben,late,0,"was ill"

`student` is the name of a submission, or an id, a name or an e-mail address of the roster. `exercise` is the name of
one, or of a question, `late` for the points that lateness takes, or `total`. Computed points are kept, so taking a line
out brings them back.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Roster, folded
from transformer_lab.grading.handout.spreadsheets import read_table

NAME, COLUMNS = "overrides.csv", ("student", "exercise", "points", "comment")
LATE, TOTAL = "late", "total"
ACCEPTED = "a student is named as in the column `student` of grades.csv, or by id, name or e-mail address of the roster"


@dataclass(frozen=True)
class Override:
    """Points that replace computed ones, and why. `student` is the name of a submission, or the id of a person."""

    student: str
    exercise: str
    points: float | int
    comment: str = ""


def begin_overrides(folder: Path) -> None:
    """Put an empty table into a folder of grades, if there is none."""
    path = folder / NAME
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")


def read_overrides(folder: Path, assignment: Assignment, students: Iterable[str], roster: Roster) -> list[Override]:
    """The decisions in a folder of grades; `students` are the names of the submissions.

    Raises:
        ValueError: lines say something else; says which, and what, of all of them.
    """
    path, known, made = folder / NAME, [*students], []
    if not path.exists():
        return []
    columns, rows = read_table(path, "the decisions")
    if not set(COLUMNS[:3]) <= set(columns):
        raise ValueError(f"{path} must have the columns {', '.join(COLUMNS)} (it has {', '.join(columns) or 'none'})")
    wrong: list[str] = []
    for line, row in rows:
        try:
            made.append(read(row, assignment, known, roster))
        except ValueError as error:
            wrong.append(f"  line {line}: {error}")
    if wrong:
        raise ValueError(f"{path} must hold a student, an exercise and points in each line\n" + "\n".join(wrong))
    return made


def read(row: dict[str, str], assignment: Assignment, students: list[str], roster: Roster) -> Override:
    told = {name: row.get(name, "") for name in COLUMNS}
    faults, exercises = [], (*assignment.most, LATE, TOTAL)
    student = meant(told["student"], students, roster)
    if student is None:
        faults.append(f"{ACCEPTED} (the line names {told['student'] or 'nobody'})")
    if told["exercise"] not in exercises:
        faults.append(f"it must name one of {', '.join(exercises)} (it names {told['exercise'] or 'none'})")
    try:
        points = float(told["points"].replace(",", "."))  # as Excel writes 1.5 in much of Europe
    except ValueError:
        points = -1
    if not 0 <= points < float("inf"):
        faults.append(f"it must give points from 0 on (it gives {told['points'] or 'none'})")
    if faults or student is None:
        raise ValueError("; ".join(faults))
    return Override(student, told["exercise"], points, told["comment"])


def meant(told: str, students: list[str], roster: Roster) -> str | None:
    """Whom a line means: the name of a submission, or the id of a person; None for nobody, and for several."""
    if told in students:
        return told
    if person := roster.find(told):
        return person.id
    alike = [one for one in students if folded(told) and folded(told) in (folded(one), folded(one.rpartition("_")[0]))]
    return alike[0] if len(alike) == 1 else None
