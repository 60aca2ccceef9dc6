"""Runs inside the sandbox: what it asks of the Linux kernel, which Python has no functions for."""

import ctypes
import os
import struct

NEWNS, NEWIPC, NEWUSER, NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 22, 36, 38
LOAD, EQUAL, AT_LEAST, END = 0x20, 0x15, 0x35, 0x06  # of the filter's language, BPF
ARCHITECTURE, CALL = 4, 0  # where the filter finds them
ALLOW, DENY, FILTER = 0x7FFF0000, 0x50001, 2  # to deny is to say EPERM
REFUSED = {  # the architecture's number; those of shmget, msgget, memfd_create; of add_key, request_key, keyctl
    "x86_64": (0xC000003E, (29, 68, 319, 248, 249, 250)),
    "aarch64": (0xC00000B7, (194, 186, 279, 217, 218, 219)),
}
MOUNT_SETATTR, HERE, RECURSIVE, READ_ONLY = 442, -100, 0x8000, 1  # the number is that of every architecture
libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> None:
    """Raises OSError where a call has failed."""
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def all_read_only() -> None:
    """Have nothing that is mounted be written to, whoever mounted it; before Linux 5.12 it stays as it is."""
    attributes = struct.pack("QQQQ", READ_ONLY, 0, 0, 0)
    libc.syscall(MOUNT_SETATTR, HERE, b"/", RECURSIVE, attributes, ctypes.c_size_t(len(attributes)))


def refuse_calls() -> None:
    """Have the kernel refuse what holds memory in nobody's name, which no limit sees, and keyrings, which stay."""
    if os.uname().machine not in REFUSED:
        return
    architecture, calls = REFUSED[os.uname().machine]
    lines = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (END, 0, 0, DENY)]
    lines += [(LOAD, 0, 0, CALL), (AT_LEAST, 0, 1, 1 << 30), (END, 0, 0, DENY)]  # the same calls by other numbers
    for call in calls:
        lines += [(EQUAL, 0, 1, call), (END, 0, 0, DENY)]
    lines.append((END, 0, 0, ALLOW))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    checked(libc.prctl(PR_SET_SECCOMP, FILTER, struct.pack("HP", len(lines), ctypes.addressof(program)), 0, 0))
