"""The fixtures that the tests of grading share: a sandbox starts once for each worker, and not before it is needed.

Nothing of the package is imported before a fixture is used: where a file of this folder is named, this one comes before
pytest's checks of signatures, which see only what is imported after them.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

collect_ignore_glob = ["*"] if sys.platform != "linux" else []  # grading needs Linux


@pytest.fixture(scope="session")
def bwrap() -> None:
    """Skips where there can be no sandbox; `.ci/run` sees to it that there is one."""
    from transformer_lab.grading.sandbox.policy import NoSandbox, find_bwrap

    try:
        find_bwrap()
    except NoSandbox as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def sandbox(bwrap) -> Iterator[Any]:
    """One for all tests of a worker: it starts once."""
    from transformer_lab.grading.sandbox.sandbox import Sandbox

    with Sandbox(seconds=30) as sandbox:
        yield sandbox
