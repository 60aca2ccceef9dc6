"""How the process that forks the answers is started: by bubblewrap, in a container, or, on trust, as it is."""

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.synchronize import Lock as LockType
from pathlib import Path
from uuid import uuid4

from transformer_lab.grading.sandbox import containers
from transformer_lab.grading.sandbox.cgroups import Group, new_group
from transformer_lab.grading.sandbox.policy import SITE, TOOLS, NoSandbox, bwrap_options, environment, find_bwrap

KINDS = ("bubblewrap", *containers.RUNTIMES)
TRUST = "none"  # instead of one of them
FIRST_UID, UIDS = 61184, 4096  # which no account has: each grading process has its answers run under another
SECONDS_TO_START, SECONDS_TO_END = 120, 10
START = """import gc, sys
gc.disable()
sys.path[:0] = {folders}
sys.path.append({site!r})
import supervisor
supervisor.begin({control!r}, {trust}, {uid}, {counts})"""


@dataclass
class Launched:
    """The process, the socket over which it hears of answers, and what has to be taken away at the end.

    A process that is forked from the one that started it may use it in its stead.
    """

    worker: subprocess.Popen
    control: socket.socket
    group: Group | None = None
    remove: list[str] = field(default_factory=list)  # the command that ends the container
    folder: Path | None = None  # with the container's end of the socket
    starter: int = field(default_factory=os.getpid)

    def lives(self) -> bool:
        """Whether the process is there; to be asked while nothing is expected from it."""
        if os.getpid() == self.starter and self.worker.poll() is not None:
            return False
        return not select.select([self.control], [], [], 0)[0]  # the kernel closes what a process leaves open

    def end(self) -> None:
        if os.getpid() != self.starter:
            with suppress(OSError):  # it is gone
                self.control.shutdown(socket.SHUT_RDWR)  # then it ends by itself; who started it sees to that
            return
        self.control.close()
        if self.remove:
            with suppress(subprocess.TimeoutExpired):  # a container ends when its socket does
                self.worker.wait(SECONDS_TO_END)
            if self.worker.poll() is None:
                containers.said(*self.remove)
        self.worker.kill()
        self.worker.wait()
        if self.worker.stderr is not None:
            self.worker.stderr.close()
        if self.group is not None:
            self.group.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Ahead:
    """A process that was started before anyone asked: who gets the lock takes it, and nobody after them."""

    kind: str
    launched: Launched
    taken: LockType = field(default_factory=lambda: get_context("fork").Lock())


AHEAD: list[Ahead] = []  # one at most; the processes that are forked from this one know of it, too


@contextmanager
def started_ahead(kind: str) -> Iterator[None]:
    """Within it a process of this kind is on its way, for the first `launch` here or in what is forked from here."""
    with suppress(NoSandbox):  # `launch` says so when it matters
        AHEAD[:] = [] if kind in containers.RUNTIMES else [Ahead(kind, launch(kind))]
    try:
        yield
    finally:
        end_ahead()


def end_ahead() -> None:
    while AHEAD:
        AHEAD.pop().launched.end()


def launch(kind: str) -> Launched:
    """Start the process, or take the one that was started ahead.

    Raises:
        NoSandbox: what it needs is not there, or does not work; says what to do.
    """
    if AHEAD and AHEAD[0].kind == kind and AHEAD[0].taken.acquire(block=False):
        return AHEAD[0].launched
    return in_container(kind) if kind in containers.RUNTIMES else on_this_machine(kind)


def on_this_machine(kind: str) -> Launched:
    trust = kind == TRUST
    prefix = [] if trust else [find_bwrap(), *bwrap_options()]
    group = None if trust else new_group()
    control, theirs = socket.socketpair()
    folders = sorted({str(path.parent) for path in TOOLS}) if trust else ["/tools"]
    command = [*prefix, *begin(folders, theirs.fileno(), trust, group is None)]
    worker = process(group.entered(command) if group else command, (theirs.fileno(),))
    theirs.close()
    return Launched(worker, control, group)


def in_container(kind: str) -> Launched:
    path = containers.find_runtime(kind)
    limits, name = containers.limits_taken(path), f"transformer-lab-{os.getpid()}-{uuid4().hex[:8]}"
    outer = Path(tempfile.mkdtemp(prefix="transformer-lab-"))  # which on this machine nobody else may enter
    folder = outer / "control"
    folder.mkdir(mode=0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o666)  # root in a container may be anybody here
        listener.listen(1)
        command = containers.run_command(path, name, folder, limits)
        worker = process([*command, *begin(["/tools"], "/control/socket", False, not limits)], ())
        try:
            control = containers.accepted(listener, worker, SECONDS_TO_START)
        except OSError:
            control, other = socket.socketpair()  # with nobody at its other end
            other.close()
    return Launched(worker, control, remove=[path, "rm", "--force", name], folder=outer)


def begin(folders: list[str], control: int | str, trust: bool, counts: bool) -> list[str]:
    """The command that the process consists of; it `counts` memory itself where no control group does."""
    uid = FIRST_UID + os.getpid() % UIDS
    start = START.format(folders=folders, site=SITE, control=control, trust=trust, uid=uid, counts=counts)
    return [sys.executable, "-I", "-c", start]


def process(command: list[str], pass_fds: tuple[int, ...]) -> subprocess.Popen:
    return subprocess.Popen(
        command,
        pass_fds=pass_fds,
        env=environment() if pass_fds else None,  # a runtime needs its own
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,  # of the forking process alone
        start_new_session=True,
    )


def described(kind: str) -> str:
    """What keeps answers in, in a few words: what makes the sandbox, and what counts memory.

    Raises:
        NoSandbox: it does not work here.
    """
    if kind in containers.RUNTIMES:
        counted = containers.limits_taken(containers.find_runtime(kind))
    else:
        find_bwrap()
        group = new_group()
        counted = ("memory",) if group else ()
        if group:
            group.close()
    calls = "system calls from a list (libseccomp)" if filtered() else "few system calls refused (no libseccomp)"
    memory = "memory counted by the kernel (cgroup)" if counted else "memory added up over processes (no cgroup)"
    return f"{kind}, {calls}, {memory}"


def filtered() -> bool:
    from transformer_lab.grading.sandbox.allowed_calls import SECCOMP

    return SECCOMP is not None
