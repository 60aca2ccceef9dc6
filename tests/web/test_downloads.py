"""A lesson that was downloaded runs in an empty folder, on a machine that has not got the package."""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from tests.built_site import ROOT

sys.path.insert(0, str(ROOT / "web"))
from downloads import to_take_away, write_wheel

WHERE = "import transformer_lab; print(transformer_lab.__file__)"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """The address of a site that holds the wheel, on a file server of this machine."""
    served = pytest.importorskip("tests.browser.served_site").served
    folder = tmp_path_factory.mktemp("site")
    write_wheel(ROOT, folder / "wheel")
    with served(folder) as where:
        yield where


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    """An environment with all that the package needs, but without the package, and a kernel named bare."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    if not python.exists():
        pytest.skip("needs a system whose environments have a folder bin")
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    (site / "others.pth").write_text(
        sysconfig.get_path("purelib")
    )  # whose own .pth files, and so this package, stay out
    kernel = folder / "jupyter" / "kernels" / "bare"
    kernel.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "bare", "language": "python"}))
    return folder


def run_in(bare: Path, folder: Path, notebook: nbformat.NotebookNode, monkeypatch) -> nbformat.NotebookNode:
    monkeypatch.setenv("JUPYTER_PATH", str(bare / "jupyter"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing comes from anywhere but the site
    monkeypatch.delenv("PYTHONPATH", raising=False)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="bare", timeout=600, resources=resources).execute()
    return notebook


def test_a_downloaded_lesson_installs_the_package_and_runs_in_an_empty_folder(bare, address, tmp_path, monkeypatch):
    python = bare / "env" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    before = subprocess.run([python, "-c", WHERE], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "No module named 'transformer_lab'" in before.stderr
    stored = nbformat.read(ROOT / "notebooks" / "00_start_here.ipynb", as_version=4)
    (wheel,) = (path for path in wheels(address))
    taken = to_take_away(stored, address, wheel)
    taken.cells = [*taken.cells[: cells_to_run(taken)], new_code_cell(WHERE)]
    done = run_in(bare, tmp_path, taken, monkeypatch)
    assert str(bare / "env") in done.cells[-1].outputs[-1].text
    assert [path.name for path in tmp_path.iterdir()] == []


def wheels(address: str) -> list[str]:
    with urlopen(f"{address}wheel/") as listing:
        return re.findall(r'href="([^"]+\.whl)"', listing.read().decode())


def cells_to_run(notebook: nbformat.NotebookNode) -> int:
    """As many as it takes for two views or figures to be drawn: what follows trains, and is tested elsewhere."""
    shown = [i for i, cell in enumerate(notebook.cells) if "text/html" in str(cell.get("outputs", ""))]
    return shown[1] + 1


def test_where_the_package_is_there_the_cell_does_nothing():
    cell = to_take_away(nbformat.v4.new_notebook(), "http://nowhere.invalid/", "none.whl").cells[0]
    names: dict = {}
    plain = cell.source.replace("%pip", "raise_error #")
    exec(compile(plain, "cell", "exec"), names)
    assert "missing" not in names


def test_what_is_missing_is_installed_and_nothing_else(monkeypatch):
    """What a machine has is never replaced, however old, nor is JupyterLab asked of one that is no laboratory."""
    asked = [
        "torch>=2.5",
        "num2words>=0.5",
        "jupyterlab>=4",
        'transformers>=4.50; extra == "lessons"',
        "huggingface_hub>=1",
    ]
    here = [type("Present", (), {"name": name})() for name in ("torch", "huggingface-hub")]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: asked)
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: here)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for source, more in (("x = 1", []), ("import transformers", ["transformers>=4.50"])):
        lesson = nbformat.v4.new_notebook(cells=[new_code_cell(source)])
        cell = to_take_away(lesson, "", "x.whl").cells[0]
        assert "SITE-ADDRESS/wheel/x.whl" in cell.source
        names: dict = {}
        exec(compile(cell.source.replace("%pip", "pass #"), "cell", "exec"), names)
        assert names["missing"] == ["num2words>=0.5", *more]
