"""What an assignment came to, in numbers: it lies beside the grades, and both reports are made of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from transformer_lab.grading.gradebook.final_grades import Gradebook

SUMMARY, WAITING = "summary.json", "waiting"  # for somebody to mark it


@dataclass(frozen=True)
class Summary:
    """What one assignment came to: points of each exercise, and everybody's results by their id."""

    name: str
    points: dict[str, float | int]
    students: dict[str, dict]
    folder: Path = Path()  # of the grades
    has_roster: bool = False  # then who is not among the students wasn't in the course

    def lacks(self, id_: str) -> bool:
        """Whether somebody was not in the course at that time."""
        return self.has_roster and id_ not in self.students

    def share(self, id_: str, exercise: str) -> float | int:
        """Of the points of an exercise."""
        done = self.students[id_]["exercises"].get(exercise) if id_ in self.students else None
        return done["points"] / self.points[exercise] if done else 0.0

    def waits(self, id_: str, exercise: str) -> bool:
        """Whether nobody has marked it yet."""
        return id_ in self.students and self.students[id_]["exercises"].get(exercise, {}).get("verdict") == WAITING

    def total(self, id_: str) -> float | int:
        """Of all points."""
        return self.students[id_]["total"] / sum(self.points.values()) if id_ in self.students else 0.0


def summary(book: Gradebook) -> dict:
    """What is written: points and mistakes of everybody."""
    students = [
        {
            **{"id": one.id, "name": one.name, "student": one.student, "total": one.total},
            "handed_in": one.graded is not None,
            "slip_days": one.slip_days,
            "is_numbered_anew": one.person is None and one.came_by("Moodle"),
            "exercises": {
                mark.exercise: {"points": one.points[mark.exercise], "verdict": mark.verdict, "mistake": mark.mistake}
                for mark in one.marks
            }
            | {
                name: {"points": one.points[name], "verdict": WAITING if name in one.waiting else "", "mistake": None}
                for name in (book.assignment.questions if one.graded else ())
            },
        }
        for one in book.finals
    ]
    about = {"assignment": book.assignment.name, "points": book.assignment.most}
    return {**about, "has_roster": bool(book.roster.people), "students": students}


def as_summary(told: dict, folder: Path = Path()) -> Summary:
    students = {one["id"]: one for one in told["students"]}
    return Summary(told["assignment"], told["points"], students, folder, told.get("has_roster", False))


def totals(folder: Path) -> dict[str, tuple[str, float | int]]:
    """The name and the points of everybody in a folder of grades, by their id; nothing where there are none."""
    try:
        return {id_: (one["name"] or id_, one["total"]) for id_, one in read_summary(folder).students.items()}
    except ValueError:
        return {}


def read_summary(folder: Path) -> Summary:
    """What `transformer-lab grade` wrote into a folder.

    Raises:
        ValueError: it wrote nothing there.
    """
    try:
        return as_summary(json.loads((folder / SUMMARY).read_text(encoding="utf-8")), folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder} must hold grades written by `transformer-lab grade` ({error})") from None
