"""Each module of the package imports only those before it, and the package alone loads no plotting or widgets."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import transformer_lab

PACKAGE = Path(transformer_lab.__file__).parent
ORDER = [
    *(
        "device",
        "checks",
        "fused",
        "attention",
        "tiles",
        "fast",
        "recording",
        "masks",
        "positions",
        "blocks",
        "experts",
        "storage",
        "model",
        "language_model",
        "losses",
        "text_encoder",
        "attention_only",
        "interop",
        "gpt2",
        "llama",
        "published",
    ),
    *(
        "eight_bits",
        "inference",
        "decoding",
        "cached_decoder",
        "generation",
        "completion",
        "speculation",
        "merges",
        "tokenizer",
    ),
    *("texts", "ngrams", "repeats", "probes", "number_words", "tasks", "training", "analysis"),
    "__init__",  # the package itself: what `import transformer_lab` loads stands above, the rest below
    *("plots", "widgets", "exercises", "grading", "cli"),
]


def module_of(path: Path, package: Path) -> str:
    """The first name after the package's: widgets/view.py belongs to widgets."""
    return path.relative_to(package).with_suffix("").parts[0]


def modules_imported(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import from the package in one file, those inside functions too."""
    inside = path.relative_to(package.parent).with_suffix("").parts  # such as transformer_lab, widgets, view
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = [*inside[: len(inside) - node.level]] if node.level else []
            source = start + (node.module.split(".") if node.module else [])
            names = [[*source, alias.name] for alias in node.names]
        else:
            continue
        for root, *rest in names:
            if root == package.name:
                is_module = rest and ((package / rest[0]).is_dir() or (package / f"{rest[0]}.py").exists())
                yield node.lineno, rest[0] if is_module else "__init__"


def wrong_arrows(package: Path) -> list[str]:
    """Every import that does not point to a module further up in ORDER."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        here, name = module_of(path, package), path.relative_to(package).as_posix()
        if here not in ORDER:
            wrong.append(f"{name} has no place in ORDER")
            continue
        for line, there in modules_imported(path, package):
            if there not in ORDER or ORDER.index(there) > ORDER.index(here):
                wrong.append(f"{name}, line {line}: {here} imports {there}")
    return wrong


def test_no_import_in_the_package_points_backwards():
    assert wrong_arrows(PACKAGE) == []


def grow(tmp_path: Path, files: dict[str, str]) -> Path:
    """A package of the given files beside the few that they import."""
    package = tmp_path / "transformer_lab"
    for name, text in ({"attention.py": "", "model.py": "", "exercises/engine.py": "", "plots.py": ""} | files).items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "attention.py",
            "from transformer_lab.model import Transformer",
            "attention.py, line 1: attention imports model",
        ),
        ("attention.py", "import transformer_lab.model as m", "attention.py, line 1: attention imports model"),
        ("attention.py", "from .model import Transformer", "attention.py, line 1: attention imports model"),
        ("attention.py", "from . import model", "attention.py, line 1: attention imports model"),
        ("attention.py", "from transformer_lab import model", "attention.py, line 1: attention imports model"),
        ("attention.py", "import transformer_lab", "attention.py, line 1: attention imports __init__"),
        ("model.py", "from transformer_lab import Transformer", "model.py, line 1: model imports __init__"),
        ("model.py", "def f():\n    import transformer_lab.plots", "model.py, line 2: model imports plots"),
        (
            "__init__.py",
            "from transformer_lab.exercises.engine import E",
            "__init__.py, line 1: __init__ imports exercises",
        ),
        ("plots.py", "from .exercises import engine", "plots.py, line 1: plots imports exercises"),
        ("widgets/view.py", "from ..exercises import engine", "widgets/view.py, line 1: widgets imports exercises"),
        ("helpers.py", "", "helpers.py has no place in ORDER"),
    ],
)
def test_a_backward_import_is_found(name, text, message, tmp_path):
    assert wrong_arrows(grow(tmp_path, {name: text})) == [message]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model.py", "from transformer_lab.attention import x"),
        ("model.py", "import torch, attention_lab.plots"),
        ("__init__.py", "from transformer_lab.model import Transformer"),
        ("plots.py", "from transformer_lab import causal_mask"),
        ("exercises/lesson_01.py", "from transformer_lab.exercises.engine import x"),
        ("exercises/lesson_01.py", "from .engine import x"),
        ("exercises/lesson_01.py", "from ..plots import x"),
    ],
)
def test_a_forward_import_is_allowed(name, text, tmp_path):
    assert wrong_arrows(grow(tmp_path, {name: text})) == []


def test_the_package_alone_loads_no_module_of_its_own():
    script = "import sys, transformer_lab as t; print(*(n for n in sys.modules if n.startswith(('transf', 'torch'))))"
    run = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["transformer_lab"]


@pytest.mark.parametrize("name", transformer_lab.__all__)
def test_a_name_of_the_package_is_that_of_the_module_that_defines_it(name):
    found = getattr(transformer_lab, name)
    assert getattr(sys.modules[found.__module__], name) is found
    assert found.__module__.split(".")[1] in ORDER[: ORDER.index("__init__")]
    assert name in dir(transformer_lab)


def test_a_name_that_the_package_has_not_is_an_error():
    with pytest.raises(AttributeError, match="module 'transformer_lab' has no attribute 'sofmax'"):
        transformer_lab.sofmax  # noqa: B018


def test_the_package_loads_neither_plots_nor_widgets():
    script = "import sys; from transformer_lab import *; print(*{name.split('.')[0] for name in sys.modules})"
    script += "; print(*(name for name in sys.modules if name.startswith('transformer_lab')))"
    run = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    roots, ours = (set(line.split()) for line in run.stdout.splitlines())
    assert "torch" in roots
    assert not roots & {"matplotlib", "ipywidgets", "IPython", "beartype", "num2words"}
    assert not {f"transformer_lab.{name}" for name in ORDER[ORDER.index("__init__") + 1 :]} & ours
