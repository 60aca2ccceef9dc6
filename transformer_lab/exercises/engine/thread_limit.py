"""A time limit on Python code, imposed by a second thread: it works on every system and in any thread.

What sleeps, or computes in one long call of C, is ended only when it comes back to Python. The system tells everywhere
how long a process has computed, but not everywhere how long another thread has, so that is what counts here.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Arrived(BaseException):
    """Raised in a thread and caught at once, after which Python has nothing more to raise in it.

    To take back what is to be raised, by handing over None, would leave Python 3.11 believing that there is something:
    it would look for it without end at the next call of a function that a debugger follows.
    """


@contextmanager
def limited_by_a_thread(seconds: float, by_the_clock: float, error: type[BaseException]) -> Iterator[None]:
    """Raise the error in the `with` block after so many seconds of processor time or of wall-clock time.

    It is raised again, should it be caught.
    """
    over, raise_in, reason = threading.Event(), ctypes.pythonapi.PyThreadState_SetAsyncExc, ""
    own, block = threading.get_ident(), sys._getframe(2)  # of whoever says `with`
    too_long = stopwatch(seconds, by_the_clock)

    def ring() -> None:
        nonlocal reason
        wait = min(seconds / 10, 1.0)
        while not over.wait(wait) and is_running(block, own):  # it may strike where the block ends, before `stop`
            if reason := reason or too_long():
                raise_in(ctypes.c_ulong(own), ctypes.py_object(error))
                wait = 1.0

    def stop() -> None:
        over.set()
        thread.join()
        try:  # what was raised at the last moment must not come after the block: something else takes its place
            raise_in(ctypes.c_ulong(own), ctypes.py_object(Arrived))
            while True:
                pass
        except Arrived:
            pass

    thread = threading.Thread(target=ring, daemon=True)
    thread.start()
    try:
        try:
            yield
        except error as raised:
            if type(raised) is error and not raised.args:  # only a class can be raised in another thread
                raised.args = (reason,)
            raise
        finally:
            stop()
    finally:
        stop()  # again, should it have been raised in the midst of that


def stopwatch(seconds: float, by_the_clock: float) -> Callable[[], str]:
    """Start measuring, and return a function that says how long it has been, or nothing until a limit is exceeded."""
    start, used = time.monotonic(), time.process_time()

    def too_long() -> str:
        passed = time.monotonic() - start
        if min(time.process_time() - used, passed) >= seconds:  # torch may compute in several threads at once
            return f"{seconds:g} seconds of computing"
        return f"{by_the_clock:g} seconds" if passed >= by_the_clock else ""

    return too_long


def is_running(function: FrameType, thread: int) -> bool:
    """Whether a call is still running in a thread."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame is not function:
        frame = frame.f_back
    return frame is not None
