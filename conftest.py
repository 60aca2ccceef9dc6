"""What every test run shares: checked signatures, one thread per worker, a guard for dead notebook kernels."""

import os
from pathlib import Path

from jaxtyping import install_import_hook

pytest_plugins = ["tests.nbval_guard"]

# Workers share the cores, so each of them, and each notebook kernel that it starts, computes with one thread.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"


def are_asked_for(config, *folders: str) -> bool:
    """Whether the tests of a folder are asked for by name: browser tests and benchmarks are in no other run."""
    return any(part in folders for argument in config.args for part in Path(argument).parts)


def pytest_configure(config) -> None:
    """Before the package is imported: have every call of it checked against its signature, types and shapes."""
    config.option.nbval_sanitize_with = str(Path(__file__).with_name("tests") / "nbval_sanitize.cfg")
    if not are_asked_for(config, "browser", "benchmarks"):
        install_import_hook("transformer_lab", "beartype.beartype")


def pytest_xdist_auto_num_workers(config) -> int | None:
    """One worker per core; none for benchmarks, which want the machine alone."""
    return 0 if are_asked_for(config, "benchmarks") else None
