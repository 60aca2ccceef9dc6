"""What many slips do, worked out beforehand: one file for each exercise, made by `python -m tests.diagnosis_tables`."""

import inspect
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from transformer_lab.exercises.diagnosis.base import FILE, Base, names_of
from transformer_lab.exercises.diagnosis.edits import Edit
from transformer_lab.exercises.diagnosis.sketch import NEAR, sketches
from transformer_lab.exercises.diagnosis.slips import slips
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Specification

FOLDER = Path(__file__).with_name("tables")
NONE = -1  # in place of an edit's number
REFERENCE, MISTAKE, BROKEN, STYLE = "reference", "mistake", "broken", "style"
WRONG = (MISTAKE, BROKEN)  # bases that are wrong already


@dataclass(frozen=True)
class Row:
    """One function that was tried: a base with up to two edits, known by their numbers."""

    base: int
    edits: tuple[int, ...]
    unsteady: int = 0  # a bit for each case where rounding or chance decides what it does

    def steady(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that count."""
        return [case for i, case in enumerate(cases) if not self.unsteady >> i & 1]


@dataclass(frozen=True, eq=False)
class Table:
    """The sketches of functions: `numbers` (n, 2), `rows` (n, 3): a base and two edits; and what the bases are.

    `unsteady` (n,) has a bit for each case that a sketch leaves out: another machine may do something else there.

    A base is the reference, a named mistake, a function with a bug to be found, or a right answer of another style. Its
    source is kept where it stands on its own.
    """

    numbers: np.ndarray
    rows: np.ndarray
    bases: list[tuple[str, str, str]]  # (kind, name, source)
    digest: str  # of all that the table was made from
    unsteady: np.ndarray

    def save(self, path: Path) -> None:
        about = json.dumps({"bases": self.bases, "digest": self.digest}).encode()
        numbers, rows = self.numbers.astype(np.float32), self.rows.astype(np.int16)
        about_bytes = np.frombuffer(about, dtype=np.uint8)
        np.savez_compressed(path, numbers=numbers, rows=rows, unsteady=self.unsteady, about=about_bytes)

    @classmethod
    def load(cls, path: Path) -> "Table":
        with np.load(path) as stored:
            about = json.loads(stored["about"].tobytes())
            bases, digest = [tuple(one) for one in about["bases"]], about["digest"]
            if "unsteady" not in stored:  # a table of an earlier version, which is stale
                return cls(EMPTY.numbers, EMPTY.rows, [], "", EMPTY.unsteady)
            return cls(stored["numbers"], stored["rows"], bases, digest, stored["unsteady"])

    def near(self, marks: np.ndarray) -> Iterator[Row]:
        """The rows whose sketch is nearly that of these marks, those with the fewest slips first."""
        gaps = np.abs(self.numbers - sketches(marks, self.unsteady)).max(axis=1)
        for i in np.flatnonzero(gaps < NEAR):
            yield self.row(int(i))

    def row(self, i: int) -> Row:
        base, *edits = (int(number) for number in self.rows[i])
        return Row(base, tuple(one for one in edits if one != NONE), int(self.unsteady[i]))

    def named(self, base: int, edit: int) -> str | None:
        """The named mistake that does what one edit of a base does."""
        here = np.flatnonzero((self.rows == (base, edit, NONE)).all(axis=1))[:1]
        alike = (self.unsteady == self.unsteady[here]) & (np.abs(self.numbers - self.numbers[here]).max(axis=1) < NEAR)
        whole = alike & (self.rows[:, 1] == NONE)
        names = [self.bases[int(i)] for i in self.rows[np.flatnonzero(whole), 0]] if here.size else []
        return next((name for kind, name, _ in names if kind == MISTAKE), None)

    def slips_of(self, row: Row) -> int:
        """How many slips it takes to get there: a named mistake is one."""
        return len(row.edits) + (self.bases[row.base][0] in WRONG)


EMPTY = Table(np.zeros((0, 2)), np.zeros((0, 3)), [], "", np.zeros(0, dtype=np.uint64))


@cache
def table_of(name: str) -> Table | None:
    """The table of an exercise, if it has one."""
    path = FOLDER / f"{name}.npz"
    return Table.load(path) if path.exists() else None


class Bases:
    """The bases of an exercise's table, each put together when it is first asked for."""

    def __init__(self, exercise: Specification, bases: list[tuple[str, str, str]]):
        self.exercise, self.bases = exercise, bases
        self.made: dict[int, tuple[Base, list[Edit]]] = {}
        self.words = cache(self._words)

    def _words(self, number: int) -> set[str]:
        """The names that a base uses; of the reference and of a mistake the code is at hand."""
        kind, name, source = self.bases[number]
        if kind == MISTAKE:
            return names_of(inspect.unwrap(self.exercise.mistakes[name].function).__code__)
        return names_of(compile(source, FILE, "exec"))

    def __getitem__(self, number: int) -> tuple[Base, list[Edit]]:
        """The base, and its slips."""
        if number not in self.made:
            _, name, source = self.bases[number]
            base = Base.of_text(name, source) if source else Base.of_function(self.exercise.mistakes[name].function)
            self.made[number] = base, slips(base)
        return self.made[number]
