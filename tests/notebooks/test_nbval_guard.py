"""nbval with the project's plugins: dead and hanging kernels, updated displays, numbers near the stored ones."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.notebook_rules import ROOT

CELLS = {
    "exits": ["x = 1", "import os; os._exit(3)", "x", "x"],
    "crashes": ["import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "x = 1"],
    "is_killed": ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
    "dies_later": ["import os, threading; threading.Timer(0.2, os._exit, [0]).start()", "import time; time.sleep(60)"],
    "hangs": ["import time; time.sleep(100_000)", "time.sleep(100_000)", "time.sleep(100_000)"],
    "computes": ["while True: pass", "x = 1"],
    "waits": ["import time; time.sleep(2)", "x = 1"],  # longer than it may compute
}
UPDATED = "shown = display('at first', display_id=True)\nshown.update('at last')"
NUMBERS = [  # the tolerance, what is stored, what the cell prints or shows
    (0.1, "loss 0.31 against 2.30\n", "print('loss 0.29 against 2.35')"),
    (0.1, "loss 0.31 against 2.30\n", "print('loss 0.52 against 2.30')"),
    (None, "loss 0.31 against 2.30\n", "print('loss 0.31 against 2.31')"),
    (0.1, "[0.5]", "[0.45]"),
    (0.1, "[0.5]", "[-0.5]"),
]


def numbers_cell(count: int, tolerance: float | None, stored: str, source: str) -> NotebookNode:
    result = new_output("execute_result", {"text/plain": stored}, execution_count=count)
    output = new_output("stream", text=stored) if "print" in source else result
    metadata = {} if tolerance is None else {"tolerance": tolerance}
    return new_code_cell(source, execution_count=count, outputs=[output], metadata=metadata)


def updated_cell(count: int, stored: str) -> NotebookNode:
    output = new_output("display_data", {"text/plain": stored})
    return new_code_cell(UPDATED, execution_count=count, outputs=[output])


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> str:
    """What pytest prints about a notebook for each way to die, and one whose kernel lives."""
    folder = tmp_path_factory.mktemp("notebooks")
    for name, sources in CELLS.items():
        notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
        nbformat.write(notebook, folder / f"{name}.ipynb")
    cells = [new_code_cell(source) for source in ("x = 1", "assert x == 1")]
    cells += [updated_cell(3, "'at last'"), updated_cell(4, "'at first'")]
    cells += [numbers_cell(count, *row) for count, row in enumerate(NUMBERS, start=5)]
    nbformat.write(new_notebook(cells=cells), folder / "lives.ipynb")
    plugins = ["-p", "tests.nbval_guard", "-p", "tests.nbval_numbers"]
    options = [*plugins, "--nbval", "--nbval-current-env", "--color=no", "-v"]
    timeout = ["--nbval-cell-timeout=1", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *timeout, str(folder)],
        cwd=folder,
        env=environment | {"PYTHONPATH": f"{os.environ['PYTHONPATH']}:{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    return run.stdout


@pytest.mark.parametrize(
    ("message", "cell"),
    [
        ("the kernel of exits.ipynb died here (exit code 3: code in the cell ended the process)", 1),
        ("the kernel of crashes.ipynb died here (SIGSEGV: a crash in compiled code)", 0),
        ("the kernel of is_killed.ipynb died here (SIGKILL: most likely out of memory)", 0),
        ("the kernel of dies_later.ipynb died here (exit code 0: code in the cell ended the process)", 1),
        ("Timeout of 1 seconds exceeded", 0),
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
        ("computes", ["FAILED", "SKIPPED"]),
        ("waits", ["PASSED", "PASSED"]),
        ("lives", ["PASSED", "PASSED", *("PASSED", "FAILED"), *("PASSED", "FAILED", "FAILED", "PASSED", "FAILED")]),
    ],
)
def test_each_cell_has_its_outcome(report, notebook, outcomes):
    assert re.findall(rf"{notebook}\W+ipynb::Cell \d+ (PASSED|FAILED|SKIPPED)", report) == outcomes


@pytest.mark.parametrize(
    "message",
    [
        "stdout, line 1: number 1 of 2: 0.31 stored, 0.52 found (tolerance 0.1)\n"
        "  stored: loss 0.31 against 2.30\n  found:  loss 0.52 against 2.30\n",
        "text/plain, line 1: number 1 of 1: 0.5 stored, -0.5 found (tolerance 0.1)\n",
    ],
)
def test_numbers_that_are_not_near_are_shown_as_stored_and_as_found(report, message):
    assert message in report
