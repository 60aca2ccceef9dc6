"""Several processes on this machine, each a rank of one group, which are started once and can be called many times."""

import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from transformer_lab.checks import check_least

LOOPBACK = {"linux": "lo", "darwin": "lo0"}  # so that the ranks of one machine open no port to the network
GRACE = 60.0  # seconds beyond the limit: a group ends itself there, and its error says more
LIMIT = 600.0  # seconds for a call, unless it names fewer: a machine may be busy
START = 300.0  # seconds that a process may take to start, as it has to import torch, or a group to be made
ATTEMPTS = 3  # at making a group: now and then a rank of gloo finds that another has closed their connection at once


class RankError(RuntimeError):
    """Raised when a rank has raised an error, died or not answered in time."""


class Ranks:
    """`n` processes of this machine. `call` runs a function in each of them at once, as ranks of one group.

    They are spawned, which every system can do, so a function must be one of a module that they can import. To start
    them takes as long as to import torch so often; each call then has a group of its own, which takes milliseconds. A
    group of gloo needs no GPU; where torch sees as many GPUs as there are ranks, `device="cuda"` takes nccl.

    Raises:
        ValueError: n is below 1, or there are fewer GPUs.
    """

    def __init__(self, n: int, device: str = "cpu"):
        check_least(1, n=n)
        if device == "cuda" and torch.cuda.device_count() < n:
            raise ValueError(f"each rank must have a GPU of its own (got {n} ranks, {torch.cuda.device_count()} GPUs)")
        self.folder = tempfile.TemporaryDirectory(prefix="ranks", ignore_cleanup_errors=True)
        self.calls = 0
        self.ends: list[Any] = []  # of pipes, whose class Windows has one of its own for
        self.processes = []
        context = get_context("spawn")
        for rank in range(n):
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(rank, there, device), daemon=True)
            process.start()
            there.close()
            self.ends.append(here)
            self.processes.append(process)
        self.collect(n, START)

    def call(self, function: Callable[..., Any], *arguments: Any, n: int | None = None, limit: float = LIMIT) -> list:
        """Run `function(*arguments)` in each of the first `n` ranks, by default all; returns their results in order.

        Where a rank raises an error, those that wait for it are told so by their group, and all can be called again.

        Raises:
            ValueError: n is not from 1 to the number of ranks that run; the function is one of a notebook's cell.
            RankError: a function raised an error; or a process died, or was not done after `limit` seconds: then all
                have been ended.
        """
        n = len(self.ends) if n is None else n
        if not 1 <= n <= len(self.processes):
            raise ValueError(f"n must be from 1 to the number of ranks that run, {len(self.processes)} (got {n})")
        if getattr(function, "__module__", "") == "__main__":
            rule = "a function for ranks must stand in a module that they can import"
            raise ValueError(f"{rule} (got {function.__qualname__}, of a notebook's cell or a script)")
        try:
            self.make_group(n, limit)
            self.tell(n, function, arguments)
            return self.collect(n, limit)
        except KeyboardInterrupt:  # what the ranks still have to answer would be taken for the answers of another call
            self.close()
            raise

    def make_group(self, n: int, limit: float) -> None:
        """Let the first `n` ranks join a new group. Nobody has begun to work before all have joined."""
        for left in reversed(range(ATTEMPTS)):
            self.calls += 1
            store = (Path(self.folder.name) / str(self.calls)).as_uri()  # a file in which the ranks find each other
            self.tell(n, None, (n, store, limit))
            try:
                self.collect(n, START)
                return
            except RankError:
                if not left or not self.processes:
                    raise

    def tell(self, n: int, function: Callable[..., Any] | None, arguments: tuple[Any, ...]) -> None:
        """Send each of the first `n` ranks what it is to do; without a function, it is to join a group."""
        message = pickle.dumps((function, arguments))
        for rank in range(n):
            try:
                self.ends[rank].send_bytes(message)
            except ConnectionError:
                self.fail(died(rank, self.processes[rank]))

    def collect(self, n: int, limit: float) -> list:
        """Collect an answer from each of the first `n` ranks."""
        answers: dict[int, Any] = {}
        errors: dict[float, str] = {}  # by time: the first one is the cause of those behind it
        until = time.monotonic() + limit + GRACE
        while len(answers) < n:
            waiting = {id(self.ends[rank]): rank for rank in range(n) if rank not in answers}
            ready = connection.wait([self.ends[rank] for rank in waiting.values()], max(0.0, until - time.monotonic()))
            if not ready:
                late = ", ".join(map(str, waiting.values()))
                unanswered = f"every rank must answer within {limit:g} s (rank {late} did not)"
                self.fail(errors[min(errors)] if errors else unanswered)
            for rank in sorted(waiting[id(end)] for end in ready):
                right, answers[rank], when = self.answer(rank)
                if not right:
                    errors[when] = f"rank {rank} raised {answers[rank]}"
        if errors:
            raise RankError(errors[min(errors)])
        return [answers[rank] for rank in range(n)]

    def answer(self, rank: int) -> tuple[bool, Any, float]:
        """The answer that a rank has sent."""
        try:
            return pickle.loads(self.ends[rank].recv_bytes())
        except (EOFError, ConnectionError):
            self.fail(died(rank, self.processes[rank]))

    def fail(self, text: str) -> NoReturn:
        """End all ranks, because those that are left might wait for ever, and raise an error."""
        self.close()
        raise RankError(text)

    def close(self) -> None:
        """End the processes."""
        for end in self.ends:
            end.close()
        for process in self.processes:
            process.kill()
            process.join()
        self.ends, self.processes = [], []
        self.folder.cleanup()

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def died(rank: int, process: Any) -> str:
    """A sentence that says how a process died."""
    process.join(5)
    return f"rank {rank} died (exit code {process.exitcode})"


def serve(rank: int, end: Connection, device: str) -> None:
    """The loop of a process: wait for a call and answer it, until the other end of the pipe is closed.

    Ctrl-C reaches every process of a terminal, and it is the one that calls which decides what becomes of it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    if sys.platform in LOOPBACK:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK[sys.platform])
    if device == "cuda":
        torch.cuda.set_device(rank)
    torch.set_default_device(device)
    import_module("torch.distributed.nn")  # before there is a group, which its default arguments would keep
    with suppress(EOFError, ConnectionError):  # the other end is closed: nobody will call any more
        end.send_bytes(pickle.dumps((True, None, 0.0)))
        while True:
            answer(end, end.recv_bytes(), rank, device)


def answer(end: Connection, message: bytes, rank: int, device: str) -> None:
    """Join a group, or do what a message asks as a rank of it; send back whether it succeeded, the result, the time."""
    stays = False
    try:
        function, arguments = pickle.loads(message)
        if function is None:
            leave()
            join(rank, device, *arguments)
            stays = True
        value = None if function is None else function(*arguments)
        result = pickle.dumps((True, value, time.time()))
    except Exception as error:
        result = pickle.dumps((False, f"{type(error).__name__}: {error}", time.time()))
    end.send_bytes(result)
    if not stays:  # only now, because the ranks that wait for this one are told so by that
        leave()


def join(rank: int, device: str, n: int, store: str, limit: float) -> None:
    """Join a group, however long the others take to come. The limit is that of each message from then on."""
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, store, rank=rank, world_size=n, timeout=timedelta(seconds=START))
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=limit))


def leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
