"""The wheel holds all that the package needs: it works in another folder, without the checkout."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import transformer_lab
from tests.notebook_rules import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel of the tree as it is, built as pip builds it, but without the network and beside the checkout."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "transformer_lab", source / "transformer_lab", ignore=shutil.ignore_patterns("__pycache__"))
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})"
    run = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    (path,) = out.iterdir()
    return path


def test_the_wheel_holds_every_file_of_the_package_but_those_that_its_scripts_are_built_from(wheel):
    package, views = ROOT / "transformer_lab", ROOT / "transformer_lab" / "widgets"
    scripts = {path for path in views.rglob("*.js") if path.parent.name != "static"}
    built = scripts - {views / "shared" / "link.js"}  # which a kernel hands over as it is
    sources = built | {views / "build.mjs", views / "fonts.mjs", views / "static" / "manifest.json"}
    files = {path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    about = f"transformer_lab-{transformer_lab.__version__}.dist-info/"
    held = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith(about)}
    assert held == {path.relative_to(ROOT).as_posix() for path in files - sources}
    assert {"transformer_lab/py.typed", "transformer_lab/checkpoints/en_de.safetensors"} <= held
    assert any(name.endswith(".js") for name in held)


def test_the_installed_package_works_in_another_folder(wheel, tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    zipfile.ZipFile(wheel).extractall(site)  # which is how pip installs a wheel of Python files
    elsewhere.mkdir()
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    script = [sys.executable, "-W", "error", "-P", ROOT / "tests" / "installed_package.py"]  # -P: not its own folder
    run = subprocess.run(script, cwd=elsewhere, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    version = transformer_lab.__version__
    assert run.stdout.splitlines() == [
        f"home {site / 'transformer_lab'}",
        f"version {version} {version}",
        "translation einundzwanzig",
        "script True picture True",
        "solved True",
        f"command transformer-lab {version}",
        "training usage: python -m transformer_lab.training",
    ]


def test_every_lesson_finds_by_its_name_what_it_loads(wheel, tmp_path):
    """In an empty folder, with the package from the wheel."""
    site, empty = tmp_path / "site", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(site)
    empty.mkdir()
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    script = [sys.executable, "-P", ROOT / "tests" / "lessons_elsewhere.py", *notebooks]
    run = subprocess.run(script, cwd=empty, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = {line.partition(" ")[0]: line.partition(" ")[2] for line in run.stdout.splitlines() if line[:2] != "Py"}
    assert list(loaded) == [path.stem for path in notebooks]
    assert loaded["01_attention"] == "load_checkpoint('en_de')"
    assert loaded["12_published_weights"] == "word_senses.paragraphs()"
    assert list(empty.iterdir()) == []


def test_the_version_has_the_form_that_package_indexes_take():
    assert re.fullmatch(r"\d+\.\d+\.\d+", transformer_lab.__version__)
