"""Runs inside the sandbox: the system calls that an answer may make, enforced by libseccomp where it is installed.

What is not named here is refused, with EPERM: namespaces, mounts, keyrings, tracing, other programs, memory that is in
nobody's name, sockets of other kinds, and whatever later kernels bring.
"""

import ctypes
import errno
import os

ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # the latter with an error number
EQUAL, MASKED_EQUAL = 4, 7
FILES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 open openat creat close close_range stat fstat
lstat newfstatat statx access faccessat faccessat2 lseek getdents getdents64 getcwd chdir fchdir rename renameat
renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat symlink symlinkat readlink readlinkat chmod fchmod fchmodat
umask utimensat truncate ftruncate fallocate fadvise64 fsync fdatasync flock fcntl dup dup2 dup3 pipe pipe2 sendfile
copy_file_range statfs fstatfs
"""
MEMORY = "mmap mprotect munmap mremap brk madvise mincore msync membarrier"
TIME = """
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getitimer setitimer alarm pause
timer_create timer_settime timer_gettime timer_getoverrun timer_delete timerfd_create timerfd_settime timerfd_gettime
"""
WAITING = """
poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2
futex futex_waitv restart_syscall sched_yield signalfd signalfd4
"""
SIGNALS = """
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend rt_sigqueueinfo sigaltstack kill
tgkill tkill
"""
PROCESSES = """
fork vfork wait4 waitid exit exit_group getpid getppid gettid getuid geteuid getgid getegid getgroups getresuid
getresgid getpgrp getpgid setpgid getsid setsid getrlimit setrlimit prlimit64 getrusage sysinfo uname getpriority
setpriority sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min arch_prctl set_tid_address set_robust_list get_robust_list rseq getrandom getcpu capget
"""
MESSAGES = "sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername getsockopt setsockopt socketpair"
ALLOWED = " ".join((FILES, MEMORY, TIME, WAITING, SIGNALS, PROCESSES, MESSAGES)).split()
NAMESPACES = 0x7E020080  # all that clone() may be told to make new
WITH_ARGUMENT = [  # call, which argument, how it is compared, mask or value, value
    ("clone", 0, MASKED_EQUAL, NAMESPACES, 0),
    ("socket", 0, EQUAL, 1, 0),  # AF_UNIX: between its own processes
    *(("prctl", 0, EQUAL, option, 0) for option in (3, 15, 16, 21)),  # dumpable? a thread's name; seccomp?
    *(("ioctl", 1, EQUAL, request, 0) for request in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),  # is it a tty?
]


class Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("how", ctypes.c_int),
        ("one", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    )


def library() -> ctypes.CDLL | None:
    """libseccomp, or None where it is not installed."""
    try:
        found = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    found.seccomp_init.restype = ctypes.c_void_p
    found.seccomp_init.argtypes = [ctypes.c_uint32]
    found.seccomp_rule_add_array.argtypes = [
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint),
        ctypes.POINTER(Comparison),
    ]
    found.seccomp_load.argtypes = [ctypes.c_void_p]
    return found


def make_filter(seccomp: ctypes.CDLL) -> int:
    """The filter, to be loaded by a process that is to keep to it."""
    made = seccomp.seccomp_init(REFUSE | errno.EPERM)
    rules: list[tuple[int, str, Comparison | None]] = [(ALLOW, name, None) for name in ALLOWED]
    rules += [(ALLOW, name, Comparison(*compared)) for name, *compared in WITH_ARGUMENT]
    rules += [(REFUSE | errno.ENOSYS, "clone3", None)]  # whose flags lie in memory; libraries then take clone
    for action, name, comparison in rules:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # this machine has no such call
            continue
        compared = ctypes.pointer(comparison) if comparison else None
        result = seccomp.seccomp_rule_add_array(made, action, number, 1 if comparison else 0, compared)
        if result != 0:
            raise OSError(-result, f"{os.strerror(-result)}: {name}")
    return made


SECCOMP = library()
FILTER = make_filter(SECCOMP) if SECCOMP else None


def allow_only_what_is_named() -> bool:
    """Keep this process, and all that it starts, to the calls above; False without libseccomp.

    Raises:
        OSError: the kernel does not take the filter.
    """
    if SECCOMP is None:
        return False
    if result := SECCOMP.seccomp_load(FILTER):
        raise OSError(-result, os.strerror(-result))
    return True
