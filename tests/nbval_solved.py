"""A pytest plugin for nbval: after the last cell of a lesson its exercises are solved, one by one, in the same kernel.

nbval runs a notebook as it is stored, with no exercise solved. Behind the first stub stand only stubs and checks
(`exercises_come_last`), so what *Run All* would show with half of them solved, or all, needs no second run: each
solution is run behind the lesson, as a learner would, and after each the checks of all must say what is solved by now.
"""

from collections import defaultdict
from collections.abc import Iterator

from nbformat.v4 import new_code_cell
from nbval.plugin import IPyNbCell, IPyNbFile

collect_stored_cells = IPyNbFile.collect


class SolvedCell(IPyNbCell):
    """A cell that solves one more exercise, and may put out nothing; its source is written when its turn comes."""

    exercises: list[str]
    solved: int

    def setup(self) -> None:
        super().setup()
        self.cell.source = solution_and_checks(self.exercises, self.solved)


def collect(notebook: IPyNbFile) -> Iterator[IPyNbCell]:
    """The stored cells, then a cell for each exercise."""
    stored = list(collect_stored_cells(notebook))
    yield from stored
    names = [cell.metadata.exercise for cell in notebook.nb.cells if "exercise" in cell.metadata]
    for solved, name in enumerate(names, start=1):
        number = len(stored) + solved - 1  # nbval counts from 0
        cell = new_code_cell(execution_count=number + 1)
        options = defaultdict(bool, check=True)
        item = SolvedCell.from_parent(notebook, name=f"Solved {name}", cell_num=number, cell=cell, options=options)
        item.exercises, item.solved = names, solved
        yield item


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
