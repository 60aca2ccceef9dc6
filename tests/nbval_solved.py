"""A pytest plugin for nbval: after the last cell of a lesson its exercises are solved, one by one, in the same kernel.

nbval runs a notebook as it is stored, with no exercise solved. No cell but its check uses what an exercise asks for
(`no_cell_leans_on_an_answer`), so what *Run All* would show with half of them solved, or all, needs no second run: each
solution is run behind the lesson, as a learner would, and after each the checks of all must say what is solved by now.
That a solution changes nothing else where it stands in its place is tested in tests/notebooks/test_lessons.py.

Cells marked `own=true` use what the learner has passed, and say whose each part is. They are run again with half of the
lesson's exercises solved, and with all: everything that they print must be as it is stored, but for whose it is.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbval.plugin import IPyNbCell, IPyNbFile

collect_stored_cells = IPyNbFile.collect


class SolvedCell(IPyNbCell):
    """A cell that solves one more exercise, and may put out nothing; its source is written when its turn comes."""

    def setup(self) -> None:
        super().setup()
        self.cell.source = self.write()


def collect(notebook: IPyNbFile) -> Iterator[IPyNbCell]:
    """The stored cells, then a cell for each exercise."""
    stored = list(collect_stored_cells(notebook))
    yield from stored
    for number, (name, write) in enumerate(further_cells(notebook.nb.cells), start=len(stored)):  # nbval counts from 0
        cell = new_code_cell(execution_count=number + 1)
        options = defaultdict(bool, check=True)
        item = SolvedCell.from_parent(notebook, name=name, cell_num=number, cell=cell, options=options)
        item.write = write
        yield item


def further_cells(cells: list[NotebookNode]) -> Iterator[tuple[str, Callable[[], str]]]:
    """The name of each cell that follows, and what writes its source."""
    names = [cell.metadata.exercise for cell in cells if "exercise" in cell.metadata]
    own = [cell for cell in cells if cell.metadata.get("own")]
    for solved, name in enumerate(names, start=1):
        yield f"Solved {name}", partial(solution_and_checks, names, solved)
        if own and solved in (len(names) // 2, len(names)):
            yield f"Own parts, {solved} solved", partial(own_cells_again, own, names[:solved])


def own_cells_again(own: list[NotebookNode], solved: list[str]) -> str:
    """The cells that use the learner's own functions once more, and what they must print with these solved."""
    code = "\n\n".join(cell.source for cell in own)
    printed = "".join(output.get("text", "") for cell in own for output in cell.outputs)
    return "\n".join(
        [
            "import contextlib, io",
            "with contextlib.redirect_stdout(io.StringIO()) as printed:",
            f"    exec({code!r}, globals())",
            f"assert printed.getvalue() == {with_own_parts(printed, solved)!r}, printed.getvalue()",
        ]
    )


def with_own_parts(printed: str, solved: list[str]) -> str:
    """The list of parts as it is once these are the learner's."""
    for name in solved:
        printed = re.sub(rf"^(  lesson \d\d  {name} +)the package's$", r"\1yours", printed, flags=re.MULTILINE)
    n_own = len(re.findall(r"^  lesson \d\d  \w+ +yours$", printed, flags=re.MULTILINE))
    return re.sub(r"^\d+( of \d+ parts are yours)$", rf"{n_own}\1", printed, flags=re.MULTILINE)


def solution_and_checks(names: list[str], solved: int) -> str:
    """The solution of the last of the solved exercises, and what the checks of all must say then."""
    from transformer_lab.exercises import catalogue  # not before conftest.py has hooked its imports

    checks = [f"exercises.{name}.check({name})" for name in names]
    lines = [catalogue[names[solved - 1]].solution_source().rstrip(), ""]
    lines += [f"assert {check}.passed" for check in checks[:solved]]
    lines += [f"assert not {check}.attempted" for check in checks[solved:]]
    return "\n".join(lines)


def pytest_configure() -> None:
    IPyNbFile.collect = collect
