"""One JupyterLab and one browser for all browser tests; one notebook with an example of every view."""

from collections.abc import Iterator

import nbformat
import pytest
from lab import FRONT_ENDS, NOTEBOOKS, THIS_MACHINE, OpenNotebook, chromium, jupyter_lab, opened
from live import RESET, Live
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from xdist.scheduler import LoadScopeScheduling

from notebooks.build import KERNEL
from tests.view_examples import SET_UP, SHOW

TALL = "tall\n\n" * 60  # makes the notebook longer than the window


class ByOpenNotebook(LoadScopeScheduling):
    """Tests that share an open notebook run in the same process: it is opened and run once."""

    def _split_scope(self, nodeid: str) -> str:
        shared = (name for name in (*FRONT_ENDS, *(path.stem for path in NOTEBOOKS)) if f"[{name}" in nodeid)
        return next(shared, nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config, log) -> ByOpenNotebook:
    return ByOpenNotebook(config, log)


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


@pytest.fixture(scope="session", params=FRONT_ENDS)
def notebook(request, browser, address, lab_folder) -> Iterator[OpenNotebook]:
    """The notebook with all views, with all cells run."""
    cells = [new_code_cell(source) for source in (SET_UP, *SHOW.values())]
    cells += [new_markdown_cell(TALL) for _ in range(4)]
    path = lab_folder / "work" / "notebooks" / "98_views.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)
    with opened(browser, address.replace("/lab/tree/", FRONT_ENDS[request.param]), path.name) as notebook:
        notebook.run_all()
        yield notebook


@pytest.fixture
def views(notebook) -> Iterator[dict[str, Live]]:
    """The views, each at its start. Whatever a test does, the page reports no error and asks no other machine."""
    notebook.page.mouse.move(0, 0)
    notebook.page.evaluate(RESET)
    roots = notebook.page.locator(".tl-view")
    assert roots.count() == len(SHOW)
    yield {name: Live(notebook.page, roots.nth(i)) for i, name in enumerate(SHOW)}
    assert notebook.new_errors() == []
    assert notebook.hosts <= THIS_MACHINE
