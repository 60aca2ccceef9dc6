"""The sandbox as a container, where podman or docker is what a site has; the protocol is the same.

The image is empty: like bubblewrap, the runtime shows this machine's Python and torch, read-only. No registry is asked.
What crosses goes over a socket in a folder that the container sees, and that nobody else on the machine may enter.
"""

import io
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from transformer_lab.grading.sandbox.cgroups import MOST_MEMORY, MOST_PROCESSES
from transformer_lab.grading.sandbox.policy import (
    REPOSITORY,
    RIGHTS,
    SYSTEM,
    TOOLS,
    NoSandbox,
    environment,
    python_folders,
)

RUNTIMES = ("podman", "docker")
IMAGE = "localhost/transformer-lab-sandbox:1"
PLACES = ("proc", "sys", "dev", "scratch", "tools", "control", "tmp", "etc", "usr", "run")  # all that the image holds
LIMITS = ("--memory", str(MOST_MEMORY), "--memory-swap", str(MOST_MEMORY), "--pids-limit", str(MOST_PROCESSES))
SHOW = "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes || true"  # of cgroup v2, or v1
LIMITED = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096", "--ulimit", "core=0:0")


def find_runtime(name: str) -> str:
    """The path of a runtime, once it has its image.

    Raises:
        NoSandbox: there is none, or it does not take the image; says what to do.
    """
    path = shutil.which(name)
    if path is None:
        raise NoSandbox(
            f"`--sandbox {name}` needs {name} (found no `{name}`): install it, or leave the option out, for bubblewrap."
        )
    if said(path, "image", "inspect", IMAGE).returncode != 0:
        imported = said(path, "import", "-", IMAGE, given=empty_image())
        if imported.returncode != 0:
            raise NoSandbox(f"{name} is there, but takes no image: {imported.stderr.decode(errors='replace').strip()}")
    return path


def said(*command: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, input=given, capture_output=True, check=False)


def empty_image() -> bytes:
    """A tar file of empty folders, in which a runtime mounts what it shows."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for place in PLACES:
            folder = tarfile.TarInfo(place)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
    return file.getvalue()


def run_command(path: str, name: str, control: Path, limits: Iterable[str] = LIMITS) -> list[str]:
    """The command that runs a container, up to the command within it."""
    options = ["run", "--rm", "--interactive", "--name", name, "--hostname", "sandbox", "--pull", "never"]
    options += ["--network", "none", "--read-only", "--log-driver", "none", "--workdir", "/", "--entrypoint", ""]
    options += ["--user", "0:0", "--cap-drop", "ALL", "--security-opt", "label=disable", *LIMITED, *limits]
    options += [word for right in RIGHTS for word in ("--cap-add", right.removeprefix("CAP_"))]
    if Path(path).name == "podman":
        options += ["--read-only-tmpfs=false"]  # or /tmp could be written to, and would outlive the answer
    if apparmor():
        options += ["--security-opt", "apparmor=unconfined"]  # its usual profile forbids to mount
    for variable, value in environment().items():
        options += ["--env", f"{variable}={value}"]
    for source, place in mounts(control):
        options += ["--volume", f"{source}:{place}:ro"]
    if any(REPOSITORY.is_relative_to(place) for _, place in mounts(control)):
        options += ["--tmpfs", f"{REPOSITORY}:ro,size=4k"]
    return [path, *options, IMAGE]


def mounts(control: Path) -> list[tuple[str, str]]:
    """What the container sees of this machine, and where."""
    shown = [(path, path) for path in (*SYSTEM, *python_folders()) if os.path.exists(path)]
    return [*shown, *((str(tool), f"/tools/{tool.name}") for tool in TOOLS), (str(control), "/control")]


def apparmor() -> bool:
    try:
        return Path("/sys/module/apparmor/parameters/enabled").read_text(encoding="utf-8").startswith("Y")
    except OSError:
        return False


@cache
def limits_taken(path: str) -> tuple[str, ...]:
    """The limits that this machine's runtime sets: all, or none (where it may make no control groups).

    Raises:
        NoSandbox: it runs nothing, with or without; says why.
    """
    for limits in (LIMITS, ()):
        command = run_command(path, f"transformer-lab-trial-{os.getpid()}", Path("/usr/bin"), limits)
        tried = said(*command, "/bin/sh", "-c", SHOW)
        if tried.returncode == 0 and (not limits or str(MOST_MEMORY) in tried.stdout.decode()):  # some ignore them
            return limits
    why = tried.stderr.decode(errors="replace").strip()[-2000:]
    raise NoSandbox(f"{Path(path).name} is there, but can't run a container here: {why}")


def accepted(listener: socket.socket, worker: subprocess.Popen, seconds: float | int) -> socket.socket:
    """The container's end of the control socket; it has so much time to start.

    Raises:
        OSError: it ended, or did not connect.
    """
    listener.settimeout(0.1)
    for _ in range(int(10 * seconds)):
        try:
            return listener.accept()[0]
        except TimeoutError:
            if worker.poll() is not None:
                break
    raise OSError("the container did not connect")
