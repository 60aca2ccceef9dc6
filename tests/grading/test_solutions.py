"""Solution notebooks: the lesson as it is, executed, with every exercise solved."""

import nbformat
import pytest

from transformer_lab.grading.handout.lesson_notebooks import NOTEBOOKS, lesson_notebook
from transformer_lab.grading.handout.notebook_cells import stubs
from transformer_lab.grading.handout.solutions import write_solutions


def test_a_lesson_is_written_solved_and_executed(tmp_path):
    (path,) = write_solutions(["00"], tmp_path / "solutions")
    solved, lesson = nbformat.read(path, 4), nbformat.read(lesson_notebook(NOTEBOOKS, "00"), 4)
    changed = [one.id for one, other in zip(solved.cells, lesson.cells, strict=True) if one.source != other.source]
    assert changed == [cell.id for cell in stubs(lesson).values()]
    shown = [str(cell.get("outputs")) for cell in solved.cells if ".check(" in cell.source]
    assert any("✓ dot_product" in text for text in shown)


def test_an_unknown_lesson_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"lesson 99 must have a notebook in .* \(there is none\)"):
        list(write_solutions(["99"], tmp_path))
