"""A limit to the time that an answer may take, where Python has one to give: in the main thread, not on Windows."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 20.0


class OutOfTime(BaseException):
    """Raised in the midst of an answer. No Exception: an answer that catches those must not catch this."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise OutOfTime in the `with` block after so many seconds, and again each second, should it be caught.

    A timer and a handler that were there before are there again afterwards.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed, start = True, time.monotonic()

    def ring(number: int, frame: FrameType | None) -> None:
        if armed:
            raise OutOfTime

    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # whoever set it still waits for it
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - start), 1e-3), interval)
