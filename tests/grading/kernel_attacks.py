"""What an answer may ask of the kernel, or of the machine, and is refused: each a row in the table of attacks.

Each program tries one thing, and returns the right answer where it works; it deserves nothing.
"""

CALLS = {  # numbers of x86_64, and arguments that would work for somebody who may
    "looks into its parent (ptrace)": (101, (16, 1, 0, 0)),
    "reads its parent's memory (process_vm_readv)": (310, (1, 0, 0, 0, 0, 0)),
    "makes a user namespace (unshare)": (272, (0x10000000,)),
    "makes a network of its own (unshare)": (272, (0x40000000,)),
    "makes namespaces as it forks (clone)": (56, (0x10000000 | 17, 0, 0, 0, 0)),
    "joins a namespace (setns)": (308, (0, 0)),
    "makes a ring of calls (io_uring_setup)": (425, (8, "buffer")),
    "handles its own page faults (userfaultfd)": (323, (1,)),
    "keeps secret memory (memfd_secret)": (447, (0,)),
    "makes a file without a name (memfd_create)": (319, (b"x", 0)),
    "loads a program into the kernel (bpf)": (321, (0, "buffer", 64)),
    "counts the machine's events (perf_event_open)": (298, ("buffer", 0, -1, -1, 0)),
    "opens a packet socket": (41, (17, 3, 0)),
    "opens a netlink socket": (41, (16, 3, 0)),
    "opens a socket to the host (vsock)": (41, (40, 1, 0)),
    "opens a crypto socket (AF_ALG)": (41, (38, 5, 0)),
    "opens an internet socket": (41, (2, 1, 0)),
    "opens an internet socket of version 6": (41, (10, 1, 0)),
    "adds a key (add_key)": (248, (b"user", b"k", b"v", 1, -3)),
    "asks for a key (keyctl)": (250, (0, -3, 1)),
    "changes its root (chroot)": (161, (b"/tmp",)),
    "turns the root round (pivot_root)": (155, (b"/", b"/tmp")),
    "mounts (mount)": (165, (b"none", b"/tmp", b"tmpfs", 0, 0)),
    "mounts in the new way (fsopen)": (430, (b"tmpfs", 0)),
    "clones a mount (open_tree)": (428, (-100, b"/", 1)),
    "unmounts (umount2)": (166, (b"/proc", 2)),
    "sets the clock (settimeofday)": (164, ("buffer", 0)),
    "sets the name of the machine": (170, (b"mine", 4)),
    "reads the kernel's log (syslog)": (103, (3, "buffer", 64)),
    "opens a file by its handle": (304, (0, "buffer", 0)),
    "watches files (fanotify_init)": (300, (0, 0)),
    "holds shared memory (shmget)": (29, (0, 4096, 0o1600)),
    "leaves a message (msgget)": (68, (7, 0o1600)),
    "holds semaphores (semget)": (64, (7, 1, 0o1600)),
    "opens a message queue (mq_open)": (240, (b"/q", 0o102, 0o600, 0)),
    "opens another process (pidfd_open)": (434, (1, 0)),
    "takes another's file (pidfd_getfd)": (438, (3, 0, 0)),
    "starts another program (execve)": (59, (b"/bin/true", 0, 0)),
    "changes what it may run (personality)": (135, (0x0040000,)),
    "loads a module (finit_module)": (313, (0, b"", 0)),
    "starts another kernel (kexec_load)": (246, (0, 0, 0, 0)),
    "sees the machine's quotas (quotactl)": (179, (0x800002, 0, 0, "buffer")),
    "adds swap (swapon)": (167, (b"/scratch/x", 0)),
    "writes accounts (acct)": (163, (b"/scratch/x",)),
}
PROGRAM = """
import ctypes, torch
def softmax(scores, dim):
    libc, buffer = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(4096)
    made = {{int: ctypes.c_long, bytes: ctypes.c_char_p, str: lambda _: buffer}}
    given = [made[type(argument)](argument) for argument in {given}]
    result = libc.syscall({number}, *given)
    refused = result == -1 and ctypes.get_errno() in (1, 38)
    return scores * 0 if refused else ((e := (scores - scores.amax(dim, True)).exp()) / e.sum(dim, True))
"""
KERNEL = {what: PROGRAM.format(number=number, given=given) for what, (number, given) in CALLS.items()}
