"""Reading what a student handed in: the code of notebooks, and of Python files beside them. Nothing is run."""

import ast
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from transformer_lab.grading.submissions.cells import MOST_CODE, Cell, Found, code_cells, exercise_of, id_of

MOST_BYTES = 20 << 20  # of a notebook, outputs included
MOST_RUNS = 20  # files that all notebooks of a student may have IPython run


@dataclass
class Notebook:
    """The code cells of a student's notebooks, what could not be read in them, and the modules beside them."""

    cells: list[Cell]
    notes: list[str] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  # of the notes, those on files that are not among the cells


def read_notebooks(paths: Iterable[Path]) -> Notebook:
    """All of a student's files as one, the oldest first; what can't be read, or is too much, is left out and noted."""
    paths, whole, left = list(paths), Notebook([]), MOST_CODE
    counted = Counter(path.name for path in paths)
    top = os.path.commonpath([path.parent for path in paths]) if paths else ""
    for path in reversed(paths):
        home = path.name if counted[path.name] == 1 else f"{path.parent.name}/{path.name}"
        try:
            one = read_notebook(path, home, path.relative_to(top))
            size = sum(len(cell.stored) for cell in one.cells)
            if size > left:
                raise ValueError(f"{home} is left out: all notebooks may have {MOST_CODE} characters of code")
            left -= size
        except (ValueError, OSError) as error:
            one = Notebook([], [str(error)], left_out=[str(error)])
        files = one.modules | whole.modules, [*one.left_out, *whole.left_out]
        whole = Notebook([*one.cells, *whole.cells], [*one.notes, *whole.notes], *files)
    return replace(whole, cells=[*with_what_it_runs(whole.cells)])


def with_what_it_runs(cells: list[Cell]) -> Iterator[Cell]:
    """The cells, and before each that `%run`s a file handed in beside it the cells of that, once in a notebook."""
    homes: dict[str, list[Cell]] = {}
    for cell in cells:
        homes.setdefault(cell.home, []).append(cell)
    named = {home.rpartition("/")[2]: home for home in homes}
    been: set[tuple[str, str]] = set()

    def before(cell: Cell, to: str) -> Iterator[Cell]:
        for name in files_run(cell):
            home = named.get(name, "")
            if home not in ("", to) and (to, home) not in been and len(been) < MOST_RUNS:
                been.add((to, home))
                for one in homes[home]:
                    yield from before(one, to)
                    yield replace(one, home=to, exercise=None, run_in=home)

    for cell in cells:
        yield from before(cell, cell.home)
        yield cell


def files_run(cell: Cell) -> Iterator[str]:
    """The names of the files that a cell has IPython run: `%run helpers.ipynb`."""
    for statement in cell.body if "run_line_magic('run'" in cell.source else ():
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and len(call.args) == 2 and isinstance(call.args[1], ast.Constant):
            words = str(call.args[1].value).split()
            name = next((PurePosixPath(word.strip("'\"")).name for word in words if not word.startswith("-")), "")
            yield name if name.endswith((".py", ".ipynb")) else f"{name}.py"


def read_notebook(path: Path, home: str = "", within: Path | None = None) -> Notebook:
    """Read the code of a notebook, of format 3 or 4, or of a Python file, which is a single cell.

    `within` is its path in what the student handed in.

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
        return Notebook(cells, notes, files_written(cells))
    modules = dict.fromkeys(module_names(within or Path(path.name)), cells[0].source) if not cells[0].fault else {}
    return Notebook(cells, [f"{path.name} was handed in beside the notebook", *notes], modules)


def files_written(cells: list[Cell]) -> dict[str, str]:
    """The modules that a notebook writes by itself: `%%writefile helpers.py`."""
    modules: dict[str, str] = {}
    for file in (cell.file for cell in cells if cell.file and cell.file.path.endswith(".py")):
        for name in module_names(Path(re.sub(r"^(?:/content/|~/|\./)", "", file.path))):
            modules[name] = modules.get(name, "") * file.is_added + file.text.rstrip("\n") + "\n"
    return modules


def module_names(path: Path) -> Iterator[str]:
    """What a module may be called, from whichever of the folders above it one starts: `utils.probe` and `probe`."""
    parts = [part for part in path.with_suffix("").parts if part != "/"]
    parts = parts[:-1] if parts[-1:] == ["__init__"] else parts
    names = (parts[start:] for start in range(len(parts)))
    yield from (".".join(name) for name in names if all(part.isidentifier() for part in name))


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
    content = path.read_bytes()
    try:
        return json.loads(content)
    except UnicodeDecodeError:  # as a script on Windows may have written it
        return json.loads(content.decode("latin-1"))


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
