"""Late work: how many days begun after it was due, and what that costs.

A day costs a share of all points of the assignment, and nobody falls below 0. An extension is another due time. What
no student can write decides: where nothing tells when work came but its own files, it isn't late.
"""

import math
import re
from datetime import UTC, datetime, timedelta

from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.moodle_columns import LANGUAGES, moodle_date
from transformer_lab.grading.handout.roster import Person

WRITTEN = ("%d/%m/%y, %H:%M",)  # by Moodle, where somebody has set it so
TRUSTED = ("nbgrader", "Gradescope", "Moodle", "Moodle LATE")
DAYS = re.compile(r"\+?(\d+(?:\.\d+)?)\s*(?:d|days?)?")


def moment(text: str, what: str) -> datetime:
    """A time, with its zone: this machine's where none is given. A date alone means its end.

    Raises:
        ValueError: it is none; says how to write it.
    """
    for read in (
        datetime.fromisoformat,
        moodle_date,
        *(lambda t, form=form: datetime.strptime(t, form) for form in WRITTEN),
    ):
        try:
            told = read(text.strip())
        except ValueError:
            continue
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
            told = told.replace(hour=23, minute=59, second=59)
        return told.astimezone(UTC)
    raise ValueError(f"{what} must be a time such as 2026-10-01 or 2026-10-01T12:00+02:00 (got {text})")


def due_for(assignment: Assignment, person: Person | None) -> datetime | None:
    """When a person's work is due; an extension is a time, or so many days more."""
    extension = person.extension.strip() if person else ""
    days = DAYS.fullmatch(extension)
    other = moment(extension, f"the extension of {person.id}") if person and extension and not days else None
    if not assignment.due:
        return None
    due = moment(assignment.due, "the time at which the assignment is due")
    return due + timedelta(days=float(days[1])) if days else other or due


def handed_in_at(assignment: Assignment, person: Person | None, submitted: str, by: str) -> tuple[datetime | None, str]:
    """When work came, as far as something tells that the student can't write, and what that is.

    The roster comes first; then nbgrader's own note and Gradescope's, and the files in what Moodle zips. Canvas tells
    only what is late.
    """
    if told := person.submitted.strip("-") if person else "":  # Moodle's `-` is none
        whose = person.name or person.id if person else ""
        return moment(told, f"the time in the roster's row of {whose} (from Moodle in {LANGUAGES})"), "roster"
    if submitted and (by in TRUSTED or (by == "files" and assignment.file_times)):
        return moment(submitted, "the time of a submission"), by
    return None, by if by.startswith("Canvas") else ""


def days_late(assignment: Assignment, person: Person | None, submitted: str, by: str) -> int:
    """Days begun after it was due, unless it came within the hours of grace; one for what only a mark calls late."""
    due, (came, told) = due_for(assignment, person), handed_in_at(assignment, person, submitted, by)
    if due and not came:
        return int(told.endswith("LATE") and not (person and person.extension))
    seconds = (came - due).total_seconds() if due and came else 0
    return math.ceil(seconds / 86_400) if seconds > 3600 * assignment.grace else 0


def penalty(assignment: Assignment, days: int, earned: float | int) -> float | int:
    """Points that lateness takes."""
    return round(min(earned, min(days * assignment.late, assignment.late_most) / 100 * assignment.total), 2)
