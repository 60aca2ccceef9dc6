"""One JupyterLab and one browser for all browser tests."""

import pytest
from lab import chromium, jupyter_lab


@pytest.fixture(scope="session")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def address(lab_folder):
    with jupyter_lab(lab_folder) as running:
        yield running
