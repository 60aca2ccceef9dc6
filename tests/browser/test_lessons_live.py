"""Lessons with live views, each in a page of its own: as they are run, and opened in Notebook 7; in both themes.

That every cell runs, and shows what is stored, is what `pytest` looks at. So no lesson is run here for its numbers.
"""

import re

import nbformat
import pytest
from faults import faults, hard_to_read
from lab import opened
from live import Live
from playwright.sync_api import expect
from server import ROOT
from stored import as_stored, signed

SECONDS = 120
RUN_WHOLE = {"05_masking": "Notebook 7", "00_start_here": "JupyterLab"}
TRAINING = "07_training"
OPENED = ("01_attention", "08_decoding", "10_inside")  # all of them in JupyterLab: test_in_jupyterlab.py


def test_a_lesson_with_a_training_is_run_until_the_training_is_stopped(profile, address):
    """As its reader may: to the end the training takes long, and what comes after is claimed of its end."""
    cells = nbformat.read(ROOT / "notebooks" / f"{TRAINING}.ipynb", as_version=4).cells
    behind = max(number for number, cell in enumerate(cells) if "<tl-training_monitor" in str(cell)) + 1
    with opened(profile, address, f"{TRAINING}.ipynb") as notebook:
        notebook.start_to_run(above=behind)
        monitor = Live(notebook.page, notebook.page.locator(".tl-view").first)
        status = monitor.root.locator(".tl-status")
        expect(status).to_contain_text(re.compile(r"step ([1-9]\d|\d{3}) of 300"), timeout=SECONDS * 1000)
        monitor.button("stop").click()
        notebook.wait_until_run()
        expect(status).to_contain_text("stopped after step")
        expect(monitor.button("resume")).to_be_visible()
        assert faults(notebook, above=behind) == {}
        assert hard_to_read(notebook) == {}


@pytest.mark.parametrize(("name", "front_end"), RUN_WHOLE.items(), ids=lambda text: text)
def test_run_all_shows_no_fault_and_what_is_legible(profile, address_in, name, front_end):
    with opened(profile, address_in(front_end), f"{name}.ipynb") as notebook:
        notebook.run_all()
        assert faults(notebook) == {}
        assert hard_to_read(notebook) == {}


@pytest.mark.parametrize("name", OPENED)
def test_as_opened_and_trusted_every_view_is_live(profile, address_in, lab_folder, name):
    path = ROOT / "notebooks" / f"{name}.ipynb"
    signed(path, lab_folder, trusted=True)
    with opened(profile, address_in("Notebook 7"), path.name) as notebook:
        as_stored(notebook, path, trusted=True)
        assert faults(notebook) == {}
        assert hard_to_read(notebook) == {}
