"""Hand out: make an assignment of the lessons' exercises, for students, for the instructor, and for nbgrader.

    hw1/assignment.json                     the instructor's: exercises, points, time limit, secret seed
    hw1/release/hw1/NN_topic.ipynb   the students': statement, stub and check of each exercise
    hw1/source/hw1/NN_topic.ipynb    the same with solutions, as `nbgrader generate_assignment` reads it
    hw1/release/hw1/questions.ipynb         questions that are answered in words, if there are any
    hw1/nbgrader_config.py           so that nbgrader's own commands work in this folder

Everything is taken from the lessons' notebooks and from the exercises themselves.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.assignment import Assignment, find_exercise
from transformer_lab.grading.handout.lateness import moment
from transformer_lab.grading.handout.lesson_notebooks import NOTEBOOKS, lesson_notebook
from transformer_lab.grading.handout.notebook_cells import WORK, exercise_notebook, question_notebook
from transformer_lab.grading.handout.questions import FILE, HERE, Question
from transformer_lab.grading.handout.variants import refuse_unfit
from transformer_lab.grading.submissions.answers import digest

MOST_SECONDS = 3600
NBGRADER_CONFIG = """c = get_config()
c.CourseDirectory.course_id = {name!r}
c.ClearSolutions.code_stub = {{"python": "{work}"}}
c.ClearSolutions.text_stub = "{here}"
c.IncludeHeaderFooter.header = ""
"""


def choose(lessons: list[str], points: dict[str, float | int], needs_one: bool = True) -> dict[str, float]:
    """The exercises of the lessons with one point each, and the named ones with theirs; it `needs_one` at least.

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
    if needs_one and not chosen | points:
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
    questions: dict[str, Question] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    install: str = ""  # whence pip takes the package where a notebook lacks it
    grace: float | int = 0
    late_most: float | int = 100
    slip_days: int = 0
    file_times: bool = False


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
    if not 0 <= policy.late <= 100:
        raise ValueError(f"--late must be from 0 to 100 percent (got {policy.late:g})")
    if policy.late and not policy.due:
        raise ValueError(f"--late {policy.late:g} needs --due, the time after which work is late (there is none)")
    if (policy.grace, policy.late_most, policy.slip_days) != (0, 100, 0) and not policy.late:
        raise ValueError("--grace, --late-most and --slip-days need --late, what a day costs (there is none)")
    if policy.grace < 0 or policy.slip_days < 0 or not 0 <= policy.late_most <= 100:
        told = f"{policy.grace:g}, {policy.slip_days} and {policy.late_most:g}"
        raise ValueError(f"--grace and --slip-days must be at least 0, and --late-most from 0 to 100 (got {told})")
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"the seconds for an answer must be positive, and at most {MOST_SECONDS} (got {seconds:g})")
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"the folder {out} must be new or empty (it holds {next(out.iterdir()).name})")
    if '"' in policy.install or "\n" in policy.install:
        raise ValueError(f"--install must be one requirement, as pip takes it (got {policy.install})")
    refuse_unfit(policy.variants)
    decided = Assignment(
        out.resolve().name, points, seconds, partial=policy.partial, excuse=policy.excuse, due=policy.due,
        late=policy.late, questions=policy.questions, variants=policy.variants,
        key=secrets.token_hex(4) if policy.variants else "", grace=policy.grace, late_most=policy.late_most,
        slip_days=policy.slip_days, file_times=policy.file_times,
    )  # fmt: skip
    handed_out: dict[str, str] = {}
    for kind in ("source", "release"):
        for file, made in notebooks_of(decided, notebooks, kind == "source", policy):
            (out / kind / decided.name).mkdir(parents=True, exist_ok=True)
            nbformat.write(made, out / kind / decided.name / file)
            handed_out |= {cell.id: digest(cell.source) for cell in made.cells if cell.cell_type == "code"}
    (out / "source").chmod(0o700)  # it has the solutions
    assignment = replace(decided, handed_out=handed_out)
    assignment.save(out / "assignment.json")
    (out / "nbgrader_config.py").write_text(NBGRADER_CONFIG.format(name=assignment.name, work=WORK, here=HERE), "utf-8")
    return assignment


def notebooks_of(
    assignment: Assignment, lessons: Path, with_solutions: bool, policy: Policy
) -> Iterator[tuple[str, NotebookNode]]:
    """Each notebook to hand out, with the name of its file: one a lesson, and one for the questions."""
    for number in sorted({catalogue[name].lesson for name in assignment.points}):
        points = {name: most for name, most in assignment.points.items() if catalogue[name].lesson == number}
        path = lesson_notebook(lessons, number)
        lesson = nbformat.read(path, as_version=4)
        own = (assignment.variants, assignment.key, policy.install)
        yield path.name, exercise_notebook(lesson, points, with_solutions, policy.no_solutions, *own)
    if assignment.questions:
        any_lesson = nbformat.read(lesson_notebook(lessons, "00"), as_version=4)
        yield FILE, question_notebook(any_lesson, assignment.questions, with_solutions)
