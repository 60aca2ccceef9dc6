"""The first minute: a fresh copy of the repository, the command that README.md names, and every lesson looked at."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import BrowserContext

from tests.browser.lab import NOTEBOOKS, OpenNotebook, opened_in
from tests.browser.server import ROOT, end, private, wait_until
from tests.browser.stored import has_picture, signed

COMMAND = re.compile(r"^(?:.* && )?(jupyter lab\b.*)$", re.MULTILINE)
SETTINGS = {"ServerApp": {"allow_root": True}, "LabApp": {"expose_app_in_browser": True}}  # so that a test may command
FIRST = "00_start_here.ipynb"

# Scrolls from cell to cell: a front-end makes one only as it comes into view, and may take it away behind it.
# What a lesson folds until it has been predicted is unfolded: a folded picture is not in the page.
LOOK = """async expected => {
    const notebook = jupyterapp.shell.currentWidget.content;
    for (const [number, { pictures, views }] of expected.entries()) {
        notebook.widgets[number].outputHidden = false;
        const cell = notebook.widgets[number].node;
        const all = pattern => [...cell.querySelectorAll("*")].filter(e => pattern.test(e.localName));
        let loaded, alive, isThere, looks = 0;
        do {
            if (looks % 20 === 0) notebook.scrollToItem(number, "start");
            if (looks) await new Promise(done => setTimeout(done, 50));
            loaded = all(/^img$/).map(e => e.naturalWidth > 0);
            alive = all(/^tl-/).map(e => Boolean(e.querySelector(".tl-view")));
            isThere = loaded.length >= pictures && alive.length === views && [...loaded, ...alive].every(Boolean);
        } while (!isThere && looks++ < 600);
        if (!isThere) return { cell: number + 1, pictures, loaded, views, alive };
    }
}"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A copy of all that git knows of, or would add, and nothing else."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    clone = tmp_path_factory.mktemp("home") / "transformer-lab"
    for name in filter(None, subprocess.check_output(listed, text=True).split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    return clone


@pytest.fixture(scope="module")
def first_page(clone) -> Iterator[str]:
    """The address that the command has the person's browser open."""
    home, command = clone.parent, COMMAND.search((clone / "README.md").read_text("utf-8"))[1]
    opened, log = home / "opened", home / "server.log"
    environment = private(home, settings={}) | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(clone),  # as `-e .` in its requirements has it
        "BROWSER": f"sh -c 'echo %s > {opened}'",
    }
    (home / "config" / "jupyter_server_config.json").write_text(json.dumps(SETTINGS))
    with log.open("w") as file:
        server = subprocess.Popen(shlex.split(command), cwd=clone, env=environment, stdout=file, stderr=file)
    try:
        wait_until(lambda: opened.exists() and opened.read_text().endswith("\n"), server, log)
        yield opened.read_text().strip()
    finally:
        end(server)


def first_fault(notebook: OpenNotebook, path: Path) -> dict | None:
    """The first cell, if there is one, in which a picture is not loaded or a view not alive."""
    return notebook.page.evaluate(LOOK, [what_shows(cell) for cell in nbformat.read(path, as_version=4).cells])


def what_shows(cell: NotebookNode) -> dict[str, int]:
    """How many views a cell has, and how many pictures at least."""
    views = str(cell.get("outputs")).count("<tl-")
    if cell.cell_type == "markdown":
        return {"pictures": cell.source.count("!["), "views": views}
    return {"pictures": int(has_picture(cell) and not views), "views": views}


@contextmanager
def page_at(profile: BrowserContext, address: str) -> Iterator[OpenNotebook]:
    page = profile.new_page()
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(address)
    yield OpenNotebook(page)
    page.close()


def test_the_command_opens_the_first_lesson_and_it_runs(profile, first_page, clone):
    with page_at(profile, first_page) as notebook:
        notebook.wait_until_ready()
        assert urlsplit(notebook.page.url).path == f"/lab/tree/{FIRST}"
        notebook.run_all()
        assert first_fault(notebook, clone / "notebooks" / FIRST) is None


@pytest.fixture(scope="module")
def lab(profile, first_page) -> Iterator[OpenNotebook]:
    """The same JupyterLab, with no notebook open."""
    with page_at(profile, first_page) as lab:
        lab.wait_until_ready()
        lab.page.goto(urljoin(lab.page.url, "/lab?reset"))
        yield lab


@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS])
def test_every_drawing_is_there_and_every_view_is_alive(lab, clone, name):
    """In a lesson that is trusted, as it is once it has been run."""
    signed(clone / "notebooks" / name, clone.parent, trusted=True)
    with opened_in(lab, name):
        assert first_fault(lab, clone / "notebooks" / name) is None
