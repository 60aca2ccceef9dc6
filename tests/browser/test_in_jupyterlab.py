"""In one JupyterLab: every notebook as it is opened, not trusted and trusted, two of them run, and each fault seen."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import expect

from tests.browser.faults import faults, hard_to_read
from tests.browser.lab import DARK, NOTEBOOKS, opened_in, write
from tests.browser.live import Live
from tests.browser.server import ROOT
from tests.browser.stored import as_stored, of_every_kind, signed
from tests.view_examples import MODULES

UNTRUSTED = of_every_kind(NOTEBOOKS)
RUN_WHOLE, TRAINING = "00_start_here", "07_training"


def test_every_view_is_in_a_notebook_that_is_opened_and_not_trusted():
    assert [view for view in MODULES if not any(f"<tl-{view}-" in path.read_text("utf-8") for path in UNTRUSTED)] == []


@pytest.mark.parametrize("path", UNTRUSTED, ids=lambda path: path.stem)
def test_as_opened_and_not_trusted_every_picture_shows(jupyterlab, lab_folder, path):
    """They come first: no script of another notebook runs in the page that they share."""
    signed(path, lab_folder, trusted=False)
    with opened_in(jupyterlab, f"notebooks/{path.name}") as notebook:
        as_stored(notebook, path, trusted=False)
        assert faults(notebook) == {}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_as_opened_and_trusted_every_view_is_live(jupyterlab, lab_folder, path):
    """One after the other, as people open them."""
    signed(path, lab_folder, trusted=True)
    with opened_in(jupyterlab, f"notebooks/{path.name}") as notebook:
        as_stored(notebook, path, trusted=True)
        assert faults(notebook) == {}
        assert hard_to_read(notebook) == {}


def test_run_all_shows_no_fault_and_what_is_legible(jupyterlab):
    with opened_in(jupyterlab, f"notebooks/{RUN_WHOLE}.ipynb") as notebook:
        notebook.run_all()
        assert faults(notebook) == {}
        assert hard_to_read(notebook) == {}


def test_a_lesson_with_a_training_is_run_until_the_training_is_stopped(jupyterlab):
    """As its reader may: to the end the training takes long, and what comes after is claimed of its end."""
    cells = nbformat.read(ROOT / "notebooks" / f"{TRAINING}.ipynb", as_version=4).cells
    behind = max(number for number, cell in enumerate(cells) if "<tl-training_monitor" in str(cell)) + 1
    with opened_in(jupyterlab, f"notebooks/{TRAINING}.ipynb") as notebook:
        notebook.start_to_run(above=behind)
        monitor = Live(notebook.page, notebook.page.locator(".tl-view").first)
        status = monitor.root.locator(".tl-status")
        expect(status).to_contain_text(re.compile(r"step ([1-9]\d|\d{3}) of 300"))
        monitor.button("stop").click()
        notebook.wait_until_run()
        expect(status).to_contain_text("stopped after step")
        expect(monitor.button("resume")).to_be_visible()
        assert faults(notebook, above=behind) == {}
        assert hard_to_read(notebook) == {}


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


def test_every_fault_would_be_seen(jupyterlab, lab_folder):
    name = write(lab_folder, "99_faults.ipynb", "from IPython.display import HTML", *BROKEN.values())
    with opened_in(jupyterlab, f"notebooks/{name}") as notebook:
        notebook.run_all()
        assert set(faults(notebook)) == set(BROKEN)


def test_text_that_is_hard_to_read_would_be_seen(jupyterlab, lab_folder):
    texts = "<p style='color:#333'>dark</p><p>clear</p>"
    name = write(lab_folder, "99_dark.ipynb", f'from IPython.display import HTML\nHTML("{texts}")')
    with opened_in(jupyterlab, f"notebooks/{name}") as notebook:
        notebook.run_all()
        found = hard_to_read(notebook)
        assert found.keys() == {DARK}
        assert [text.endswith(": dark") for text in found[DARK]] == [True]
