"""Lessons in Notebook 7, each in a page of its own: run whole, and as they are opened; in both themes.

All of them are opened in JupyterLab, and two run there: test_in_jupyterlab.py. That every cell runs, and shows what is
stored, is what `pytest` looks at. So no lesson is run here for its numbers.
"""

import pytest

from tests.browser.faults import faults, hard_to_read
from tests.browser.lab import opened
from tests.browser.server import ROOT
from tests.browser.stored import as_stored, signed

RUN_WHOLE = "05_masking"
OPENED = ("01_attention", "10_inside")


def test_run_all_shows_no_fault_and_what_is_legible(profile, address_in):
    with opened(profile, address_in("Notebook 7"), f"{RUN_WHOLE}.ipynb") as notebook:
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
