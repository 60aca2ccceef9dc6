"""A limit on the time that an answer may take: by a system timer or, where there is none, by a thread.

Processor time counts, which a busy machine does not use up. The clock's time is limited too, for what sleeps or waits,
but at ten times as much. Only a timer ends what waits: Windows has none, and elsewhere only the main thread hears one.
"""

import linecache
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from transformer_lab.exercises.engine.running import OURS, call
from transformer_lab.exercises.engine.thread_limit import limited_by_a_thread

SECONDS = 20.0  # of the processor
TIMES_BY_THE_CLOCK = 10
AGAIN = 0.001  # seconds until an error is raised again that an answer has caught


class OutOfTime(BaseException):
    """Raised in the middle of an answer, with the time it took. No Exception, so that an answer does not catch it."""


def time_limit(seconds: float = SECONDS) -> AbstractContextManager[None]:
    """Raise OutOfTime in the `with` block after so many seconds of processor time, and again if it is caught."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return limited_by_a_thread(seconds, TIMES_BY_THE_CLOCK * seconds, OutOfTime)
    return limited_by_a_timer(seconds)


@contextmanager
def limited_by_a_timer(seconds: float) -> Iterator[None]:
    """Raise OutOfTime by a timer, and again if it is caught; KeyboardInterrupt likewise after an interrupt.

    Both are raised before each further step of the answer. A timer and handlers that were there before are there again
    afterwards.
    """
    if sys.platform == "win32":
        raise OSError("a timer must be the system's own (Windows has none)")
    armed, start, used, tracing = True, time.monotonic(), time.thread_time(), sys.gettrace()
    struck: list[BaseException] = []  # what is raised until the answer ends

    def ring(number: int, frame: FrameType | None) -> None:
        if armed and not struck and time.thread_time() - used >= seconds:
            strike(OutOfTime(f"{seconds:g} seconds of computing"), frame)
        if armed and not struck and time.monotonic() - start >= TIMES_BY_THE_CLOCK * seconds:
            strike(OutOfTime(f"{TIMES_BY_THE_CLOCK * seconds:g} seconds"), frame)
        if armed and struck:
            end_with(struck[0], frame)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if armed and not struck:
            strike(KeyboardInterrupt(), frame)
        raise KeyboardInterrupt

    def strike(error: BaseException, frame: FrameType | None) -> None:
        vars(error)["place"] = place_in(frames_of_the_answer(frame))
        struck.append(error)
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise error

    handler = signal.signal(signal.SIGALRM, ring)
    of_interrupts = signal.getsignal(signal.SIGINT)
    if of_interrupts is signal.default_int_handler:  # what else there is may do something else, or be meant to ignore
        signal.signal(signal.SIGINT, interrupt)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, min(seconds / 10, 1.0))
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        sys.settrace(tracing)
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, of_interrupts)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # whoever set it still waits for it
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - start), 1e-3), interval)


def end_with(error: BaseException, frame: FrameType | None) -> None:
    """Raise an error again in an answer that has caught it, and again before the next step, which may be `pass`."""

    def again(*_: object) -> NoReturn:
        anew = type(error)(*error.args)
        vars(anew).update(vars(error))
        raise anew

    if frames := frames_of_the_answer(frame):
        for one in frames:
            one.f_trace, one.f_trace_opcodes = again, True
        sys.settrace(lambda *_: None)  # those that are called from now on are not traced
        again()


def frames_of_the_answer(frame: FrameType | None) -> list[FrameType]:
    """The frames of a learner's own running code, without those of our code, torch's and Python's."""
    frames: list[FrameType] = []
    while frame is not None:
        if frame.f_code is call.__code__:
            return [one for one in frames if not one.f_code.co_filename.startswith(OURS)]
        frames.append(frame)
        frame = frame.f_back
    return []


def place_in(frames: list[FrameType]) -> str:
    """The innermost line within the answer's file, or within one beside it."""
    folders = [Path(frame.f_code.co_filename).parent for frame in frames]
    own = next((frame for frame, folder in zip(frames, folders, strict=True) if folder == folders[-1]), None)
    line = linecache.getline(own.f_code.co_filename, own.f_lineno).strip() if own else ""
    return f"line {own.f_lineno}: `{line}`" if own and line else ""
