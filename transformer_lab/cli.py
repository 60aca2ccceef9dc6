"""`transformer-lab`: hand out exercises, grade them safely, make solutions. `--help` of each command has an example."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformer_lab import __version__
from transformer_lab.console import print_anything
from transformer_lab.grading import commands

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
GRADE_ONE = """Grade one submission, and print its points as JSON; what Gradescope and GitHub call.

  transformer-lab grade-one 01_attention.ipynb --assignment hw1/assignment.json

Its exit code is 0 for all points, 1 for less, and 2 where it could not be graded, which says nothing of the answers.
Answers run in the same sandbox as those of a class."""
TERM = """Look at the assignments of a term together: what persists, which exercise separates, who falls behind.

  transformer-lab term hw1-grades/ hw2-grades/ hw3-grades/ --out term/

Writes term.html and term.csv, with a column for each assignment."""
SOLUTIONS = """Write the lessons' notebooks with every exercise solved, executed.

  transformer-lab solutions --lessons 01 02 --out solutions/"""
NBGRADER = """Import grades into the gradebook of an nbgrader course, such as the assignment's own folder.

  transformer-lab nbgrader grades/ --assignment hw1/assignment.json --course hw1/

Then nbgrader's own commands know them: `nbgrader export` in that folder writes a table of all assignments."""

SANDBOXES = ("bubblewrap", "podman", "docker")
NOTEBOOKS = "the folder of the lessons' notebooks (default: that of the repository this is installed from)"
# `--lessons 01 02`, or `--lessons 01 --lessons 02`
SEVERAL: dict[str, Any] = {"nargs": "*", "action": "extend", "default": []}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 1 if some work could not be read, 2 if the command could not start."""
    print_anything()
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
    every = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (act, words, options) in COMMANDS.items():
        first, plain = words.partition("\n")[0], argparse.RawDescriptionHelpFormatter
        one = every.add_parser(name, help=first, description=words, formatter_class=plain)
        one.set_defaults(act=act)
        options(one)
    return top


def assign_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--lessons", **SEVERAL, metavar="NN", help="all exercises of these lessons, 1 point each")
    one.add_argument("--exercise", **SEVERAL, metavar="NAME=POINTS", help="an exercise, or other points")
    one.add_argument("--seconds", type=float, default=10, help="processor time for each answer (default: 10)")
    one.add_argument("--out", type=Path, required=True, help="a new folder; its name is the assignment's")
    one.add_argument("--partial", action="store_true", help="part of the points for an answer that is right in part")
    one.add_argument("--excuse", action="store_true", help="all points for an answer that is wrong by another's fault")
    one.add_argument("--due", default="", metavar="TIME", help="such as 2026-10-01 or 2026-10-01T12:00+02:00")
    one.add_argument("--late", type=float, default=0, metavar="PERCENT", help="of all points, for each day begun")
    one.add_argument("--grace", type=float, default=0, metavar="HOURS", help="after --due, in which nothing is late")
    one.add_argument("--late-most", type=float, default=100, metavar="PERCENT", help="that lateness takes at most")
    one.add_argument("--slip-days", type=int, default=0, metavar="N", help="late days of a term that cost nothing")
    one.add_argument("--file-times", action="store_true", help="files' times tell when they came: no student sets them")
    one.add_argument("--questions", type=Path, metavar="FILE.md", help="questions to answer in words: see the docs")
    one.add_argument("--variant", **SEVERAL, metavar="NAME=POINTS", help="a prediction, with other numbers for each")
    one.add_argument("--no-solutions", action="store_true", help="what is handed out refuses to show solutions")
    one.add_argument(
        "--install", metavar="WHAT", help="what pip installs where the package is missing (default: this repository)"
    )
    one.add_argument(
        "--gradescope", type=Path, metavar="DIR", help="write the zip file of an autograder for Gradescope"
    )
    one.add_argument(
        "--trust", action="store_true", help="that autograder runs answers without a sandbox: see the docs"
    )
    one.add_argument(
        "--github", type=Path, metavar="DIR", help="write a workflow for GitHub, into the students' folder"
    )
    one.add_argument("--notebooks", type=Path, help=NOTEBOOKS)


def grade_one_options(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "submission", type=Path, nargs="+", help="the student's notebooks, or a folder or zip file of them"
    )
    one.add_argument("--assignment", type=Path, required=True, help="the assignment's assignment.json")
    one.add_argument("--private", type=Path, metavar="FILE.py", help="more hidden cases, as for `grade`")
    one.add_argument("--gradescope", type=Path, metavar="FILE", help="write the result there as Gradescope reads it")
    one.add_argument("--github", type=Path, metavar="FILE", help="add the result there as GitHub Classroom reads it")
    one.add_argument("--sandbox", choices=SANDBOXES, default="bubblewrap", help="what keeps answers in")
    one.add_argument("--trust", action="store_true", help="no sandbox: answers can read and write all that you can")


def grade_options(one: argparse.ArgumentParser) -> None:
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
    one.add_argument(
        "--after",
        type=Path,
        nargs="*",
        action="extend",
        metavar="GRADES",
        help="the grades of all earlier assignments, whose slip days are used up; remembered in --out",
    )
    one.add_argument("--regrade", action="store_true", help="grade all again; overrides.csv stays")
    one.add_argument("--sandbox", choices=SANDBOXES, default="bubblewrap", help="what keeps answers in")
    one.add_argument("--trust", action="store_true", help="no sandbox: answers can read and write all that you can")


def solutions_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--lessons", **SEVERAL, metavar="NN", help="which (default: all)")
    one.add_argument("--out", type=Path, required=True, help="where the notebooks go")
    one.add_argument("--notebooks", type=Path, help=NOTEBOOKS)


def term_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("grades", type=Path, nargs="+", help="folders that `grade` wrote, in the order of the term")
    one.add_argument("--out", type=Path, required=True, help="where the pages go")


def nbgrader_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("grades", type=Path, help="the folder that `grade` wrote")
    one.add_argument("--assignment", type=Path, required=True, help="the assignment's assignment.json")
    one.add_argument("--course", type=Path, required=True, help="nbgrader's course folder")
    one.add_argument("--roster", type=Path, metavar="FILE.csv", help="another roster than the one `grade` was given")


# Of each command: what it does, what --help says, which options it has.
COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], str, Callable[[argparse.ArgumentParser], None]]] = {
    "assign": (commands.assign, ASSIGN, assign_options),
    "grade": (commands.grade, GRADE, grade_options),
    "grade-one": (commands.grade_one, GRADE_ONE, grade_one_options),
    "solutions": (commands.solutions, SOLUTIONS, solutions_options),
    "term": (commands.term, TERM, term_options),
    "nbgrader": (commands.nbgrader, NBGRADER, nbgrader_options),
}

if __name__ == "__main__":
    sys.exit(main())
