"""The tables of the diagnosis: `python -m tests.diagnosis_tables [NAME …]` works them out anew where they are stale.

For each exercise every slip is tried in the reference, in each named mistake and in each right answer of another
style, and the commonest slips of the reference two at a time. What counts is kept as two numbers. All that is kept is
tried once more in another process, which imitates another machine: what differs there is left out of the two numbers.
"""

import io
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from itertools import combinations
from pathlib import Path

import numpy as np
import torch

from tests.diagnosis_bases import MOST_ALIKE, MOST_PAIRS, bases_of, close, digest_of, has_table
from tests.other_machine import another_machine, unsteady_cases
from tests.workshop import Workshop, sketched
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.diagnosis import edits
from transformer_lab.exercises.diagnosis.sketch import SHARES, counts, sketches
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

KINDS = (REFERENCE, MISTAKE, BROKEN, STYLE)
Tried = tuple[np.ndarray, tuple[int, int, int]]  # the marks of a function, and its row


def rows_of(exercise: Exercise, bases: list[tuple[str, str, str]]) -> Iterator[Tried]:
    """Every function that is tried, those of fewer slips first."""
    workshop, made = Workshop(exercise), Bases(exercise, bases)
    kinds = [kind for kind, _, _ in bases]
    singles: dict[tuple, int] = {}  # what slips of the reference do, each once
    for number in sorted(range(len(bases)), key=lambda i: KINDS.index(kinds[i])):
        base, found = made[number]
        own = workshop.marks(base.function())
        if own is None:
            continue
        if kinds[number] in WRONG:
            yield own, (number, NONE, NONE)
        reached = workshop.lines_reached(base)
        for i, edit in enumerate(found):
            if edit.line not in reached or (kinds[number] in WRONG and edit.rank == edits.RARE):
                continue
            one = workshop.edited(base, [edit])
            if one is None or close(sketched(one), sketched(own)):
                continue
            yield one, (number, i, NONE)
            if number == 0 and not workshop.fails:
                key = key_of(one)
                if key not in singles or found[singles[key]].rank > edit.rank:
                    singles[key] = i
    base, found = made[0]
    pairs = sorted(combinations(sorted(singles.values()), 2), key=lambda p: (found[p[0]].rank + found[p[1]].rank, p))
    for one, other in pairs[:MOST_PAIRS]:
        if (both := workshop.edited(base, [found[one], found[other]])) is not None:
            yield both, (0, one, other)


def key_of(marks: np.ndarray) -> tuple[float, ...]:
    return tuple(round(float(x), 4) for x in sketched(marks))


def kept_of(exercise: Exercise, bases: list[tuple[str, str, str]]) -> list[Tried]:
    """What a single slip does, and two, if no single one does the same."""
    right = Workshop(exercise).marks(exercise.reference)
    kept: dict[tuple, list] = {}
    names, singles = set(), {}  # what mistakes do; what each slip of the reference does
    for marks, row in rows_of(exercise, bases):
        n = sum(i != NONE for i in row[1:]) + (bases[row[0]][0] in WRONG)
        key = key_of(marks)
        alike = kept.setdefault(key, [])
        if n == 1:
            names |= {key} if bases[row[0]][0] == MISTAKE else set()
            singles[row[1]] = key if row[0] == 0 else singles.get(row[1])
        unnamed = sum(singles.get(i) not in names for i in row[1:]) if row[0] == 0 and n == 2 else 1
        if not close(sketched(marks), sketched(right)) and (n < 2 or min((m for m, *_ in alike), default=n) == 2):
            alike.append((n, unnamed, row, marks))
    rows = []
    for alike in kept.values():
        two = sorted((entry for entry in alike if entry[0] == 2), key=lambda entry: entry[:3])[:MOST_ALIKE]
        rows += [(marks, row) for n, _, row, marks in alike if n < 2] + [(marks, row) for _, _, row, marks in two]
    return rows


def build(exercise: Exercise, pool: ProcessPoolExecutor) -> Table:
    """The table. A function that is steady in less than half of the cases, or wrong in no steady one, is left out."""
    bases = bases_of(exercise)
    kept = kept_of(exercise, bases)
    marks, rows = np.array([one for one, _ in kept]), np.array([row for _, row in kept])
    unsteady = pool.submit(unsteady_cases, exercise.name, bases, rows, marks).result()
    right = Workshop(exercise).marks(exercise.reference)
    steady = counts(unsteady, len(right))
    numbers = (steady * marks) @ SHARES[:, : len(right)].T
    wrong = np.abs(numbers - sketches(right, unsteady)).max(axis=1) > 1e-4
    stay = wrong & (steady.sum(axis=1) >= len(right) / 2)
    return Table(numbers[stay].astype(np.float32), rows[stay], bases, digest_of(exercise), unsteady[stay])


def main(names: list[str]) -> int:
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    stale = [one for one in catalogue.values() if has_table(one) and is_stale(one)]
    with another_machine() as pool:
        for exercise in [catalogue[name] for name in names] or stale:
            start, path = time.monotonic(), Path(FOLDER, f"{exercise.name}.npz")
            with torch.random.fork_rng(devices=[]), redirect_stdout(io.StringIO()):
                made = build(exercise, pool)
            made.save(path)
            size, seconds = path.stat().st_size / 1000, time.monotonic() - start
            partly = np.count_nonzero(made.unsteady)
            print(f"{exercise.name}: {len(made.rows)} functions, {partly} not steady in all cases", end=", ")
            print(f"{size:.0f} kB, {seconds:.0f} s", flush=True)
    return 0


def is_stale(exercise: Exercise) -> bool:
    path = FOLDER / f"{exercise.name}.npz"
    return not path.exists() or Table.load(path).digest != digest_of(exercise)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
