"""Hand the grades on to nbgrader: into its gradebook, from which its own commands export them."""

import os
import sys
from pathlib import Path

from transformer_lab.exercises import catalogue
from transformer_lab.grading.assign import Key, lesson_notebook
from transformer_lab.grading.course import Graded


def import_grades(graded: list[Graded], key: Key, course: Path) -> None:
    """Write every student's points into `gradebook.db` of nbgrader's course folder, such as the assignment's.

    A second import replaces the points of the first.

    Raises:
        ValueError: nbgrader is not installed, or the course does not have the assignment.
    """
    try:
        from nbgrader.api import Gradebook
    except ImportError:
        raise ValueError("importing into nbgrader needs it: `pip install 'transformer-lab[instructor]'`") from None
    source = course / "source" / key.name
    if not source.is_dir():
        raise ValueError(f"the course {course} must have the assignment {key.name} (there is no {source})")
    notebooks = {name: lesson_notebook(source, catalogue[name].lesson).stem for name in key.points}
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # it calls `alembic`
    with Gradebook(f"sqlite:///{course.resolve() / 'gradebook.db'}") as book:
        book.update_or_create_assignment(key.name)
        for name, most in key.points.items():
            book.update_or_create_notebook(notebooks[name], key.name)
            book.update_or_create_grade_cell(
                f"{name}-check", notebooks[name], key.name, max_score=most, cell_type="code"
            )
        for one in graded:
            write_points(book, one, key.name, notebooks)


def write_points(book, one: Graded, assignment: str, notebooks: dict[str, str]) -> None:
    book.update_or_create_student(one.student)
    book.update_or_create_submission(assignment, one.student)
    for mark in one.marks:
        grade = book.find_grade(f"{mark.exercise}-check", notebooks[mark.exercise], assignment, one.student)
        grade.auto_score, grade.manual_score, grade.needs_manual_grade = mark.points, None, False
    book.db.commit()
