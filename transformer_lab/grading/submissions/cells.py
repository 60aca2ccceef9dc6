"""The cells of a notebook that hold code: those that are code, and those that were and are Markdown or raw text now.

In JupyterLab one key turns a cell into Markdown, and another one splits it. A student who presses them by accident
loses nothing by it.
"""

import ast
import platform
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import dedent
from typing import NamedTuple

from transformer_lab.grading.submissions.ipython_syntax import CELL_MAGIC, TIMED, File, read
from transformer_lab.grading.submissions.statements import bound_by, is_stub

ANSWER = "-answer"  # ends the id of the cell in which an exercise is handed out
MOST_CODE = 1 << 18  # characters of code in all notebooks of a student
OF_A_HEADING = r"\A#{1,6} "  # what the keys 1 to 6 put before the text, as they turn a cell into Markdown
IN_WORDS = {"markdown": "Markdown", "heading": "Markdown", "raw": "raw text", TIMED: "below `%%timeit`"}


@dataclass(frozen=True)
class Cell:
    """A code cell: its id, its exercise if it was handed out for one, its text as stored and as Python, its statements.

    `home` is the notebook in which it lies, and `number` its place among the code cells there. Names of one notebook
    mean nothing in another, unless that one is `run_in` it. `fault` says what can't be read, and `file` what it writes.
    """

    id: str
    exercise: str | None
    stored: str
    source: str
    body: tuple[ast.stmt, ...]
    home: str = ""
    number: int = 1
    fault: str = ""
    file: File | None = None
    run_in: str = ""  # its own notebook, where `%run` brings it to another

    @property
    def place(self) -> str:
        return f"code cell {self.number}{f' of {self.run_in}' if self.run_in else ''}"

    def defines(self, name: str) -> bool:
        return any(name in bound_by(statement) for statement in self.body)

    @cached_property
    def lines(self) -> list[str]:
        return self.source.split("\n")

    @cached_property
    def by_line(self) -> dict[int, list[ast.stmt]]:
        """The statements that begin or end on each line."""
        found: dict[int, list[ast.stmt]] = {}
        for statement in self.body:
            for line in {statement.lineno, statement.end_lineno or statement.lineno}:
                found.setdefault(line, []).append(statement)
        return found


class Found(NamedTuple):
    """A cell as it is stored: its id, its exercise if it was handed out for one, its text and its type."""

    id: str
    exercise: str | None
    text: str
    type: str


def code_cells(found: Iterable[Found], home: str, version: str) -> tuple[list[Cell], list[str]]:
    """The cells that hold code, and what is said of those that are none any more.

    Of these only what defines something that no code cell does counts: a student may keep an older answer as raw text.
    """
    made = [(one.type, read_cell(one, home, version)) for one in within_bounds(found)]
    known = {n for type_, cell in made if type_ == "code" for s in cell.body if not is_stub(s) for n in bound_by(s)}
    cells: list[Cell] = []
    notes: list[str] = []
    for type_, cell in put_together(made, notes):
        cell = dedented(cell) if cell.fault else cell
        if type_ == "code":
            cells.append(cell)
            continue
        cell = what_is_missing(cell, known)
        new = sorted(name for statement in cell.body for name in bound_by(statement))
        cells += [cell] if new or cell.exercise else []
        what = f"the cell of `{cell.exercise}`" if cell.exercise else f"a cell that defines {listed(new)}"
        notes += [f"{what} is {IN_WORDS[type_]}; it was read as code"] if new or (cell.exercise and cell.fault) else []
    return [replace(cell, number=number) for number, cell in enumerate(cells, start=1)], notes


def listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def within_bounds(found: Iterable[Found]) -> Iterator[Found]:
    """The code, and of other texts as much as there may be of code."""
    left = MOST_CODE
    for one in found:
        left -= len(one.text) if one.type != "code" else 0
        if one.type == "code" and (magic := CELL_MAGIC.match(one.text)) and magic[1] == TIMED:
            yield one._replace(type=TIMED)
        elif one.type == "code" or (one.type in IN_WORDS and left >= 0):
            yield one


def what_is_missing(cell: Cell, known: set[str]) -> Cell:
    """A cell that is no code any more, with only those of its statements that define what no code cell does."""
    body = tuple(s for s in cell.body if bound_by(s) - known)
    return replace(cell, body=body, fault="" if cell.exercise in known else cell.fault)


def put_together(read: Iterable[tuple[str, Cell]], notes: list[str]) -> Iterator[tuple[str, Cell]]:
    """The cells; an answer's that was split in the midst of a statement is one again, and a note says so."""
    waiting: tuple[str, Cell] | None = None
    for type_, cell in read:
        if waiting and waiting[0] == type_ and cell.fault and (both := united(waiting[1], cell)):
            waiting = type_, both
            notes.append(f"the cell of `{both.exercise}` was split; it was read as one")
            continue
        if waiting:
            yield waiting
        waiting = type_, cell
    if waiting:
        yield waiting


def united(one: Cell, other: Cell) -> Cell | None:
    """Two cells as one, if together they can be parsed and a marked one can't be without the other."""
    exercise = other.exercise or (one.exercise if one.fault else None)
    if exercise is None or one.exercise not in (exercise, None):
        return None
    both = parsed(Found(one.id, exercise, f"{one.stored}\n{other.stored}", "code"), one.home, "")
    return None if both.fault else both


def read_cell(found: Found, home: str, version: str) -> Cell:
    """A cell as Python; where a key has made a heading of its first line, as it was before."""
    if found.type in ("markdown", "heading") and re.match(OF_A_HEADING, found.text):
        before = parsed(found._replace(text=re.sub(OF_A_HEADING, "", found.text)), home, version)
        if not before.fault:
            return before
    return parsed(found, home, version)


def parsed(found: Found, home: str, version: str) -> Cell:
    id_, exercise, raw, type_ = found
    fault: Exception | None
    try:
        with warnings.catch_warnings(action="ignore"):  # such as that "\\d" is no escape
            text, body, fault, file = read(raw, keep_what_can_be=type_ == "code")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        text, body, fault, file = raw, (), error, None
    told = in_words(fault, version) if fault else ""
    return Cell(id_, exercise, raw, text, body, home, fault=told, file=file)


def in_words(error: Exception, version: str) -> str:
    """Why a cell that was written with this version of Python can't be read."""
    place = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
    newer = f"; it was written with Python {version}, and read with {OURS}" if is_newer(version) else ""
    return f"{getattr(error, 'msg', '') or error or type(error).__name__}{place}{newer}"


def dedented(cell: Cell) -> Cell:
    """A cell that is indented as a whole, as what was pasted from a class is, as IPython takes it."""
    plain = parsed(Found(cell.id, cell.exercise, dedent(cell.stored), "code"), cell.home, "")
    is_part = any(isinstance(statement, ast.Return) for statement in plain.body)  # the rest of a cell that was split
    return cell if plain.fault or is_part else replace(plain, stored=cell.stored)


OURS = platform.python_version()


def is_newer(version: str) -> bool:
    """Whether a version of Python has more to its syntax than this one."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    return numbers > [int(part) for part in OURS.split(".")[:2]]


def exercise_of(cell: dict) -> str | None:
    """The exercise that a cell was handed out for, by its metadata; by one of its ids where that is lost."""
    metadata = metadata_of(cell)
    if isinstance(name := metadata.get("exercise"), str) and name:
        return name
    nbgrader = metadata.get("nbgrader")
    ids = (cell.get("id"), metadata.get("id"), nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None)
    return next((id_.removesuffix(ANSWER) for id_ in ids if isinstance(id_, str) and id_.endswith(ANSWER)), None)


def id_of(cell: dict) -> str:
    """The id of a cell; Colab keeps it among the metadata."""
    return str(cell.get("id") or metadata_of(cell).get("id") or "")


def metadata_of(cell: dict) -> dict:
    return metadata if isinstance(metadata := cell.get("metadata"), dict) else {}
