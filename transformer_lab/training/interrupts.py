"""Signals that ask the process to stop (Ctrl-C, a stopped cell, SIGTERM), deferred while something is half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def defer_interrupt(*numbers: int, at_most: int | None = None) -> Iterator[list[int]]:
    """Defer signals (by default SIGINT) to the end of the block; the list collects those that came.

    At the end they are raised again, each kind once; `list.clear()` says that they have been heeded. Where a block
    could take long, `at_most` says how many are held: the next acts at once.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only that one hears signals
        yield came
        return

    def hold(number: int, frame: FrameType | None) -> None:
        handler = before[number]
        if at_most is None or len(came) < at_most:
            came.append(number)
        elif callable(handler):
            handler(number, frame)

    before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers or (signal.SIGINT,)}
    for number in before:
        signal.signal(number, hold)
    try:
        yield came
    finally:
        restore(before)
    for number in dict.fromkeys(came):
        signal.raise_signal(number)


@contextmanager
def heed_interrupt(came: list[int]) -> Iterator[None]:
    """Inside `with defer_interrupt() as came`, mark a part that a KeyboardInterrupt may end at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        restore(held)  # first: one more must not hit who handles this one
        came.append(number)
        raise KeyboardInterrupt

    held: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in held:
            signal.signal(number, interrupt)
        yield
    finally:
        restore(held)


def restore(handlers: dict[int, Any]) -> None:
    """Restore the handlers, that of the first signal last, because from then on it may raise."""
    for number, handler in reversed(handlers.items()):
        signal.signal(number, handler)
