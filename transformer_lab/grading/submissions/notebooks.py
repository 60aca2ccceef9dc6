"""Reading what a student handed in: the code of notebooks, and of Python files beside them. Nothing is run."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from transformer_lab.grading.submissions.cells import MOST_CODE, Cell, Found, code_cells, exercise_of, id_of

MOST_BYTES = 20 << 20  # of a notebook, outputs included


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
        found, version = python_file(path) if path.suffix.lower() == ".py" else cells_of(raw_notebook(path))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name} is no notebook that can be read ({type(error).__name__}: {error})") from None
    if sum(len(one.text) for one in found if one.type == "code") > MOST_CODE:
        raise ValueError(f"{path.name} may have {MOST_CODE} characters of code (it has more)")
    cells, turned = code_cells(found, home or path.name, version)
    where = "code cell {}" if path.suffix.lower() != ".py" else "it"
    notes = [f"{path.name}: {note}" for note in turned]
    notes += [f"{path.name}: {where.format(c.number)} can't be parsed: {c.fault}" for c in cells if c.fault]
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


def python_file(path: Path) -> tuple[list[Found], str]:
    return [Found("", None, path.read_text(encoding="utf-8-sig"), "code")], ""


def cells_of(notebook: dict) -> tuple[list[Found], str]:
    """The cells, and the version of Python that the notebook was written with."""
    found = []
    for cell in every_cell(notebook):
        text = text_of(cell["input" if "input" in cell else "source"])  # so format 3 calls that of code
        found.append(Found(id_of(cell), exercise_of(cell), text, cell["cell_type"]))
    language = notebook.get("metadata", {}).get("language_info", {})
    return found, str(language.get("version", ""))[:20] if isinstance(language, dict) else ""


def text_of(source: str | list[str]) -> str:
    text = source if isinstance(source, str) else "".join(source)
    if not isinstance(text, str):
        raise TypeError("a cell's source must be text")
    return text
