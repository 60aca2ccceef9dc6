"""Finding a student's answers in a notebook: by cell and by name, however the cells were moved, split or copied.

A notebook is read, never run. An answer becomes a program: the function, and whatever of the notebook it needs.
"""

import ast
import hashlib
import json
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from transformer_lab.grading.statements import bound_by, in_force, names_used

MOST_BYTES = 20 << 20  # of a notebook, outputs included
MOST_CODE = 1 << 18  # characters of code in all notebooks of a student
ANSWER = "-answer"  # ends the id of the cell in which an exercise is handed out
MAGICS_OVER_PYTHON = ("%%time", "%%capture", "%%prun")
OF_IPYTHON = r"\s*([%!?]|[\w.]+\?{1,2}\s*$)"  # how its own lines look


@dataclass(frozen=True)
class Cell:
    """A code cell: its id, its exercise if it was handed out for one, its text as stored and as Python, its statements.

    `home` is the notebook in which it lies. Names of one notebook mean nothing in another.
    """

    id: str
    exercise: str | None
    stored: str
    source: str
    body: tuple[ast.stmt, ...]
    home: str = ""

    def defines(self, name: str) -> bool:
        return any(name in bound_by(statement) for statement in self.body)


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise: the program that defines it (None: there is none), and what was found on the way."""

    name: str
    program: str | None
    notes: tuple[str, ...] = ()


@dataclass
class Notebook:
    """The code cells of a notebook, and what could not be read in it."""

    cells: list[Cell]
    notes: list[str] = field(default_factory=list)


def read_notebook(path: Path) -> Notebook:
    """Read the code of a notebook.

    Raises:
        ValueError: it is too large, not JSON, or no notebook; says which.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError(f"{path.name} must be a file (it is a link, or no file)")
    if (size := path.stat().st_size) > MOST_BYTES:
        raise ValueError(f"{path.name} may have {MOST_BYTES >> 20} MiB (it has {size >> 20}): clear its outputs")
    try:
        cells = [cell for cell in json.loads(path.read_bytes())["cells"] if cell["cell_type"] == "code"]
        texts = [(str(cell.get("id", "")), exercise_of(cell), text_of(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name} is no notebook that can be read ({type(error).__name__}: {error})") from None
    if sum(len(text) for _, _, text in texts) > MOST_CODE:
        raise ValueError(f"{path.name} may have {MOST_CODE} characters of code (it has more)")
    notebook = Notebook([])
    for number, (id_, exercise, raw) in enumerate(texts, start=1):
        try:
            with warnings.catch_warnings(action="ignore"):  # such as that "\\d" is no escape
                text = runnable(raw)
                body = tuple(ast.parse(text).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            place = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
            why = getattr(error, "msg", "") or error or type(error).__name__
            notebook.notes.append(f"{path.name}: code cell {number} can't be parsed: {why}{place}")
            text, body = raw, ()
        notebook.cells.append(Cell(id_, exercise, raw, text, body, home=path.name))
    return notebook


def read_notebooks(paths: Iterable[Path]) -> Notebook:
    """All notebooks of a student as one; what can't be read, or is too much, is left out and noted."""
    whole = Notebook([])
    for path in paths:
        try:
            one = read_notebook(path)
            if sum(len(cell.stored) for cell in (*whole.cells, *one.cells)) > MOST_CODE:
                raise ValueError(f"{path.name} is left out: all notebooks may have {MOST_CODE} characters of code")
        except (ValueError, OSError) as error:
            one = Notebook([], [str(error)])
        whole = Notebook([*whole.cells, *one.cells], [*whole.notes, *one.notes])
    return whole


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


def digest(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_answer(notebook: Notebook, name: str, handed_out: dict[str, str]) -> Answer:
    """The answer to an exercise: from its own cell, else from its notebook, else from any other; the last filled in.

    `handed_out` has the digest of each cell that was handed out, by its id: one left untouched is no answer, even if
    there is a function in it, as there is where one is to be mended.
    """
    notes = []
    as_given = set(handed_out.values())

    def is_empty(cell: Cell) -> bool:
        return digest(cell.stored) in as_given or is_stub(definition(cell, name))

    own = [c for c in notebook.cells if c.exercise == name or handed_out.get(c.id) != digest(c.stored)]
    candidates = [cell for cell in own if cell.defines(name)]
    homes = {cell.home for cell in notebook.cells if cell.exercise == name}
    at_home = [cell for cell in candidates if cell.home in homes]
    if not all(map(is_empty, at_home)):
        candidates = at_home
    marked = [cell for cell in candidates if cell.exercise == name]
    if not any(cell.exercise == name for cell in notebook.cells):
        notes.append(f"the cell of `{name}` is gone; " + ("found the function elsewhere" if candidates else "no other"))
    elif candidates and not marked:
        notes.append(f"`{name}` is defined outside its cell")
    if not candidates:
        return Answer(name, None, (*notes, *look_alikes(notebook, name)))
    filled = [cell for cell in candidates if not is_empty(cell)]
    filled = [cell for cell in filled if cell in marked] or filled
    if len(candidates) > 1:
        notes.append(f"`{name}` is defined in {len(candidates)} cells; the last that is filled in counts")
    if not filled:
        return Answer(name, None, (*notes, f"`{name}` is left as it was handed out"))
    return Answer(name, program_for(notebook, name, filled[-1]), tuple(notes))


def look_alikes(notebook: Notebook, name: str) -> Iterator[str]:
    """A note on each function whose name only looks like the one asked for."""
    names = {bound for cell in notebook.cells for statement in cell.body for bound in bound_by(statement)}
    for other in sorted(names):
        if other != name and skeleton(other) == skeleton(name):
            yield f"the function must be named `{name}` (found {other!a})"


def skeleton(name: str) -> str:
    """A name without accents, case and underscores; Cyrillic and Greek letters become the Latin ones they look like."""
    plain = unicodedata.normalize("NFKD", name).casefold().translate(LOOKS_LIKE)
    return "".join(c for c in plain if c.isascii() and c.isalnum())


LOOKS_LIKE = str.maketrans("асеіјорѕхуԁԛԝһοανρτυχικ", "aceijopsxydqwhoavptuxik")


def definition(cell: Cell, name: str) -> ast.stmt:
    return [statement for statement in cell.body if name in bound_by(statement)][-1]


def is_stub(statement: ast.stmt) -> bool:
    """Whether a function has nothing in it but a docstring, `...`, `pass`, `return` and `raise NotImplementedError`."""
    if not isinstance(statement, ast.FunctionDef):
        return False
    return all(
        isinstance(s, ast.Pass)
        or (isinstance(s, ast.Return) and (s.value is None or is_idle(s.value)))
        or (isinstance(s, ast.Raise) and "NotImplementedError" in ast.dump(s))
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in statement.body
    )


def is_idle(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, ...)


# ── what an answer needs ──


def program_for(notebook: Notebook, name: str, cell: Cell) -> str:
    """The statements, in the order of its notebook, that bind what the answer uses, and what these use in turn."""
    chosen, uses = definition(cell, name), cache(names_used)
    cells = [other for other in notebook.cells if other.home == cell.home]
    statements = [s for c in cells for s in c.body if c is cell or name not in bound_by(s)]
    binders: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for bound in bound_by(statement):
            binders.setdefault(bound, []).append(statement)
    needed, seen, waiting = {chosen}, set(), ["*", *uses(chosen)]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for statement in in_force(binders.get(one, []), one, uses):
            waiting += () if statement in needed else uses(statement)
            needed.add(statement)
    return "\n\n".join(ast.unparse(s) if s is not chosen else source_of(cell, s) for s in statements if s in needed)


def source_of(cell: Cell, statement: ast.stmt) -> str:
    """The statement as the student wrote it, so that an error can quote its line."""
    if isinstance(statement, ast.FunctionDef):
        first = min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
        return "\n".join(cell.source.split("\n")[first - 1 : statement.end_lineno])
    return ast.get_source_segment(cell.source, statement) or ast.unparse(statement)
