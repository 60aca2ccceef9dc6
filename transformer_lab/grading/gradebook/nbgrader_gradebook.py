"""Hand the grades on to nbgrader: into its gradebook, from which its own commands export them."""

import json
import os
import sys
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_lab.exercises import catalogue
from transformer_lab.grading.gradebook.final_grades import FinalGrade
from transformer_lab.grading.gradebook.overrides import LATE, TOTAL
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.lateness import due_for, handed_in_at, penalty
from transformer_lab.grading.handout.lesson_notebooks import lesson_notebook
from transformer_lab.grading.handout.notebook_cells import WORDS
from transformer_lab.grading.handout.questions import FILE

if TYPE_CHECKING:
    from nbgrader.api import Gradebook, SubmittedAssignment

EXTRA = "transformer-lab-extra-credit.json"  # beside gradebook.db: by assignment and student, what an import gave


def import_grades(finals: Sequence[FinalGrade], assignment: Assignment, course: Path) -> list[str]:
    """Write every student's points into `gradebook.db` of nbgrader's course folder, such as the assignment's.

    A second import replaces the computed points of the first. What was decided by hand, in overrides.csv or in nbgrader
    itself, stands beside them, and nbgrader lets it count. Returns what it says of totals that were decided by hand,
    which no cell of a notebook can carry.

    Raises:
        ValueError: nbgrader is not installed, or the course does not have the assignment.
    """
    try:
        from nbgrader.api import Gradebook
    except ImportError:
        raise ValueError("importing into nbgrader needs it: `pip install 'transformer-lab[instructor]'`") from None
    source = course / "source" / assignment.name
    if not source.is_dir():
        raise ValueError(f"the course {course} must have the assignment {assignment.name} (there is no {source})")
    notebooks = {name: lesson_notebook(source, catalogue[name].lesson).stem for name in assignment.points}
    notebooks |= dict.fromkeys(assignment.questions, Path(FILE).stem)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # it calls `alembic`
    path = course / EXTRA
    given = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    before, now, told = given.get(assignment.name, {}), {}, []
    with warnings.catch_warnings(), Gradebook(f"sqlite:///{course.resolve() / 'gradebook.db'}") as book:
        warnings.filterwarnings("ignore", "Object of type <Submitted")  # nbgrader's own, of how it asks its database
        describe(book, assignment, notebooks)
        for one in finals:
            if one.graded or one.decided:
                student = account(one)
                submission = write_points(book, one, assignment, notebooks)
                now[student] = write_total(book, submission, one, assignment, before.get(student, 0))
                told += said_of_total(submission, one, now[student])
    given[assignment.name] = {student: extra for student, extra in now.items() if extra}
    if path.exists() or given[assignment.name]:
        path.write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
    return told


def describe(book: "Gradebook", assignment: Assignment, notebooks: dict[str, str]) -> None:
    """Tell nbgrader of the assignment: when it is due, its notebooks and the cells that have points."""
    due = due_for(assignment, None)
    book.update_or_create_assignment(assignment.name, **({"duedate": naive(due)} if due else {}))
    for name, most in assignment.most.items():
        kind, cell = ("code", f"{name}-check") if name in assignment.points else ("markdown", f"{name}{WORDS}")
        book.update_or_create_notebook(notebooks[name], assignment.name)
        book.update_or_create_grade_cell(cell, notebooks[name], assignment.name, max_score=most, cell_type=kind)


def write_points(
    book: "Gradebook", one: FinalGrade, assignment: Assignment, notebooks: dict[str, str]
) -> "SubmittedAssignment":
    """A student's points of each cell, computed and by hand, and when the work came."""
    student = account(one)
    words = (one.name.split(", ", 1)[::-1] if ", " in one.name else one.name.rsplit(" ", 1)) if one.person else []
    about = dict(zip(("first_name", "last_name"), words, strict=False)) | (
        {"email": one.person.email} if one.person else {}
    )
    book.update_or_create_student(student, **{key: writable(value) for key, value in about.items() if value})
    submission = book.update_or_create_submission(assignment.name, student)
    told = (one.graded.submitted, one.graded.came_by) if one.graded else ("", "")
    submission.timestamp = naive(handed_in_at(assignment, one.person, *told)[0]) if not one.no_time else None
    due, usual = due_for(assignment, one.person), due_for(assignment, None)
    submission.extension = due - usual if due and usual and due != usual else submission.extension
    by_hand = {name: given.points for name, given in one.by_hand.items() if given.points is not None}
    by_hand |= {decided.exercise: decided.points for decided in one.decided}
    computed = {mark.exercise: mark.points for mark in one.marks}
    for name in assignment.most:
        cell = f"{name}-check" if name in assignment.points else f"{name}{WORDS}"
        grade = book.find_grade(cell, notebooks[name], assignment.name, student)
        grade.auto_score = computed.get(name, 0)
        grade.manual_score = by_hand.get(name, grade.manual_score)
        grade.needs_manual_grade = name in one.waiting and grade.manual_score is None
    book.db.commit()
    return submission


def write_total(
    book: "Gradebook", submission: "SubmittedAssignment", one: FinalGrade, assignment: Assignment, before: float | int
) -> float | int:
    """What lateness takes, and a total that was decided by hand: what it has less than the cells is a penalty, what it
    has more is extra credit of the first cell, which is returned. `before` is that of an earlier import."""
    by_hand = {decided.exercise: decided.points for decided in one.decided}
    first = min((grade for notebook in submission.notebooks for grade in notebook.grades), key=lambda grade: grade.name)
    first.extra_credit = max(0, (first.extra_credit or 0) - before) or None
    book.db.commit()
    book.db.refresh(submission)
    sum_of_cells = submission.score  # with what was decided in nbgrader
    taken = by_hand.get(LATE, penalty(assignment, one.days - one.slip_days, sum_of_cells))
    missing = by_hand[TOTAL] - sum_of_cells if TOTAL in by_hand else -taken
    extra = max(0, round(missing, 6))
    for notebook in submission.notebooks:
        notebook.late_submission_penalty = 0
    first.notebook.late_submission_penalty = max(0, round(-missing, 6))
    first.extra_credit = (first.extra_credit or 0) + extra or None
    book.db.commit()
    book.db.refresh(submission)
    return extra


def said_of_total(submission: "SubmittedAssignment", one: FinalGrade, extra: float | int) -> list[str]:
    """Where a total that was decided by hand is to be found in nbgrader."""
    total = next((decided.points for decided in one.decided if decided.exercise == TOTAL), None)
    if total is None:
        return []
    less = submission.late_submission_penalty
    place = f"extra credit of {extra:g}" if extra else f"a late submission penalty of {less:g}" if less else "its cells"
    return [f"{one.name or one.student}: the total {total:g}, decided by hand, stands in nbgrader as {place}"]


def account(one: FinalGrade) -> str:
    """The student's id in nbgrader: as nbgrader collected it, or the roster's, which is the same in each assignment."""
    return writable(one.id if one.came_by("Moodle", "Canvas", "Gradescope") else one.student)


def naive(moment: datetime | None) -> datetime | None:
    """In UTC and without its zone, as nbgrader keeps times."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment else None


def writable(name: str) -> str:
    """A name that a database takes; one from a file system may have bytes that are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()
