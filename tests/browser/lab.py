"""A real JupyterLab over a copy of the notebooks, and a real browser that looks at it."""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
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
SETTINGS = {
    "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    "docmanager-extension/plugin": '{"autosave": false}',
    # Every cell is in the page, in view or not, and the page ends with the last one.
    "notebook-extension/tracker": '{"windowingMode": "none", "scrollPastEnd": false}',
}
FRONT_ENDS = {"JupyterLab": "/lab/tree/", "Notebook 7": "/notebooks/"}
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
SECONDS_TO_START, SECONDS_TO_RUN = 60, 300


@contextmanager
def jupyter_lab(folder: Path, front_end: str = "JupyterLab") -> Iterator[str]:
    """Start a server in `folder`, over a copy of what learners open; yields the address of notebooks in a front-end.

    Each front-end wants a server of its own: where both ask for fonts of the same names, it refuses them to the second.
    """
    work = copy_of_the_notebooks(folder / "work")
    port, token = free_port(), secrets.token_hex(16)
    options = [f"--port={port}", "--no-browser", "--allow-root", f"--IdentityProvider.token={token}"]
    options += ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"]
    options += ["--ServerApp.port_retries=0"]
    log_file = folder / f"server of {front_end}.log"
    with log_file.open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], cwd=work, env=private(folder), stdout=log, stderr=log
        )
        try:
            wait_until_it_answers(server, f"http://127.0.0.1:{port}/api", log_file)
            yield f"http://127.0.0.1:{port}{FRONT_ENDS[front_end]}notebooks/{{}}?reset&token={token}"
        finally:
            server.send_signal(signal.SIGTERM)  # it takes its kernels along
            server.wait(SECONDS_TO_START)


def copy_of_the_notebooks(work: Path) -> Path:
    """The copy, which servers in the same folder share."""
    ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
    for name in ("notebooks", "img"):
        if not (work / name).exists():
            shutil.copytree(ROOT / name, work / name, ignore=ignored)
    return work


def private(folder: Path) -> dict[str, str]:
    """An environment in which Jupyter neither reads nor writes anything of the person who runs the tests."""
    for name, setting in SETTINGS.items():
        file = folder / f"config/lab/user-settings/@jupyterlab/{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(setting)
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
    }
    return os.environ | {variable: str(folder / place) for variable, place in places.items()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_it_answers(server: subprocess.Popen, address: str, log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except URLError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


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
def ran(
    browser: Browser, address: str, folder: Path, *cells: NotebookNode | str, name: str = "99_synthetic.ipynb"
) -> Iterator[OpenNotebook]:
    """A notebook of these cells, code if they are texts, in the server that runs in `folder`, with all cells run."""
    nodes = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    metadata = nbformat.read(NOTEBOOKS[0], as_version=4).metadata  # the kernel of a lesson
    nbformat.write(new_notebook(cells=nodes, metadata=metadata), folder / "work" / "notebooks" / name)
    with opened(browser, address, name) as notebook:
        notebook.run_all()
        yield notebook
