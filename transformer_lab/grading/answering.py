"""Runs inside the jail, in the process of one answer: defines it, then tries it on each case that the grader sends.

Nothing here is trusted by the grader: an answer that takes over its own process can send whatever it likes, and has
nothing to send that it could not have returned.
"""

import builtins
import io
import linecache
import socket
import sys

import torch
from running import Attempt, Case, where
from wire import decode, encode, receive, send

MOST_PRINTED = 2000


def answer(wire: socket.socket) -> None:
    """Define the answer, then try it on each case that arrives."""
    message, _ = receive(wire)
    try:
        function = define(message["program"], message["name"])
    except BaseException as error:  # whatever it is, it is said
        send(wire, {"defined": False, "error": told(error)})
        return
    send(wire, {"defined": True})
    while True:
        try:
            message, tensors = receive(wire)
        except ConnectionError:  # the grader has seen enough
            return
        arguments = decode(message["arguments"], tensors, lambda index, name: given(wire, index, name))
        attempt, case = Attempt(function), Case("", arguments)
        outcome = (attempt.run_with_gradients if message["gradients"] else attempt.run)(case)
        reply(wire, outcome)


def define(program: str, name: str):
    """Run an answer's program and return the function; its lines are kept, so that an error can quote them."""
    linecache.cache["answer"] = (len(program), None, program.splitlines(keepends=True), "answer")
    namespace = {"__name__": "__main__"}
    printed, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), io.StringIO(), io.StringIO()
    try:
        exec(compile(program, "answer", "exec"), namespace)
    finally:
        sys.stdout, sys.stderr = printed
    return namespace[name]


def reply(wire: socket.socket, outcome) -> None:
    tensors = []
    gradients = {name: encode(x, tensors, None) for name, x in outcome.gradients.items()}
    message = {
        "value": encode(outcome.value, tensors, None),
        "error": told(outcome.error) if outcome.error else None,
        "printed": outcome.printed[:MOST_PRINTED],
        "changed": list(outcome.changed),
        "gradients": gradients,
    }
    send(wire, message, tensors)


def told(error: BaseException) -> dict:
    """An error in words: its type, its text, the line of the answer that it comes from."""
    try:
        place = where(error)
    except Exception:
        place = ""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    return {
        "kinds": kinds[:8],
        "text": str(error)[:1000],
        "name": getattr(error, "name", None) and str(error.name)[:200],
        "place": place[:400],
    }


def given(wire: socket.socket, index: int, name: str):
    """A function of the grader's, handed to the answer: each call, and each gradient, is computed over there."""

    def ask(message: dict, tensors: list) -> tuple[dict, list]:
        send(wire, message, tensors)
        message, tensors = receive(wire)
        if "raised" in message:
            raise getattr(builtins, message["raised"], RuntimeError)(message["text"])
        return message, tensors

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(context, shape_of_result, tree, *inputs):
            message, outputs = ask({"call": index, "arguments": tree}, list(inputs))
            context.token = message["token"]
            shape_of_result.append(message["value"])
            context.mark_non_differentiable(*(x for x in outputs if not x.is_floating_point()))
            return tuple(x.detach() for x in outputs)

        @staticmethod
        def backward(context, *gradients):
            _, found = ask({"gradient": context.token}, [g.contiguous() for g in gradients if g.is_floating_point()])
            return None, None, *(x if x.is_floating_point() and x.numel() else None for x in found)

    def function(*arguments, **named):
        inputs, result = [], []
        tree = encode([list(arguments), named], inputs, None)
        outputs = Call.apply(result, tree, *inputs)
        return decode(result[0], list(outputs))

    function.__name__ = name
    return function


def warm_up() -> None:
    """Have torch import now what it imports when it is first used, rather than in every answer's process."""
    case = Case("", {"x": torch.ones(2, 3)})
    Attempt(lambda x: x.softmax(-1) @ x.mT).run_with_gradients(case)
