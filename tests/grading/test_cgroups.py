"""Control groups: where one may be made, what it limits, that it is taken away. Mostly in folders that stand in."""

import os
import subprocess
from pathlib import Path

import pytest

from transformer_lab.exercises.engine.running import Case
from transformer_lab.grading.sandbox import cgroups
from transformer_lab.grading.sandbox.cgroups import LIMITS, Group, new_group, places
from transformer_lab.grading.sandbox.launching import described
from transformer_lab.grading.sandbox.sandbox import Ended, Sandbox


def hierarchy(tmp_path: Path, own: str, shared: dict[str, str]) -> tuple[Path, Path]:
    """Folders that look like a unified hierarchy, and the file that says in which group this process is."""
    root, said = tmp_path / "cgroup", tmp_path / "own"
    for name, controllers in shared.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "cgroup.subtree_control").write_text(controllers)
    said.write_text(f"9:name=systemd:/\n0::{own}\n")
    return root, said


def test_root_s_own_group_is_taken_where_it_shares_out_memory(tmp_path):
    root, own = hierarchy(tmp_path, "/", {".": "cpu memory pids\n"})
    assert places(root, own) == [root]


def test_a_delegated_group_is_taken_before_the_one_around_it(tmp_path):
    shared = {".": "memory", "user": "memory pids", "user/shell": "memory"}
    root, own = hierarchy(tmp_path, "/user/shell", shared)
    assert places(root, own) == [root / "user" / "shell", root / "user"]


def test_a_group_with_processes_shares_nothing_so_the_one_around_is_taken(tmp_path):
    root, own = hierarchy(tmp_path, "/user/shell", {".": "memory", "user": "memory pids", "user/shell": ""})
    assert places(root, own) == [root / "user"]


@pytest.mark.parametrize("shared", [{".": "cpu"}, {}])
def test_without_the_memory_controller_there_is_none(tmp_path, shared, monkeypatch):
    root, own = hierarchy(tmp_path, "/", shared)
    assert places(root, own) == []
    monkeypatch.setattr(cgroups, "places", lambda: places(root, own))
    assert new_group() is None


def test_the_first_hierarchy_has_none(tmp_path):
    (tmp_path / "own").write_text("4:memory:/here\n")
    assert places(tmp_path, tmp_path / "own") == []
    assert places(tmp_path, tmp_path / "nowhere") == []


def test_a_group_has_limits_and_is_entered_and_taken_away(tmp_path, monkeypatch):
    """The kernel makes the files of a group, and takes them away with it."""
    mkdir, rmdir = Path.mkdir, os.rmdir

    def make(self, *given, **more):
        mkdir(self, *given, **more)
        for name in (*LIMITS, "cgroup.procs"):
            (self / name).touch()

    def take_away(folder):
        for file in Path(folder).iterdir():
            file.unlink()
        rmdir(folder)

    monkeypatch.setattr(Path, "mkdir", make)
    monkeypatch.setattr(os, "rmdir", take_away)
    group = Group(tmp_path / "one")
    assert {name: int((group.folder / name).read_text()) for name in LIMITS} == LIMITS
    command = group.entered(["/bin/sh", "-c", 'echo "$$ $0"', "two words"])
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert said == f"{(group.folder / 'cgroup.procs').read_text().strip()} two words\n"
    group.close()
    assert not group.folder.exists()
    group.close()  # it may be gone


def test_where_limits_are_refused_nothing_is_left(tmp_path, monkeypatch):
    refused = lambda *_: (_ for _ in ()).throw(PermissionError("no"))  # noqa: E731
    monkeypatch.setattr(Path, "write_text", refused)
    monkeypatch.setattr(cgroups, "places", lambda: [tmp_path])
    assert new_group() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not places(), reason="this machine has no group with the memory controller to make groups in")
def test_the_kernel_counts_what_an_answer_takes_and_shares():
    """Copies on write are counted once: fourteen forks of 300 MiB are fine, three GiB are not."""
    assert "memory counted by the kernel (cgroup)" in described("bubblewrap")
    fork = "import os, time\nheld = b'x' * (300 << 20)\nfor _ in range(14):\n    if os.fork() == 0: time.sleep(60)\n"
    with Sandbox(30) as sandbox:
        with sandbox.attempt(f"{fork}def one():\n    return 1", "one") as attempt:
            assert attempt.run(Case("", {})).value == 1
        eat = "import os, time\ndef one():\n    for _ in range(8):\n        if os.fork() == 0:\n            "
        eat += "held = b'x' * (500 << 20)\n            time.sleep(60)\n    time.sleep(60)"
        with sandbox.attempt(eat, "one") as attempt, pytest.raises(Ended):
            attempt.run(Case("", {}))
        with sandbox.attempt("def one():\n    return 1", "one") as attempt:
            assert attempt.run(Case("", {})).value == 1
