"""The views' JavaScript under Node, without a browser: its numbers against torch, and the scripts of the outputs."""

import itertools
import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import matplotlib
import pytest
import torch

from transformer_lab import widgets
from transformer_lab.widgets.kit import bundle, packed

MODULES = sorted(Path(widgets.__file__).parent.glob("*.js"))
VIEWS = [path.stem for path in MODULES if path.stem != "kit"]
TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))
STUBS = "globalThis.HTMLElement = class {}; globalThis.customElements = {get() {}, define: tag => console.log(tag)};"


def run_node(*arguments: str | Path, **variables: str | Path) -> str:
    """Run Node, with environment variables; what it prints. What it complains about is the failure."""
    node = shutil.which("node")
    assert node, "no Node found: install nodejs"
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    done = subprocess.run([node, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def modules(tmp_path_factory) -> Path:
    """A copy of the modules in a folder that tells Node what they are."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "package.json").write_text('{"type": "module"}')
    for path in MODULES:
        shutil.copy(path, folder)
    return folder


def test_every_module_is_tested():
    loaded = {name for path in TESTS for name in re.findall(r'load\("(\w+)"\)', path.read_text("utf-8"))}
    assert loaded == {path.stem for path in MODULES}


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_the_numbers_are_those_of_torch(path, modules, tmp_path):
    torch.manual_seed(0)
    fixtures = tmp_path / "fixtures.json"
    fixtures.write_text(json.dumps(numbers(), allow_nan=False))
    run_node("--test", path, MODULES=modules, FIXTURES=fixtures)


@pytest.mark.parametrize("view", VIEWS)
def test_the_script_of_an_output_is_whole_in_itself(view, tmp_path):
    script = bundle(view)
    assert re.findall(r"^\s*(?:import|export)\b.*", script, flags=re.MULTILINE) == []
    assert "</script" not in script, "it would end where it stands in the page"
    path = tmp_path / "script.mjs"
    path.write_text(f'{STUBS}\n{script}\ndefine("tl-{view}", view);', "utf-8")
    run_node("--check", path)
    assert run_node(path) == f"tl-{view}\n"


# ── what torch computes; None stands for what JSON can't say: a score of -inf, a masked place of a map ──


def numbers() -> dict[str, list]:
    shades = (255 * matplotlib.colormaps["cividis"](torch.linspace(0, 1, 101).numpy())[:, :3]).round()
    return {
        "softmax": softmax_cases(),
        "entropy": [{"p": p.tolist(), "bits": (torch.special.entr(p).sum() / math.log(2)).item()} for p in P],
        "packed": [{"packed": packed(x), "numbers": x.flatten().tolist(), "shape": list(x.shape)} for x in TENSORS],
        "maps": [map_case(*options) for options in itertools.product(STAGES, [False, True], [0.3, 1, 4], [1, 3**0.5])],
        "widths": [width_case(width, scaled) for width in (1, 7, 1024) for scaled in (False, True)],
        "cividis": shades.tolist(),
    }


STAGES = ("scores", "scaled", "masked", "weights")
P = [
    *torch.randn(5, 7, generator=torch.Generator().manual_seed(1), dtype=torch.double).mul(3).softmax(-1),
    torch.tensor([1.0, 0.0, 0.0], dtype=torch.double),
    torch.tensor([0.5, 0.5, 0.0], dtype=torch.double),
    torch.full((8,), 1 / 8, dtype=torch.double),
]
TENSORS = [
    torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(2)),
    torch.randn(5, 3, generator=torch.Generator().manual_seed(3)).T,
    torch.tensor([0.0, -0.0, 1e-45, -1e-38, 3.4028234663852886e38, 1 / 3]),
    torch.tensor([[1.5, -2.25]], dtype=torch.bfloat16, requires_grad=True),
]


def softmax_cases() -> list[dict]:
    cases = {
        "large scores": ([1000.0, 1001.0, -1000.0, 999.0], [True] * 4),
        "very large scores": ([-1e30, 1e30, 1e30], [True] * 3),
        "masked entries": ([0.5, -2.0, 3.0, 1.0], [True, False, True, True]),
        "the largest is masked": ([0.5, 5000.0, 0.25], [True, False, True]),
        "minus infinity is no weight": ([0.5, -math.inf, 1.5], [True] * 3),
        "nothing allowed": ([1.0, 2.0, 3.0], [False] * 3),
        "nothing but minus infinity": ([-math.inf, -math.inf], [True] * 2),
        "one score": ([-7.0], [True]),
    }
    return [softmax_case(name, torch.tensor(s, dtype=torch.double), torch.tensor(a)) for name, (s, a) in cases.items()]


def softmax_case(name: str, scores: torch.Tensor, allowed: torch.Tensor) -> dict:
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1).nan_to_num(0.0)
    finite = [None if score == -math.inf else score for score in scores.tolist()]
    return {"name": name, "scores": finite, "allowed": allowed.tolist(), "weights": weights.tolist()}


def map_case(stage: str, causal: bool, temperature: float, divisor: float) -> dict:
    T, S = (6, 6) if causal else (5, 7)
    scores = 2 * torch.randn(T, S)
    mask = torch.ones(T, S).tril().bool() if causal else torch.ones(T, S).bool()
    scaled = scores.double() / (divisor * temperature)
    masked = scaled.masked_fill(~mask, -math.inf)
    rows = {"scores": scores, "scaled": scaled, "masked": masked, "weights": masked.softmax(-1)}[stage].tolist()
    return {
        "name": f"{stage}, causal {causal}, temperature {temperature}, divisor {divisor:.2f}",
        "scores": scores.flatten().tolist(),
        "T": T,
        "S": S,
        "options": {"stage": stage, "divisor": divisor, "temperature": temperature, "causal": causal},
        "map": [[None if value == -math.inf else value for value in row] for row in rows],
    }


def width_case(width: int, scaled: bool) -> dict:
    scores = torch.randn(8, width) @ torch.randn(width)
    weights = (scores.double() / (width**0.5 if scaled else 1)).softmax(-1)
    return {"scores": scores.tolist(), "width": width, "scaled": scaled, "weights": weights.tolist()}
