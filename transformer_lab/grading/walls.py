"""The walls of the jail: what bubblewrap is told to let in, and what it keeps out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import torch

import transformer_lab
from transformer_lab.exercises import running
from transformer_lab.grading import wire

TOOLS = (  # what runs inside
    *(Path(wire.__file__), Path(running.__file__)),
    *(Path(__file__).with_name(name) for name in ("worker.py", "answering.py", "kernel.py")),
)
SITE = str(Path(torch.__file__).parents[1])
SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives")
PARTS_OF_PYTHON = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix: whatever else lies there stays outside


class NoJail(RuntimeError):
    """No jail is to be had, or it does not work."""


def find_bwrap() -> str:
    """The path of bubblewrap, once it has shown that it works here.

    Raises:
        NoJail: there is none, or it can't make a jail; says what to do.
    """
    path = shutil.which("bwrap")
    if path is None or sys.platform != "linux":
        raise NoJail(
            "grading needs a jail for the students' code, and bubblewrap (Linux) makes it: install it, for instance "
            "with `apt install bubblewrap` (found no `bwrap`). `--trust` grades without a jail: every answer can then "
            "read and write all that you can."
        )
    tried = subprocess.run([path, "--ro-bind", "/", "/", "--unshare-all", "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise NoJail(
            f"bubblewrap is there, but can't make a jail here: {tried.stderr.strip()}. It needs the right to make "
            "user namespaces, which a container or a recent Ubuntu may withhold: see docs/instructors.md. `--trust` "
            "grades without a jail: every answer can then read and write all that you can."
        )
    return path


def environment() -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/scratch",
        "TMPDIR": "/scratch",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


def walls() -> list[str]:
    """bubblewrap's options: what the jail holds, and what it may do."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "jail"]
    for name, value in environment().items():
        options += ["--setenv", name, value]
    if os.geteuid() == 0:  # then there is no need of a user namespace, and an answer becomes a real nobody
        options.remove("--unshare-all")
        options += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        options += ["--cap-drop", "ALL"]
        for right in ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL"):
            options += ["--cap-add", right]
    options += ["--tmpfs", "/tmp"]
    for path in SYSTEM:
        options += ["--ro-bind-try", path, path]
    for path in python_folders():
        for parent in [*reversed(Path(path).parents)][1:]:
            options += ["--perms", "0755", "--dir", str(parent)]
        options += ["--ro-bind", path, path]
    package = Path(transformer_lab.__file__).parent
    if any(package.is_relative_to(path) for path in (*python_folders(), *SYSTEM)):
        options += ["--tmpfs", str(package)]
    for path in TOOLS:
        options += ["--ro-bind", str(path), f"/tools/{path.name}"]
    options += ["--proc", "/proc", "--dev", "/dev", "--dir", "/scratch"]
    return [*options, "--remount-ro", "/tmp", "--remount-ro", "/", "--"]


def python_folders() -> list[str]:
    """Where this interpreter, its library, and torch lie; none twice, none within another."""
    prefixes = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1])
    wanted = [path for prefix in prefixes for part in PARTS_OF_PYTHON if (path := prefix / part).exists()]
    real = sorted({str(path.absolute()) for path in (*wanted, Path(SITE))})
    return [p for p in real if not any(p != q and Path(p).is_relative_to(q) for q in (*real, *SYSTEM))]
