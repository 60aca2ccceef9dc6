"""What every test run shares: checked signatures, one thread per worker, a guard for dead notebook kernels."""

import gc
import importlib.util
import os
import signal
import sys
from pathlib import Path

import jaxtyping
from hypothesis import HealthCheck, settings

# What tests start in another Python finds these first: a module that is in the way of another, and settings.
QUICKER = str(Path(__file__).with_name("tests") / "quicker")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [QUICKER, os.environ.get("PYTHONPATH")]))

# nbval reads notebooks with jsonschema, which would build 38 grammars for formats that none of them has.
sys.modules["rfc3987_syntax"] = None
# nbval itself is among them, and not found by its entry point, so that the line above comes first.
pytest_plugins = ["nbval.plugin", "tests.nbval_guard", "tests.nbval_numbers", "tests.nbval_solved"]

# No test, and no kernel that it starts, writes into the progress of whoever runs it.
os.environ["TRANSFORMER_LAB_PROGRESS"] = "off"

# A slow machine, or a busy one, makes no test fail.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# A shell ignores Ctrl-C for what it starts in the background, and all that is started from there would ignore it, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # what is imported and collected stays: looking for what does not takes half a second

# Workers share the cores, so each of them, and each notebook kernel that it starts, computes with one thread.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"


def are_asked_for(config, *folders: str) -> bool:
    """Whether the tests of a folder are asked for by name: browser tests and benchmarks are in no other run."""
    return any(part in folders for argument in config.args for part in Path(argument).parts)


def checked_modules() -> list[str]:
    """Those that state shapes: the other types are for mypy, and to check each call took half of its time."""
    root = Path(__file__).parent
    files = root.glob("transformer_lab/**/[!_]*.py")
    paths = (path for path in files if "from jaxtyping import" in path.read_text(encoding="utf-8"))
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]


def pytest_configure(config) -> None:
    """Before the package is imported: have every call of it that states shapes checked against its signature."""
    if config.option.dist != "no" and "PYTEST_XDIST_WORKER" not in os.environ:
        return  # this process hands out tests, and runs none
    config.option.nbval_sanitize_with = str(Path(__file__).with_name("tests") / "nbval_sanitize.cfg")
    if not are_asked_for(config, "browser", "benchmarks"):
        checking = importlib.import_module("tests.checked_when_called")  # the hook itself would import `tests` alone
        jaxtyping.jaxtyped = checking.checked_once
        jaxtyping.install_import_hook(checked_modules(), "tests.checked_when_called.checked_when_called")


def pytest_xdist_auto_num_workers(config) -> int | None:
    """One worker per core; none for benchmarks, which want the machine alone."""
    return 0 if are_asked_for(config, "benchmarks") else None


# The longest files beside the notebooks, the longest first.
LONG = (
    *("test_hidden_cases.py", "test_exercises.py", "test_widgets.py", "test_attacks.py", "test_nbgrader.py"),
    *("test_course.py", "test_training.py", "test_site.py", "test_sandbox.py", "test_batched.py"),
    *("test_fake_device.py", "test_own_answers.py", "test_plots.py", "test_dask.py", "test_lessons.py"),
    *("test_nbval_guard.py", "test_term.py", "test_fair.py"),
)


def pytest_collection_finish() -> None:
    gc.freeze()  # what is there by now stays, and is not looked through later either
    gc.enable()


def pytest_collection_modifyitems(items: list) -> None:
    """The notebooks first, the last lessons first of all, then the long files: no worker should end with one."""
    notebooks = sorted({item.path for item in items if item.path.suffix == ".ipynb"}, reverse=True)
    first = [path.name for path in notebooks] + [*LONG]
    rank = {name: number for number, name in enumerate(first)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))
