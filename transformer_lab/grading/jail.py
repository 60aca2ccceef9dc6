"""The jail: a process with torch loaded and nothing else to reach, which forks a cell for each answer.

On Linux with bubblewrap: no network, no files but Python's and torch's (read only), an empty folder to write to, no
rights, its own processes. The package is not in there: an answer that imports it fails. Answers run on the CPU.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from transformer_lab.exercises.running import Attempt, Case, Outcome
from transformer_lab.grading import wire
from transformer_lab.grading.remote import Given, outcome_of, revived
from transformer_lab.grading.walls import SITE, TOOLS, NoJail, environment, find_bwrap, walls

SECONDS_TO_START = 120
FIRST_UID, UIDS = 61184, 4096  # which no account has: each grading process has its answers run under another
START = """import sys
sys.path[:0] = {folders}
sys.path.append({site!r})
import worker
worker.begin({control}, {seconds}, {trust}, {uid})"""


class Ended(Exception):
    """An answer's process ended, or was ended, before it answered: `how` is "timeout" or "crashed"."""

    def __init__(self, how: str, why: str):
        super().__init__(why)
        self.how = how


class NotDefined(Exception):
    """An answer's program did not define its function: `error` is what it raised."""

    def __init__(self, message: dict):
        super().__init__("the program does not define its function")
        try:
            self.error = revived(message["error"])
        except (KeyError, TypeError, AttributeError):
            raise Ended("crashed", "its process sent what is no message") from None


class Jail:
    """Runs answers, one after the other, each in a process of its own. A context manager: it ends with its block."""

    def __init__(self, seconds: float | int = 10, trust: bool = False):
        self.seconds, self.trust, self.owner, self.on_trial = seconds, trust, os.getpid(), False

    def __enter__(self) -> "Jail":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def start(self) -> None:
        """Start the forking process, and see that answers can run in it.

        Raises:
            NoJail: it does not start, or a function that is known to work does not run there; says why.
        """
        self.launch()
        self.on_trial = True
        try:
            self.try_out()
        except NoJail:
            self.stop()
            raise
        finally:
            self.on_trial = False

    def launch(self) -> None:
        prefix = [] if self.trust else [find_bwrap(), *walls()]
        self.control, theirs = socket.socketpair()
        folders = sorted({str(path.parent) for path in TOOLS}) if self.trust else ["/tools"]
        uid = FIRST_UID + self.owner % UIDS
        seconds = round(self.seconds)
        start = START.format(
            folders=folders, site=SITE, control=theirs.fileno(), seconds=seconds, trust=self.trust, uid=uid
        )
        self.worker = subprocess.Popen(
            [*prefix, sys.executable, "-I", "-c", start],
            pass_fds=[theirs.fileno()],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,  # of the forking process alone
            start_new_session=True,
        )
        theirs.close()
        self.control.settimeout(SECONDS_TO_START)

    def try_out(self) -> None:
        """Run a function that is known to work, so that no student gets 0 points for a jail that does not."""
        try:
            ready = self.control.recv(1) == b"!"
        except OSError:
            ready = False
        if not ready:
            raise NoJail(f"the jail did not start: {self.last_words()}")
        try:
            with self.attempt("def one():\n    return 1", "one") as attempt:
                worked = attempt.run(Case("", {})).value == 1
        except (Ended, NotDefined):
            worked = False
        if not worked:
            raise NoJail(f"the jail can't run a function here: {self.last_words()}")

    def last_words(self) -> str:
        os.set_blocking(self.worker.stderr.fileno(), False)
        return (self.worker.stderr.read() or b"").decode(errors="replace")[-2000:]

    def stop(self) -> None:
        self.control.close()
        self.worker.kill()
        self.worker.wait()
        self.worker.stderr.close()

    @contextmanager
    def attempt(self, program: str, name: str) -> Iterator["JailedAttempt"]:
        """Define the function `name` by running `program` in a fresh cell; the cell ends with the block.

        Raises:
            Ended: the process ended, or did not answer in time.
            NotDefined: the program raised an error.
        """
        if self.worker.poll() is not None:  # the forking process is gone
            self.restart()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self.send_to_cell(theirs)
            try:
                yield JailedAttempt(ours, self.seconds, program, name)
            finally:
                ours.close()
                self.end_cell()

    def send_to_cell(self, theirs: socket.socket) -> None:
        """Give a new cell its end of the wire."""
        try:
            socket.send_fds(self.control, [b"+"], [theirs.fileno()])
        except OSError:  # the forking process is just going
            self.restart()
            socket.send_fds(self.control, [b"+"], [theirs.fileno()])

    def end_cell(self) -> None:
        """End the answer's process and all that it started, and hear that they are gone."""
        try:
            self.control.sendall(b"-")
            gone = self.control.recv(1) == b"."
        except OSError:
            gone = False
        if not gone:
            self.restart()

    def restart(self) -> None:
        if self.on_trial:
            raise NoJail(f"the jail can't run a function here: {self.last_words()}")
        self.stop()
        self.start()


class JailedAttempt(Attempt):
    """An answer in a cell, as the check of an exercise knows an answer: it runs on cases."""

    def __init__(self, socket_: socket.socket, seconds: float | int, program: str, name: str):
        self.wire, self.seconds_left = socket_, seconds
        message, _ = self.exchange({"program": program, "name": name}, [], {})
        if message.get("defined") is not True:
            raise NotDefined(message)

    def run(self, case: Case) -> Outcome:
        return self.ask(case, gradients=False)

    def run_with_gradients(self, case: Case) -> Outcome:
        return self.ask(case, gradients=True)

    def ask(self, case: Case, gradients: bool) -> Outcome:
        tensors, functions = [], []
        tree = wire.encode(case.arguments, tensors, functions)
        message, tensors = self.exchange(
            {"arguments": tree, "gradients": gradients}, tensors, {i: Given(f) for i, f in enumerate(functions)}
        )
        try:
            return outcome_of(message, tensors, case)
        except (wire.Malformed, ValueError, TypeError, KeyError, AttributeError):
            raise Ended("crashed", "the answer's process sent what is no result") from None

    def exchange(self, message: dict, tensors: list, functions: dict[int, Given]) -> tuple[dict, list]:
        """Send a question and wait for its answer, serving the calls of given functions that come in between.

        The time that the grader takes from one question to the next is not the answer's.
        """
        start = time.monotonic()
        try:
            wire.send(self.wire, message, tensors)
            while True:
                message, tensors = wire.receive(self.wire, start + self.seconds_left)
                if "call" in message:
                    wire.send(self.wire, *functions[message["call"]].call(message, tensors))
                elif "gradient" in message:
                    wire.send(self.wire, *Given.gradient(functions, message, tensors))
                else:
                    return message, tensors
        except TimeoutError:
            raise Ended("timeout", "it did not end in time") from None
        except OSError:
            raise Ended("crashed", "its process ended") from None
        except (wire.Malformed, KeyError, TypeError, ValueError, IndexError):
            raise Ended("crashed", "its process sent what is no message") from None
        finally:
            self.seconds_left -= time.monotonic() - start
