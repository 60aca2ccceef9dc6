"""Each folder of the package imports only those before it, and the package alone loads no plotting or widgets."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import transformer_lab

PACKAGE = Path(transformer_lab.__file__).parent
ORDER = [
    *("console", "checks", "device", "files", "storage"),
    *("nn", "models", "decoding", "weights", "kernels", "data", "training", "distributed", "analysis"),
    "__init__",  # the package itself: what `import transformer_lab` loads stands above, the rest below
    *("plots", "widgets", "exercises", "grading", "cli"),
]
FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
OF_SCRIPTS = {path.parent for path in PACKAGE.rglob("*.js") if path.parent.name != "static"}


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


def siblings(folder: Path) -> set[str]:
    """The modules and folders of modules in a folder."""
    files = {path.stem for path in folder.glob("[!_]*.py")}
    return files | {path.parent.name for path in folder.glob("*/__init__.py")}


def siblings_used(name: str, folder: Path, package: Path) -> set[str]:
    """The others of a folder that one module of it imports, or that the modules of one of its folders do."""
    single = folder / f"{name}.py"
    inside = (package.name, *folder.relative_to(package).parts)
    used = set()
    for path in [single] if single.exists() else (folder / name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = (*node.module.split("."), alias.name)
                    if full[: len(inside)] == inside and len(full) > len(inside):
                        used.add(full[len(inside)])
    return used & siblings(folder) - {name}


def circle_in(folder: Path, package: Path) -> set[str]:
    """What of a folder imports itself by way of others: empty, as it should be."""
    left = {name: siblings_used(name, folder, package) for name in siblings(folder)}
    while grounded := [name for name, used in left.items() if not used & left.keys()]:
        for name in grounded:
            del left[name]
    return set(left)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(PACKAGE).as_posix())
def test_no_folder_has_a_circle(folder):
    assert circle_in(folder, PACKAGE) == set()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(PACKAGE).as_posix())
def test_a_folder_says_in_which_order_it_is_read(folder):
    """Its docstring names each of its modules. Views and lessons, which stand side by side, have no order."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    here = {name for name in siblings(folder) if not name.startswith("lesson_")}
    stand_side_by_side = folder.name.startswith("lesson_") or "views" in (folder.name, folder.parent.name)
    if len(here) > 1 and not stand_side_by_side:
        assert here - set(re.findall(r"`(\w+)`", docstring)) == set()


@pytest.mark.parametrize(
    "folder", sorted({*FOLDERS, *OF_SCRIPTS}), ids=lambda folder: folder.relative_to(PACKAGE).as_posix()
)
def test_a_folder_is_small(folder):
    """At most 16 files of source, but for the lessons' exercises."""
    if not folder.name.startswith("lesson_"):
        assert len([path for path in folder.iterdir() if path.suffix in (".py", ".js", ".mjs")]) <= 16


def grow(tmp_path: Path, files: dict[str, str]) -> Path:
    """A package of the given files beside the few that they import."""
    package = tmp_path / "transformer_lab"
    few = {"nn/attention.py": "", "training/loop.py": "", "exercises/engine.py": "", "plots/maps.py": ""}
    for name, text in (few | files).items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def test_folders_are_read_in_the_order_in_which_they_import():
    named = re.findall(r"`(\w+)`", transformer_lab.__doc__)
    order = [name for name in ORDER if (PACKAGE / name).is_dir()]
    assert [name for name in named if name in order] == order


BACKWARDS = "nn/attention.py, line 1: nn imports training"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nn/attention.py", "from transformer_lab.training import Training", BACKWARDS),
        ("nn/attention.py", "from transformer_lab.training.loop import Training", BACKWARDS),
        ("nn/attention.py", "import transformer_lab.training.loop as m", BACKWARDS),
        ("nn/attention.py", "from ..training import loop", BACKWARDS),
        ("nn/attention.py", "from transformer_lab import training", BACKWARDS),
        ("nn/attention.py", "import transformer_lab", "nn/attention.py, line 1: nn imports __init__"),
        (
            "training/loop.py",
            "def f():\n    import transformer_lab.plots",
            "training/loop.py, line 2: training imports plots",
        ),
        (
            "__init__.py",
            "from transformer_lab.exercises.engine import E",
            "__init__.py, line 1: __init__ imports exercises",
        ),
        ("plots/maps.py", "from ..exercises import engine", "plots/maps.py, line 1: plots imports exercises"),
        ("helpers.py", "", "helpers.py has no place in ORDER"),
    ],
)
def test_a_backward_import_is_found(name, text, message, tmp_path):
    assert wrong_arrows(grow(tmp_path, {name: text})) == [message]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("training/loop.py", "from transformer_lab.nn.attention import x"),
        ("training/loop.py", "import torch, attention_lab.plots"),
        ("__init__.py", "from transformer_lab.training.loop import Training"),
        ("plots/maps.py", "from transformer_lab import causal_mask"),
        ("exercises/lesson_01.py", "from transformer_lab.exercises.engine import x"),
        ("exercises/lesson_01.py", "from .engine import x"),
        ("exercises/lesson_01.py", "from ..plots import x"),
    ],
)
def test_a_forward_import_is_allowed(name, text, tmp_path):
    assert wrong_arrows(grow(tmp_path, {name: text})) == []


def test_a_circle_is_found(tmp_path):
    files = {"nn/__init__.py": "", "nn/masks.py": "from transformer_lab.nn.blocks import x", "nn/blocks.py": ""}
    package = grow(tmp_path, files)
    assert circle_in(package / "nn", package) == set()
    (package / "nn" / "blocks.py").write_text("from transformer_lab.nn import attention, masks")
    assert circle_in(package / "nn", package) == {"masks", "blocks"}


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
