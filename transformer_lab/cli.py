"""`transformer-lab`: hand out exercises, grade them safely, make solutions. `--help` of each command has an example."""

import argparse
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

ASSIGN = """Make an assignment: notebooks to hand out, a key to keep.

  transformer-lab assign --lessons 01 05 --exercise softmax=2 --out hw1/

The students get hw1/release/hw1/. Keep hw1/key.json to yourself: from its seed come the fresh inputs that answers are
tried on."""
GRADE = """Grade a folder of notebooks, one for each student (or nbgrader's submitted/<student>/<assignment>/).

  transformer-lab grade submitted/ --key hw1/key.json --out grades/

Writes grades.csv, feedback/<student>.html and report.html. A run that was cut off goes on where it ended; a notebook
is graded again only if it has changed. Answers run in a jail made by bubblewrap: no network, no files."""
SOLUTIONS = """Write the lessons' notebooks with every exercise solved, executed.

  transformer-lab solutions --lessons 01 02 --out solutions/"""
NBGRADER = """Import grades into the gradebook of an nbgrader course, such as the assignment's own folder.

  transformer-lab nbgrader grades/ --key hw1/key.json --course hw1/

Then nbgrader's own commands know them: `nbgrader export` in that folder writes a table of all assignments."""

SEVERAL = {"nargs": "*", "action": "extend", "default": []}  # `--lessons 01 02`, or `--lessons 01 --lessons 02`


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
    top.add_argument("--version", action="version", version=f"%(prog)s {version('transformer-lab')}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, act, words: str) -> argparse.ArgumentParser:
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

    one = command("grade", grade, GRADE)
    one.add_argument("submitted", type=Path, help="the folder of submissions")
    one.add_argument("--key", type=Path, required=True, help="the assignment's key.json")
    one.add_argument("--out", type=Path, required=True, help="where the grades go")
    one.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    one.add_argument("--executor", metavar="dask://HOST:PORT", help="grade on a dask cluster instead")
    one.add_argument(
        "--private", type=Path, metavar="FILE.py", help="more fresh cases: see docs/instructors.md, 'A private check'"
    )
    one.add_argument("--trust", action="store_true", help="no jail: answers can read and write all that you can")

    one = command("solutions", solutions, SOLUTIONS)
    one.add_argument("--lessons", **SEVERAL, metavar="NN", help="which (default: all)")
    one.add_argument("--out", type=Path, required=True, help="where the notebooks go")

    one = command("nbgrader", nbgrader, NBGRADER)
    one.add_argument("grades", type=Path, help="the folder that `grade` wrote")
    one.add_argument("--key", type=Path, required=True, help="the assignment's key.json")
    one.add_argument("--course", type=Path, required=True, help="nbgrader's course folder")
    return top


def assign(options: argparse.Namespace) -> int:
    from transformer_lab.grading import assign

    key = assign.assign(options.out, assign.choose(options.lessons, points_of(options.exercise)), options.seconds)
    total = sum(key.points.values())
    print(f"{len(key.points)} exercises, {total:g} points: {', '.join(f'{n} ({p:g})' for n, p in key.points.items())}")
    print(f"Hand out {options.out / 'release' / key.name}; keep {options.out / 'key.json'} to yourself.")
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
    from tqdm import tqdm

    from transformer_lab.grading import course, reports
    from transformer_lab.grading.assign import Key
    from transformer_lab.grading.fresh import try_out
    from transformer_lab.grading.walls import find_bwrap

    key = Key.load(options.key)
    private = read_private(options.private)
    try_out(key.points, key.seed)
    submissions = course.find_submissions(options.submitted, key.name)
    if options.trust:
        print("Grading WITHOUT a jail: every answer can read and write all that you can.", file=sys.stderr)
    else:
        find_bwrap()
    waiting = course.still_to_grade(submissions, key, private, options.out, options.trust)
    with executor(options) as pool:
        done = course.grade_all(waiting, key, options.out, pool, private, options.trust)
        for _ in tqdm(done, total=len(submissions), initial=len(submissions) - len(waiting), unit=" students"):
            pass
    graded = course.graded_so_far(options.out)
    reports.write_reports(graded, key, options.out)
    print(f"{len(graded)} students: see grades.csv, report.html and feedback/ in {options.out}")
    return 0


def read_private(path: Path | None) -> str:
    """The text of the instructor's own makers, once it has shown that it runs; none is no text."""
    from transformer_lab.grading.fresh import add_private

    if path is None:
        return ""
    if not path.is_file():
        raise ValueError(f"--private takes a Python file (there is none at {path})")
    text = path.read_text(encoding="utf-8")
    add_private(text)
    return text


@contextmanager
def executor(options: argparse.Namespace):
    """What runs the grading: processes of this machine, or a dask cluster."""
    if options.executor is None:
        if options.jobs < 1:
            raise ValueError(f"--jobs must be at least 1 (got {options.jobs})")
        ignore_ctrl_c = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}  # it is for us
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"), **ignore_ctrl_c) as pool:
            yield pool
        return
    scheme, _, address = options.executor.partition("://")
    if scheme != "dask" or not address:
        raise ValueError(f"--executor takes dask://HOST:PORT (got {options.executor})")
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--executor dask://… needs dask: `pip install 'transformer-lab[dask]'`") from None
    with Client(address) as client:
        yield client.get_executor(pure=False)


def solutions(options: argparse.Namespace) -> int:
    from transformer_lab.grading.solutions import write_solutions

    for path in write_solutions(options.lessons, options.out):
        print(path)
    return 0


def nbgrader(options: argparse.Namespace) -> int:
    from transformer_lab.grading import course
    from transformer_lab.grading.assign import Key
    from transformer_lab.grading.gradebook import import_grades

    key, graded = Key.load(options.key), course.graded_so_far(options.grades)
    if not graded:
        raise ValueError(f"{options.grades} must hold grades written by `transformer-lab grade` (it holds none)")
    import_grades(graded, key, options.course)
    print(f"{len(graded)} students: `nbgrader export` in {options.course} writes a table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
