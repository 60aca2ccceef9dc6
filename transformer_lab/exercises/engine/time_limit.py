"""A limit to the time that an answer may take: by a timer of the system, or, where there is none, by a thread.

Processor time counts, which a busy machine does not use up. The clock's time is limited too, for what sleeps or waits,
but at ten times as much. Only a timer ends what waits: Windows has none, and elsewhere only the main thread hears one.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from transformer_lab.exercises.engine.thread_limit import limited_by_a_thread

SECONDS = 20.0  # of the processor
TIMES_BY_THE_CLOCK = 10


class OutOfTime(BaseException):
    """Raised in the midst of an answer; says how long it took. No Exception: an answer must not catch it with those."""


def time_limit(seconds: float = SECONDS) -> AbstractContextManager[None]:
    """Raise OutOfTime in the `with` block after so many seconds of processor time, and again, should it be caught."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return limited_by_a_thread(seconds, TIMES_BY_THE_CLOCK * seconds, OutOfTime)
    return limited_by_a_timer(seconds)


@contextmanager
def limited_by_a_timer(seconds: float) -> Iterator[None]:
    """The same, by a timer. A timer and a handler that were there before are there again afterwards."""
    if sys.platform == "win32":
        raise OSError("a timer must be the system's own (Windows has none)")
    armed, start, used = True, time.monotonic(), time.thread_time()

    def ring(number: int, frame: FrameType | None) -> None:
        if armed and time.thread_time() - used >= seconds:
            raise OutOfTime(f"{seconds:g} seconds of computing")
        if armed and time.monotonic() - start >= TIMES_BY_THE_CLOCK * seconds:
            raise OutOfTime(f"{TIMES_BY_THE_CLOCK * seconds:g} seconds")

    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, min(seconds / 10, 1.0))
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
