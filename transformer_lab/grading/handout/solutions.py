"""Solutions: the lessons' notebooks with every exercise solved, executed."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from transformer_lab.exercises import catalogue
from transformer_lab.grading.handout.lesson_notebooks import NOTEBOOKS, lesson_notebook
from transformer_lab.grading.handout.notebook_cells import stubs

SECONDS_A_CELL, SECONDS_FOR_OUTPUTS = 3000, 60  # by the clock, on a machine that may be busy


def write_solutions(lessons: list[str], out: Path, notebooks: Path = NOTEBOOKS) -> Iterator[Path]:
    """Write the solved notebook of each lesson (of all that have exercises, if none is named); each path as it is done.

    Raises:
        ValueError: there is no such lesson.
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    lessons = lessons or sorted({exercise.lesson for exercise in catalogue.values()})
    for path in [lesson_notebook(notebooks, lesson) for lesson in lessons]:
        notebook = nbformat.read(path, as_version=4)
        fill_in(notebook, stubs(notebook))
        client = NotebookClient(
            notebook,
            resources={"metadata": {"path": str(notebooks)}},
            timeout=SECONDS_A_CELL,
            iopub_timeout=SECONDS_FOR_OUTPUTS,
        )
        client.execute(env=os.environ | {"TRANSFORMER_LAB_PROGRESS": "off"})  # it is nobody's own
        out.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, out / path.name)
        yield out / path.name


def fill_in(notebook: NotebookNode, names: Iterable[str]) -> None:
    """Replace the stubs of these exercises by their solutions."""
    cells = stubs(notebook)
    for name in names:
        cells[name].source = catalogue[name].solution_source()
