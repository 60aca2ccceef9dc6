""""Run All" works when all of a notebook's exercises are solved, or half of them.

nbval runs the notebooks as they are stored, with no exercise solved. Here the stubs are replaced by solutions.
Each class is one unit of work for pytest-xdist.
"""

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from notebook_rules import ROOT, no_stderr

from notebooks.build import execute, text_to_notebook
from transformer_lab.grading.assign import exercise_notebook, stubs
from transformer_lab.grading.solutions import fill_in

PASSED, NOT_ATTEMPTED, WRONG = "✓", "○", "✗"


SOURCES = sorted((ROOT / "notebooks" / "source").glob("*.py"))
WITH_EXERCISES = [path for path in SOURCES if stubs(text_to_notebook(path))]
each_notebook = pytest.mark.parametrize("path", WITH_EXERCISES, ids=lambda path: path.stem)


def marks(notebook: NotebookNode) -> dict[str, str]:
    """The mark that the check of each exercise shows for the function of that name."""
    found = {}
    for cell in notebook.cells:
        if checked := re.search(r"\bexercises\.(\w+)\.check\(\1\)", cell.source):
            found[checked[1]] = cell.outputs[-1].data["text/plain"][0]
    return found


def run_with_solutions(path: Path, notebook: NotebookNode, step: int) -> None:
    """Solve every `step`-th exercise, run all cells, and look at what the checks say."""
    cells = stubs(notebook)
    solved = list(cells)[::step]
    fill_in(notebook, solved)
    notebook = execute(notebook, seconds_per_cell=120)
    assert no_stderr(notebook, path) == []
    assert marks(notebook) == {name: PASSED if name in solved else NOT_ATTEMPTED for name in cells}


class TestAll:
    @each_notebook
    def test_run_all(self, path):
        run_with_solutions(path, text_to_notebook(path), step=1)


class TestHalf:
    """In the notebooks that are handed out: half the exercises, without the lesson's trainings between them."""

    @each_notebook
    def test_run_all(self, path):
        lesson = text_to_notebook(path)
        handed_out = exercise_notebook(lesson, dict.fromkeys(stubs(lesson), 1), with_solutions=False)
        run_with_solutions(path, handed_out, step=2)

    def test_run_all_of_a_whole_lesson(self):
        path = ROOT / "notebooks" / "source" / "05_masking.py"
        run_with_solutions(path, text_to_notebook(path), step=2)


TYPICAL = {  # what a student types, and the mistake that the card must name
    "overflow": """def softmax(scores, dim):
    e = torch.exp(scores)
    return e / e.sum(dim=dim, keepdim=True)""",
    "sum_over_everything": """def softmax(scores, dim):
    e = torch.exp(scores - torch.max(scores, dim=dim, keepdim=True).values)
    return e / torch.sum(e)""",
    "axis_lost": """def softmax(scores, dim):
    e = torch.exp(scores - scores.amax(dim, keepdim=True))
    return e / e.sum(dim)""",
    "unscaled": """def scaled_dot_product_attention(query, key, value):
    weights = F.softmax(torch.matmul(query, key.transpose(-2, -1)), dim=-1)
    return torch.matmul(weights, value), weights""",
    "softmax_over_queries": """def scaled_dot_product_attention(query, key, value):
    weights = torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-2)
    return weights @ value, weights""",
    "three_axes_only": """def scaled_dot_product_attention(query, key, value):
    weights = F.softmax(query.bmm(key.transpose(1, 2)) / query.size(-1) ** 0.5, dim=-1)
    return weights.bmm(value), weights""",
    "diagonal_only": """def softmax_jacobian(weights):
    return torch.diag_embed(weights - weights**2)""",
}


class TestTypicalMistakes:
    def test_each_is_named_on_its_card_and_stops_nothing(self):
        set_up = text_to_notebook(SOURCES[1]).cells[1].source
        cells = [new_code_cell(set_up)]
        for answer in TYPICAL.values():
            name = re.match(r"def (\w+)", answer)[1]
            cells.append(new_code_cell(f"{answer}\n\nexercises.{name}.check({name})"))
        shown = [cell.outputs[0].data["text/plain"] for cell in execute(new_notebook(cells=cells)).cells[1:]]
        titles = [text.splitlines()[0] for text in shown]
        assert [re.search(r"\((\w+)\)$", title)[1] for title in titles] == list(TYPICAL)
        assert all(title.startswith(WRONG) for title in titles)


def test_a_wrong_answer_would_be_seen():
    lines = (
        "from transformer_lab import exercises",
        "def softmax(scores, dim): return scores",
        "exercises.softmax.check(softmax)",
    )
    assert marks(execute(new_notebook(cells=[new_code_cell(line) for line in lines]))) == {"softmax": WRONG}
