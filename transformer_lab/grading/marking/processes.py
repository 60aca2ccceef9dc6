"""The processes that grade. They are forked from one that has loaded torch, so that each is there at once."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import forkserver, get_context

from transformer_lab.grading.sandbox.launching import end_ahead, started_ahead

PRELOADED = "transformer_lab.grading.marking.preloaded"


@contextmanager
def loaded(kind: str) -> Iterator[None]:
    """Within it torch is loaded where the processes are forked from, and meanwhile the first sandbox starts."""
    if start_method() == "fork":
        with started_ahead(kind):
            import_module(PRELOADED)
            yield
        return
    if start_method() == "forkserver":
        get_context("forkserver").set_forkserver_preload([PRELOADED])
        forkserver.ensure_running()
    yield


def start_method() -> str:
    """How processes start: forked from this one if no other thread runs in it, or else from one of their own.

    A fork would not have the other threads, and might wait for ever for a lock that one of them held.
    """
    return "fork" if len(os.listdir("/proc/self/task")) == 1 else "forkserver"


@contextmanager
def process_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes to grade in, each with this process's environment as it is now."""
    context = get_context(start_method())
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([PRELOADED])
    try:
        with ProcessPoolExecutor(count, mp_context=context, initializer=begin, initargs=(dict(os.environ),)) as pool:
            yield pool
    finally:
        end_ahead()  # the process that used that sandbox is gone, perhaps in the middle of an answer


def begin(environment: dict[str, str]) -> None:
    """Get one of these processes ready: what it was forked from may have an older environment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that collects the grades
    os.environ.clear()
    os.environ.update(environment)
