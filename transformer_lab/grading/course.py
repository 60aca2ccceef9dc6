"""Grade a class: find the submissions, mark each in a sandbox, keep each result, go on where a run ended."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.running import Case
from transformer_lab.grading.assignment import Assignment
from transformer_lab.grading.hidden_cases import add_private, draw_cases
from transformer_lab.grading.notebooks import MOST_BYTES, Answer, Notebook, find_answer, read_notebooks
from transformer_lab.grading.policy import NoSandbox
from transformer_lab.grading.sandbox import Sandbox
from transformer_lab.grading.scoring import ADVICE, Mark, mark


@dataclass(frozen=True)
class Submission:
    """A student and their notebooks."""

    student: str
    paths: tuple[str, ...] = ()

    def digest(self) -> str:
        """Changes when a notebook does."""
        whole = hashlib.sha256()
        for path in map(Path, self.paths):
            whole.update(repr((path.name, path.stat().st_size)).encode())
            if os.access(path, os.R_OK):
                with path.open("rb") as file:
                    whole.update(file.read(MOST_BYTES))
        return whole.hexdigest()


@dataclass(frozen=True)
class Graded:
    """A student's marks, and notes on what was odd in what they handed in."""

    student: str
    marks: tuple[Mark, ...]
    notes: tuple[str, ...]
    digest: str = ""  # of what was graded

    @property
    def points(self) -> float | int:
        return sum(mark.points for mark in self.marks)

    def save(self, folder: Path) -> None:
        temporary = folder / f"{file_name(self.student)}.part"
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        temporary.replace(folder / f"{file_name(self.student)}.json")  # whole, or not at all

    @staticmethod
    def load(path: Path) -> "Graded":
        """Read a record.

        Raises:
            ValueError: it is none.
        """
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            marks = tuple(Mark(**m | {"notes": tuple(m["notes"])}) for m in record["marks"])
            return Graded(record["student"], marks, tuple(record["notes"]), record["digest"])
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path} must be a record of grading ({type(error).__name__}: {error}): "
                "delete it, and the student is graded again"
            ) from None


def file_name(student: str) -> str:
    """A student's name as the name of a file, another for each: letters, digits, - and _ as they are."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else f"%{ord(c):x}." for c in student)
    return name if len(name) < 200 else f"{name[:150]}{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def find_submissions(folder: Path, name: str) -> list[Submission]:
    """The submissions in a folder: `ann.ipynb`, or `ann/*.ipynb`, or nbgrader's `ann/<name>/*.ipynb`.

    `name` is the assignment's. Links are not followed. Paths are absolute: who grades may stand in another folder.

    Raises:
        ValueError: there is no such folder, or no notebook in it.
    """
    if not folder.is_dir():
        raise ValueError(f"the submissions must be a folder (there is none at {folder})")
    found: dict[str, list[str]] = {}
    for entry in sorted(folder.absolute().iterdir()):
        if entry.name.startswith("._") or (entry.name.startswith(".") and entry.is_dir()):  # not a student's
            continue
        if entry.is_symlink():
            found.setdefault(entry.stem, [])
        elif entry.is_file() and entry.suffix == ".ipynb":
            found.setdefault(entry.stem, []).append(str(entry))
        elif entry.is_dir():
            inner = entry / name
            place = inner if inner.is_dir() and not inner.is_symlink() else entry
            paths = (p for p in sorted(place.glob("*.ipynb")) if p.is_file() and not p.is_symlink())
            found.setdefault(entry.name, []).extend(map(str, paths))
    if not found:
        raise ValueError(f"{folder} must hold notebooks, one for each student or in a folder for each (it holds none)")
    return [Submission(student, tuple(paths)) for student, paths in sorted(found.items())]


def grade_one(submission: Submission, assignment: Assignment, private: str = "", trust: bool = False) -> Graded:
    """Grade one student. Each process that grades keeps one sandbox, which holds one answer at a time."""
    with BUSY:
        digest, notebook = submission.digest(), read_notebooks(map(Path, submission.paths))
        if not submission.paths:
            notebook.notes.append("no notebook was handed in (a link is none)")
        marks = []
        for name, most in assignment.points.items():
            answer, exercise = answer_in(notebook, name, assignment), catalogue[name]
            hidden = cases_of(name, assignment.seed, private)
            marks.append(mark(exercise, answer, sandbox(assignment.seconds, trust), hidden, most))
        return Graded(submission.student, tuple(marks), tuple(notebook.notes), digest)


def answer_in(notebook: Notebook, name: str, assignment: Assignment) -> Answer:
    """The answer to an exercise. Code that can't be taken apart costs the answer that needs it, and no other."""
    try:
        return find_answer(notebook, name, assignment.handed_out)
    except (RecursionError, MemoryError, ValueError) as error:  # `1 + 1 + …`, a thousand times; 5000 digits
        return Answer(name, None, (f"the code of `{name}` can't be read ({type(error).__name__}: {error})",))


@cache
def cases_of(name: str, seed: str, private: str) -> list[Case]:
    """The hidden cases of an exercise, with the generators of a private file: for all students the same objects."""
    add_private(private)
    return draw_cases(catalogue[name], seed)


BUSY = threading.Lock()
SANDBOX: list[Sandbox] = []  # this process's own; it is made when the first answer needs it, and ends with the process


def sandbox(seconds: float | int, trust: bool) -> Sandbox:
    if not SANDBOX or (SANDBOX[0].seconds, SANDBOX[0].trust, SANDBOX[0].owner) != (seconds, trust, os.getpid()):
        close_sandbox()
        SANDBOX[:] = [Sandbox(seconds, trust).__enter__()]
    return SANDBOX[0]


def close_sandbox() -> None:
    """End this process's sandbox, if it has one."""
    if SANDBOX and SANDBOX[0].owner == os.getpid():
        SANDBOX.pop().stop()


def grade_all(
    waiting: list[Submission],
    assignment: Assignment,
    out: Path,
    new_pool: Callable[[], AbstractContextManager[Executor]],
    at_once: int,
    private: str = "",
    trust: bool = False,
) -> Iterator[Graded]:
    """Grade submissions, so many at once; each comes, and is written, as it is done.

    Where a process that grades ends, those that were being graded are tried again, each alone in a new pool. Who ends
    it then, or makes grading fail, is `ungraded`; all others are graded.
    """
    left = waiting
    suspects: list[Submission] = []
    while left or suspects:
        group, suspects, alone = (suspects[:1], suspects[1:], True) if suspects else (left, [], False)
        done = []
        with new_pool() as pool, suppress(BrokenExecutor):
            for submission, future in as_graded(pool, group, 1 if alone else at_once, assignment, private, trust):
                done.append(submission)
                error = future.exception()
                if isinstance(error, NoSandbox):
                    raise error
                if isinstance(error, BrokenExecutor) and not alone:
                    suspects.append(submission)
                    continue
                graded = future.result() if error is None else ungraded(submission, assignment, error)
                graded.save(out / "records")
                yield graded
        left = [submission for submission in left if submission not in done]


def as_graded(
    pool: Executor, submissions: list[Submission], at_once: int, *arguments: Any
) -> Iterator[tuple[Submission, Future]]:
    """Each submission with the end of its grading, as it comes; so many are begun at once, and no more."""
    waiting = iter(submissions)
    running: dict[Future, Submission] = {}
    try:
        while True:
            for submission in islice(waiting, at_once - len(running)):
                running[pool.submit(grade_one, submission, *arguments)] = submission
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future
    finally:
        for future in running:
            future.cancel()


def ungraded(submission: Submission, assignment: Assignment, error: BaseException) -> Graded:
    """What is recorded of a student who can't be graded. Without a digest, the next run tries again."""
    ended = isinstance(error, BrokenExecutor)
    why = "the process that graded ended, perhaps for want of memory" if ended else f"{type(error).__name__}: {error}"
    note = f"{submission.student} could not be graded ({why})"
    marks = (Mark(name, "ungraded", 0.0, most, message=ADVICE["ungraded"]) for name, most in assignment.points.items())
    return Graded(submission.student, tuple(marks), (note,))


def still_to_grade(
    submissions: list[Submission], assignment: Assignment, private: str, out: Path, trust: bool = False
) -> list[Submission]:
    """The submissions of which `out` has no record, or that have changed since.

    Raises:
        ValueError: what `out` has was graded with another assignment, other private checks, or `trust`.
    """
    (out / "records").mkdir(parents=True, exist_ok=True)
    stamp, wanted = out / "graded-with", hashlib.sha256(f"{asdict(assignment)} {private} {trust}".encode()).hexdigest()
    if stamp.exists() and stamp.read_text() != wanted:
        raise ValueError(
            f"{out} must hold grades of this assignment and these private checks, sandboxed or trusted as now "
            "(it holds others): choose another folder"
        )
    stamp.write_text(wanted)
    done = {graded.student: graded.digest for graded in graded_so_far(out)}
    return [submission for submission in submissions if done.get(submission.student) != submission.digest()]


def graded_so_far(out: Path) -> list[Graded]:
    """All records in `out`, by student."""
    return sorted(map(Graded.load, (out / "records").glob("*.json")), key=lambda graded: graded.student)
