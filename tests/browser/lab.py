"""A real browser that looks at notebooks."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.server import FRONT_ENDS, ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages reach nothing but this machine. To route their requests would do it, too, and turn the browser's cache off.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
# What a front-end reports of itself while it starts.
# Both ask the browser for an attached picture by its name before they put the picture itself in its place.
ATTACHMENT = "Failed to load resource: net::ERR_UNKNOWN_URL_SCHEME"
OWN_ERRORS = {
    "JupyterLab": {ATTACHMENT},
    "Notebook 7": {
        ATTACHMENT,
        "Cannot read properties of undefined (reading 'schema')",
        "Command 'filebrowser:open-path' not registered.",
    },
}
THIS_MACHINE = {"127.0.0.1", "localhost", None}  # None: data: and blob: addresses, and files
LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
SECONDS, SECONDS_TO_RUN = 300, 3000  # to wait for what comes at once, and for a lesson to run: a machine may be busy
BETWEEN_LOOKS = 50  # milliseconds

expect.set_options(timeout=SECONDS * 1000)


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """A headless browser: the one that the environment variable CHROMIUM names, or one of the machine's."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise RuntimeError("no Chromium found: install one, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])
        browser.on("context", lambda context: context.set_default_timeout(SECONDS * 1000))
        yield browser
        browser.close()


def until(page: Page, holds: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait until something holds of a page."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never held"
        page.wait_for_timeout(BETWEEN_LOOKS)


@dataclass
class WatchedPage:
    """A page of the browser, and what it has said and asked for since it was made."""

    page: Page
    own_errors: set[str] = field(default_factory=set)  # what it may report
    console_errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def __post_init__(self):
        page, errors = self.page, self.console_errors
        page.on(
            "console",
            lambda message: (
                message.type == "error" and message.text not in self.own_errors and errors.append(message.text)
            ),
        )
        page.on("pageerror", lambda error: str(error) not in self.own_errors and errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))
        page.on("websocket", lambda socket: self.hosts.add(urlsplit(socket.url).hostname))

    def new_errors(self) -> list[str]:
        """What the console has reported since this was last asked."""
        errors = [*self.console_errors]
        self.console_errors.clear()
        return errors

    def new_strangers(self) -> list[str]:
        """The other machines that it has asked since this was last asked."""
        strangers = sorted(self.hosts - THIS_MACHINE)
        self.hosts.clear()
        return strangers


class OpenNotebook(WatchedPage):
    """A notebook that is open in the browser."""

    def wait_for(self, javascript: str, seconds: float | int = SECONDS, given: object = None) -> None:
        """Wait until an expression is true. To look at each frame, as is usual, would have every frame be drawn."""
        self.page.wait_for_function(javascript, arg=given, timeout=seconds * 1000, polling=BETWEEN_LOOKS)

    def wait_until_ready(self) -> None:
        """Wait until the notebook is shown and its kernel answers."""
        self.wait_for(READY)
        self.settle()

    def run_all(self) -> None:
        """Forget the stored outputs, run every cell, and wait until all of them are done or one has failed."""
        self.start_to_run()
        self.wait_until_run()

    def start_to_run(self, above: int | None = None) -> None:
        """Forget the stored outputs, and begin to run every cell, or those above a cell."""
        self.page.evaluate(RUN_ALL if above is None else RUN_ABOVE, above)

    def wait_until_run(self) -> None:
        self.wait_for("() => window.allCellsRan", SECONDS_TO_RUN)
        self.settle()

    def settle(self) -> None:
        """Wait until no picture and no widget is still loading."""
        # JupyterLab takes an image's address away until it has looked it up.
        self.wait_for("() => [...document.images].every(image => image.src && image.complete)")
        self.wait_for("() => !document.body.innerText.includes('Loading widget')")

    def use_theme(self, theme: str) -> None:
        """Switch to a theme of JupyterLab's and wait until its splash screen is gone."""
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
        self.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def cells(self, javascript: str) -> list:
        """The value of an expression for each `cell` (JupyterLab's widget; its element is `cell.node`)."""
        return self.page.evaluate(f"() => {PANEL}.content.widgets.map(cell => {javascript})")


PAGES = count()  # their numbers
PANEL = "jupyterapp.shell.currentWidget"
READY = f"() => window.jupyterapp && {PANEL}?.sessionContext?.isReady && {PANEL}.context.isReady"
RUN = """async above => {
    window.allCellsRan = false;
    await jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
    %s
    jupyterapp.commands.execute('%s').finally(() => window.allCellsRan = true);
}"""
RUN_ALL = RUN % ("", "notebook:run-all-cells")
RUN_ABOVE = RUN % (f"{PANEL}.content.activeCellIndex = above;", "notebook:run-all-above")
OPEN = """async path => {
    await jupyterapp.restored;
    await jupyterapp.commands.execute('docmanager:open', {path});
}"""
END_KERNEL = f"() => {PANEL}.sessionContext.shutdown()"
CLOSE = f"""async () => {{
    const panel = {PANEL};
    panel.context.model.dirty = false;
    panel.close();
    while (!panel.isDisposed) await new Promise(requestAnimationFrame);
}}"""


@contextmanager
def front_end_in(browser: Browser | BrowserContext, address: str, name: str) -> Iterator[OpenNotebook]:
    """A new page of the browser with a front-end, which opens a notebook, or a folder."""
    page = browser.new_page()
    page.set_viewport_size({"width": 1280, "height": 1000})
    notebook = OpenNotebook(page, next(own for name, own in OWN_ERRORS.items() if FRONT_ENDS[name] in address))
    try:
        page.goto(address.format(page=f"page{next(PAGES)}", name=name))
        yield notebook
    finally:  # a page that stays open asks its kernel for news while the next one is looked at
        page.close()


@contextmanager
def opened(browser: Browser | BrowserContext, address: str, name: str) -> Iterator[OpenNotebook]:
    """Open a notebook in a page of its own; end its kernel afterwards."""
    with front_end_in(browser, address, name) as notebook:
        try:
            notebook.wait_until_ready()
            yield notebook
        finally:
            notebook.page.evaluate(END_KERNEL)


@contextmanager
def opened_in(jupyterlab: OpenNotebook, path: str) -> Iterator[OpenNotebook]:
    """Open a notebook in a JupyterLab that is open, as people open one after another; end its kernel and close it."""
    page = jupyterlab.page
    jupyterlab.wait_for("() => window.jupyterapp")
    page.evaluate(OPEN, path)
    try:
        jupyterlab.wait_until_ready()
        yield jupyterlab
    finally:  # others are opened in the same page
        page.evaluate(END_KERNEL)
        page.evaluate(CLOSE)
        jupyterlab.new_errors()  # the debugger complains of a kernel that ends before it has answered
        jupyterlab.new_strangers()


def write(folder: Path, name: str, *cells: NotebookNode | str) -> str:
    """Write a notebook of these cells, code if they are texts, for the server that runs in `folder`; its name."""
    nodes = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    metadata = nbformat.read(NOTEBOOKS[0], as_version=4).metadata  # the kernel of a lesson
    nbformat.write(new_notebook(cells=nodes, metadata=metadata), folder / "work" / "notebooks" / name)
    return name


@contextmanager
def made(
    browser: Browser | BrowserContext,
    address: str,
    folder: Path,
    *cells: NotebookNode | str,
    name: str = "99_synthetic.ipynb",
) -> Iterator[OpenNotebook]:
    """A notebook as `write` takes it, opened."""
    with opened(browser, address, write(folder, name, *cells)) as notebook:
        yield notebook


@contextmanager
def ran(*what, **name: str) -> Iterator[OpenNotebook]:
    """A notebook as `made` takes it, with all cells run."""
    with made(*what, **name) as notebook:
        notebook.run_all()
        yield notebook
