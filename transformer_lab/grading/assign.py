"""Hand out: make an assignment of the lessons' exercises, for students, for the instructor, and for nbgrader.

    hw1/assignment.json                     the instructor's: exercises, points, time limit, secret seed
    hw1/release/hw1/NN_topic.ipynb   the students': statement, stub and check of each exercise
    hw1/source/hw1/NN_topic.ipynb    the same with solutions, as `nbgrader generate_assignment` reads it
    hw1/nbgrader_config.py           so that nbgrader's own commands work in this folder

Everything is taken from the lessons' notebooks and from the exercises themselves.
"""

import ast
import secrets
from dataclasses import dataclass
from math import inf
from pathlib import Path
from textwrap import indent

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.grading.answers import digest
from transformer_lab.grading.assignment import Assignment
from transformer_lab.grading.case_generators import find_exercise
from transformer_lab.grading.lateness import moment
from transformer_lab.grading.notebooks import ANSWER

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
MOST_SECONDS = 3600
HEADLINE = """# {lesson}: exercises

Replace the `...` in each function, or mend what is broken in it; run its cell, then the check below it.
`exercises.<name>.hint()` in a new cell gives a hint. Keep the functions' names; use `torch` and what you write
yourself, not the functions of `transformer_lab`."""
WORK = "# your work"  # stands where the solution stands in the source
NBGRADER_CONFIG = """c = get_config()
c.CourseDirectory.course_id = {name!r}
c.ClearSolutions.code_stub = {{"python": "{work}"}}
c.IncludeHeaderFooter.header = ""
"""


def choose(lessons: list[str], points: dict[str, float | int]) -> dict[str, float]:
    """The exercises of the lessons with one point each, and the named ones with theirs.

    Raises:
        ValueError: a lesson or an exercise that there is none of; points that are not positive.
    """
    known = sorted({exercise.lesson for exercise in catalogue.values()})
    for lesson in lessons:
        if lesson not in known:
            raise ValueError(f"a lesson with exercises must be one of {', '.join(known)} (got {lesson})")
    for name, most in points.items():
        find_exercise(name)
        if not 0 < most < inf:
            raise ValueError(f"the points of an exercise must be positive ({name}={most:g})")
    chosen = {name: 1.0 for name, exercise in catalogue.items() if exercise.lesson in lessons}
    if not chosen | points:
        raise ValueError("an assignment needs at least one lesson or exercise (got none)")
    return {name: (chosen | points)[name] for name in catalogue if name in chosen | points}


@dataclass(frozen=True)
class Policy:
    """What an instructor may choose of an assignment: see Assignment; `no_solutions` keeps them from being shown."""

    partial: bool = False
    excuse: bool = False
    due: str = ""
    late: float | int = 0
    no_solutions: bool = False


USUAL = Policy()


def assign(
    out: Path,
    points: dict[str, float | int],
    seconds: float | int = 10,
    notebooks: Path = NOTEBOOKS,
    policy: Policy = USUAL,
) -> Assignment:
    """Write an assignment into the folder `out`, which must be new or empty.

    Raises:
        ValueError: the folder holds something; an exercise is in no notebook; a time or a share is none.
    """
    if policy.due:
        moment(policy.due, "--due")
    if not 0 <= policy.late <= 100 or (policy.late and not policy.due):
        raise ValueError(f"--late must be from 0 to 100, with a time that work is due (got {policy.late:g})")
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"the seconds for an answer must be positive, and at most {MOST_SECONDS} (got {seconds:g})")
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"the folder {out} must be new or empty (it holds {next(out.iterdir()).name})")
    name = out.resolve().name
    handed_out: dict[str, str] = {}
    for lesson in sorted({catalogue[exercise].lesson for exercise in points}):
        own = {exercise: most for exercise, most in points.items() if catalogue[exercise].lesson == lesson}
        path = lesson_notebook(notebooks, lesson)
        for kind in ("source", "release"):
            lesson_cells = nbformat.read(path, as_version=4)
            made = exercise_notebook(lesson_cells, own, kind == "source", policy.no_solutions)
            (out / kind / name).mkdir(parents=True, exist_ok=True)
            nbformat.write(made, out / kind / name / path.name)
        handed_out |= {cell.id: digest(cell.source) for cell in made.cells if cell.cell_type == "code"}
    given = (policy.partial, policy.excuse, policy.due, policy.late)
    assignment = Assignment(name, points, seconds, secrets.token_hex(16), handed_out, *given)
    assignment.save(out / "assignment.json")
    (out / "nbgrader_config.py").write_text(NBGRADER_CONFIG.format(name=name, work=WORK))
    return assignment


def lesson_notebook(notebooks: Path, lesson: str) -> Path:
    """The notebook of a lesson.

    Raises:
        ValueError: there is none, perhaps as the package is installed without the repository; says what to do.
    """
    if not notebooks.is_dir():
        raise ValueError(
            "exercises are taken from the lessons' notebooks, which the installed package has not (there are none in "
            f"{notebooks}): clone the repository, and give --notebooks REPOSITORY/notebooks"
        )
    found = sorted(notebooks.glob(f"{lesson}_*.ipynb"))
    if not found:
        raise ValueError(f"lesson {lesson} must have a notebook in {notebooks} (there is none)")
    return found[0]


def exercise_notebook(
    lesson: NotebookNode, points: dict[str, float | int], with_solutions: bool, withheld: bool = False
) -> NotebookNode:
    """The exercises of a lesson's notebook as a notebook of their own, with nbgrader's metadata."""
    number = catalogue[next(iter(points))].lesson
    title = lesson.cells[0].source.split("\n")[0].removeprefix("# ")
    cells = [locked(new_markdown_cell(HEADLINE.format(lesson=title), id=f"headline-{number}"), f"headline-{number}")]
    cells.append(
        locked(new_code_cell(set_up(lesson, [*points] if withheld else []), id=f"set-up-{number}"), f"set-up-{number}")
    )
    handed_out = stubs(lesson)
    for name, most in points.items():
        if name not in handed_out:
            raise ValueError(f"the exercise {name} must have a cell in its lesson's notebook (there is none)")
        statement = f"## {name} ({most:g} {'point' if most == 1 else 'points'})\n\n{catalogue[name].statement}"
        cells.append(locked(new_markdown_cell(statement, id=f"{name}-statement"), f"{name}-statement"))
        cells.append(answer_cell(name, handed_out[name].source, with_solutions))
        cells.append(check_cell(name, most, with_solutions))
    return new_notebook(cells=cells, metadata={"kernelspec": lesson.metadata.kernelspec})


def stubs(lesson: NotebookNode) -> dict[str, NotebookNode]:
    """The cells that hold an exercise's stub, by the name of the exercise."""
    return {cell.metadata.exercise: cell for cell in lesson.cells if "exercise" in cell.metadata}


def set_up(lesson: NotebookNode, withheld: list[str]) -> str:
    """The imports of the lesson's first code cell, but of the package the exercises alone."""
    kept = [f"exercises.withhold({', '.join(map(repr, withheld))})"] if withheld else []
    first = next(cell for cell in lesson.cells if cell.cell_type == "code")
    imports = [s for s in ast.parse(first.source).body if isinstance(s, ast.Import | ast.ImportFrom)]
    general = [ast.unparse(s) for s in imports if "transformer_lab" not in ast.unparse(s)]
    return "\n".join([*general, "", "from transformer_lab import exercises", *kept])


def answer_cell(name: str, stub: str, with_solution: bool) -> NotebookNode:
    """What is handed out, a stub or a broken function; for nbgrader's source, with the solution in it or below it."""
    exercise = catalogue[name]
    if isinstance(exercise, FindTheBug):
        source = f"{exercise.handed_out().rstrip()}\n\n\n{region(solution_text(name), with_solution)}"
    else:
        head, mark, _ = stub.rpartition("    return ...")
        if not mark:
            raise ValueError(f"the stub of {name} must end in `return ...`")
        source = f"{head}{indent(region(solution_body(name), with_solution), '    ')}\n{mark}"
    cell = new_code_cell(source, id=f"{name}{ANSWER}", metadata={"exercise": name})
    cell.metadata.nbgrader = nbgrader(f"{name}{ANSWER}", solution=True)
    return cell


def region(solution: str, with_solution: bool) -> str:
    """The solution between the marks by which nbgrader finds it, or what it leaves in their place."""
    return f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION" if with_solution else WORK


def solution_text(name: str) -> str:
    """The solution as it stands in the source, with what it needs."""
    return catalogue[name].solution_source().strip()


def solution_body(name: str) -> str:
    """The same as the body of the stub, which calls it."""
    return f"{solution_text(name)}\n\nreturn {name}({', '.join(catalogue[name].parameters)})"


def check_cell(name: str, most: float | int, with_tests: bool) -> NotebookNode:
    """The visible check; for nbgrader's source, with the hidden line that gives the points."""
    source = f"exercises.{name}.check({name})"
    if with_tests:
        source += f"\n### BEGIN HIDDEN TESTS\nassert exercises.{name}.check({name}).passed\n### END HIDDEN TESTS"
    cell = new_code_cell(source, id=f"{name}-check")
    cell.metadata.nbgrader = nbgrader(f"{name}-check", grade=True, locked=True, points=most)
    return cell


def locked(cell: NotebookNode, grade_id: str) -> NotebookNode:
    cell.metadata.nbgrader = nbgrader(grade_id, locked=True)
    return cell


def nbgrader(
    grade_id: str, grade: bool = False, locked: bool = False, solution: bool = False, points: float | int | None = None
) -> dict:
    """Metadata of nbgrader's schema 3."""
    described = {"grade": grade, "grade_id": grade_id, "locked": locked, "schema_version": 3, "solution": solution}
    return described | ({"points": points} if grade else {}) | {"task": False}
