"""What tests have the processes that grade do. Each of them loads this module, which loads nothing beyond grading."""

import os
import signal
import sys
import time

from transformer_lab.exercises.engine.running import Case
from transformer_lab.grading.marking import course, records
from transformer_lab.grading.marking.scoring import Mark
from transformer_lab.grading.sandbox.launching import KINDS


def grade_or_end(submission, assignment, *_) -> records.Graded:
    """Stands in for `grade_one`: at one student the process ends, at another grading fails."""
    if submission.student == "ben":
        os._exit(1)
    if submission.student == "cem":
        raise KeyError("why")
    marks = tuple(Mark(name, "ok", most, most) for name, most in assignment.points.items())
    return records.Graded(submission.student, marks, (), submission.digest())


def has_sandbox(end_it: bool = False) -> dict[str, object]:
    """This process's sandbox, which is then gone if so wished: who started it, and what it says."""
    box = course.sandbox(10, KINDS[0])
    if end_it:
        os.kill(box.worker.pid, signal.SIGKILL)
        while box.launched.lives():
            time.sleep(0.01)
    with box.attempt("def one():\n    return 1", "one") as attempt:
        said = attempt.run(Case("", {})).value
    return {"started here": box.launched.starter == os.getpid(), "pid": box.worker.pid, "said": said}


def described() -> dict[str, object]:
    """This process: its threads and those of the one it was forked from, what it has loaded, what it was told."""
    return {
        "threads": [len(os.listdir(f"/proc/{pid}/task")) for pid in (os.getpid(), os.getppid())],
        "loaded": [name for name in ("torch", "nbformat", "pytest") if name in sys.modules],
        "seconds": time.process_time(),
        "told": os.environ.get("TOLD"),
        "leaves Ctrl-C to its parent": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    }
