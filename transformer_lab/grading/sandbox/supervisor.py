"""Runs inside the sandbox: loads torch once, then forks a process for each answer, each in a cell of its own.

Over the control socket the grader sends, for every answer, "+", the seconds of processor time that it may take, and one
end of a new socket, over which alone the answer's process speaks; then "-" when it has seen enough. It hears "." when
nothing of the answer lives any more, or "t" if moreover its processor time was used up.
"""

import ctypes
import gc
import os
import resource
import select
import signal
import socket
import struct
from contextlib import suppress

import torch
from allowed_calls import allow_only_what_is_named  # type: ignore[import-not-found]
from answer_process import answer, warm_up  # type: ignore[import-not-found]  # in the sandbox it lies beside this file
from kernel import (  # type: ignore[import-not-found]
    NEWIPC,
    NEWNS,
    NEWPID,
    NEWUSER,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    all_read_only,
    checked,
    libc,
    refuse_calls,
)

MEMORY = 2 << 30  # bytes that an answer, with all that it starts, may use beyond what torch itself takes
PROCESSES, FILES, FILE_BYTES = 16, 64, 4 << 20
SECONDS_BETWEEN_LOOKS, SECONDS_TO_END = 0.05, 0.05
OUT_OF_TIME = 3  # how the process ends that has seen an answer's end so
# A limit is held against ticks, each of which counts wholly for whoever runs when it strikes; what the kernel then says
# was used is exact. On a busy machine, 196 endless loops with a limit of one second were ended when they had used 0.74
# to 1.02 of it, and 0.70 beside a process that always ran between two ticks.
NEARLY = 0.5  # of its limit: who has used more when the kernel ends it is out of time
REQUEST = struct.Struct("<cI")
OPEN, CLOSED = (
    (b"/scratch", b"/dev/shm"),
    (b"/dev/mqueue", b"/control", b"/sys"),
)  # of the latter a container alone has any


def begin(control_at: int | str, trust: bool, uid: int, counts: bool) -> None:
    """Get ready, say so over the control socket, and serve; `uid` is who answers run as where this is root.

    The socket has come along, or has to be connected to. This `counts` memory where the kernel does not.
    """
    torch.set_num_threads(1)
    checked(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))  # no other process may look into this one
    if not trust:
        checked(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))  # it hears of the end of all that descends from it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm_up()
    gc.freeze()  # what is loaded stays: no answer's process looks through it for what could go
    gc.enable()  # off since the process began, for while torch is loaded nothing can go either
    control = socket.socket(fileno=control_at) if isinstance(control_at, int) else connected(control_at)
    control.sendall(b"!")
    serve(control, trust, uid, counts)


def connected(path: str) -> socket.socket:
    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    return control


def serve(control: socket.socket, trust: bool, uid: int, counts: bool) -> None:
    """For each socket that arrives: a process, until it must end."""
    while True:
        message, fds, _, _ = socket.recv_fds(control, REQUEST.size, 1)
        if not message:
            return
        _, seconds = REQUEST.unpack(message)
        supervisor = os.fork()
        if supervisor == 0:
            control.close()
            os._exit(live(fds[0], seconds) if trust else supervise(fds[0], seconds, uid))
        os.close(fds[0])
        status, usage = wait(control, supervisor, trust, counts and not trust)
        too_long = used_up(seconds, status, usage) if trust else os.waitstatus_to_exitcode(status) == OUT_OF_TIME
        control.sendall(b"t" if too_long else b".")


def wait(control: socket.socket, supervisor: int, trust: bool, counts: bool) -> tuple[int, resource.struct_rusage]:
    """Wait until the grader has seen enough, and nothing of the answer lives; too much memory ends it before.

    Returns how the supervisor ended, and what it used.
    """
    while not select.select([control], [], [], SECONDS_BETWEEN_LOOKS)[0]:
        if counts and memory(others()) > MEMORY:
            end(others())
            break
    control.recv(1)
    pidfd = os.pidfd_open(supervisor)
    if not select.select([pidfd], [], [], SECONDS_TO_END)[0]:
        end([supervisor] if trust else others())
    os.close(pidfd)
    _, status, usage = os.wait4(supervisor, 0)
    while not trust:  # the first process of a cell whose supervisor was ended has become a child of this one
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return status, usage


def used_up(seconds: int, status: int, usage: resource.struct_rusage) -> bool:
    """Whether the kernel has ended a process because its processor time was used up."""
    ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return ended and usage.ru_utime + usage.ru_stime > NEARLY * seconds


def others() -> list[int]:
    """Every process in the sandbox but its first and this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) not in (1, os.getpid())]


def end(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def memory(pids: list[int]) -> int:
    """Bytes in use by these processes."""
    used = 0
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as status:  # it may have ended
            lines = [line.split() for line in status if line.startswith(("RssAnon", "RssShmem", "VmSwap"))]
            used += sum(int(kilobytes) << 10 for _, kilobytes, _ in lines)
    return used


def supervise(fd: int, seconds: int, uid: int) -> int:
    """Make the cell, start the answer's process as the first process within it, and wait for its end.

    When the first process of a process namespace ends, the kernel ends all others in it.
    """
    root, address_space = os.geteuid() == 0, MEMORY + virtual_memory()
    if not root:
        become_its_own_user_namespace()
    checked(libc.unshare(NEWNS | NEWIPC | NEWPID))
    checked(libc.mount(b"none", b"/", None, ctypes.c_ulong(1 << 18 | 1 << 14), None))  # private, recursively
    all_read_only()
    for place in OPEN:  # the only places to write to: empty, and gone with the cell
        checked(libc.mount(b"tmpfs", place, b"tmpfs", ctypes.c_ulong(0), b"size=64m,nr_inodes=4k,mode=777"))
    for place in filter(os.path.isdir, CLOSED):
        checked(libc.mount(b"tmpfs", place, b"tmpfs", ctypes.c_ulong(1), b"size=4k"))  # read-only
    first = os.fork()
    if first == 0:
        os.setsid()  # or a signal to its group would reach the processes out here, where these have the same user
        with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as score:
            score.write("1000")  # should the kernel run out of memory, it ends the answer, and not what forks answers
        if libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(0), None) != 0:  # not everybody may: then none at all
            checked(libc.mount(b"tmpfs", b"/proc", b"tmpfs", ctypes.c_ulong(1), b"size=4k"))  # read-only
        give_up_rights(uid if root else None, address_space)
        os._exit(live(fd, seconds))
    os.close(fd)
    _, status, usage = os.wait4(first, 0)
    return OUT_OF_TIME if used_up(seconds, status, usage) else 0


def become_its_own_user_namespace() -> None:
    """With this user alone in it, under the same number, and with the right to mount until it is given up."""
    uid, gid = os.getuid(), os.getgid()
    checked(libc.unshare(NEWUSER))
    checked(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))  # or its own files in /proc would not be its own
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    checked(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))


def live(fd: int, seconds: int) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for stream in range(3):  # what it writes is nobody's business
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    answer(socket.socket(fileno=fd))
    return 0


def give_up_rights(uid: int | None, address_space: int) -> None:
    """No right that an ordinary user lacks, and limits on memory, processes and files."""
    os.chdir("/scratch")
    for limit, most in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_NPROC, PROCESSES),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    checked(libc.capset(header, (ctypes.c_uint32 * 6)()))
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if not allow_only_what_is_named():
        refuse_calls()


def virtual_memory() -> int:
    with open("/proc/self/statm", encoding="utf-8") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
