"""*Run All* works however many exercises are solved: the cells that nbval runs behind a lesson would see where not."""

import re

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from nbval.plugin import IPyNbFile

from notebooks.build import execute, text_to_notebook
from tests.nbval_solved import solution_and_checks
from tests.notebook_rules import ROOT
from transformer_lab.exercises.engine.cards import readable
from transformer_lab.grading.handout.notebook_cells import exercise_notebook, stubs
from transformer_lab.grading.handout.solutions import fill_in

PASSED, NOT_ATTEMPTED, WRONG = "✓", "○", "✗"
SOURCES = sorted((ROOT / "notebooks" / "source").glob("*.py"))
WITH_EXERCISES = [path for path in SOURCES if '# %% exercise="' in path.read_text("utf-8")]
each_lesson_with_exercises = pytest.mark.parametrize("path", WITH_EXERCISES, ids=lambda path: path.stem)


def marks(cells: list[NotebookNode]) -> dict[str, str]:
    """The mark that the check of each exercise shows for the function of that name."""
    found = {}
    for cell in cells:
        if checked := re.search(r"\bexercises\.(\w+)\.check\(\1\)", cell.source):
            found[checked[1]] = cell.outputs[-1].data["text/plain"][0]
    return found


@each_lesson_with_exercises
def test_every_exercise_is_solved_behind_its_lesson(path, request):
    notebook = IPyNbFile.from_parent(request.session, path=ROOT / "notebooks" / f"{path.stem}.ipynb")
    names = [item.name for item in notebook.collect()]
    stored = len([cell for cell in notebook.nb.cells if cell.cell_type == "code"])
    assert names[:stored] == [f"Cell {number}" for number in range(stored)]
    uses_own = any(cell.metadata.get("own") for cell in notebook.nb.cells)
    solved = []
    for number, name in enumerate(exercises := list(stubs(notebook.nb)), start=1):
        solved.append(f"Solved {name}")
        if uses_own and number in (len(exercises) // 2, len(exercises)):
            solved.append(f"Own parts, {number} solved")
    assert names[stored:] == solved


STUBS = """
from transformer_lab import exercises
import torch
def softmax(scores, dim): ...
def causal_mask(length): ...
"""


def solve_two(lesson: str) -> None:
    """Run the cells that nbval runs behind a lesson."""
    namespace: dict = {}
    exec(STUBS + lesson, namespace)
    for solved in (1, 2):
        exec(solution_and_checks(["softmax", "causal_mask"], solved), namespace)


@pytest.mark.parametrize("lesson", ["", "exp = sum = None"])
def test_solutions_pass_one_after_the_other(lesson):
    solve_two(lesson)


@pytest.mark.parametrize(
    "lesson",
    [
        "def causal_mask(length): return torch.ones(length, length).bool()",  # attempted before its turn
        "exercises = type('', (), {'softmax': exercises.softmax, 'causal_mask': exercises.softmax})",
    ],
)
def test_a_check_that_says_otherwise_is_seen(lesson):
    with pytest.raises(AssertionError):
        solve_two(lesson)


@each_lesson_with_exercises
def test_what_is_handed_out_needs_nothing_but_itself(path):
    """A notebook as students get it, half solved: imports, stubs and checks, which a kernel displays."""
    lesson = text_to_notebook(path)
    handed_out = exercise_notebook(lesson, dict.fromkeys(stubs(lesson), 1), with_solutions=False)
    names = list(stubs(handed_out))
    fill_in(handed_out, names[::2])
    namespace, shown = {}, {}
    for cell in handed_out.cells:
        if checked := re.fullmatch(r"display\((exercises\.(\w+)\.check\(\2\))\)", cell.source):
            shown[checked[2]] = repr(eval(checked[1], namespace))[0]
        elif cell.cell_type == "code":
            exec(cell.source, namespace)
    assert shown == {name: PASSED if name in names[::2] else NOT_ATTEMPTED for name in names}


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


def test_typical_mistakes_are_named_on_their_cards_and_stop_nothing():
    set_up = text_to_notebook(WITH_EXERCISES[1]).cells[1].source
    cells = [new_code_cell(set_up)]
    for answer in TYPICAL.values():
        name = re.match(r"def (\w+)", answer)[1]
        cells.append(new_code_cell(f"{answer}\n\nexercises.{name}.check({name})"))
    execute(new_notebook(cells=cells))
    shown = [cell.outputs[0].data["text/plain"].splitlines()[0] for cell in cells[1:]]
    assert [re.search(r"\((.+)\)$", title)[1] for title in shown] == [readable(name) for name in TYPICAL]
    assert set(marks(cells).values()) == {WRONG}
