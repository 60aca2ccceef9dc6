"""The notebooks: text and notebook agree, every rule of the house holds, and every rule is proven to find its fault."""

import base64
import io

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from notebooks import drawings
from notebooks.build import differences, text_to_notebook
from tests.notebook_rules import MOST_BYTES, NEEDS, ROOT, RULES

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SOURCES = sorted((FOLDER / "source").glob("*.py"))


def test_there_are_notebooks_and_each_has_its_text():
    assert NOTEBOOKS
    assert [path.stem for path in NOTEBOOKS] == [path.stem for path in SOURCES]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_text_and_notebook_agree(path):
    source = text_to_notebook(FOLDER / "source" / f"{path.stem}.py")
    assert differences(source, nbformat.read(path, as_version=4)) == [], "run `python notebooks/build.py`"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_rule_holds(path, rule):
    assert rule(nbformat.read(path, as_version=4), path) == []


# Every rule finds its fault, and nothing else does ------------------------------------------------------------------


def code(source: str = "x = 1", *outputs: NotebookNode, count: int | None = 1, **metadata) -> NotebookNode:
    return new_code_cell(source, outputs=list(outputs), execution_count=count, metadata=metadata)


def printed(text: str, name: str = "stdout") -> NotebookNode:
    return code("show(x)", new_output("stream", name=name, text=text))


def shown(data: dict[str, str], metadata: dict | None = None) -> NotebookNode:
    return code("show(x)", new_output("display_data", data=data, metadata=metadata or {}))


def stub(name: str, count: int) -> NotebookNode:
    return code(f"def {name}(): ...", count=count, exercise=name)


def exercise(name: str, count: int) -> list[NotebookNode]:
    return [stub(name, count), code(f"exercises.{name}.check({name})", count=count + 1)]


def asks(source: str, count: int = 1) -> NotebookNode:
    state = '{"predict":{"choices":["one","two"],"answer":1,"because":"it is 2.00"}}'
    html = f'<tl-x><script type="application/json">{state}</script></tl-x>'
    return code(source, new_output("display_data", data={"text/html": html}), count=count)


def attached(markdown: str, made_from: str) -> NotebookNode:
    """A cell to which the map is attached, as a picture that says what it was made from."""
    about, made = PngInfo(), io.BytesIO()
    about.add_text("Source", drawings.digest(drawings.IMG / f"{made_from}.svg"))
    Image.new("L", (2, 2)).save(made, "PNG", pnginfo=about)
    data = {"image/png": base64.b64encode(made.getvalue()).decode()}
    return new_markdown_cell(markdown, attachments={"00_map.png": data})


FAULTS = [
    ("every_code_cell_was_run_once_in_order", [code(count=None)]),
    ("every_code_cell_was_run_once_in_order", [code(), code(count=3)]),
    ("what_a_cell_shows_is_stored", [code("print(1)")]),
    ("what_a_cell_shows_is_stored", [code("x = 1\nx")]),
    ("no_stderr", [printed("a warning", name="stderr")]),
    ("no_error", [code("1 / 0", new_output("error", ename="ZeroDivisionError", evalue="", traceback=[]))]),
    ("no_absolute_path", [printed("saved to /home/ada/x.png")]),
    ("no_absolute_path", [printed(r"saved to C:\Users\ada")]),
    ("no_absolute_path", [printed(f"saved to {ROOT}")]),
    ("no_absolute_path", [shown({"text/html": '<a href="/tmp/x">x</a>'})]),
    ("no_object_address", [shown({"text/plain": "<Axes object at 0x7f3a10>"})]),
    ("every_picture_has_alt_text", [shown({"image/png": "iVBORw0KGgo="})]),
    ("every_picture_has_alt_text", [shown({"text/html": '<img src="data:image/png;base64,iVBO">'})]),
    ("every_picture_has_alt_text", [shown({"text/html": '<img alt="">'})]),
    ("every_picture_has_alt_text", [new_markdown_cell("![](https://example.org/x.svg)")]),
    ("every_picture_has_alt_text", [new_markdown_cell('<img src="https://example.org/x.svg">')]),
    ("small_enough_to_open_fast", [shown({"text/plain": "x" * MOST_BYTES})]),
    ("one_idea_per_code_cell", [code("x = 1\n" * 11)]),
    ("one_idea_per_code_cell", [code("def f():\n" + "    x = 1\n" * 25)]),
    ("no_line_runs_out_of_its_cell", [code(f"x = {'1' * 97}")]),
    ("what_is_added_to_a_figure_looks_like_the_rest", [code("ax.legend(ncols=2)")]),
    ("what_is_added_to_a_figure_looks_like_the_rest", [code("ax.fill_between(x, low, high, alpha=0.2)")]),
    ("no_output_needs_a_kernel", [shown({"application/vnd.jupyter.widget-view+json": "{}"})]),
    ("no_cell_leans_on_an_answer", [code("from torch import f"), code("f(1)", count=2), *exercise("f", 3)]),
    ("no_cell_leans_on_an_answer", [code("def f(): ..."), code("g = lambda: f()", count=2), *exercise("f", 3)]),
    ("no_cell_leans_on_an_answer", [code("def f(): ...\n\n\ndef g():\n    return f"), *exercise("f", 2)]),
    (
        "no_cell_leans_on_an_answer",
        [code("class A:\n    def g(self):\n        return [f for _ in '1']"), *exercise("f", 2)],
    ),
    ("a_question_keeps_its_answer", [code('view.predict("?", ["a", "b"], answer="b", because="it is 1")')]),
    ("a_question_keeps_its_answer", [asks('choices = ["two"]')]),
    ("a_question_keeps_its_answer", [asks("view.ask(q)"), new_markdown_cell("Of course two.")]),
    ("a_question_keeps_its_answer", [new_markdown_cell("For it is 2.00."), asks("view.ask(q)")]),
    ("no_cell_leans_on_an_answer", [*exercise("f", 1), code("f(1)", count=3)]),
    ("no_cell_leans_on_an_answer", [*exercise("f", 1), code("def g():\n    return f(1)", count=3)]),
    ("a_stub_stands_before_its_check", [stub("f", 1), code(count=2)]),
    ("a_stub_stands_before_its_check", [stub("f", 1), code("exercises.f.check(g)", count=2)]),
    ("a_stub_stands_before_its_check", [stub("f", 1)]),
    ("a_stub_stands_before_its_check", [*exercise("f", 1), stub("g", 3)]),
    ("a_stub_stands_before_its_check", [code(own=True), *exercise("f", 2)]),
    ("numbers_of_steps_are_in_their_cell", [code("train(1500)", steps=150)]),
    ("numbers_of_steps_are_in_their_cell", [code("train(150)", steps="150")]),
    ("numbers_of_steps_are_in_their_cell", [code("train(150, 2)", steps=[150, 3])]),
    ("a_tolerance_is_a_positive_number", [code("x = 1", tolerance=0)]),
    ("a_tolerance_is_a_positive_number", [code("x = 1", tolerance="0.1")]),
    ("a_tolerance_is_a_positive_number", [code("x = 1", tolerance=True)]),
    ("a_tolerance_is_a_positive_number", [code("x = 1", tolerance=float("nan"))]),
    ("what_is_missing_is_said_first", [code("import transformer_lab")]),
    ("what_is_missing_is_said_first", [code(), code(f"{NEEDS}\nimport transformer_lab", count=2)]),
    ("nothing_is_read_by_its_place", [code('load_checkpoint("../en_de.safetensors")')]),
    ("nothing_is_read_by_its_place", [code("path = Path(torch.__file__)")]),
    ("nothing_is_read_by_its_place", [code('paths = Path().glob("*.ipynb")')]),
    ("no_empty_cell", [new_markdown_cell(" \n")]),
    ("short_prose", [new_markdown_cell("word " * 151)]),
    ("local_links_lead_somewhere", [new_markdown_cell("[next](nowhere.ipynb)")]),
    ("drawings_are_attached_as_they_are_now", [new_markdown_cell("![a map](../img/00_map.svg)")]),
    ("drawings_are_attached_as_they_are_now", [new_markdown_cell('<img alt="a map" src="../img/00_map.svg">')]),
    ("drawings_are_attached_as_they_are_now", [new_markdown_cell("![a map](attachment:00_map.png)")]),
    ("drawings_are_attached_as_they_are_now", [attached("![a map](attachment:00_map.png)", "06_families")]),
    ("drawings_are_attached_as_they_are_now", [attached("no map", "00_map")]),
]
FINE = [
    [code(NEEDS + "x = 1\n" * 10), code("import transformer_lab", count=2)],
    [attached("![a map](attachment:00_map.png)", "00_map")],
    [
        new_markdown_cell("Is it one or two? <details>It is two.</details>"),
        asks("view.ask(q)"),
        code("two = 2", count=2),
    ],
    [new_markdown_cell("Is it one or two?"), asks("view.ask(q)"), new_markdown_cell("A network of twos.")],
    [code(tolerance=0.1), code(count=2, tolerance=2)],
    [code("exercises.f.hint()"), *exercise("f", 2), *exercise("g", 4)],
    [*exercise("f", 1), code(count=3, own=True), code(count=4, own=True)],
    [*exercise("f", 1), code("g = 1", count=3), *exercise("h", 4), code("f(h)", count=6, own=True)],
    [code("train(1_500, 20)", steps=[1500, 20])],
    [code("from torch import f\n\ny = [f(x) for x in '1']"), *exercise("f", 2)],
    [code("def f(): ...\n\n\nf()"), code("def g(f):\n    f.f = f(f=1)\n    return x.f", count=2), *exercise("f", 3)],
    [code("x = 1\nx;"), code("%matplotlib inline\nx = 2", count=2), code("torch.manual_seed(0)", count=3)],
    [printed("see https://example.org/home/ and img/tmp/x.png")],
    [shown({"image/png": "iVBORw0KGgo="}, {"image/png": {"alt": "a rising line"}})],
    [shown({"image/png": "iVBORw0KGgo=", "text/html": '<img alt="a rising line">'})],
    [shown({"text/html": f'<img alt="a map" src="data:image/png;base64,{"AAAA" * 20}/tmp/{"A" * 80}">'})],
    [code('ax.legend(ncols=2, frameon=False)\nax.fill_between(x, low, high, color="C1")')],
    [code("x = 1\n" * 10), code("class A:\n" + "    x = 1\n" * 24, count=2)],
    [new_markdown_cell("word " * 150 + "\n\n$$" + "x " * 50 + "$$\n\n| a | b |\n```\n" + "y " * 50 + "\n```")],
    [new_markdown_cell("[paper](https://arxiv.org/abs/1706.03762), [below](#end), [all](../tests/notebook_rules.py)")],
]


def broken_rules(cells: list[NotebookNode], **metadata) -> set[str]:
    notebook = new_notebook(cells=cells, metadata=metadata)
    return {rule.__name__ for rule in RULES if rule(notebook, FOLDER / "99_synthetic.ipynb")}


@pytest.mark.parametrize(("rule", "cells"), FAULTS)
def test_rule_finds_its_fault(rule, cells):
    assert broken_rules(cells) == {rule}


@pytest.mark.parametrize("cells", FINE)
def test_rules_accept_what_is_fine(cells):
    assert broken_rules(cells) == set()


def test_rule_finds_stored_states_of_widgets():
    assert broken_rules([], widgets={"application/vnd.jupyter.widget-state+json": {}}) == {"no_output_needs_a_kernel"}


def test_without_the_package_a_notebook_says_what_to_do(monkeypatch):
    exec(NEEDS)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"get the repository .* run `pip install -r requirements\.txt`"):
        exec(NEEDS)


def test_every_rule_is_proven():
    assert {rule for rule, _ in FAULTS} == {rule.__name__ for rule in RULES}


# Text and notebook ----------------------------------------------------------------------------------------------------

TEXT = """\
# %% [markdown]
# # Title

# %% exercise="softmax" tags=["exercise"] tolerance=0.1
def softmax(scores, dim): ...


# %%
%TWO%
"""


@pytest.fixture
def from_text(tmp_path):
    def read(two: str = "1 + 1") -> NotebookNode:
        path = tmp_path / "99_synthetic.py"
        path.write_text(TEXT.replace("%TWO%", two))
        return text_to_notebook(path)

    return read


def test_metadata_and_tags_survive(from_text):
    stub = from_text().cells[1]
    assert stub.metadata == {"exercise": "softmax", "tags": ["exercise"], "tolerance": 0.1}


def test_ids_depend_on_the_cell_alone(from_text):
    before, after = from_text("1 + 1"), from_text("2 + 2\n\n# %%\n1 + 1\n\n# %%\n1 + 1")
    assert [cell.id for cell in before.cells][:2] == [cell.id for cell in after.cells][:2]
    assert before.cells[2].id == after.cells[3].id
    assert len({cell.id for cell in after.cells}) == len(after.cells)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("source", lambda cells: cells[2].update(source="1 + 2")),
        ("metadata", lambda cells: cells[1].metadata.update(tags=[])),
        ("cell_type", lambda cells: cells[2].update(cell_type="raw")),
        ("missing in the notebook", lambda cells: cells.pop()),
        ("missing in the text", lambda cells: cells.append(new_markdown_cell("more"))),
    ],
)
def test_a_difference_between_text_and_notebook_is_found(from_text, part, change):
    source, notebook = from_text(), from_text()
    assert differences(source, notebook) == []
    change(notebook.cells)
    (difference,) = differences(source, notebook)
    assert part in difference
