"""The tables of the diagnosis: `python -m tests.diagnosis_tables [NAME …]` works them out anew where they are stale.

For each exercise every slip is tried in the reference, in each named mistake and in each right answer of another style,
and the commonest slips of the reference two at a time. What counts is kept as two numbers.
"""

import hashlib
import inspect
import io
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import torch

from tests.answers import RIGHT_ANSWERS
from transformer_lab.exercises import Exercise, catalogue, checking, running
from transformer_lab.exercises.diagnosis import calls, edits, similar, sketch, slips, statements
from transformer_lab.exercises.diagnosis.edits import FILE, Base, Edit
from transformer_lab.exercises.diagnosis.table import (
    BROKEN,
    FOLDER,
    MISTAKE,
    NONE,
    REFERENCE,
    STYLE,
    WRONG,
    Bases,
    Table,
)
from transformer_lab.exercises.kinds import FindTheBug, WriteTheTest
from transformer_lab.exercises.source import Standalone
from transformer_lab.exercises.time_limit import OutOfTime, time_limit

MOST_PAIRS = 4000
SECONDS = 0.3  # for one function on all cases; what takes longer is left out
SAME = 1e-5  # sketches that are no farther apart are of one function
MOST_ALIKE = 6  # functions of two slips that do the same: what is told names no more


def bases_of(exercise: Exercise) -> list[tuple[str, str, str]]:
    """What the slips are made in: the reference, the named mistakes, right answers that stand on their own."""
    found = [(REFERENCE, exercise.name, exercise.solution_source())]
    for mistake in exercise.mistakes.values():
        source = str(Standalone(mistake.function))
        found.append((MISTAKE, mistake.name, source if does_the_same(exercise, mistake.function, source) else ""))
    if isinstance(exercise, FindTheBug):
        found.append((BROKEN, exercise.broken.__name__, str(Standalone(exercise.broken))))
    for answer in RIGHT_ANSWERS[exercise.name]:
        source = str(Standalone(answer))
        if does_the_same(exercise, answer, source):
            found.append((STYLE, answer.__name__, source))
    return found


def does_the_same(exercise: Exercise, function: Callable, source: str) -> bool:
    """Whether a source does what a function does where nothing has been imported."""
    scope: dict = {}
    workshop = Workshop(exercise)
    try:
        exec(source, scope)
        one, other = workshop.sketch(function), workshop.sketch(scope[function.__name__])
    except Exception:
        return False
    return one is not None and other is not None and close(one, other)


def digest_of(exercise: Exercise) -> str:
    """A number that changes with all that the table is made from."""
    functions = [*(mistake.function for mistake in exercise.mistakes.values()), *RIGHT_ANSWERS[exercise.name]]
    sources = [inspect.getsource(module) for module in (sketch, slips, calls, similar, statements, edits.Base)]
    sources += [exercise.solution_source(), *(inspect.getsource(inspect.unwrap(one)) for one in functions)]
    sources += [f"{case.label} {[getattr(x, 'shape', '') for x in case.arguments.values()]}" for case in exercise.cases]
    return hashlib.sha256("\n".join([*sources, str((MOST_PAIRS, MOST_ALIKE))]).encode()).hexdigest()[:16]


class Workshop:
    """Tries functions on the cases of one exercise."""

    def __init__(self, exercise: Exercise):
        self.exercise, self.cases = exercise, sketch.comparable(exercise.cases)

    def sketch(self, function) -> tuple[float, float] | None:
        try:
            with time_limit(SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcomes = {case: self.outcome(function, case) for case in self.cases}
            self.fails = all(outcome.error is not None for outcome in outcomes.values())
            return sketch.sketch(outcomes, lambda case, outcome: checking.effect(self.exercise, case, outcome))
        except (OutOfTime, Exception):
            return None

    def outcome(self, function, case: running.Case) -> running.Outcome:
        """What `running.run` returns, but for printed and changed; quicker."""
        try:
            return running.Outcome(function(*map(running.duplicate, case.arguments.values())))
        except (Exception, SystemExit) as error:
            return running.Outcome(error=error)

    def edited(self, base: Base, chosen: list[Edit]) -> tuple[float, float] | None:
        try:
            function = base.function(chosen)
        except (SyntaxError, ValueError, TypeError, RecursionError):
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
    for number in sorted(range(len(bases)), key=lambda i: (REFERENCE, MISTAKE, BROKEN, STYLE).index(kinds[i])):
        base, found = made[number]
        own = workshop.sketch(base.function())
        if own is None:
            continue
        if kinds[number] in WRONG:
            yield own, (number, NONE, NONE)
        reached = workshop.lines_reached(base)
        for i, edit in enumerate(found):
            if edit.line not in reached or (kinds[number] in WRONG and edit.rank == edits.RARE):
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
    names, singles = set(), {}  # what mistakes do; what each slip of the reference does
    for one, row in rows_of(exercise, bases):
        n = sum(i != NONE for i in row[1:]) + (bases[row[0]][0] in WRONG)
        key = tuple(round(x, 4) for x in one)
        alike = kept.setdefault(key, [])
        if n == 1:
            names |= {key} if bases[row[0]][0] == MISTAKE else set()
            singles[row[1]] = key if row[0] == 0 else singles.get(row[1])
        unnamed = sum(singles.get(i) not in names for i in row[1:]) if row[0] == 0 and n == 2 else 1
        if not close(one, right) and (n < 2 or min((m for m, *_ in alike), default=n) == 2):
            alike.append((n, unnamed, row, one))
    rows = []
    for alike in kept.values():
        two = sorted(entry for entry in alike if entry[0] == 2)[:MOST_ALIKE]
        rows += [(row, one) for n, _, row, one in alike if n < 2] + [(row, one) for _, _, row, one in two]
    rows = [(row, one) for row, one in rows if is_the_same_again(exercise, bases, row, one)]
    numbers = np.array([one for _, one in rows], dtype=np.float32).reshape(-1, 2)
    return Table(numbers, np.array([row for row, _ in rows]).reshape(-1, 3), bases, digest_of(exercise))


def is_the_same_again(exercise: Exercise, bases: list, row: tuple, before: tuple[float, float]) -> bool:
    """Whether a function does once more what it did: what is not written to holds anything."""
    workshop = Workshop(exercise)
    base, found = kept_bases(exercise.name, tuple(bases))[row[0]]
    again = workshop.edited(base, [found[i] for i in row[1:] if i != NONE])
    return again is not None and close(again, before)


@cache
def kept_bases(name: str, bases: tuple) -> Bases:
    return Bases(catalogue[name], list(bases))


def is_stale(exercise: Exercise) -> bool:
    path = FOLDER / f"{exercise.name}.npz"
    return not path.exists() or Table.load(path).digest != digest_of(exercise)


def has_table(exercise: Exercise) -> bool:
    return not isinstance(exercise, WriteTheTest)


def main(names: list[str]) -> int:
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    for exercise in [catalogue[name] for name in names] or [
        e for e in catalogue.values() if has_table(e) and is_stale(e)
    ]:
        start, path = time.monotonic(), Path(FOLDER, f"{exercise.name}.npz")
        with torch.random.fork_rng(), redirect_stdout(io.StringIO()):
            made = build(exercise)
        made.save(path)
        size = path.stat().st_size / 1000
        print(
            f"{exercise.name}: {len(made.rows)} functions, {size:.0f} kB, {time.monotonic() - start:.0f} s", flush=True
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
