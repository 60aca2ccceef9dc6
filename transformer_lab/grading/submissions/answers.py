"""Finding a student's answers in what they handed in: by cell and by name, however cells were moved, split or copied.

Nothing is run. An answer becomes a program: the function, and whatever of its notebook it needs.
"""

import ast
import hashlib
from dataclasses import dataclass, field

from transformer_lab.grading.submissions.cells import Cell
from transformer_lab.grading.submissions.look_alikes import look_alikes
from transformer_lab.grading.submissions.notebooks import Notebook
from transformer_lab.grading.submissions.programs import Program, definition, program_for
from transformer_lab.grading.submissions.statements import is_stub


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise: the program that defines it (None: there is none), and what was found on the way.

    `at_the_end` is the program after all cells have run, if that is another: a name may have been used again. `calls`
    names the exercises whose answers this one uses, and `leant` is the program in which these are right.
    """

    name: str
    program: str | None
    notes: tuple[str, ...] = ()
    at_the_end: str | None = None
    calls: tuple[str, ...] = ()
    leant: str | None = None
    whole: Program = field(default=Program(""), repr=False)

    def in_words(self, place: str) -> str:
        return self.whole.in_words(place)


def digest(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_answer(
    notebook: Notebook, name: str, handed_out: dict[str, str], solutions: dict[str, str] | None = None
) -> Answer:
    """The answer to an exercise: from its own cell, else from its notebook, else from any other; the last filled in.

    `handed_out` has the digest of each cell that was handed out, by its id: one left untouched is no answer, even if
    there is a function in it, as there is where one is to be mended. `solutions` has the source of the other exercises
    on which an answer may build.
    """
    notes: list[str] = []
    cell, wrote = chosen_cell(notebook, name, handed_out, set(solutions or ()), notes)
    if cell is None:
        return Answer(name, None, tuple(notes))
    others = solutions or {}
    program = program_for(notebook, name, cell, wrote, others)
    leant = program_for(notebook, name, cell, wrote, others, others).text if program.calls else None
    taken = [one.replace(".", "/") for one in program.files if one in notebook.modules]
    notes += [f"{one}.py, from beside the notebook, was taken along" for one in taken]
    at_the_end = program_for(notebook, name, cell, wrote, others, at_the_end=True).text
    other = at_the_end if at_the_end != program.text else None
    return Answer(name, program.text, tuple(notes), other, program.calls, leant, program)


def chosen_cell(
    notebook: Notebook, name: str, handed_out: dict[str, str], others: set[str], notes: list[str]
) -> tuple[Cell | None, str]:
    """The cell that holds the answer, and the name that it has there; what was odd goes to the notes."""
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
    if not homes:
        notes.append(f"the cell of `{name}` is gone; " + ("found the function elsewhere" if candidates else "no other"))
    elif candidates and not marked:
        notes.append(f"`{name}` is defined outside its cell")
    filled = [cell for cell in candidates if not is_empty(cell)]
    filled = [cell for cell in filled if cell in marked] or filled
    notes += which_counts(name, candidates, filled)
    if filled:
        return filled[-1], name
    notes += [f"`{name}` is left as it was handed out"] if candidates else []
    notes += unreadable(notebook, name)
    return misnamed(notebook, name, others, as_given, notes)


def which_counts(name: str, candidates: list[Cell], filled: list[Cell]) -> list[str]:
    """What is said where an answer stands in several cells, or in several notebooks."""
    homes = list(dict.fromkeys(cell.home for cell in candidates))
    notes = []
    if len(homes) > 1 and filled:
        notes.append(
            f"`{name}` is in {len(homes)} notebooks; {filled[-1].home} is the newest that answers it, and counts"
        )
    within = [cell for cell in candidates if not filled or cell.home == filled[-1].home]
    if len(within) > 1 and (filled or len(homes) == 1):
        notes.append(f"`{name}` is defined in {len(within)} cells; the last that is filled in counts")
    return notes


def unreadable(notebook: Notebook, name: str) -> list[str]:
    """Why the cell of an exercise could not be read, if that is so."""
    return [
        f"the cell of `{name}` can't be parsed: {c.fault}" for c in notebook.cells if c.exercise == name and c.fault
    ]


def misnamed(
    notebook: Notebook, name: str, others: set[str], as_given: set[str], notes: list[str]
) -> tuple[Cell | None, str]:
    """A function under nearly the right name: one in the exercise's own cell counts, of others there is a note."""
    functions = [
        (cell, s)
        for cell in notebook.cells
        for s in cell.body
        if isinstance(s, ast.FunctionDef) and not is_stub(s) and digest(cell.stored) not in as_given
    ]
    near = look_alikes(name, [s.name for _, s in functions], others)
    for wrote in near:
        cells = [cell for cell, s in functions if s.name == wrote]
        if own := [cell for cell in cells if cell.exercise == name]:
            notes.append(f"the function must be named `{name}` (you wrote `{wrote}`): it counts, as it is in its cell")
            return own[-1], wrote
    notes += [f"the function must be named `{name}` (found {wrote!a})" for wrote in near]
    return None, name
