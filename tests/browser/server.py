"""A real Jupyter server over a copy of the notebooks, for each front-end."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    "docmanager-extension/plugin": '{"autosave": false}',
    # Every cell is in the page, in view or not, and the page ends with the last one.
    "notebook-extension/tracker": '{"windowingMode": "none", "scrollPastEnd": false}',
}
# Each page has a workspace of its own: from one that another page has, JupyterLab moves to a new one, and starts anew.
FRONT_ENDS = {"JupyterLab": "/lab/workspaces/{page}/tree/", "Notebook 7": "/notebooks/"}
SECONDS_TO_START, SECONDS_TO_END = 600, 20  # by the clock, on a machine that may be busy


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
            yield f"http://127.0.0.1:{port}{FRONT_ENDS[front_end]}notebooks/{{name}}?reset&token={token}"
        finally:
            end(server)


def end(server: subprocess.Popen) -> None:
    """End it with its kernels. Now and then one does not end when it is asked; its kernels notice when it is gone."""
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def copy_of_the_notebooks(work: Path) -> Path:
    """The copy, which servers in the same folder share: the notebooks alone, as nothing beside them is needed."""
    if not (work / "notebooks").exists():
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
        shutil.copytree(ROOT / "notebooks", work / "notebooks", ignore=ignored)
    return work


def private(folder: Path, settings: dict[str, str] = SETTINGS) -> dict[str, str]:
    """An environment in which Jupyter neither reads nor writes anything of the person who runs the tests."""
    (folder / "config").mkdir(exist_ok=True)
    for name, setting in settings.items():
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
    def answers() -> bool:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:  # nobody listens, or whoever does is not ready within five seconds
            return False
        return True

    wait_until(answers, server, log)


def wait_until(is_up: Callable[[], bool], server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and server.poll() is None:
        if is_up():
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")
