"""Reading what a student handed in: the code of notebooks, and of Python files beside them. Nothing is run."""

import ast
import json
import platform
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from transformer_lab.grading.submissions.statements import bound_by

MOST_BYTES = 20 << 20  # of a notebook, outputs included
MOST_CODE = 1 << 18  # characters of code in all notebooks of a student
ANSWER = "-answer"  # ends the id of the cell in which an exercise is handed out
MAGICS_OVER_PYTHON = ("%%time", "%%capture", "%%prun")
OF_IPYTHON = r"\s*([%!?]|[\w.]+\?{1,2}\s*$)"  # how its own lines look


@dataclass(frozen=True)
class Cell:
    """A code cell: its id, its exercise if it was handed out for one, its text as stored and as Python, its statements.

    `home` is the notebook in which it lies, and `number` its place among the code cells there. Names of one notebook
    mean nothing in another. `fault` says why it can't be read.
    """

    id: str
    exercise: str | None
    stored: str
    source: str
    body: tuple[ast.stmt, ...]
    home: str = ""
    number: int = 1
    fault: str = ""

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


@dataclass
class Notebook:
    """The code cells of a student's notebooks, what could not be read in them, and the modules beside them."""

    cells: list[Cell]
    notes: list[str] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)


def read_notebooks(paths: Iterable[Path]) -> Notebook:
    """All of a student's files as one, the oldest first; what can't be read, or is too much, is left out and noted."""
    paths, whole, left = list(paths), Notebook([]), MOST_CODE
    counted = Counter(path.name for path in paths)
    for path in reversed(paths):
        home = path.name if counted[path.name] == 1 else f"{path.parent.name}/{path.name}"
        try:
            one = read_notebook(path, home)
            size = sum(len(cell.stored) for cell in one.cells)
            if size > left:
                raise ValueError(f"{home} is left out: all notebooks may have {MOST_CODE} characters of code")
            left -= size
        except (ValueError, OSError) as error:
            one = Notebook([], [str(error)])
        whole = Notebook([*one.cells, *whole.cells], [*one.notes, *whole.notes], one.modules | whole.modules)
    return whole


def read_notebook(path: Path, home: str = "") -> Notebook:
    """Read the code of a notebook, of format 3 or 4, or of a Python file, which is a single cell.

    Raises:
        ValueError: it is too large, not JSON, or no notebook; says which.
    """
    refuse_strange(path)
    try:
        texts, version = python_file(path) if path.suffix.lower() == ".py" else cells_of(raw_notebook(path))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name} is no notebook that can be read ({type(error).__name__}: {error})") from None
    if sum(len(text) for _, _, text in texts) > MOST_CODE:
        raise ValueError(f"{path.name} may have {MOST_CODE} characters of code (it has more)")
    numbered = enumerate(texts, start=1)
    cells = [read_cell(*text, home=home or path.name, number=number, version=version) for number, text in numbered]
    where = "code cell {}" if path.suffix.lower() != ".py" else "it"
    notes = [f"{path.name}: {where.format(c.number)} can't be parsed: {c.fault}" for c in cells if c.fault]
    if path.suffix.lower() != ".py":
        return Notebook(cells, notes)
    modules = {path.stem: cells[0].source} if path.stem.isidentifier() and not cells[0].fault else {}
    return Notebook(cells, [f"{path.name} was handed in beside the notebook", *notes], modules)


def refuse_strange(path: Path) -> None:
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{path.name} must be a file (it is a link, or no file)")
    if (size := path.stat().st_size) > MOST_BYTES:
        raise ValueError(f"{path.name} may have {MOST_BYTES >> 20} MiB (it has {size >> 20}): clear its outputs")


def raw_notebook(path: Path) -> dict:
    """What a notebook's file holds.

    Raises:
        ValueError: it is a link, too large, or not JSON.
    """
    refuse_strange(path)
    return json.loads(path.read_bytes())


def every_cell(notebook: dict) -> list[dict]:
    """The cells of a notebook of format 3 or 4, of any type."""
    old = "worksheets" in notebook
    return [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]] if old else notebook["cells"]


Texts = list[tuple[str, str | None, str]]  # id, exercise and text of each cell


def python_file(path: Path) -> tuple[Texts, str]:
    return [("", None, path.read_text(encoding="utf-8-sig"))], ""


def cells_of(notebook: dict) -> tuple[Texts, str]:
    """The code cells, and the version of Python that the notebook was written with."""
    old = "worksheets" in notebook  # format 3 has `input` for `source`
    code = [cell for cell in every_cell(notebook) if cell["cell_type"] == "code"]
    texts = [(str(c.get("id", "")), exercise_of(c), text_of(c["input" if old else "source"])) for c in code]
    language = notebook.get("metadata", {}).get("language_info", {})
    return texts, str(language.get("version", ""))[:20] if isinstance(language, dict) else ""


def read_cell(id_: str, exercise: str | None, raw: str, home: str, number: int, version: str) -> Cell:
    try:
        with warnings.catch_warnings(action="ignore"):  # such as that "\\d" is no escape
            text = runnable(raw)
            body = tuple(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        place = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        why = getattr(error, "msg", "") or error or type(error).__name__
        newer = f"; it was written with Python {version}, and read with {OURS}" if is_newer(version) else ""
        return Cell(id_, exercise, raw, raw, (), home, number, f"{why}{place}{newer}")
    return Cell(id_, exercise, raw, text, body, home, number)


OURS = platform.python_version()


def is_newer(version: str) -> bool:
    """Whether a version of Python has more to its syntax than this one."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    return numbers > [int(part) for part in OURS.split(".")[:2]]


def exercise_of(cell: dict) -> str | None:
    """The exercise that a cell was handed out for, by its metadata; by its id where they are lost."""
    id_ = str(cell.get("id", ""))
    by_id = id_.removesuffix(ANSWER) if id_.endswith(ANSWER) else None
    name = cell.get("metadata", {}).get("exercise", by_id)
    return name if isinstance(name, str) else None


def text_of(source: str | list[str]) -> str:
    text = source if isinstance(source, str) else "".join(source)
    if not isinstance(text, str):
        raise TypeError("a cell's source must be text")
    return text


def runnable(text: str) -> str:
    """The text as Python: if it is none as it stands, IPython's own lines (`%time`, `!pip`, `name?`) are blanked.

    Line numbers stay. Below a `%%` that does not run its cell as Python there is nothing.
    """
    try:
        ast.parse(text)
        return text
    except SyntaxError:
        pass
    if text.lstrip().startswith("%%") and not text.lstrip().startswith(MAGICS_OVER_PYTHON):
        return ""
    return "\n".join("" if re.match(OF_IPYTHON, line) else line for line in text.split("\n"))
