"""beartype, but not before a function is first called: of two thousand that are imported, a test file calls few."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from beartype import beartype


def checked_when_called(function: Callable) -> Callable:
    """The function, which checks its types in every call."""
    if not callable(function) or isinstance(function, type):
        return beartype(function)
    checked: Callable | None = None

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal checked
        if checked is None:
            checked = beartype(function)
        return checked(*arguments, **named)

    return call
