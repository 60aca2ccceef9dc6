"""Solutions: the lessons' notebooks with every exercise solved, executed."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from transformer_lab.exercises import catalogue
from transformer_lab.grading.assign import NOTEBOOKS, lesson_notebook, stubs

SECONDS_A_CELL = 300


def write_solutions(lessons: list[str], out: Path, notebooks: Path = NOTEBOOKS) -> Iterator[Path]:
    """Write the solved notebook of each lesson (of all that have exercises, if none is named); each path as it is done.

    Raises:
        ValueError: there is no such lesson.
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    every = sorted({exercise.lesson for exercise in catalogue.values()})
    if not lessons:
        lessons = [lesson for lesson in every if list(notebooks.glob(f"{lesson}_*.ipynb"))]
    for path in [lesson_notebook(notebooks, lesson) for lesson in lessons]:
        notebook = nbformat.read(path, as_version=4)
        fill_in(notebook, stubs(notebook))
        client = NotebookClient(notebook, resources={"metadata": {"path": str(notebooks)}}, timeout=SECONDS_A_CELL)
        client.execute()
        out.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, out / path.name)
        yield out / path.name


def fill_in(notebook: NotebookNode, names: Iterable[str]) -> None:
    """Replace the stubs of these exercises by their solutions."""
    cells = stubs(notebook)
    for name in names:
        cells[name].source = catalogue[name].solution_source()
