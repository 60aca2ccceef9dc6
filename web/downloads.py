"""What can be taken from the site: the package as a wheel, and each lesson, which installs it where it is missing."""

import copy
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

HERE = "SITE-ADDRESS/"  # where nobody has said where the site stands: the page fills in its own address
INSTALL = """\
# Where the package is missing, this cell installs it, with what else is missing. Elsewhere it does nothing.
from importlib import invalidate_caches
from importlib.metadata import distributions, requires
from importlib.util import find_spec

if find_spec("transformer_lab") is None:
    %pip install --quiet --no-deps packaging {address}wheel/{wheel}
    invalidate_caches()
    from packaging.requirements import Requirement

    present = {{one.name.lower().replace("-", "_") for one in distributions()}} | {{"jupyterlab"}}
    asked = [one for one in map(Requirement, requires("transformer_lab")) if one.name.replace("-", "_") not in present]
    missing = [f"{{one.name}}{{one.specifier}}" for one in asked if not one.marker or one.marker.evaluate({extra})]
    if missing:
        %pip install --quiet --no-warn-conflicts {{" ".join(missing)}}
        invalidate_caches()
"""
NEEDS_MORE = re.compile(r"\b(?:import|from) transformers\b|minilm", re.IGNORECASE)


def write_wheel(root: Path, folder: Path) -> str:
    """Build the package's wheel, without a network and beside the checkout; returns its name."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(root / name, scratch)
        kept_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / "transformer_lab", Path(scratch) / "transformer_lab", ignore=kept_out)
        folder.mkdir(parents=True)
        build = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
        subprocess.run([sys.executable, "-c", build], cwd=scratch, check=True, capture_output=True)
    (wheel,) = folder.iterdir()
    return wheel.name


def to_take_away(notebook: NotebookNode, address: str, wheel: str) -> NotebookNode:
    """A copy of a notebook that begins with a cell which installs the wheel where the package is missing."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    extra = {"extra": "lessons" if NEEDS_MORE.search(code) else ""}
    taken = copy.deepcopy(notebook)
    first = new_code_cell(INSTALL.format(address=address or HERE, wheel=wheel, extra=extra).rstrip(), id="install")
    taken.cells.insert(0, first)
    return taken


def write_downloads(stored: dict[str, NotebookNode], address: str, wheel: str, folder: Path) -> None:
    for name, notebook in stored.items():
        nbformat.write(to_take_away(notebook, address, wheel), folder / f"{name}.ipynb")
