"""One browser for all browser tests; an example of every view in one page, and in one notebook of each front-end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from playwright.sync_api import BrowserContext, Page
from xdist.scheduler import LoadScopeScheduling

from tests.browser.lab import OpenNotebook, WatchedPage, chromium, front_end_in, opened, ran, write
from tests.browser.live import COUNT, FRAMES, PAGE, RESET, Live
from tests.browser.server import FRONT_ENDS, jupyter_lab
from tests.browser.stored import signed
from tests.view_examples import SET_UP, SHOW, html, make

TALL = "tall\n\n" * 60  # makes the notebook longer than the window
# What takes longest begins first, and what is dealt out test by test comes last, so that no worker waits at the end.
TEST_BY_TEST = ("lessons_live", "javascript")
ORDER = ("views_in_jupyter", "view", "in_jupyterlab", "readme_command", "live_views", "site", *TEST_BY_TEST)


def part_of(nodeid: str) -> str:
    """The part of the suite that a test belongs to, one of ORDER."""
    name = Path(nodeid.partition("::")[0]).stem.removeprefix("test_")
    return name if name in ORDER else "view"


class ByOpenPage(LoadScopeScheduling):
    """Tests that share an open page run in the same process: it is opened, and what it shows is made, once."""

    def _split_scope(self, nodeid: str) -> str:
        part = part_of(nodeid)
        if part in TEST_BY_TEST:
            return nodeid
        if part == "view" or (part == "views_in_jupyter" and "Notebook 7" in nodeid):  # both need the stored outputs
            return "view"
        return next((f"{part} in {name}" for name in FRONT_ENDS if name in nodeid), part)


def pytest_xdist_make_scheduler(config, log) -> ByOpenPage:
    return ByOpenPage(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list) -> None:
    """In that order. A browser on a busy machine may miss a frame, so what fails is tried again, and reported so."""
    items.sort(key=lambda item: ORDER.index(part_of(item.nodeid)))
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(scope="session")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def profile(browser) -> Iterator[BrowserContext]:
    """One profile for all pages with a front-end: what one has loaded, the next finds in its cache."""
    context = browser.new_context(reduced_motion="reduce")  # a picture is at once what it becomes
    yield context
    context.close()


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def address_in(lab_folder) -> Iterator[Callable[[str], str]]:
    """The address of notebooks in a front-end, whose server starts when it is first asked for."""
    with ExitStack() as servers:
        yield cache(lambda name: servers.enter_context(jupyter_lab(lab_folder, name)))


@pytest.fixture(scope="session")
def address(address_in) -> str:
    """The address of notebooks in JupyterLab."""
    return address_in("JupyterLab")


@pytest.fixture(scope="session", params=FRONT_ENDS)
def front_end(request) -> str:
    """The name of one front-end after the other."""
    return request.param


@pytest.fixture(scope="session")
def address_here(address_in, front_end) -> str:
    """The address of notebooks in that front-end."""
    return address_in(front_end)


@pytest.fixture(scope="session")
def jupyterlab(profile, address) -> Iterator[OpenNotebook]:
    """A JupyterLab in which no notebook is open yet."""
    with front_end_in(profile, address, "") as page:
        yield page


@pytest.fixture(scope="session")
def stored() -> list[NotebookNode]:
    """The cells of a notebook with all views, with their outputs, as a repository has it."""
    cells = [new_code_cell(SET_UP, execution_count=1)]
    for number, (name, source) in enumerate(SHOW.items(), start=2):
        data = {"text/plain": repr(make(name)), "text/html": html(name)}
        output = new_output("execute_result", data, execution_count=number)
        cells.append(new_code_cell(source, execution_count=number, outputs=[output]))
    return cells


@pytest.fixture(scope="session")
def notebook(request, profile, front_end, address_here, lab_folder) -> Iterator[OpenNotebook]:
    """The notebook with all views: in JupyterLab all cells are run, in Notebook 7 it is trusted, and opened as stored.

    test_lessons_live.py runs a lesson in Notebook 7.
    """
    tall, name = [new_markdown_cell(TALL) for _ in range(4)], "98_views.ipynb"
    if front_end == "JupyterLab":
        with ran(profile, address_here, lab_folder, SET_UP, *SHOW.values(), *tall, name=name) as notebook:
            yield notebook
        return
    write(lab_folder, name, *request.getfixturevalue("stored"), *tall)
    signed(lab_folder / "work" / "notebooks" / name, lab_folder, trusted=True)
    with opened(profile, address_here, name) as notebook:
        yield notebook


@pytest.fixture(scope="session")
def page_of_views(browser, tmp_path_factory) -> Iterator[WatchedPage]:
    """A page with the outputs of all views and nothing else: what a view does by itself needs no Jupyter."""
    path = tmp_path_factory.mktemp("views") / "views.html"
    path.write_text(PAGE + "\n".join(f"<div>{html(name)}</div>" for name in SHOW), "utf-8")
    watched = WatchedPage(browser.new_page(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce"))
    watched.page.goto(path.as_uri())
    yield watched
    watched.page.close()


@pytest.fixture(scope="session")
def page_for_one(browser) -> Iterator[Page]:
    """A page for one view after the other, each alone in it."""
    page = browser.new_page(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
    page.add_init_script(COUNT)
    yield page
    page.close()


@pytest.fixture
def blank(page_for_one) -> Page:
    """That page, in the light."""
    page_for_one.emulate_media(color_scheme="light")
    page_for_one.mouse.move(0, 0)
    return page_for_one


@pytest.fixture
def views(page_of_views) -> Iterator[dict[str, Live]]:
    """The views in that page."""
    yield from at_their_start(page_of_views)


@pytest.fixture
def views_in_notebook(notebook) -> Iterator[dict[str, Live]]:
    """The views in a notebook of each front-end."""
    yield from at_their_start(notebook)


def at_their_start(watched: WatchedPage) -> Iterator[dict[str, Live]]:
    """The views, each at its start. Whatever a test does, the page reports no error and asks no other machine."""
    page = watched.page
    page.mouse.move(0, 0)
    page.evaluate("() => document.activeElement.blur()")
    page.evaluate(RESET)
    page.evaluate(FRAMES)
    roots = page.locator(".tl-view")
    assert roots.count() == len(SHOW)
    yield {name: Live(page, roots.nth(i)) for i, name in enumerate(SHOW)}
    assert watched.new_errors() == []
    assert watched.new_strangers() == []
