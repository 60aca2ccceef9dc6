"""A real browser that looks at notebooks."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Page, sync_playwright
from server import FRONT_ENDS, ROOT, SECONDS_TO_START

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
)
# What a front-end reports of itself while it starts.
OWN_ERRORS = {
    "JupyterLab": set(),
    "Notebook 7": {
        "Cannot read properties of undefined (reading 'schema')",
        "Command 'filebrowser:open-path' not registered.",
    },
}
THIS_MACHINE = {"127.0.0.1", None}  # None: data: and blob: addresses, and files
LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
SECONDS_TO_RUN = 300


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """A headless browser: the one that the environment variable CHROMIUM names, or one of the machine's."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise RuntimeError("no Chromium found: install one, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])
        yield browser
        browser.close()


@dataclass
class OpenNotebook:
    """A notebook that is open in the browser, and what the page has said and asked for since."""

    page: Page
    console_errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def new_errors(self) -> list[str]:
        """What the console has reported since this was last asked."""
        errors = [*self.console_errors]
        self.console_errors.clear()
        return errors

    def run_all(self) -> None:
        """Forget the stored outputs, run every cell, and wait until all of them are done or one has failed."""
        self.page.evaluate(RUN_ALL)
        self.page.wait_for_function("() => window.allCellsRan", timeout=SECONDS_TO_RUN * 1000)
        self.settle()

    def settle(self) -> None:
        """Wait until no picture and no widget is still loading."""
        self.page.wait_for_function("() => [...document.images].every(image => image.complete)")
        self.page.wait_for_function("() => !document.body.innerText.includes('Loading widget')")

    def use_theme(self, theme: str) -> None:
        """Switch to a theme of JupyterLab's and wait until its splash screen is gone."""
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
        self.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def cells(self, javascript: str) -> list:
        """The value of an expression for each `cell` (JupyterLab's widget; its element is `cell.node`)."""
        return self.page.evaluate(f"() => {PANEL}.content.widgets.map(cell => {javascript})")


PANEL = "jupyterapp.shell.currentWidget"
READY = f"() => window.jupyterapp && {PANEL}?.sessionContext?.isReady && {PANEL}.context.isReady"
RUN_ALL = """async () => {
    await jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
    jupyterapp.commands.execute('notebook:run-all-cells').finally(() => window.allCellsRan = true);
}"""


@contextmanager
def opened(browser: Browser, address: str, name: str) -> Iterator[OpenNotebook]:
    """Open a notebook in a fresh browser profile that reaches nothing but this machine; end its kernel afterwards."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    notebook = OpenNotebook(page)
    own = next(own for name, own in OWN_ERRORS.items() if FRONT_ENDS[name] in address)
    page.on("console", lambda message: message.type == "error" and notebook.console_errors.append(message.text))
    page.on("pageerror", lambda error: str(error) not in own and notebook.console_errors.append(str(error)))
    page.on("request", lambda request: notebook.hosts.add(urlsplit(request.url).hostname))
    page.on("websocket", lambda socket: notebook.hosts.add(urlsplit(socket.url).hostname))
    page.route(re.compile(r"https?://(?!127\.0\.0\.1:)"), lambda route: route.abort())
    page.goto(address.format(name))
    page.wait_for_function(READY, timeout=SECONDS_TO_START * 1000)
    notebook.use_theme(LIGHT)
    notebook.settle()
    yield notebook
    page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")
    page.close()


@contextmanager
def made(
    browser: Browser, address: str, folder: Path, *cells: NotebookNode | str, name: str = "99_synthetic.ipynb"
) -> Iterator[OpenNotebook]:
    """A notebook of these cells, code if they are texts, opened in the server that runs in `folder`."""
    nodes = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    metadata = nbformat.read(NOTEBOOKS[0], as_version=4).metadata  # the kernel of a lesson
    nbformat.write(new_notebook(cells=nodes, metadata=metadata), folder / "work" / "notebooks" / name)
    with opened(browser, address, name) as notebook:
        yield notebook


@contextmanager
def ran(*what, **name: str) -> Iterator[OpenNotebook]:
    """A notebook as `made` takes it, with all cells run."""
    with made(*what, **name) as notebook:
        notebook.run_all()
        yield notebook
