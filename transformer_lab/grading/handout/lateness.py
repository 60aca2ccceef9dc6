"""Late work: how many days begun after it was due, and what that costs.

A day costs a share of all points of the assignment, and nobody falls below 0. An extension is another due time.
"""

import math
import re
from datetime import UTC, datetime, timedelta

from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.roster import Person

WRITTEN = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%d %B %Y, %H:%M", "%d/%m/%y, %H:%M")  # by Moodle
DAYS = re.compile(r"\+?(\d+(?:\.\d+)?)\s*(?:d|days?)?")


def moment(text: str, what: str) -> datetime:
    """A time, with its zone: this machine's where none is given. A date alone means its end.

    Raises:
        ValueError: it is none; says how to write it.
    """
    for read in (datetime.fromisoformat, *(lambda t, form=form: datetime.strptime(t, form) for form in WRITTEN)):
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


def handed_in_at(person: Person | None, submitted: str) -> datetime | None:
    """When work came: what the roster says of it comes first."""
    told = person.submitted.strip("-") if person else ""  # Moodle's `-` is none
    return (
        moment(told or submitted, f"the time at which {person.name or person.id if person else 'work'} handed in")
        if told or submitted
        else None
    )


def days_late(assignment: Assignment, person: Person | None, submitted: str) -> int:
    """Days begun after it was due."""
    due, came = due_for(assignment, person), handed_in_at(person, submitted)
    return max(0, math.ceil((came - due).total_seconds() / 86_400)) if due and came else 0


def penalty(assignment: Assignment, days: int, earned: float | int) -> float | int:
    """Points that lateness takes."""
    return round(min(earned, days * assignment.late / 100 * assignment.total), 2)
