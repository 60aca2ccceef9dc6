"""A dead or hanging kernel is reported soon, by name, and costs its own notebook only; updates count."""

import os
import re
import subprocess
import sys
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebook_rules import ROOT

CELLS = {
    "exits": ["x = 1", "import os; os._exit(3)", "x", "x"],
    "crashes": ["import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "x = 1"],
    "is_killed": ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
    "dies_later": ["import os, threading; threading.Timer(0.2, os._exit, [0]).start()", "import time; time.sleep(60)"],
    "hangs": ["import time; time.sleep(1000)", "time.sleep(1000)", "time.sleep(1000)"],
    "lives": ["x = 1", "assert x == 1"],
}
UPDATED = "shown = display('at first', display_id=True)\nshown.update('at last')"
MOST_SECONDS = 60  # nbval alone would wait 2000 s for each dead kernel


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> str:
    """What pytest prints about one notebook of each kind."""
    folder = tmp_path_factory.mktemp("notebooks")
    for name, sources in CELLS.items():
        notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
        nbformat.write(notebook, folder / f"{name}.ipynb")
    for name, text in (("updated", "'at last'"), ("outdated", "'at first'")):
        cell = new_code_cell(UPDATED, execution_count=1, outputs=[new_output("display_data", {"text/plain": text})])
        nbformat.write(new_notebook(cells=[cell]), folder / f"{name}.ipynb")
    options = ["-p", "tests.nbval_guard", "--nbval", "--nbval-current-env", "--color=no", "-v"]
    # Only the hanging notebook may need its time: dead kernels must be found by looking, not by waiting.
    timeout = ["--nbval-cell-timeout=5", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *timeout, str(folder)],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=5 * MOST_SECONDS,
    )
    assert run.returncode == 1
    assert time.monotonic() - start < MOST_SECONDS
    return run.stdout


@pytest.mark.parametrize(
    ("message", "cell"),
    [
        ("the kernel of exits.ipynb died here (exit code 3: code in the cell ended the process)", 1),
        ("the kernel of crashes.ipynb died here (SIGSEGV: a crash in compiled code)", 0),
        ("the kernel of is_killed.ipynb died here (SIGKILL: most likely out of memory)", 0),
        ("the kernel of dies_later.ipynb died here (exit code 0: code in the cell ended the process)", 1),
        ("Timeout of 5 seconds exceeded", 0),
    ],
)
def test_the_cell_and_the_reason_are_named(report, message, cell):
    assert f"Cell {cell}: {message}" in report


@pytest.mark.parametrize(
    ("notebook", "outcomes"),
    [
        ("exits", ["PASSED", "FAILED", "SKIPPED", "SKIPPED"]),
        ("crashes", ["FAILED", "SKIPPED"]),
        ("dies_later", ["PASSED", "FAILED"]),
        ("hangs", ["FAILED", "SKIPPED", "SKIPPED"]),
        ("lives", ["PASSED", "PASSED"]),
        ("updated", ["PASSED"]),
        ("outdated", ["FAILED"]),
    ],
)
def test_each_cell_has_its_outcome(report, notebook, outcomes):
    assert re.findall(rf"{notebook}\W+ipynb::Cell \d+ (PASSED|FAILED|SKIPPED)", report) == outcomes
