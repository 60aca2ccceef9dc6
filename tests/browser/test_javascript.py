"""The views' JavaScript under Node, without a browser: its numbers against torch, and the scripts of the outputs."""

import importlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from transformer_lab import widgets
from transformer_lab.widgets.shared.view import script_of

WIDGETS = Path(widgets.__file__).parent
MODULES = sorted((path for path in WIDGETS.rglob("*.js") if path.parent.name != "static"), key=lambda path: path.stem)
VIEWS = [path.stem.removesuffix("_view") for path in MODULES if path.stem.endswith("_view")]
TESTS = Path(__file__).with_name("javascript")  # <module>.test.mjs, and <module>.py with the numbers for it
STUBS = "globalThis.HTMLElement = class {}; globalThis.customElements = {get() {}, define: tag => console.log(tag)};"


def run_node(*arguments: str | Path, **variables: str | Path) -> str:
    """Run Node, with environment variables; what it prints. What it complains about is the failure."""
    node = shutil.which("node")
    assert node, "no Node found: install nodejs"
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    done = subprocess.run([node, *map(str, arguments)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_module_is_tested():
    assert [path.stem for path in MODULES] == sorted(path.name.split(".")[0] for path in TESTS.glob("*.test.mjs"))


@pytest.mark.parametrize("module", [path.stem for path in MODULES])
def test_the_numbers_are_those_of_torch(module, tmp_path):
    torch.manual_seed(0)
    fixtures = tmp_path / "fixtures.json"
    numbers = importlib.import_module(f"tests.browser.javascript.{module}").numbers()
    fixtures.write_text(json.dumps(numbers, allow_nan=False))
    ran = run_node("--test", "--test-reporter=tap", TESTS / f"{module}.test.mjs", MODULES=WIDGETS, FIXTURES=fixtures)
    assert int(re.search(r"^# pass (\d+)$", ran, re.MULTILINE)[1]) > 0


@pytest.mark.parametrize("view", VIEWS)
def test_the_script_of_an_output_is_whole_in_itself(view, tmp_path):
    script = script_of(view)
    assert re.findall(r"^\s*(?:import|export)\b.*", script, flags=re.MULTILINE) == []
    assert "</script" not in script, "it would end where it stands in the page"
    path = tmp_path / "script.mjs"
    path.write_text(f'{STUBS}\nconst TAG="tl-{view}";{script}', "utf-8")
    run_node("--check", path)
    assert run_node(path) == f"tl-{view}\n"
