"""`transformer-lab`: hand out exercises, grade them safely, make solutions. `--help` of each command has an example."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from transformer_lab import __version__

ASSIGN = """Make an assignment: notebooks to hand out, an assignment.json to keep.

  transformer-lab assign --lessons 01 05 --exercise softmax=2 --out hw1/

The students get hw1/release/hw1/. Keep hw1/assignment.json to yourself: from its seed come the hidden
inputs that answers are tried on."""
GRADE = """Grade a folder of notebooks, one for each student (or nbgrader's submitted/<student>/<assignment>/).

  transformer-lab grade submitted/ --assignment hw1/assignment.json --out grades/

The folder may be a zip file; what Canvas and Moodle hand back is taken as it is. Writes grades.csv, canvas.csv,
moodle.csv, feedback/<student>.html and report.html; where questions are answered in words, marking.html to mark
them, whose file --marked takes over. A run that was cut off goes on where it ended; a notebook is
graded again only if it has changed. What you decide yourself goes into overrides.csv there; the same command takes
it over. Answers run in a sandbox made by bubblewrap: no network, no files."""
TERM = """Look at the assignments of a term together: what persists, which exercise separates, who falls behind.

  transformer-lab term hw1-grades/ hw2-grades/ hw3-grades/ --out term/

Writes term.html and term.csv, with a column for each assignment."""
SOLUTIONS = """Write the lessons' notebooks with every exercise solved, executed.

  transformer-lab solutions --lessons 01 02 --out solutions/"""
NBGRADER = """Import grades into the gradebook of an nbgrader course, such as the assignment's own folder.

  transformer-lab nbgrader grades/ --assignment hw1/assignment.json --course hw1/

Then nbgrader's own commands know them: `nbgrader export` in that folder writes a table of all assignments."""

NOTEBOOKS = "the folder of the lessons' notebooks (default: that of the repository this is installed from)"
# `--lessons 01 02`, or `--lessons 01 --lessons 02`
SEVERAL: dict[str, Any] = {"nargs": "*", "action": "extend", "default": []}


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code: 0, or 2 where something could not be done (said on stderr)."""
    options = parser().parse_args(arguments)
    try:
        return options.act(options)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"transformer-lab {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. What was graded is kept; the same command goes on from here.", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="transformer-lab", description=__doc__)
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, act: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        first = words.partition("\n")[0]
        made = commands.add_parser(
            name, help=first, description=words, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        made.set_defaults(act=act)
        return made

    one = command("assign", assign, ASSIGN)
    one.add_argument("--lessons", **SEVERAL, metavar="NN", help="all exercises of these lessons, 1 point each")
    one.add_argument("--exercise", **SEVERAL, metavar="NAME=POINTS", help="an exercise, or other points")
    one.add_argument("--seconds", type=float, default=10, help="time for each answer (default: 10)")
    one.add_argument("--out", type=Path, required=True, help="a new folder; its name is the assignment's")
    one.add_argument("--partial", action="store_true", help="part of the points for an answer that is right in part")
    one.add_argument("--excuse", action="store_true", help="all points for an answer that is wrong by another's fault")
    one.add_argument("--due", default="", metavar="TIME", help="such as 2026-10-01 or 2026-10-01T12:00+02:00")
    one.add_argument("--late", type=float, default=0, metavar="PERCENT", help="of all points, for each day begun")
    one.add_argument("--questions", type=Path, metavar="FILE.md", help="questions to answer in words: see the docs")
    one.add_argument("--variant", **SEVERAL, metavar="NAME=POINTS", help="a prediction, with other numbers for each")
    one.add_argument("--no-solutions", action="store_true", help="what is handed out refuses to show solutions")
    one.add_argument("--notebooks", type=Path, help=NOTEBOOKS)

    one = command("grade", grade, GRADE)
    one.add_argument("submitted", type=Path, help="the folder of submissions, or a zip file of it")
    one.add_argument("--assignment", type=Path, required=True, help="the assignment's assignment.json")
    one.add_argument("--out", type=Path, required=True, help="where the grades go")
    one.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    one.add_argument("--executor", metavar="dask://HOST:PORT", help="grade on a dask cluster instead")
    one.add_argument(
        "--private", type=Path, metavar="FILE.py", help="more hidden cases: see docs/instructors.md, 'A private check'"
    )
    one.add_argument(
        "--roster",
        type=Path,
        metavar="FILE.csv",
        help="who is in the course: a table with `id`, or Canvas's, or Moodle's",
    )
    one.add_argument("--marked", type=Path, **SEVERAL, metavar="FILE.json", help="what marking.html saved")
    one.add_argument("--regrade", action="store_true", help="grade all again; overrides.csv stays")
    one.add_argument(
        "--sandbox", choices=("bubblewrap", "podman", "docker"), default="bubblewrap", help="what keeps answers in"
    )
    one.add_argument("--trust", action="store_true", help="no sandbox: answers can read and write all that you can")

    one = command("solutions", solutions, SOLUTIONS)
    one.add_argument("--lessons", **SEVERAL, metavar="NN", help="which (default: all)")
    one.add_argument("--out", type=Path, required=True, help="where the notebooks go")

    one.add_argument("--notebooks", type=Path, help=NOTEBOOKS)

    one = command("term", term, TERM)
    one.add_argument("grades", type=Path, nargs="+", help="folders that `grade` wrote, in the order of the term")
    one.add_argument("--out", type=Path, required=True, help="where the pages go")

    one = command("nbgrader", nbgrader, NBGRADER)
    one.add_argument("grades", type=Path, help="the folder that `grade` wrote")
    one.add_argument("--assignment", type=Path, required=True, help="the assignment's assignment.json")
    one.add_argument("--course", type=Path, required=True, help="nbgrader's course folder")
    one.add_argument("--roster", type=Path, metavar="FILE.csv", help="another roster than the one `grade` was given")
    return top


def assign(options: argparse.Namespace) -> int:
    from transformer_lab.grading import assign
    from transformer_lab.grading.lateness import moment
    from transformer_lab.grading.lesson_notebooks import NOTEBOOKS
    from transformer_lab.grading.pages import words
    from transformer_lab.grading.questions import read_questions

    variants, questions = points_of(options.variant), read_questions(options.questions)
    points = assign.choose(options.lessons, points_of(options.exercise) | variants, needs_one=not questions)
    given = (options.partial, options.excuse, options.due, options.late, options.no_solutions)
    policy = assign.Policy(*given, questions, tuple(variants))
    assignment = assign.assign(options.out, points, options.seconds, options.notebooks or NOTEBOOKS, policy)
    listed = ", ".join(f"{name} ({most:g})" for name, most in assignment.most.items())
    counted = words(len(assignment.points), "exercise", "exercises")
    counted += f" and {words(len(questions), 'question', 'questions')}" if questions else ""
    print(f"{counted}, {assignment.total:g} points: {listed}")
    if assignment.due and moment(assignment.due, "--due") < datetime.now(UTC):
        print(f"--due {assignment.due} is over already: whatever is handed in now is late.", file=sys.stderr)
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
    from transformer_lab.grading.launching import TRUST
    from transformer_lab.grading.processes import loaded

    kind = TRUST if options.trust else options.sandbox
    with nullcontext() if options.executor else loaded(kind):
        return grade_class(options, kind)


def grade_class(options: argparse.Namespace, kind: str) -> int:
    from tqdm import tqdm

    from transformer_lab.grading import console, course, final, marked, records, reports, submissions
    from transformer_lab.grading.assignment import Assignment
    from transformer_lab.grading.hidden_cases import try_out
    from transformer_lab.grading.launching import described
    from transformer_lab.grading.policy import refuse_readable
    from transformer_lab.grading.roster import keep_roster, read_roster

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
    names = {one.student for one in found} | {one.student for one in ([] if options.regrade else so_far)}
    final.check_decisions(so_far, names, assignment, roster, options.out)
    if options.regrade:
        course.forget(options.out)
    waiting = course.still_to_grade(found, assignment, private, options.out, options.trust)
    at_once = options.jobs if options.executor is None else len(waiting)  # a cluster shares out by itself
    marked.take_over(options.marked, options.out, assignment)
    done = course.grade_all(waiting, assignment, options.out, partial(executor, options), at_once, private, kind)
    tqdm.monitor_interval = 0  # its thread would run where the processes that grade are forked
    for one in tqdm(done, total=len(found), initial=len(found) - len(waiting), unit=" students", miniters=1):
        if any(mark.verdict == "ungraded" for mark in one.marks):
            print(f"{one.notes[0]}. The same command tries again.", file=sys.stderr)
    book = reports.write_reports(records.graded_so_far(options.out), assignment, options.out, roster)
    keep_roster(options.roster, options.out)
    for line in console.after_grading(book, options.out):
        print(line)
    return 0


def term(options: argparse.Namespace) -> int:
    from transformer_lab.grading.pages import words
    from transformer_lab.grading.term_page import write_term

    summaries = write_term(options.grades, options.out)
    print(f"{words(len(summaries), 'assignment', 'assignments')}: see term.html and term.csv in {options.out}")
    return 0


def read_private(path: Path | None) -> str:
    """The text of the instructor's own case generators, once it has shown that it runs; none is no text."""
    from transformer_lab.grading.hidden_cases import add_private

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
    from transformer_lab.grading.processes import process_pool

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
    from transformer_lab.grading.lesson_notebooks import NOTEBOOKS
    from transformer_lab.grading.solutions import write_solutions

    for path in write_solutions(options.lessons, options.out, options.notebooks or NOTEBOOKS):
        print(path)
    return 0


def nbgrader(options: argparse.Namespace) -> int:
    from transformer_lab.grading import records
    from transformer_lab.grading.assignment import Assignment
    from transformer_lab.grading.final import gradebook
    from transformer_lab.grading.gradebook import import_grades
    from transformer_lab.grading.pages import words
    from transformer_lab.grading.roster import kept_roster, read_roster

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


if __name__ == "__main__":
    sys.exit(main())
