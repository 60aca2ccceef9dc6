"""The processes that grade. On Linux they are forked from one that has loaded torch, so that each is there at once."""

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver, get_context

PRELOADED = ["transformer_lab.grading.preloaded"]


def preload() -> None:
    """Start the process that the others are forked from, so that it loads torch while this one still does."""
    if sys.platform == "linux":
        get_context("forkserver").set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


def process_pool(count: int) -> ProcessPoolExecutor:
    """So many processes to grade in, each with this process's environment as it is now.

    The process that they are forked from starts with the first pool, serves all others, and ends with this process.
    Windows does not fork, and on macOS the system's own libraries forbid it: there each process loads torch itself.
    """
    context = get_context("forkserver" if sys.platform == "linux" else "spawn")
    if sys.platform == "linux":
        context.set_forkserver_preload(PRELOADED)
    return ProcessPoolExecutor(count, mp_context=context, initializer=begin, initargs=(dict(os.environ),))


def begin(environment: dict[str, str]) -> None:
    """Get one of these processes ready: what it was forked from may have an older environment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that collects the grades
    os.environ.clear()
    os.environ.update(environment)
