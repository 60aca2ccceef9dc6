"""Grade a class: find the submissions, mark each in a jail, keep each result as it comes, go on where a run ended."""

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from transformer_lab.exercises import catalogue
from transformer_lab.grading.assign import Key
from transformer_lab.grading.fresh import add_private, fresh_cases
from transformer_lab.grading.jail import Jail
from transformer_lab.grading.marking import Mark, mark
from transformer_lab.grading.notebooks import MOST_BYTES, Answer, Notebook, find_answer, read_notebooks
from transformer_lab.grading.walls import NoJail


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


def find_submissions(folder: Path, assignment: str) -> list[Submission]:
    """The submissions in a folder: `ann.ipynb`, or `ann/*.ipynb`, or nbgrader's `ann/<assignment>/*.ipynb`.

    Links are not followed. Paths are absolute: who grades may stand in another folder.

    Raises:
        ValueError: there is no such folder, or no notebook in it.
    """
    if not folder.is_dir():
        raise ValueError(f"the submissions must be a folder (there is none at {folder})")
    found = {}
    for entry in sorted(folder.absolute().iterdir()):
        if entry.name.startswith("._") or (entry.name.startswith(".") and entry.is_dir()):  # not a student's
            continue
        if entry.is_symlink():
            found.setdefault(entry.stem, [])
        elif entry.is_file() and entry.suffix == ".ipynb":
            found.setdefault(entry.stem, []).append(str(entry))
        elif entry.is_dir():
            inner = entry / assignment
            place = inner if inner.is_dir() and not inner.is_symlink() else entry
            paths = (p for p in sorted(place.glob("*.ipynb")) if p.is_file() and not p.is_symlink())
            found.setdefault(entry.name, []).extend(map(str, paths))
    if not found:
        raise ValueError(f"{folder} must hold notebooks, one for each student or in a folder for each (it holds none)")
    return [Submission(student, tuple(paths)) for student, paths in sorted(found.items())]


def grade_one(submission: Submission, key: Key, private: str = "", trust: bool = False) -> Graded:
    """Grade one student. Each process that grades keeps one jail, which holds one answer at a time."""
    with BUSY:
        os.environ["TRANSFORMER_LAB_DEVICE"] = "cpu"  # the jail has no accelerator
        add_private(private)
        digest, notebook = submission.digest(), read_notebooks(map(Path, submission.paths))
        if not submission.paths:
            notebook.notes.append("no notebook was handed in (a link is none)")
        marks = []
        for name, most in key.points.items():
            answer, exercise = answer_in(notebook, name, key), catalogue[name]
            marks.append(mark(exercise, answer, jail(key.seconds, trust), fresh_cases(exercise, key.seed), most))
        return Graded(submission.student, tuple(marks), tuple(notebook.notes), digest)


def answer_in(notebook: Notebook, name: str, key: Key) -> Answer:
    """The answer to an exercise. Code that can't be taken apart costs the answer that needs it, and no other."""
    try:
        return find_answer(notebook, name, key.handed_out)
    except (RecursionError, MemoryError, ValueError) as error:  # `1 + 1 + …`, a thousand times; 5000 digits
        return Answer(name, None, (f"the code of `{name}` can't be read ({type(error).__name__}: {error})",))


BUSY = threading.Lock()
JAIL: list[Jail] = []  # this process's own; it is made when the first answer needs it, and ends with the process


def jail(seconds: float | int, trust: bool) -> Jail:
    if not JAIL or (JAIL[0].seconds, JAIL[0].trust, JAIL[0].owner) != (seconds, trust, os.getpid()):
        close_jail()
        JAIL[:] = [Jail(seconds, trust).__enter__()]
    return JAIL[0]


def close_jail() -> None:
    """End this process's jail, if it has one."""
    if JAIL and JAIL[0].owner == os.getpid():
        JAIL.pop().stop()


def grade_all(
    waiting: list[Submission], key: Key, out: Path, executor: Executor, private: str = "", trust: bool = False
) -> Iterator[Graded]:
    """Grade submissions; each comes, and is written, as it is done. Where it ends early, the others are not begun.

    Raises:
        RuntimeError: a process that graded ended, or grading failed; what is done is kept.
    """
    futures = {executor.submit(grade_one, submission, key, private, trust): submission for submission in waiting}
    try:
        for future in as_completed(futures):
            graded = future.result()
            graded.save(out / "records")
            yield graded
    except NoJail:
        raise
    except BrokenExecutor:
        raise RuntimeError("a process that graded ended (no memory?): the same command goes on from here") from None
    except Exception as error:
        who, what = futures[future].student, f"{type(error).__name__}: {error}"
        raise RuntimeError(f"grading {who} failed ({what}); what is done is kept") from error
    finally:
        for future in futures:
            future.cancel()


def still_to_grade(
    submissions: list[Submission], key: Key, private: str, out: Path, trust: bool = False
) -> list[Submission]:
    """The submissions of which `out` has no record, or that have changed since.

    Raises:
        ValueError: what `out` has was graded with another key or other private checks, or with `trust` and now not.
    """
    (out / "records").mkdir(parents=True, exist_ok=True)
    stamp, wanted = out / "graded-with", hashlib.sha256(f"{asdict(key)} {private} {trust}".encode()).hexdigest()
    if stamp.exists() and stamp.read_text() != wanted:
        raise ValueError(
            f"{out} must hold grades of this key and these private checks, jailed or trusted as now (it holds others): "
            "choose another folder"
        )
    stamp.write_text(wanted)
    done = {graded.student: graded.digest for graded in graded_so_far(out)}
    return [submission for submission in submissions if done.get(submission.student) != submission.digest()]


def graded_so_far(out: Path) -> list[Graded]:
    """All records in `out`, by student."""
    return sorted(map(Graded.load, (out / "records").glob("*.json")), key=lambda graded: graded.student)
