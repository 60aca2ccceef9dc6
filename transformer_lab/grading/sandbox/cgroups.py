"""A control group for a sandbox: there the kernel itself counts the memory of all that an answer starts, and shares.

It takes the unified hierarchy (cgroup v2) with the memory controller, and a group that this user may make groups in:
root's, or one that systemd has delegated. Elsewhere the sandbox adds up what its processes hold.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
MOST_MEMORY = (3 << 30) + (256 << 20)  # torch, 2 GiB for an answer, what it writes
MOST_PROCESSES = 64
LIMITS = {"memory.max": MOST_MEMORY, "memory.swap.max": 0, "pids.max": MOST_PROCESSES}
ENTER = 'echo $$ > "$0" && exec "$@"'  # for a shell, which then becomes the command


class Group:
    """A control group with limits; it is taken away when it is closed."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        try:
            for name, most in LIMITS.items():
                if name == "memory.max" or (folder / name).exists():  # a kernel without swap has no limit on it
                    (folder / name).write_text(str(most), "utf-8")
        except OSError:
            folder.rmdir()
            raise

    def entered(self, command: list[str]) -> list[str]:
        """A command that enters the group, and then becomes the given one."""
        return ["/bin/sh", "-c", ENTER, str(self.folder / "cgroup.procs"), *command]

    def close(self) -> None:
        """Take the group away, as soon as the kernel has seen that nothing lives in it."""
        for _ in range(50):
            with suppress(FileNotFoundError):
                try:
                    os.rmdir(self.folder)
                except OSError:
                    time.sleep(0.02)
                    continue
            return


def places(root: Path = ROOT, own: Path = OWN) -> list[Path]:
    """The groups in which one with a limit on memory may be made: this process's own, or the one around that."""
    try:
        path = next(line[3:] for line in own.read_text("utf-8").splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return []
    here = root / path.strip("/")
    around = [here, here.parent] if here != root else [here]
    return [place for place in around if shares_memory(place) and os.access(place, os.W_OK)]


def shares_memory(place: Path) -> bool:
    """Whether a group counts the memory of those within it."""
    try:
        return "memory" in (place / "cgroup.subtree_control").read_text("utf-8").split()
    except OSError:
        return False


def new_group() -> Group | None:
    """A group for a sandbox, or None where this process may make none."""
    for place in places():
        with suppress(OSError):
            return Group(place / f"transformer-lab-{uuid4().hex[:12]}")
    return None
