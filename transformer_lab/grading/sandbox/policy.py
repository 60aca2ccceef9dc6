"""The policy of the sandbox: what bubblewrap is told to let in, and what it keeps out."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import transformer_lab

PACKAGE = Path(transformer_lab.__file__).parent
TOOLS = (  # what runs inside
    *(PACKAGE / "exercises" / "engine" / f"{name}.py" for name in ("running", "candidates")),
    *(PACKAGE / "grading" / "sandbox" / f"{name}.py" for name in ("protocol", "supervisor", "answer_process")),
    *(PACKAGE / "grading" / "sandbox" / f"{name}.py" for name in ("session", "kernel", "allowed_calls")),
)
TORCH = find_spec("torch")  # not loaded here: a sandbox may start while this process loads it
SITE = str(Path(TORCH.origin).parents[1])  # type: ignore[union-attr, arg-type]  # this package needs it
REPOSITORY = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").exists() else PACKAGE
SYSTEM = (  # of /usr only what programs need: a repository or a course may lie in the rest
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share/zoneinfo"),
    *("/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives"),
)
RIGHTS = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL")  # to make cells; no answer has them
LARGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # where libc reads whether there are any
PARTS_OF_PYTHON = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix: whatever else lies there stays outside


class NoSandbox(RuntimeError):
    """No sandbox is to be had, or it does not work."""


def refuse_other_systems() -> None:
    """See that this is Linux.

    Raises:
        NoSandbox: it is another system; says what to do.
    """
    if sys.platform != "linux":
        where = {
            "win32": "Windows): run the same command in WSL, the Windows Subsystem for Linux",
            "darwin": "macOS): run the same command in a container or a virtual machine with Linux",
        }.get(sys.platform, f"{sys.platform}): run the same command there")
        raise NoSandbox(f"grading needs Linux, whose kernel keeps the students' code in a sandbox (this is {where}")


def find_bwrap() -> str:
    """The path of bubblewrap, once it has shown that it works here.

    Raises:
        NoSandbox: there is none, or it can't make a sandbox; says what to do.
    """
    path = shutil.which("bwrap")
    if path is None:
        raise NoSandbox(
            "grading needs a sandbox for the students' code, and bubblewrap makes it: install it, for instance "
            "with `apt install bubblewrap` (found no `bwrap`). `--trust` grades without a sandbox: every answer "
            "can then read and write all that you can."
        )
    # with the options of the sandbox itself: a container may allow the namespaces, and not what is done in them
    tried = subprocess.run([path, *bwrap_options(), sys.executable, "-I", "-c", ""], capture_output=True, text=True)
    if tried.returncode != 0:
        raise NoSandbox(
            f"bubblewrap is there, but can't make a sandbox here: {tried.stderr.strip()}. It needs the right to make "
            "user namespaces, which a container or a recent Ubuntu may withhold: see docs/instructors.md. `--trust` "
            "grades without a sandbox: every answer can then read and write all that you can."
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
        # Memory in large pages: to fork torch, twice for each answer, then takes two thirds of the time.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


def bwrap_options() -> list[str]:
    """bubblewrap's options: what the sandbox holds, and what it may do."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    for name, value in environment().items():
        options += ["--setenv", name, value]
    if os.geteuid() == 0:  # then there is no need of a user namespace, and an answer becomes a real nobody
        options.remove("--unshare-all")
        options += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        options += ["--cap-drop", "ALL"]
        for right in RIGHTS:
            options += ["--cap-add", right]
    options += ["--tmpfs", "/tmp", "--ro-bind-try", LARGE_PAGES, LARGE_PAGES]
    emptied: list[str] = []
    for path in (*SYSTEM, *python_folders()):
        for parent in [*reversed(Path(path).parents)][1:]:
            options += ["--perms", "0755", "--dir", str(parent)]
        options += ["--ro-bind-try", path, path]
        if REPOSITORY.is_relative_to(path):
            options += ["--tmpfs", str(REPOSITORY)]
            emptied += ["--remount-ro", str(REPOSITORY)]
    for tool in TOOLS:
        options += ["--ro-bind", str(tool), f"/tools/{tool.name}"]
    options += ["--proc", "/proc", "--dev", "/dev", "--dir", "/scratch"]
    return [*options, *emptied, "--remount-ro", "/dev", "--remount-ro", "/tmp", "--remount-ro", "/", "--"]


def refuse_readable(*paths: Path | None) -> None:
    """See that none of an instructor's files lies in a folder that the sandbox shows to answers.

    Raises:
        ValueError: one does; says which, and where.
    """
    shown = {folder: Path(folder).resolve() for folder in (*SYSTEM, *python_folders())}
    for path in filter(None, paths):
        for folder, real in shown.items():
            if path.resolve().is_relative_to(real):
                raise ValueError(
                    f"a course must lie where no answer can read it ({path} lies in {folder}, which Python needs)"
                )


def python_folders() -> list[str]:
    """Where this interpreter, its library, and torch lie; none twice, none within another."""
    prefixes = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1])
    wanted = [path for prefix in prefixes for part in PARTS_OF_PYTHON if (path := prefix / part).exists()]
    real = sorted({str(path.absolute()) for path in (*wanted, Path(SITE))})
    return [p for p in real if not any(p != q and Path(p).is_relative_to(q) for q in (*real, *SYSTEM))]
