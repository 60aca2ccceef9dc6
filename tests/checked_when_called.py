"""Calls of the package are checked against the shapes in its signatures, each kind of call once.

A call whose arguments look like those of one that was right is checked again only if its result looks different: the
numbers in a tensor have no part in a check. Lists and dictionaries are looked into at each call.
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import isfunction
from typing import Any

import jaxtyping
import torch
from beartype import beartype

jaxtyped = jaxtyping.jaxtyped
PLAIN = (int, float, str, type(None))  # by their values: a shape may name an argument, as "{n_heads}" does


def looks(x: object) -> object | None:
    """What a check sees of an argument or of a result; None if it has to look into it."""
    if isinstance(x, torch.Tensor):
        return type(x), x.dtype, x.shape
    if isinstance(x, PLAIN):
        return type(x), x
    if isinstance(x, tuple):
        parts = tuple(map(looks, x))
        return None if None in parts else (type(x), *parts)
    return None if isinstance(x, (list, dict, set, frozenset)) else type(x)


def checked_once(function: Callable | None = None, *, typechecker: Callable) -> Callable:
    """In the place of `jaxtyping.jaxtyped`: the function, which checks each kind of call once."""
    if function is None:
        return partial(checked_once, typechecker=typechecker)
    if not isfunction(function):
        return jaxtyped(function, typechecker=typechecker)
    checked = jaxtyped(function, typechecker=typechecker)
    right: dict[object, set[object]] = {}  # what was returned for arguments that look so

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if torch.compiler.is_compiling() or jaxtyping.config.jaxtyping_disable:
            return function(*arguments, **named)
        given = looks((*arguments, *named, *named.values()))
        if given is None or given not in right:
            result = checked(*arguments, **named)
        else:
            result = function(*arguments, **named)
            if looks(result) not in right[given]:  # nor is None
                jaxtyped(wraps(function)(lambda *_, **__: result), typechecker=typechecker)(*arguments, **named)
        if given is not None and (returned := looks(result)) is not None:
            right.setdefault(given, set()).add(returned)
        return result

    return call


def checked_when_called(function: Callable) -> Callable:
    """beartype, but not before a function is first called: of two thousand that are imported, a test file calls few."""
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
