"""Thousands of submissions on a dask cluster, of which a worker is killed and the scheduler restarted meanwhile.

    python -m tests.grading.big 5000 --workers 2

Printed: that nothing is lost and nothing recorded twice, how many were begun again, and how many a core grades.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from collections import Counter
from itertools import cycle, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import renamed
from tests.grading.term import solved
from transformer_lab import cli
from transformer_lab.grading.handout.assign import assign
from transformer_lab.grading.marking import course, records

EXERCISES = {"softmax": 1, "causal_mask": 1}
LOG = "TRANSFORMER_LAB_TEST_LOG"  # a file with a line for each grading that was begun
REPOSITORY = Path(__file__).parents[2]
GRADE_ONE = course.grade_one


def counted(submission, *arguments) -> records.Graded:
    """`grade_one`, which says that it begins."""
    with open(os.environ[LOG], "a", encoding="utf-8") as log:
        log.write(f"{submission.student}\n")
    return GRADE_ONE(submission, *arguments)


class Cluster:
    """A scheduler and workers, each started again when it has ended, as a service manager would."""

    def __init__(self, folder: Path, workers: int):
        self.folder, self.port, self.dashboard = folder, free_port(), free_port()
        self.environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
        self.running = [self.start_scheduler(), *(self.start_worker() for _ in range(workers))]
        self.over = threading.Event()
        self.keeper = threading.Thread(target=self.keep)
        self.keeper.start()

    def start(self, what: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options]
        with open(self.folder / f"{what}.log", "a", encoding="utf-8") as log:
            return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)

    def start_scheduler(self) -> subprocess.Popen:
        dashboard = ("--dashboard-address", f"127.0.0.1:{self.dashboard}")
        return self.start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), *dashboard)

    def start_worker(self) -> subprocess.Popen:
        return self.start("worker", f"127.0.0.1:{self.port}", "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def keep(self) -> None:
        while not self.over.wait(0.3):
            for place, one in enumerate(self.running):
                if one.poll() is not None and not self.over.is_set():
                    self.running[place] = self.start_worker() if place else self.start_scheduler()

    def kill(self, place: int) -> None:
        """0 is the scheduler."""
        self.running[place].send_signal(signal.SIGKILL)

    def close(self) -> None:
        self.over.set()
        self.keeper.join()
        for one in reversed(self.running):
            one.kill()  # a worker that is asked to end may wait for its scheduler
            one.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def hand_in(folder: Path, count: int) -> Path:
    """Hand out, and write what so many students hand in: right answers in every style that there is."""
    assign(folder / "hw1", EXERCISES, seconds=30)
    release = sorted((folder / "hw1" / "release" / "hw1").glob("*.ipynb"))
    styles = [[source for one in RIGHT_ANSWERS[name] if (source := renamed(one, name))] for name in EXERCISES]
    written = []
    for chosen in product(*styles):
        answers = dict(zip(EXERCISES, chosen, strict=True))
        written.append({path.name: json.dumps(solved(path, answers)) for path in release})
    for number, notebooks in enumerate(islice(cycle(written), count)):
        student = folder / "submitted" / f"s{number:05}"
        student.mkdir(parents=True)
        for name, text in notebooks.items():
            (student / name).write_text(text)
    return folder / "submitted"


def disturb(cluster: Cluster, out: Path, count: int, over: threading.Event) -> None:
    """After a third of the class a worker is killed, after two thirds the scheduler."""
    for share, place in ((1 / 3, 1), (2 / 3, 0)):
        while len(list((out / "records").glob("*.json"))) < share * count:
            if over.wait(0.2):
                return
        cluster.kill(place)


def grade(folder: Path, count: int, workers: int) -> None:
    """Grade them with the command, and say what came of it.

    Raises:
        AssertionError: something was lost, recorded twice, or cost somebody points.
    """
    submitted, out, log = hand_in(folder, count), folder / "grades", folder / "begun.log"
    os.environ[LOG] = str(log)
    course.grade_one = counted
    cluster, over = Cluster(folder, workers), threading.Event()
    disturber = threading.Thread(target=disturb, args=(cluster, out, count, over))
    disturber.start()
    start = time.monotonic()
    watch = threading.Thread(target=last_record, args=(out, count, over, times := []))
    watch.start()
    arguments = ["--assignment", str(folder / "hw1" / "assignment.json"), "--out", str(out)]
    try:
        code = cli.main(["grade", str(submitted), *arguments, "--executor", f"dask://127.0.0.1:{cluster.port}"])
    finally:
        over.set()
        disturber.join()
        watch.join()
        cluster.close()
        course.grade_one = GRADE_ONE
    assert code == 0
    seconds = times[0] - start
    graded, begun = records.graded_so_far(out), Counter(log.read_text().split())
    most = sum(EXERCISES.values())
    assert Counter(one.student for one in graded) == {f"s{n:05}": 1 for n in range(count)}
    assert {one.points for one in graded} == {most}, [one for one in graded if one.points != most][:3]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    notebooks = count * len(list(next(submitted.iterdir()).iterdir()))
    print(
        f"{count} submissions, {notebooks} notebooks, {workers} workers, one of them killed, the scheduler restarted: "
        f"{len(graded)} records, none twice; {sum(begun.values()) - count} begun again. {seconds:.0f} s until the last "
        f"record, {count / seconds / workers:.2f} submissions a second and worker; "
        f"{(used.ru_utime + used.ru_stime) / notebooks:.3f} s of processor time for each notebook, cluster included"
    )


def last_record(out: Path, count: int, over: threading.Event, times: list[float]) -> None:
    while not over.wait(0.2) and len(list((out / "records").glob("*.json"))) < count:
        continue
    times.append(time.monotonic())


def main() -> None:
    reader = ArgumentParser()
    reader.add_argument("count", type=int)
    reader.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = reader.parse_args()
    with TemporaryDirectory() as folder:
        grade(Path(folder), options.count, options.workers)


if __name__ == "__main__":
    from tests.grading import big  # what is sent to the workers must have a name there

    big.main()
