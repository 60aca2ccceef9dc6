"""What an instructor decides by hand: a table beside the grades, which grading reads and never writes again.

    student,exercise,points,comment
    ann,softmax,1.5,"a slip of the pen"
    ben,late,0,"was ill"

`exercise` is the name of one, or of a question, `late` for the points that lateness takes, or `total`. Computed points
are kept, so taking a line out brings them back.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from transformer_lab.grading.assignment import Assignment

NAME, COLUMNS = "overrides.csv", ("student", "exercise", "points", "comment")
LATE, TOTAL = "late", "total"


@dataclass(frozen=True)
class Override:
    """Points that replace computed ones, and why."""

    student: str
    exercise: str
    points: float | int
    comment: str = ""


def read_overrides(folder: Path, assignment: Assignment) -> list[Override]:
    """The decisions in a folder of grades; an empty table is put there if there is none.

    Raises:
        ValueError: a line says something else; says which, and what.
    """
    path = folder / NAME
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if not set(COLUMNS[:3]) <= set(reader.fieldnames or ()):
            raise ValueError(f"{path} must have the columns {', '.join(COLUMNS)} (it has {reader.fieldnames})")
        return [read(row, f"line {reader.line_num} of {path}", assignment) for row in reader if any(row.values())]


def read(row: dict, where: str, assignment: Assignment) -> Override:
    told = {name: (row.get(name) or "").strip() for name in COLUMNS}
    known = (*assignment.most, LATE, TOTAL)
    if told["exercise"] not in known:
        raise ValueError(f"{where} must name one of {', '.join(known)} (it names {told['exercise'] or 'none'})")
    try:
        points = float(told["points"])
    except ValueError:
        points = -1
    if not 0 <= points < float("inf"):
        raise ValueError(f"{where} must give points from 0 on (it gives {told['points'] or 'none'})")
    return Override(told["student"], told["exercise"], points, told["comment"])
