"""One JupyterLab and one browser for all browser tests; one notebook with an example of every view."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from lab import NOTEBOOKS, THIS_MACHINE, OpenNotebook, chromium, ran
from live import RESET, Live
from nbformat.v4 import new_markdown_cell
from server import FRONT_ENDS, jupyter_lab
from xdist.scheduler import LoadScopeScheduling

from tests.view_examples import SET_UP, SHOW

TALL = "tall\n\n" * 60  # makes the notebook longer than the window


class ByOpenNotebook(LoadScopeScheduling):
    """Tests that share an open notebook run in the same process: it is opened and run once."""

    def _split_scope(self, nodeid: str) -> str:
        _, _, parameters = nodeid.partition("[")
        shared = (name for name in (*(path.stem for path in NOTEBOOKS), *FRONT_ENDS) if name in parameters)
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
def addresses(lab_folder) -> Iterator[dict[str, str]]:
    """The address of notebooks in each front-end."""
    with ExitStack() as servers:
        yield {name: servers.enter_context(jupyter_lab(lab_folder, name)) for name in FRONT_ENDS}


@pytest.fixture(scope="session")
def address(addresses) -> str:
    """The address of notebooks in JupyterLab."""
    return addresses["JupyterLab"]


@pytest.fixture(scope="session", params=FRONT_ENDS)
def front_end(request) -> str:
    """The name of one front-end after the other."""
    return request.param


@pytest.fixture(scope="session")
def address_here(addresses, front_end) -> str:
    """The address of notebooks in that front-end."""
    return addresses[front_end]


@pytest.fixture(scope="session")
def notebook(browser, address_here, lab_folder) -> Iterator[OpenNotebook]:
    """The notebook with all views, with all cells run."""
    tall = [new_markdown_cell(TALL) for _ in range(4)]
    with ran(browser, address_here, lab_folder, SET_UP, *SHOW.values(), *tall, name="98_views.ipynb") as notebook:
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
