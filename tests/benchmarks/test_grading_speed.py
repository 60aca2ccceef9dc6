"""How long grading takes: a class with right, wrong, crashing, hanging and missing answers to the exercises of lessons.

    pytest tests/benchmarks/test_grading_speed.py
    STUDENTS=200 LESSONS="01 02 03 04 05" pytest tests/benchmarks/test_grading_speed.py

Printed: seconds for each submission to a lesson (the processes share the work), and the memory of the largest process.
"""

import json
import os
import resource
from contextlib import nullcontext
from functools import partial
from random import Random
from time import perf_counter

import pytest

from tests.answers import RIGHT_ANSWERS
from tests.grading.conftest import bwrap  # noqa: F401
from tests.grading.support import needs_bwrap, renamed
from tests.grading.term import solved
from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.assign import assign, choose
from transformer_lab.grading.marking import course
from transformer_lab.grading.marking.processes import process_pool
from transformer_lab.grading.submissions.submissions import find_submissions

STUDENTS = int(os.environ.get("STUDENTS", "12"))
LESSONS = os.environ.get("LESSONS", "01 02").split()
KINDS = {"right": 70, "mistaken": 20, "missing": 8, "crashing": 1, "hanging": 1}  # in a hundred answers


def answer(name: str, kind: str, random: Random) -> str | None:
    """The source of an answer of a kind; None leaves the stub."""
    if kind == "right":
        return renamed(random.choice(RIGHT_ANSWERS[name]), name) or f"import torch\n{catalogue[name].solution_source()}"
    if kind == "mistaken":
        return renamed(random.choice(list(catalogue[name].mistakes.values())).function, name)
    body = {"crashing": "import os\n    os._exit(1)", "hanging": "while True: pass"}.get(kind)
    return f"def {name}(*given):\n    {body}" if body else None


@needs_bwrap
@pytest.mark.parametrize("kinds", [{"right": 1}, KINDS], ids=["honest and right", "a mixed class"])
def test_seconds_for_each_submission(kinds, tmp_path, capsys):
    assignment, random = assign(tmp_path / "hw1", choose(LESSONS, {}), seconds=5), Random(0)
    releases = sorted((tmp_path / "hw1" / "release" / "hw1").glob("*.ipynb"))
    for student in range(STUDENTS):
        folder = tmp_path / "submitted" / f"student{student:03}"
        folder.mkdir(parents=True)
        for release in releases:
            chosen = {name: random.choices(list(kinds), kinds.values())[0] for name in assignment.points}
            answers = {name: answer(name, kind, random) for name, kind in chosen.items()}
            notebook = solved(release, {name: source for name, source in answers.items() if source})
            (folder / release.name).write_text(json.dumps(notebook))
    submissions = find_submissions(tmp_path / "submitted", "hw1")
    waiting = course.still_to_grade(submissions, assignment, "", tmp_path)
    with process_pool(os.cpu_count()) as pool:
        grade = partial(course.grade_all, assignment=assignment, out=tmp_path, at_once=os.cpu_count())
        list(grade(waiting[:2], new_pool=lambda: nullcontext(pool)))  # the sandboxes start
        start = perf_counter()
        graded = list(grade(waiting[2:], new_pool=lambda: nullcontext(pool)))
        seconds = perf_counter() - start
    if set(kinds) == {"right"}:
        assert all(one.points == sum(assignment.points.values()) for one in graded)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    each = seconds / (len(graded) * len(releases))
    with capsys.disabled():
        print(
            f"\n{len(graded)} students, {len(releases)} lessons, {len(assignment.points)} exercises: {seconds:.1f} s, "
            f"{each:.2f} s for each notebook, {seconds / len(graded) / len(assignment.points):.3f} s for each answer; "
            f"{memory:.0f} MiB in the largest process"
        )
