"""The figures of grading, printed by one command: speed, memory, fairness, safety, and a class of thousands.

    python -m tests.grading.figures                 all of them (with --big 5000 about an hour on two cores)
    python -m tests.grading.figures speed attacks   only these

speed: honest classes, three assignments; honest: right answers in every style; attacks: what each deserves and gets;
big: on dask.
"""

import json
import os
import re
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import torch

from tests.answers import RIGHT_ANSWERS
from tests.grading.support import descendants, renamed
from tests.grading.term import solved
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.grading.handout.assign import assign, choose
from transformer_lab.grading.marking import records
from transformer_lab.grading.sandbox.launching import described

PARTS = ("speed", "honest", "attacks", "big")
LESSONS = ["01", "02", "03", "04", "05"]
ASSIGNMENTS = {  # lessons, and whether only functions are asked for
    "one lesson": (LESSONS[:1], False),
    "the functions of five lessons": (LESSONS, True),
    "all of five lessons": (LESSONS, False),
}
CLOCK = os.sysconf("SC_CLK_TCK")


def honest_class(folder: Path, students: int, lessons: list[str], functions: bool) -> tuple[list[str], int]:
    """Hand out lessons and write what honest students hand in; the command that grades them, and their points."""
    points = choose(lessons, {})
    if functions:
        points = {name: most for name, most in points.items() if type(catalogue[name]) is Exercise}
    assignment, random = assign(folder / "hw1", points, seconds=10), Random(0)
    styles = {name: [s for one in RIGHT_ANSWERS[name] if (s := renamed(one, name))] for name in assignment.points}
    for number in range(students):
        student = folder / "submitted" / f"s{number:03}"
        student.mkdir(parents=True)
        for release in sorted((folder / "hw1" / "release" / "hw1").glob("*.ipynb")):
            answers = {name: random.choice(found or [by_torch(name)]) for name, found in styles.items()}
            (student / release.name).write_text(json.dumps(solved(release, answers)))
    paths = [str(folder / name) for name in ("submitted", "hw1/assignment.json", "grades")]
    command = [sys.executable, "-m", "transformer_lab.cli", "grade", paths[0], "--assignment", paths[1]]
    return [*command, "--out", paths[2]], int(sum(assignment.points.values()))


def by_torch(name: str) -> str:
    return f"import torch\n{catalogue[name].solution_source()}"


def memory(pids: list[int]) -> tuple[int, int]:
    """MiB of the largest of them, and of all together, in which what they share counts once."""
    sizes, shares = [0], [0]
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
        except OSError:
            continue
        sizes += [int(size) for size in re.findall(r"^Rss:\s+(\d+)", text, re.M)]
        shares += [int(share) for share in re.findall(r"^Pss:\s+(\d+)", text, re.M)]
    return max(sizes) >> 10, sum(shares) >> 10


def processor_time(pids: list[int]) -> float:
    """Seconds that they have used, with those of their children that ended."""
    ticks = 0
    for pid in pids:
        try:
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / CLOCK


def speed(students: int, what: str) -> None:
    """Grade an honest class with the command that instructors give."""
    lessons, functions = ASSIGNMENTS[what]
    with TemporaryDirectory() as name:
        folder = Path(name)
        command, most = honest_class(folder, students, lessons, functions)
        start, first, largest, together, used = time.monotonic(), None, 0, 0, 0.0
        grading = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while grading.poll() is None:
            now = [grading.pid, *descendants(grading.pid)]
            used = max(used, processor_time(now))
            if first is None and any((folder / "grades" / "records").glob("*.json")):
                first, spent = time.monotonic() - start, used
            if first is not None:
                largest, together = map(max, memory(now), (largest, together))
            time.sleep(0.2 if first is None else 1)
        assert grading.returncode == 0, grading.stderr.read().decode()[-2000:]
        graded = records.graded_so_far(folder / "grades")
        lost = [one.student for one in graded if one.points != most]
    notebooks = students * len(lessons)
    print(f"{what}: {students} honest students, {notebooks} notebooks, {most} exercises each: {len(lost)} lose points")
    print(f"first record after {first:.1f} s by the clock, and {spent:.1f} s of processor time in all processes")
    print(f"processor time: {used:.0f} s; after the first record {(used - spent) / notebooks:.3f} s a notebook")
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "the processor"
    print(f"torch for {build}: {largest} MiB in the largest process, {together} MiB in all together")


def last_line(module: str, *arguments: str) -> None:
    """The last line that a command prints, and those that name what is not as it should be."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True)
    lines = done.stdout.splitlines() or done.stderr.splitlines()[-5:]
    print(lines[-1], flush=True)
    if done.returncode != 0:
        print(*lines[:-1], sep="\n")


def main() -> None:
    reader = ArgumentParser()
    reader.add_argument("parts", nargs="*", choices=(*PARTS, []), default=[])
    reader.add_argument("--students", type=int, default=20)
    reader.add_argument("--honest", type=int, default=200)
    reader.add_argument("--big", type=int, default=5000)
    options = reader.parse_args()
    parts = options.parts or PARTS
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {described('bubblewrap')}", flush=True)
    if "speed" in parts:
        for what in ASSIGNMENTS:
            speed(options.students, what)
    if "honest" in parts:
        last_line("tests.grading.honest_styles", str(options.honest))
    if "attacks" in parts:
        last_line("tests.grading.attacks")
    if "big" in parts:
        last_line("tests.grading.big", str(options.big))


if __name__ == "__main__":
    main()
