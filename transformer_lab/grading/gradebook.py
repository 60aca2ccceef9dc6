"""Hand the grades on to nbgrader: into its gradebook, from which its own commands export them."""

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_lab.exercises import catalogue
from transformer_lab.grading.assign import lesson_notebook
from transformer_lab.grading.assignment import Assignment
from transformer_lab.grading.final import Final
from transformer_lab.grading.handed_out import WORDS
from transformer_lab.grading.questions import FILE

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def import_grades(finals: Sequence[Final], assignment: Assignment, course: Path) -> None:
    """Write every student's points into `gradebook.db` of nbgrader's course folder, such as the assignment's.

    A second import replaces the computed points of the first. What was decided by hand, in overrides.csv or in nbgrader
    itself, stands beside them, and nbgrader lets it count.

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
    with Gradebook(f"sqlite:///{course.resolve() / 'gradebook.db'}") as book:
        book.update_or_create_assignment(assignment.name)
        for name, most in assignment.points.items():
            book.update_or_create_notebook(notebooks[name], assignment.name)
            book.update_or_create_grade_cell(
                f"{name}-check", notebooks[name], assignment.name, max_score=most, cell_type="code"
            )
        for name, question in assignment.questions.items():
            book.update_or_create_notebook(notebooks[name], assignment.name)
            book.update_or_create_grade_cell(
                f"{name}{WORDS}", notebooks[name], assignment.name, max_score=question.points, cell_type="markdown"
            )
        for one in finals:
            if one.graded:
                write_points(book, one, assignment.name, notebooks)


def write_points(book: "Gradebook", one: Final, assignment: str, notebooks: dict[str, str]) -> None:
    student = writable(one.student)
    book.update_or_create_student(student)
    submission = book.update_or_create_submission(assignment, student)
    if one.graded and one.graded.submitted:
        submission.timestamp = datetime.fromisoformat(one.graded.submitted).replace(tzinfo=None)
    by_hand = {decided.exercise: decided.points for decided in one.decided}
    for mark in one.marks:
        grade = book.find_grade(f"{mark.exercise}-check", notebooks[mark.exercise], assignment, student)
        grade.auto_score, grade.needs_manual_grade = mark.points, False
        grade.manual_score = by_hand.get(mark.exercise, grade.manual_score)
    for name, given in one.by_hand.items():
        grade = book.find_grade(f"{name}{WORDS}", notebooks[name], assignment, student)
        grade.manual_score, grade.needs_manual_grade = by_hand.get(name, given.points), False
    book.db.commit()


def writable(name: str) -> str:
    """A name that a database takes; one from a file system may have bytes that are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()
