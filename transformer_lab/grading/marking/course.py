"""Grade a class: mark each submission in a sandbox, keep each result, go on where a run ended."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.running import Case
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.questions import texts_of
from transformer_lab.grading.marking.hidden_cases import add_private, draw_cases
from transformer_lab.grading.marking.records import Graded, graded_so_far
from transformer_lab.grading.marking.scoring import ADVICE, Mark, is_right, mark
from transformer_lab.grading.marking.variant_marking import WHOSE, as_function, own_exercise, student_in
from transformer_lab.grading.sandbox.launching import KINDS
from transformer_lab.grading.sandbox.policy import NoSandbox
from transformer_lab.grading.sandbox.sandbox import Sandbox
from transformer_lab.grading.submissions.answers import Answer, find_answer
from transformer_lab.grading.submissions.notebooks import Notebook, read_notebooks
from transformer_lab.grading.submissions.pile import Submission


def grade_one(submission: Submission, assignment: Assignment, private: str = "", kind: str = KINDS[0]) -> Graded:
    """Grade one student. Each process that grades keeps one sandbox, which holds one answer at a time."""
    with BUSY:
        digest, notebook = submission.digest(), read_notebooks(map(Path, submission.paths))
        texts, odd = texts_of([*map(Path, submission.paths)], assignment.questions)
        marks: dict[str, Mark] = {}
        own_id = ""
        for name, most in assignment.points.items():
            answer, box = answer_in(notebook, name, assignment), sandbox(assignment.seconds, kind)
            if name in assignment.variants:
                own_id = student_in(notebook, name) or own_id
                marks[name] = mark_own(name, answer, own_id, assignment, box)
                continue
            exercise, hidden = catalogue[name], cases_of(name, assignment.seed, private)
            made = mark(exercise, answer, box, hidden, most, assignment.partial)
            failed = [one for one in answer.calls if marks[one].verdict != "ok"]
            if failed and answer.leant and made.verdict != "ok" and is_right(exercise, answer.leant, box, hidden):
                made = follows_from(made, failed[0], assignment.excuse)
            marks[name] = made
        notes = (*submission.notes, *notebook.notes, *odd)
        left_out = (*submission.left_out, *notebook.left_out)
        about = (digest, submission.submitted, texts, own_id, left_out)
        came = (submission.came_by, submission.hand_back, submission.together, submission.addresses)
        return Graded(submission.student, tuple(marks.values()), notes, *about, *came)


def mark_own(name: str, answer: Answer, student: str, assignment: Assignment, box: Sandbox) -> Mark:
    """The mark of a prediction of one's own numbers. Without an id nobody can tell whose they are."""
    most = assignment.points[name]
    if not student and answer.program is not None:
        return Mark(name, "missing", 0.0, most, message=WHOSE, notes=answer.notes, program=answer.program)
    return mark(own_exercise(name, student, assignment.key), as_function(answer), box, [], most)


def follows_from(mark: Mark, other: str, excuse: bool) -> Mark:
    """The mark of an answer that is right but for another answer, which it uses."""
    note = f"`{mark.exercise}` is right but for `{other}`, which it calls: mend that one"
    note += "; it gets its points" if excuse else ""
    message = f"It is right but for your `{other}`, which it calls. With a right `{other}` it passes.\n{mark.message}"
    points = mark.most if excuse else mark.points
    notes, counted = (*mark.notes, note), "" if excuse else mark.counted
    return replace(mark, points=points, message=message, notes=notes, follows=other, mistake=None, counted=counted)


def answer_in(notebook: Notebook, name: str, assignment: Assignment) -> Answer:
    """The answer to an exercise. Code that can't be taken apart costs the answer that needs it, and no other."""
    before = {other: solution_of(other) for other in takewhile(lambda other: other != name, assignment.points)}
    try:
        return find_answer(notebook, name, assignment.handed_out, before)
    except (RecursionError, MemoryError, ValueError) as error:  # `1 + 1 + …`, a thousand times; 5000 digits
        return Answer(name, None, (f"the code of `{name}` can't be read ({type(error).__name__}: {error})",))


@cache
def solution_of(name: str) -> str:
    return catalogue[name].solution_source()


@cache
def cases_of(name: str, seed: str, private: str) -> list[Case]:
    """The hidden cases of an exercise, with the generators of a private file: for all students the same objects."""
    add_private(private)
    return draw_cases(catalogue[name], seed)


MOST_NAMED = 5
BUSY = threading.Lock()
SANDBOX: list[Sandbox] = []  # this process's own; it is made when the first answer needs it, and ends with the process


def sandbox(seconds: float | int, kind: str) -> Sandbox:
    if not SANDBOX or (SANDBOX[0].seconds, SANDBOX[0].kind, SANDBOX[0].owner) != (seconds, kind, os.getpid()):
        close_sandbox()
        SANDBOX[:] = [Sandbox(seconds, kind).__enter__()]
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
    kind: str = KINDS[0],
) -> Iterator[Graded]:
    """Grade submissions, so many at once; each comes, and is written, as it is done.

    Where a process that grades ends, those that were being graded are tried again, each alone in a new pool. Who ends
    it then, or makes grading fail, is `ungraded`; all others are graded. Where a pool is lost, a new one takes over.
    """
    left = waiting
    suspects: list[Submission] = []
    while left or suspects:
        group, suspects, alone = (suspects[:1], suspects[1:], True) if suspects else (left, [], False)
        done: set[str] = set()
        with new_pool() as pool, suppress(BrokenExecutor):
            for submission, future in as_graded(pool, group, 1 if alone else at_once, assignment, private, kind):
                if future.cancelled():  # the scheduler of a cluster is gone: the next one is asked for what is left
                    suspects += [submission] if alone else []
                    break
                done.add(submission.student)
                error = future.exception()
                if isinstance(error, NoSandbox):
                    raise error
                if isinstance(error, BrokenExecutor) and not alone:
                    suspects.append(submission)
                    continue
                graded = future.result() if error is None else ungraded(submission, assignment, error)
                graded.save(out / "records")
                yield graded
        left = [submission for submission in left if submission.student not in done]


def as_graded(
    pool: Executor, submissions: list[Submission], at_once: int, *arguments: Any
) -> Iterator[tuple[Submission, Future]]:
    """Each submission with the end of its grading, as it comes; so many are begun at once, and no more."""
    waiting, ended = iter(submissions), SimpleQueue[Future]()  # to wait for thousands at once takes long
    running: dict[Future, Submission] = {}
    try:
        while True:
            for submission in islice(waiting, at_once - len(running)):
                future = pool.submit(grade_one, submission, *arguments)
                running[future] = submission
                future.add_done_callback(ended.put)
            if not running:
                return
            future = ended.get()
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
    came = (submission.came_by, submission.hand_back, submission.together, submission.addresses)
    return Graded(submission.student, tuple(marks), (note,), "", submission.submitted, {}, "", (note,), *came)


def forget(out: Path) -> None:
    """Take away what was graded, so that all is graded again. What the instructor decided stays."""
    for path in (out / "graded-with", *(out / "records").glob("*.json")):
        path.unlink(missing_ok=True)


def refuse_to_lose(so_far: list[Graded], found: list[Submission], out: Path) -> None:
    """Raise ValueError if what was graded from another place would be gone when all is graded again."""
    there = {submission.student for submission in found}
    if gone := [one.student for one in so_far if one.student not in there]:
        named = ", ".join(gone[:MOST_NAMED]) + (" …" if len(gone) > MOST_NAMED else "")
        raise ValueError(
            f"--regrade must find the work of all who were graded into {out} (there is none of {named}): put it where "
            f"the rest lies, or delete their files in {out / 'records'} to take them out"
        )


def still_to_grade(
    submissions: list[Submission], assignment: Assignment, private: str, out: Path, trust: bool = False
) -> list[Submission]:
    """The submissions of which `out` has no record, or that have changed since.

    Raises:
        ValueError: what `out` has was graded with another assignment, other private checks, or `trust`.
    """
    (out / "records").mkdir(parents=True, exist_ok=True)
    stamp, wanted = (
        out / "graded-with",
        hashlib.sha256(f"{assignment.what_decides()} {private} {trust}".encode()).hexdigest(),
    )
    if stamp.exists() and stamp.read_text("utf-8") != wanted:
        raise ValueError(
            f"{out} must hold grades of this assignment and these private checks, sandboxed or trusted as now "
            "(it holds others): choose another folder, or give --regrade"
        )
    stamp.write_text(wanted, "utf-8")
    done = {graded.student: graded.digest for graded in graded_so_far(out)}
    return [submission for submission in submissions if done.get(submission.student) != submission.digest()]
