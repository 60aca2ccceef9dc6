"""Every notebook in a real JupyterLab and Notebook 7: opened, run from top to bottom, in the light and dark theme."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from lab import DARK, LIGHT, NOTEBOOKS, THIS_MACHINE, OpenNotebook, opened, ran
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import expect

CONTRAST = Path(__file__).with_name("contrast.js").read_text()
SHOWN_WITHOUT_MODEL = re.compile("Error displaying widget|[Mm]odel not found")
CHECK_OF_OWN_ANSWER = r"\bexercises\.(\w+)\.check\(\1\)"
NOT_LIVE = "[...cell.node.querySelectorAll('*')].some(e => /^tl-/.test(e.localName) && !e.querySelector('.tl-view'))"


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def as_opened(browser, front_end, address_here, lab_folder, request) -> Iterator[tuple[OpenNotebook, Path, bool]]:
    """Each notebook in each front-end, not run yet, and whether it is trusted: Notebook 7 does, JupyterLab does not."""
    path, trusted = request.param, front_end == "Notebook 7"
    stored = nbformat.read(path, as_version=4)
    notary = NotebookNotary(data_dir=str(lab_folder / "data"))
    notary.sign(stored) if trusted else notary.unsign(stored)
    with opened(browser, address_here, path.name) as notebook:
        yield notebook, path, trusted


@pytest.fixture(scope="module")
def run_whole(as_opened) -> tuple[OpenNotebook, Path]:
    """The same, with all cells run."""
    notebook, path, _ = as_opened
    notebook.run_all()
    return notebook, path


def faults(notebook: OpenNotebook) -> dict[str, list]:
    """What a person would see go wrong; the cells are counted from 1."""
    texts = notebook.cells("cell.node.innerText")
    errors = notebook.cells("cell.node.querySelector('[data-mime-type$=\"jupyter.error\"], [data-mime-type$=stderr]')")
    not_live = notebook.cells(NOT_LIVE)
    not_run = notebook.cells("cell.model.type === 'code' && !cell.model.executionCount")
    pictures = notebook.cells("[...cell.node.querySelectorAll('img')].map(image => [image.alt, image.naturalWidth])")
    found = {
        "error or stderr": [number for number, error in enumerate(errors, start=1) if error],
        "not run": [number for number, waits in enumerate(not_run, start=1) if waits],
        "widget without its model": [n for n, text in enumerate(texts, start=1) if SHOWN_WITHOUT_MODEL.search(text)],
        "view not live": [number for number, still in enumerate(not_live, start=1) if still],
        "picture not loaded": [alt for cell in pictures for alt, width in cell if not width],
        "console error": notebook.console_errors,
        "request to another machine": sorted(notebook.hosts - THIS_MACHINE),
    }
    return {fault: places for fault, places in found.items() if places}


# This comes before the tests of what was run: they share the notebook.
def test_as_opened_every_picture_shows_and_every_view_is_live_if_it_is_trusted(as_opened):
    notebook, path, trusted = as_opened
    stored = nbformat.read(path, as_version=4)
    assert all(notebook.cells("cell.model.type !== 'code' || cell.model.trusted")) == trusted
    expect(notebook.page.locator(".tl-view")).to_have_count(trusted * str(stored).count("<tl-"))
    loaded = notebook.cells("[...cell.node.querySelectorAll('img')].filter(image => image.naturalWidth).length")
    assert [i for i, cell in enumerate(stored.cells) if has_picture(cell) and not loaded[i]] == []
    assert faults(notebook) == {}


def has_picture(cell: nbformat.NotebookNode) -> bool:
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/png" in d or "<img" in d.get("text/html", "") for d in data) or "![" in cell.source


def test_run_all_shows_no_fault(run_whole):
    notebook, _ = run_whole
    assert faults(notebook) == {}


def test_each_exercise_says_that_it_waits(run_whole):
    notebook, path = run_whole
    cells = nbformat.read(path, as_version=4).cells
    checks = [number for number, cell in enumerate(cells) if re.search(CHECK_OF_OWN_ANSWER, cell.source)]
    shown = notebook.cells("cell.outputArea?.node.innerText")
    assert [number for number in checks if "○" not in shown[number]] == []


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_outputs_are_legible(run_whole, theme):
    notebook, _ = run_whole
    notebook.use_theme(theme)
    assert notebook.page.evaluate(CONTRAST) == []


BROKEN = {
    "picture not loaded": new_markdown_cell("![nowhere](../img/nowhere.svg)"),
    "request to another machine": new_code_cell(
        'display(HTML(\'<img alt="x" src="http://elsewhere.invalid/x.png">\'))'
    ),
    "view not live": new_code_cell("display(HTML('<tl-gone></tl-gone>'))"),
    "console error": new_code_cell("display(HTML('<script>console.error(\"broken\")</script>'))"),
    "widget without its model": new_code_cell(
        "view = {'model_id': 'gone', 'version_major': 2, 'version_minor': 0}\n"
        "display({'application/vnd.jupyter.widget-view+json': view, 'text/plain': 'gone'}, raw=True)"
    ),
    "error or stderr": new_code_cell("1 / 0"),
    "not run": new_code_cell("1 + 1"),
}


def test_every_fault_would_be_seen(browser, address, lab_folder):
    with ran(browser, address, lab_folder, "from IPython.display import HTML", *BROKEN.values()) as notebook:
        assert set(faults(notebook)) == set(BROKEN)


def test_text_that_is_hard_to_read_would_be_seen(browser, address, lab_folder):
    texts = "<p style='color:#333'>dark</p><p>clear</p>"
    with ran(browser, address, lab_folder, f'from IPython.display import HTML\nHTML("{texts}")') as notebook:
        assert notebook.page.evaluate(CONTRAST) == []
        notebook.use_theme(DARK)
        (found,) = notebook.page.evaluate(CONTRAST)
        assert found.endswith(": dark")
