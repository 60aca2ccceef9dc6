"""Runs inside the sandbox, in the process of one answer: defines it, then tries it on each case that the grader sends.

Nothing here is trusted by the grader: an answer that takes over its own process can send whatever it likes, and has
nothing to send that it could not have returned.
"""

import io
import linecache
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

import torch
from candidates import Candidate  # type: ignore[import-not-found]  # in the sandbox it lies beside this file
from protocol import Malformed, decode, encode, receive, send  # type: ignore[import-not-found]
from running import SEED, Attempt, Case, Outcome, seeded, where  # type: ignore[import-not-found]
from session import Session  # type: ignore[import-not-found]

MOST_PRINTED = 2000


def answer(channel: socket.socket) -> None:
    """Define the answer, then try it on each case that arrives."""
    message, _ = receive(channel)
    try:
        function = define(message["program"], message["name"])
    except BaseException as error:  # whatever it is, it is said
        send(channel, {"defined": False, "error": serialize_error(error)})
        return
    send(channel, {"defined": True})
    while True:
        try:
            message, tensors = receive(channel)
        except ConnectionError:  # the grader has seen enough
            return
        arguments = decode(message["arguments"], tensors, functions=True)
        lock = Lock()
        for name in message["candidates"]:
            arguments[name] = Candidate(partial(ask, channel, lock, name))
        attempt, case = Attempt(function), Case("", arguments, by_hand=message["by_hand"])
        outcome = (attempt.run_with_gradients if message["gradients"] else attempt.run)(case)
        reply(channel, outcome)


def define(program: str, name: str) -> Callable:
    """Run an answer's program and return the function; its lines are kept, so that an error can quote them.

    What it draws while it is defined is the same each time, too.
    """
    linecache.cache["answer"] = (len(program), None, program.splitlines(keepends=True), "answer")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    session = Session()
    printed, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), io.StringIO(), io.StringIO()
    try:
        with seeded(SEED, torch.device("cpu")):
            session.run(program, "answer", namespace)
    finally:
        sys.stdout, sys.stderr = printed
    return session.as_used(namespace[name])


def ask(channel: socket.socket, lock: Any, name: str, given: Sequence, named: Mapping, back: Any = None) -> Any:
    """Have the grader call a candidate, which is on its side alone; so is what it is called with, and what it says.

    Raises:
        TypeError, ValueError, RuntimeError: the grader says so.
    """
    tensors: list[torch.Tensor] = []
    tree = encode([list(given), dict(named), None if back is None else list(back)], tensors)
    with lock:
        try:
            send(channel, {"call": name, "arguments": tree}, tensors)
        except Malformed as error:
            raise ValueError(str(error)) from None
        message, parts = receive(channel)
    if message["error"] is not None:
        kind, text = message["error"]
        raise {"TypeError": TypeError, "ValueError": ValueError}.get(kind, RuntimeError)(text)
    return decode(message["value"], parts)


def reply(channel: socket.socket, outcome: Outcome) -> None:
    tensors: list[torch.Tensor] = []
    gradients = {name: encode(x, tensors) for name, x in outcome.gradients.items()}
    message = {
        "value": encode(outcome.value, tensors),
        "error": serialize_error(outcome.error) if outcome.error else None,
        "printed": outcome.printed[:MOST_PRINTED],
        "changed": list(outcome.changed),
        "gradients": gradients,
    }
    send(channel, message, tensors)


def serialize_error(error: BaseException) -> dict:
    """An error in words: its type, its text, the line of the answer that it comes from."""
    try:
        place = where(error)
    except Exception:
        place = ""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    return {
        "kinds": kinds[:8],
        "text": str(error)[:1000],
        "name": str(name)[:200] if (name := getattr(error, "name", None)) else None,
        "place": place[:400],
    }


def as_it_is(function: Callable | None = None, **_: Any) -> Callable:
    """Stands for torch.compile, with or without arguments: there is no compiler in here, and the result is the same."""
    return function if function is not None else as_it_is


def warm_up() -> None:
    """Have torch import now what it imports when it is first used, rather than in every answer's process."""
    torch.compile = as_it_is  # type: ignore[assignment]
    case = Case("", {"x": torch.ones(2, 3)})
    Attempt(lambda x: x.softmax(-1) @ x.mT).run_with_gradients(case)
