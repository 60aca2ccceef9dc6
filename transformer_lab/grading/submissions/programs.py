"""The program of an answer: the function, and what it needs of its notebook, each line with the place it is from."""

import ast
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from transformer_lab.grading.submissions.cells import Cell
from transformer_lab.grading.submissions.notebooks import Notebook
from transformer_lab.grading.submissions.statements import (
    ALWAYS,
    bound_by,
    changed_by,
    in_force,
    modules_imported,
    names_used,
)

KNOWN = {*sys.stdlib_module_names, "torch", "numpy", "transformer_lab"}  # which no file beside a notebook replaces
MODULES = """import importlib.abc as _abc, importlib.util as _util, sys as _sys
class _Beside(_abc.MetaPathFinder, _abc.InspectLoader):
    texts = {texts!r}
    def find_spec(self, name, path=None, target=None):
        is_package = any(one.startswith(name + ".") for one in self.texts)
        return _util.spec_from_loader(name, self, is_package=is_package) if name in self.texts else None
    def get_source(self, name):
        return self.texts[name]
_sys.meta_path.insert(0, _Beside())"""
WHOLE = """def _of_the_package():
    {source}
    return {name}
{name} = _of_the_package()"""


@dataclass(frozen=True)
class Part:
    """Lines of a program: where they begin in it, how many there are, and where they begin in which cell."""

    start: int
    count: int
    cell_line: int
    place: str  # in words, such as "its cell"


@dataclass(frozen=True)
class Program:
    """Python that defines an answer, and where its lines stand in the notebook."""

    text: str
    parts: tuple[Part, ...] = ()
    calls: tuple[str, ...] = ()  # other exercises whose answers it takes along
    files: tuple[str, ...] = ()  # modules beside the notebook that it takes along

    def in_words(self, place: str) -> str:
        """What an error says of its place, "line 8: `x`", with the line that the student counts."""
        found = re.match(r"line (\d+)", place)
        for part in self.parts if found else ():
            if found and 0 <= (line := int(found[1]) - part.start) < part.count:
                return f"line {part.cell_line + line} of {part.place}{place[found.end() :]}"
        return place


def program_for(
    notebook: Notebook,
    name: str,
    cell: Cell,
    wrote: str,
    others: Iterable[str] = (),
    given: dict[str, str] | None = None,
    at_the_end: bool = False,
) -> Program:
    """The statements, in the order of its notebook, that bind what the answer uses, and what these use in turn.

    `wrote` is the name under which the student wrote the answer `name`; `others` are the exercises to look for among
    what it uses; `given` has the source of those that are to be right in it. A name means what it meant as the cell had
    run, as the check below the cell saw it; or, `at_the_end`, what it means when all cells have run.
    """
    chosen = definition(cell, wrote)
    cells = [other for other in notebook.cells if other.home == cell.home]
    statements = [(c, s) for c in cells for s in c.body if c is cell or wrote not in bound_by(s)]
    later = set() if at_the_end else {s for c in cells[cells.index(cell) + 1 :] for s in c.body}
    needed = what_is_needed(chosen, [s for _, s in statements], later)
    files = beside(notebook, needed)
    program = [MODULES.format(texts={one: notebook.modules.get(one, "") for one in files})] if files else []
    calls = missing(needed, statements, others, name)
    program += [replaced(one, given[one]) for one in calls if given and one in given]
    line, parts = sum(text.count("\n") + 2 for text in program) + 1, []
    for home, statement in ((c, s) for c, s in statements if s in needed):
        bound = sorted(bound_by(statement) & set(others) - {name}) if statement is not chosen else []
        calls += bound
        texts = [replaced(one, given[one]) for one in bound if given and one in given]
        text = "\n".join(texts) or source_of(home, statement)
        place = "its cell" if home is cell else home.place
        parts.append(Part(line, text.count("\n") + 1, first_line(statement), place))
        program.append(text)
        line += text.count("\n") + 2
    program += [f"{name} = {wrote}"] if wrote != name else []
    return Program("\n\n".join(program), tuple(parts), tuple(dict.fromkeys(calls)), tuple(files))


def what_is_needed(chosen: ast.stmt, statements: list[ast.stmt], later: set[ast.stmt]) -> set[ast.stmt]:
    """What a statement uses, and what that uses; of what comes later only names that nothing before binds.

    What runs at once uses a name as it was bound before; a function's body, which runs in the end, as bound last.
    """
    place = {statement: number for number, statement in enumerate(statements)}
    binders: dict[str, list[ast.stmt]] = {}
    imported = {n for s in statements if isinstance(s, ast.Import | ast.ImportFrom) for n in bound_by(s)}
    for statement in statements:
        for bound in bound_by(statement) | (changed_by(statement) - imported):
            binders.setdefault(bound, []).append(statement)
    end = min((place[statement] for statement in later if statement in place), default=len(statements))
    needed, seen, waiting = {chosen}, set(), [(ALWAYS, end), *asked_by(chosen, place, end)]
    walked: set[tuple[str, ast.stmt]] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        name, limit = one
        binding = binders.get(name, [])
        before = bisect_left(binding, limit, key=place.__getitem__) or len(binding)
        for statement in in_force((binding[n] for n in range(before - 1, -1, -1)), name):
            if (name, statement) in walked:  # and so are those on which it builds
                break
            walked.add((name, statement))
            waiting += () if statement in needed else asked_by(statement, place, end)
            needed.add(statement)
    return needed


def missing(
    needed: set[ast.stmt], statements: list[tuple[Cell, ast.stmt]], others: Iterable[str], name: str
) -> list[str]:
    """The other exercises that these statements use, and that no cell answers: one that can't be parsed, say."""
    used = {one for statement in needed for one in names_used(statement)}
    used -= {one for _, statement in statements for one in bound_by(statement)}
    return [one for one in others if one in used and one != name]


def asked_by(statement: ast.stmt, place: dict[ast.stmt, int], end: int) -> list[tuple[str, int]]:
    """The names that a statement uses, each with the place before which it must be bound."""
    is_def = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    at_once = not is_def or bool(getattr(statement, "decorator_list", ())) or isinstance(statement, ast.ClassDef)
    in_the_end = is_def or any(isinstance(node, ast.Lambda | ast.FunctionDef) for node in ast.walk(statement))
    limits = [place[statement]] * at_once + [end] * in_the_end
    return [(name, limit) for name in names_used(statement) for limit in limits]


def beside(notebook: Notebook, statements: Iterable[ast.AST]) -> list[str]:
    """The modules beside the notebook that these statements import, their packages, and what they import in turn."""
    found: dict[str, None] = {}
    waiting = [*modules_imported(statements)]
    while waiting:
        name = waiting.pop()
        for module in (name[: end.start()] for end in re.finditer(r"\.|$", name)):
            is_package = any(one.startswith(f"{module}.") for one in notebook.modules)
            if module in found or name.partition(".")[0] in KNOWN or not (is_package or module in notebook.modules):
                continue
            found[module] = None
            package = module if is_package else module.rpartition(".")[0]
            waiting += modules_imported(tree_of(notebook.modules.get(module, "")), package)
    return sorted(found)


def tree_of(source: str) -> list[ast.stmt]:
    """The statements of a module; of one that can't be parsed none: to import it will tell."""
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def replaced(name: str, source: str) -> str:
    """The package's own function under the name of an exercise; its helpers and constants stay within."""
    return WHOLE.format(source=source.strip().replace("\n", "\n    "), name=name)


def definition(cell: Cell, name: str) -> ast.stmt:
    return [statement for statement in cell.body if name in bound_by(statement)][-1]


def first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def source_of(cell: Cell, statement: ast.stmt) -> str:
    """The statement as the student wrote it, so that an error can quote its line."""
    first, last = first_line(statement), statement.end_lineno or statement.lineno
    if len(cell.by_line[statement.lineno]) > 1 or len(cell.by_line[last]) > 1:  # as in `a = 1; b = 2`
        return ast.unparse(statement)
    return "\n".join(cell.lines[first - 1 : last])
