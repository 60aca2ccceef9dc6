"""What the commands of `transformer-lab` do. Each imports what it needs: to say what there is needs no torch."""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path


def assign(options: argparse.Namespace) -> int:
    from transformer_lab.grading.handout import assign, autograders
    from transformer_lab.grading.handout.lateness import moment
    from transformer_lab.grading.handout.lesson_notebooks import NOTEBOOKS, where_the_package_is
    from transformer_lab.grading.handout.questions import read_questions
    from transformer_lab.grading.reports.pages import words

    variants, questions = points_of(options.variant), read_questions(options.questions)
    points = assign.choose(options.lessons, points_of(options.exercise) | variants, needs_one=not questions)
    given = (options.partial, options.excuse, options.due, options.late, options.no_solutions)
    install = where_the_package_is() if options.install is None else options.install
    autograders.refuse_impossible(options.gradescope, options.github, install)
    lateness = (options.grace, options.late_most, options.slip_days, options.file_times)
    policy = assign.Policy(*given, questions, tuple(variants), install, *lateness)
    assignment = assign.assign(options.out, points, options.seconds, options.notebooks or NOTEBOOKS, policy)
    listed = ", ".join(f"{name} ({most:g})" for name, most in assignment.most.items())
    counted = words(len(assignment.points), "exercise", "exercises")
    counted += f" and {words(len(questions), 'question', 'questions')}" if questions else ""
    print(f"{counted}, {assignment.total:g} points: {listed}")
    if assignment.due and moment(assignment.due, "--due") < datetime.now(UTC):
        print(f"--due {assignment.due} is over already: whatever is handed in now is late.", file=sys.stderr)
    print(
        f"Where transformer_lab is missing, as in Colab, the notebooks install {install or 'nothing: see --install'}."
    )
    if options.gradescope:
        written = autograders.write_gradescope(assignment, options.gradescope, options.trust)
        print(f"Upload {written} to Gradescope as the assignment's autograder.")
    if options.github:
        print(f"Commit what is in {autograders.write_github(assignment, options.github, install).parents[1]}.")
    print(f"Hand out {options.out / 'release' / assignment.name}; keep {options.out / 'assignment.json'} to yourself.")
    return 0


def points_of(words: list[str]) -> dict[str, float | int]:
    points = {}
    for word in words:
        name, _, most = word.partition("=")
        try:
            points[name] = float(most or 1)
        except ValueError:
            raise ValueError(f"--exercise takes NAME=POINTS, such as softmax=2 (got {word})") from None
    return points


def grade(options: argparse.Namespace) -> int:
    from transformer_lab.grading.sandbox.policy import refuse_other_systems

    refuse_other_systems()
    from transformer_lab.grading.marking.processes import loaded
    from transformer_lab.grading.sandbox.launching import TRUST

    kind = TRUST if options.trust else options.sandbox
    with for_nobody_else(), nullcontext() if options.executor else loaded(kind):
        return grade_class(options, kind)


@contextmanager
def for_nobody_else() -> Iterator[None]:
    """Within it, what is written is for this user alone: grades, and what students handed in."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def grade_class(options: argparse.Namespace, kind: str) -> int:
    from tqdm import tqdm

    from transformer_lab.grading.gradebook import final_grades, hand_marks, slip_days
    from transformer_lab.grading.handout.assignment import Assignment
    from transformer_lab.grading.handout.roster import keep_roster, read_roster
    from transformer_lab.grading.marking import course, records
    from transformer_lab.grading.marking.hidden_cases import try_out
    from transformer_lab.grading.reports import console, reports, summaries
    from transformer_lab.grading.sandbox.launching import described
    from transformer_lab.grading.sandbox.policy import refuse_readable
    from transformer_lab.grading.submissions import submissions

    assignment = Assignment.load(options.assignment)
    submissions.refuse_foreign(options.out)
    private, roster = read_private(options.private), read_roster(options.roster)
    try_out(assignment.points, assignment.seed)
    found = submissions.find_submissions(options.submitted, assignment.name, options.out / "unpacked")
    if options.trust:
        print("Grading WITHOUT a sandbox: every answer can read and write all that you can.", file=sys.stderr)
    else:
        print(f"Sandbox: {described(options.sandbox)}.", file=sys.stderr)
        refuse_readable(options.submitted, options.assignment, options.private, options.roster, options.out)
    so_far = records.graded_so_far(options.out)
    if options.regrade:
        course.refuse_to_lose(so_far, found, options.out)
    names = {*final_grades.who_handed_in([*found, *so_far])}
    final_grades.check_decisions(so_far, names, assignment, roster, options.out)
    if options.regrade:
        course.forget(options.out)
    waiting = course.still_to_grade(found, assignment, private, options.out, options.trust)
    at_once = options.jobs if options.executor is None else len(waiting)  # a cluster shares out by itself
    hand_marks.take_over(options.marked, options.out, assignment)
    done = course.grade_all(waiting, assignment, options.out, partial(executor, options), at_once, private, kind)
    tqdm.monitor_interval = 0  # its thread would run where the processes that grade are forked
    for one in tqdm(done, total=len(found), initial=len(found) - len(waiting), unit=" students", miniters=1):
        if any(mark.verdict == "ungraded" for mark in one.marks):
            print(f"{one.notes[0]}. The same command tries again.", file=sys.stderr)
    slip_days.keep(options.after, options.out)
    before = summaries.totals(options.out)
    book = reports.write_reports(records.graded_so_far(options.out), assignment, options.out, roster)
    keep_roster(options.roster, options.out)
    for line in console.after_grading(book, options.out, before):
        print(line)
    return 1 if book.not_read else 0


def grade_one(options: argparse.Namespace) -> int:
    """Grade one submission, and print its result; 0 for all points, 1 for less. Lateness is whose who asked for it."""
    import json
    from tempfile import TemporaryDirectory

    from transformer_lab.grading.handout.assignment import Assignment
    from transformer_lab.grading.marking import course
    from transformer_lab.grading.reports import single_result
    from transformer_lab.grading.sandbox.launching import TRUST
    from transformer_lab.grading.sandbox.policy import refuse_readable
    from transformer_lab.grading.submissions.submissions import one_submission

    assignment, private = Assignment.load(options.assignment), read_private(options.private)
    kind = TRUST if options.trust else options.sandbox
    if not options.trust:
        refuse_readable(options.assignment, options.private, *options.submission)
    with TemporaryDirectory() as folder:
        submission = one_submission(options.submission, assignment.name, Path(folder))
        try:
            graded = course.grade_one(submission, assignment, private, kind)
        except Exception as error:  # whatever it is: 1 would say that points are missing
            raise RuntimeError(f"it could not be graded ({type(error).__name__}: {error})") from error
        finally:
            course.close_sandbox()
    if options.gradescope:
        options.gradescope.write_text(json.dumps(single_result.for_gradescope(graded), indent=1) + "\n")
    if options.github:
        with options.github.open("a") as outputs:
            outputs.write(single_result.for_github(graded))
    print(json.dumps(single_result.plain(graded), indent=1))
    return 0 if all(mark.points == mark.most for mark in graded.marks) and not graded.left_out else 1


def term(options: argparse.Namespace) -> int:
    from transformer_lab.grading.reports.pages import words
    from transformer_lab.grading.reports.term_page import write_term

    with for_nobody_else():
        summaries = write_term(options.grades, options.out)
    print(f"{words(len(summaries), 'assignment', 'assignments')}: see term.html and term.csv in {options.out}")
    return 0


def read_private(path: Path | None) -> str:
    """The text of the instructor's own case generators, once it has shown that it runs; none is no text."""
    from transformer_lab.grading.marking.hidden_cases import add_private

    if path is None:
        return ""
    if not path.is_file():
        raise ValueError(f"--private takes a Python file (there is none at {path})")
    text = path.read_text(encoding="utf-8")
    add_private(text)
    return text


@contextmanager
def executor(options: argparse.Namespace) -> Iterator[Executor]:
    """What runs the grading: processes of this machine, or a dask cluster."""
    from transformer_lab.grading.marking.processes import process_pool

    if options.executor is None:
        if options.jobs < 1:
            raise ValueError(f"--jobs must be at least 1 (got {options.jobs})")
        with process_pool(options.jobs) as pool:
            yield pool
        return
    scheme, _, address = options.executor.partition("://")
    if scheme != "dask" or not address:
        raise ValueError(f"--executor takes dask://HOST:PORT (got {options.executor})")
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--executor dask://… needs dask: `pip install 'transformer-lab[dask]'`") from None
    with Client(address, timeout=60) as client:  # a scheduler that is started again has so many seconds
        print(f"Progress: {client.dashboard_link}", file=sys.stderr)
        yield client.get_executor(pure=False)


def solutions(options: argparse.Namespace) -> int:
    from transformer_lab.grading.handout.lesson_notebooks import NOTEBOOKS
    from transformer_lab.grading.handout.solutions import write_solutions

    for path in write_solutions(options.lessons, options.out, options.notebooks or NOTEBOOKS):
        print(path)
    return 0


def nbgrader(options: argparse.Namespace) -> int:
    from transformer_lab.grading.gradebook.final_grades import gradebook
    from transformer_lab.grading.gradebook.nbgrader_gradebook import import_grades
    from transformer_lab.grading.handout.assignment import Assignment
    from transformer_lab.grading.handout.roster import kept_roster, read_roster
    from transformer_lab.grading.marking import records
    from transformer_lab.grading.reports.pages import words

    assignment, graded = Assignment.load(options.assignment), records.graded_so_far(options.grades)
    if not graded:
        raise ValueError(f"{options.grades} must hold grades written by `transformer-lab grade` (it holds none)")
    roster = read_roster(options.roster) if options.roster else kept_roster(options.grades)
    book = gradebook(graded, assignment, roster, options.grades)
    for line in import_grades(book.finals, assignment, options.course):
        print(line)
    there = words(len(graded), "student", "students")
    print(f"{there}: `nbgrader export` in {options.course} writes a table")
    return 0
