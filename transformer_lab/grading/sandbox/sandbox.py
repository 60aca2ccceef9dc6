"""The sandbox: a process with torch loaded and nothing else to reach, which forks a cell for each answer.

On Linux with bubblewrap, or in a container: no network, no files but Python's and torch's (read only), an empty folder
to write to, no rights, its own processes. The package is not in there: an answer that imports it fails. Answers run on
the CPU. The time that they may take is processor time, which a busy machine does not use up; for one that sleeps or
waits the clock's time is limited, too, at ten times as much.
"""

import math
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from torch import Tensor

from transformer_lab.exercises.engine.candidates import Candidate, ask
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome
from transformer_lab.grading.sandbox import protocol
from transformer_lab.grading.sandbox.launching import KINDS, SECONDS_TO_START, TRUST, launch
from transformer_lab.grading.sandbox.policy import NoSandbox
from transformer_lab.grading.sandbox.replies import deserialize_error, outcome_of

T = TypeVar("T")
TIMES_BY_THE_CLOCK = 10
TIMES_FOR_CALLS = 4  # as long may the grader compute where it answers calls: a thorough test makes thousands
TOO_LONG = "it did not end in time"


class Ended(Exception):
    """An answer's process ended, or was ended, before it answered: `how` is "timeout" or "crashed"."""

    def __init__(self, how: str, why: str):
        super().__init__(why)
        self.how = how


class NotDefined(Exception):
    """An answer's program did not define its function: `error` is what it raised."""

    def __init__(self, error: Exception):
        super().__init__("the program does not define its function")
        self.error = error


class Sandbox:
    """Runs answers, one after the other, each in a process of its own. A context manager: it ends with its block."""

    def __init__(self, seconds: float | int = 10, kind: str = KINDS[0]):
        if kind not in (*KINDS, TRUST):
            raise ValueError(f"a sandbox must be one of {', '.join(KINDS)}, or {TRUST} (got {kind})")
        self.seconds, self.kind, self.owner, self.on_trial = seconds, kind, os.getpid(), False

    def __enter__(self) -> "Sandbox":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the forking process, and see that answers can run in it.

        Raises:
            NoSandbox: it does not start, or a function that is known to work does not run there; says why.
        """
        self.launched = launch(self.kind)
        self.control, self.worker = self.launched.control, self.launched.worker
        self.control.settimeout(SECONDS_TO_START)
        self.on_trial = True
        try:
            self.try_out()
        except NoSandbox:
            self.stop()
            raise
        finally:
            self.on_trial = False

    def try_out(self) -> None:
        """Run a function that is known to work, so that no student gets 0 points for a sandbox that does not."""
        try:
            ready = self.control.recv(1) == b"!"
        except OSError:
            ready = False
        if not ready:
            raise NoSandbox(f"the sandbox did not start: {self.last_words()}")
        try:
            with self.attempt("def one():\n    return 1", "one") as attempt:
                worked = attempt.run(Case("", {})).value == 1
        except (Ended, NotDefined):
            worked = False
        if not worked:
            raise NoSandbox(f"the sandbox can't run a function here: {self.last_words()}")

    def last_words(self) -> str:
        assert self.worker.stderr is not None  # it is a pipe
        os.set_blocking(self.worker.stderr.fileno(), False)
        return (self.worker.stderr.read() or b"").decode(errors="replace")[-2000:]

    def stop(self) -> None:
        self.launched.end()

    @contextmanager
    def attempt(self, program: str, name: str) -> Iterator["SandboxedAttempt"]:
        """Define the function `name` by running `program` in a new cell; the cell ends with the block.

        Raises:
            Ended: the process ended, or did not answer in time.
            NotDefined: the program raised an error.
        """
        if not self.launched.lives():
            self.restart()
        ours, theirs = socket.socketpair()
        out_of_time = False
        try:
            with ours:
                with theirs:
                    self.send_to_cell(theirs)
                try:
                    yield SandboxedAttempt(ours, self.seconds, program, name)
                finally:
                    ours.close()
                    out_of_time = self.end_cell()
        except Ended:
            if out_of_time:
                raise Ended("timeout", TOO_LONG) from None
            raise

    def send_to_cell(self, theirs: socket.socket) -> None:
        """Give a new cell its end of the channel."""
        request = [struct.pack("<cI", b"+", math.ceil(self.seconds))]
        try:
            socket.send_fds(self.control, request, [theirs.fileno()])
        except OSError:  # the forking process is just going
            self.restart()
            socket.send_fds(self.control, request, [theirs.fileno()])

    def end_cell(self) -> bool:
        """End the answer's process and all that it started, and hear that they are gone; was its time used up?"""
        try:
            self.control.sendall(b"-")
            said = self.control.recv(1)
        except OSError:
            said = b""
        if not said:
            self.restart()
        return said == b"t"

    def restart(self) -> None:
        if self.on_trial:
            raise NoSandbox(f"the sandbox can't run a function here: {self.last_words()}")
        self.stop()
        self.start()


def definition_error(message: dict, _: list[Tensor]) -> Exception | None:
    """What an answer's program raised, by its first reply; None if it defines the function."""
    return None if message["defined"] is True else deserialize_error(message["error"])


def called(candidates: Mapping[str, Candidate], said: dict, parts: list[Tensor]) -> tuple[dict, list[Tensor]]:
    """What a candidate returns for a call out of the sandbox, or the error that it raises, as a message."""
    given, named, back = protocol.decode(said["arguments"], parts)
    tensors: list[Tensor] = []
    try:
        value = ask(candidates[said["call"]], given, named, back)
        return {"value": protocol.encode(value, tensors), "error": None}, tensors
    except (TypeError, ValueError, RuntimeError) as error:
        return {"value": None, "error": [type(error).__name__, str(error)]}, []


class SandboxedAttempt(Attempt):
    """An answer in a cell, as the check of an exercise knows an answer: it runs on cases."""

    def __init__(self, socket_: socket.socket, seconds: float | int, program: str, name: str):
        self.channel, self.seconds_left, self.clock_left = socket_, seconds, TIMES_BY_THE_CLOCK * seconds
        error = self.exchange({"program": program, "name": name}, [], definition_error)
        if error is not None:
            raise NotDefined(error)

    def run(self, case: Case) -> Outcome:
        return self.ask(case, gradients=False)

    def run_with_gradients(self, case: Case) -> Outcome:
        return self.ask(case, gradients=True)

    def ask(self, case: Case, gradients: bool) -> Outcome:
        candidates = {name: x for name, x in case.arguments.items() if isinstance(x, Candidate)}
        given = {name: None if name in candidates else x for name, x in case.arguments.items()}
        tensors: list[Tensor] = []
        tree = protocol.encode(given, tensors, functions=True)
        question = {"arguments": tree, "candidates": [*candidates], "gradients": gradients, "by_hand": case.by_hand}
        return self.exchange(question, tensors, partial(outcome_of, case=case), candidates)

    def exchange(
        self,
        message: dict,
        tensors: list[Tensor],
        read: Callable[[dict, list[Tensor]], T],
        candidates: Mapping[str, Candidate] = MappingProxyType({}),
    ) -> T:
        """Send a question, answer the calls of candidates, which stay here, wait for the reply, and read it.

        To read them all may take the grader no longer than the answer may compute, since the messages are the
        answer's, and with what they call four times as long. What the grader does then counts neither here nor as time
        of the clock.
        """
        start, used, times = time.monotonic(), time.thread_time(), TIMES_FOR_CALLS if candidates else 1
        try:
            protocol.send(self.channel, message, tensors)
            while True:
                left = self.seconds_left - (time.thread_time() - used) / times
                said, parts = protocol.receive(self.channel, start + (self.clock_left if left > 0 else 0))
                if "call" not in said:
                    return read(said, parts)
                protocol.send(self.channel, *called(candidates, said, parts))
        except TimeoutError:
            raise Ended("timeout", TOO_LONG) from None
        except OSError:
            raise Ended("crashed", "its process ended") from None
        except (protocol.Malformed, KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise Ended("crashed", "its process sent what is no result") from None
        finally:
            self.seconds_left -= (time.thread_time() - used) / times
            self.clock_left -= time.monotonic() - start
