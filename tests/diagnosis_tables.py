"""The tables of the diagnosis: `python -m tests.diagnosis_tables [NAME …]` works them out anew where they are stale.

For each exercise every slip is tried in the reference, in each named mistake and in each right answer of another style,
and the commonest slips of the reference two at a time. What counts is kept as two numbers.
"""

import hashlib
import inspect
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from tests.answers import RIGHT_ANSWERS
from transformer_lab.exercises import Exercise, catalogue, checking, running
from transformer_lab.exercises.diagnosis import edits, sketch, slips, statements, table
from transformer_lab.exercises.diagnosis.edits import FILE, Base, Edit
from transformer_lab.exercises.diagnosis.table import FOLDER, MISTAKE, NONE, REFERENCE, STYLE, Bases, Table
from transformer_lab.exercises.source import Standalone
from transformer_lab.exercises.time_limit import OutOfTime, time_limit

MOST_PAIRS = 3000
SECONDS = 2.0  # for one function on all cases; what takes longer is left out
SAME = 1e-5  # sketches that are no farther apart are of one function
MOST_ALIKE = 4  # functions of two slips that do the same: what is told names no more


def bases_of(exercise: Exercise) -> list[tuple[str, str, str]]:
    """What the slips are made in: the reference, the named mistakes, right answers that stand on their own."""
    found = [(REFERENCE, exercise.name, exercise.solution_source())]
    found += [(MISTAKE, name, "") for name in exercise.mistakes]
    for answer in RIGHT_ANSWERS[exercise.name]:
        source = str(Standalone(answer))
        if stands_alone(exercise, answer.__name__, source):
            found.append((STYLE, answer.__name__, source))
    return found


def stands_alone(exercise: Exercise, name: str, source: str) -> bool:
    scope: dict = {}
    try:
        exec(source, scope)
    except Exception:
        return False
    return checking.examine(exercise, running.Attempt(scope[name]), exercise.cases[:1]).passed


def digest_of(exercise: Exercise, bases: list[tuple[str, str, str]]) -> str:
    """A number that changes with all that the table is made from."""
    modules = [inspect.getsource(module) for module in (edits, sketch, slips, statements, table)]
    mistakes = [inspect.getsource(inspect.getmodule(m.function)) for m in exercise.mistakes.values()]
    parts = [*modules, *map(repr, bases), *dict.fromkeys(mistakes), str((MOST_PAIRS, MOST_ALIKE))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


class Workshop:
    """Tries functions on the cases of one exercise."""

    def __init__(self, exercise: Exercise):
        self.exercise, self.cases = exercise, sketch.comparable(exercise.cases)

    def sketch(self, function) -> tuple[float, float] | None:
        try:
            with time_limit(SECONDS):
                outcomes = {case: running.run(function, case) for case in self.cases}
            self.fails = all(outcome.error is not None for outcome in outcomes.values())
            return sketch.sketch(outcomes, lambda case, outcome: checking.effect(self.exercise, case, outcome))
        except (OutOfTime, Exception):
            return None

    def edited(self, base: Base, chosen: list[Edit]) -> tuple[float, float] | None:
        try:
            function = base.function(chosen)
        except (SyntaxError, ValueError, TypeError):
            return None
        return self.sketch(function)

    def lines_reached(self, base: Base) -> set[int]:
        """The lines of a base that some case executes."""
        function, lines = base.function(), set()

        def trace(frame, event, _):
            lines.add(frame.f_lineno)
            return trace

        before = sys.gettrace()
        for case in self.exercise.cases:
            sys.settrace(lambda frame, *_: trace if frame.f_code.co_filename == FILE else None)
            try:
                running.run(function, case)
            finally:
                sys.settrace(before)
        return lines


def rows_of(exercise: Exercise, bases: list[tuple[str, str, str]]) -> Iterator[tuple[tuple[float, float], tuple]]:
    """Sketch and row of every function that is tried, those of fewer slips first."""
    workshop, made = Workshop(exercise), Bases(exercise, bases)
    kinds = [kind for kind, _, _ in bases]
    singles: dict[tuple[float, float], int] = {}  # what slips of the reference do, each once
    for number in sorted(range(len(bases)), key=lambda i: (REFERENCE, MISTAKE, STYLE).index(kinds[i])):
        base, found = made[number]
        own = workshop.sketch(base.function())
        if own is None:
            continue
        if kinds[number] == MISTAKE:
            yield own, (number, NONE, NONE)
        reached = workshop.lines_reached(base)
        for i, edit in enumerate(found):
            if edit.line not in reached or (kinds[number] == MISTAKE and edit.rank == slips.RARE):
                continue
            one = workshop.edited(base, [edit])
            if one is None or close(one, own):
                continue
            yield one, (number, i, NONE)
            if number == 0 and not workshop.fails:
                key = tuple(round(x, 4) for x in one)
                if key not in singles or found[singles[key]].rank > edit.rank:
                    singles[key] = i
    base, found = made[0]
    pairs = sorted(combinations(sorted(singles.values()), 2), key=lambda p: (found[p[0]].rank + found[p[1]].rank, p))
    for one, other in pairs[:MOST_PAIRS]:
        if (both := workshop.edited(base, [found[one], found[other]])) is not None:
            yield both, (0, one, other)


def close(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1])) < SAME


def build(exercise: Exercise) -> Table:
    """The table: what a single slip does, and two, if no single one does the same."""
    bases = bases_of(exercise)
    right = Workshop(exercise).sketch(exercise.reference)
    kept: dict[tuple, list] = {}
    for one, row in rows_of(exercise, bases):
        n = sum(i != NONE for i in row[1:]) + (bases[row[0]][0] == MISTAKE)
        alike = kept.setdefault(tuple(round(x, 4) for x in one), [])
        fewest = min((m for m, _, _ in alike), default=n)
        if not close(one, right) and (n < 2 or (n == 2 and fewest == 2 and len(alike) < MOST_ALIKE)):
            alike.append((n, one, row))
    rows = sorted((n, row, one) for alike in kept.values() for n, one, row in alike)
    numbers = np.array([one for _, _, one in rows], dtype=np.float32).reshape(-1, 2)
    return Table(numbers, np.array([row for _, row, _ in rows]).reshape(-1, 3), bases, digest_of(exercise, bases))


def is_stale(exercise: Exercise) -> bool:
    path = FOLDER / f"{exercise.name}.npz"
    return not path.exists() or Table.load(path).digest != digest_of(exercise, bases_of(exercise))


def main(names: list[str]) -> int:
    FOLDER.mkdir(exist_ok=True)
    for exercise in [catalogue[name] for name in names] or [e for e in catalogue.values() if is_stale(e)]:
        start, path = time.monotonic(), Path(FOLDER, f"{exercise.name}.npz")
        made = build(exercise)
        made.save(path)
        size = path.stat().st_size / 1000
        print(f"{exercise.name}: {len(made.rows)} functions, {size:.0f} kB, {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
