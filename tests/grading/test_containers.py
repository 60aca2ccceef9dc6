"""The sandbox as a container: the command line, the socket, the limits, and what is said where there is no runtime."""

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.grading.attacks import ATTACKS, RIGHT, grade, program_of
from tests.grading.support import needs_bwrap
from transformer_lab import cli
from transformer_lab.exercises.engine.running import Case
from transformer_lab.grading.sandbox import containers
from transformer_lab.grading.sandbox.cgroups import MOST_MEMORY
from transformer_lab.grading.sandbox.launching import described
from transformer_lab.grading.sandbox.policy import SITE, NoSandbox
from transformer_lab.grading.sandbox.sandbox import Sandbox


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A `podman` that runs the command with bubblewrap; what it was told, as it grows."""
    path, log = tmp_path / "bin" / "podman", tmp_path / "log"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("fake_runtime.py")} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_RUNTIME", str(log))
    containers.limits_taken.cache_clear()
    yield lambda: [json.loads(line) for line in log.read_text().splitlines()]
    containers.limits_taken.cache_clear()


def after(words: list[str], option: str) -> list[str]:
    return [words[place + 1] for place, word in enumerate(words) if word == option]


def test_a_container_has_no_network_no_rights_but_five_and_nothing_to_write_to(tmp_path):
    words = containers.run_command("/usr/bin/podman", "one", tmp_path)
    assert words[:2] == ["/usr/bin/podman", "run"]
    assert words[-1] == containers.IMAGE
    assert after(words, "--network") == ["none"]
    assert after(words, "--cap-drop") == ["ALL"]
    assert after(words, "--cap-add") == ["SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL"]
    assert after(words, "--memory") == after(words, "--memory-swap") == [str(MOST_MEMORY)]
    assert {"--read-only", "--rm", "--read-only-tmpfs=false"} <= {*words}
    shown = [volume.split(":") for volume in after(words, "--volume")]
    assert {mode for *_, mode in shown} == {"ro"}
    assert [str(tmp_path), "/control", "ro"] in shown
    assert any(Path(SITE).is_relative_to(place) for _, place, _ in shown)
    assert not any(Path(__file__).is_relative_to(place) for _, place, _ in shown)


def test_docker_is_told_the_same_but_for_what_it_does_not_know(tmp_path):
    podman, docker = (containers.run_command(f"/usr/bin/{name}", "one", tmp_path) for name in containers.RUNTIMES)
    assert [word for word in podman[1:] if word != "--read-only-tmpfs=false"] == docker[1:]


def test_the_image_holds_empty_folders_alone():
    with tarfile.open(fileobj=BytesIO(containers.empty_image())) as archive:
        assert {member.name for member in archive if member.isdir()} == {*containers.PLACES}
        assert len(archive.getmembers()) == len(containers.PLACES)


def test_a_runtime_that_is_not_there_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSandbox, match=r"`--sandbox docker` needs docker \(found no `docker`\): install it"):
        described("docker")
    with pytest.raises(ValueError, match="a sandbox must be one of bubblewrap, podman, docker, or none"):
        Sandbox(kind="jail")
    with pytest.raises(SystemExit):
        cli.main(["grade", "x", "--assignment", "y", "--out", "z", "--sandbox", "jail"])
    assert "invalid choice: 'jail'" in capsys.readouterr().err


def test_a_runtime_that_runs_nothing_says_why(tmp_path, monkeypatch):
    path = tmp_path / "podman"
    path.write_text("#!/bin/sh\n[ $1 = run ] && echo no permission >&2 && exit 125; exit 0\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NoSandbox, match="podman is there, but can't run a container here: no permission"):
        described("podman")


@needs_bwrap
@pytest.mark.skipif(os.geteuid() != 0, reason="the stand-in for a runtime needs root's bubblewrap")
def test_answers_are_graded_in_a_container_over_a_socket(fake):
    with Sandbox(30, "podman") as sandbox:
        assert grade(sandbox, RIGHT).verdict == "ok"
        for name in ("speaks to the grader as the forking process does", "writes files", "kills its parents"):
            attack = ATTACKS[name]
            assert grade(sandbox, program_of(attack, 9, __file__)).points == attack.points
        sandbox.worker.kill()
        sandbox.worker.wait()
        with sandbox.attempt("def one():\n    return 1", "one") as attempt:
            assert attempt.run(Case("", {})).value == 1
        folder = sandbox.launched.folder
        assert (folder / "control" / "socket").exists()
    assert not folder.exists()
    told = fake()
    assert [words[0] for words in told[:2]] == ["image", "import"]
    runs = [words for words in told if words[0] == "run"]
    trial, started = runs[0], runs[2:]  # the stand-in sets no limit on memory, and the second trial asks for none
    assert "--memory" in trial
    assert all("--memory" not in words for words in started)
    assert len({tuple(after(words, "--name")) for words in started}) == len(started) == 2


@pytest.fixture(scope="module")
def podman():
    """Skips where podman can't run a container."""
    try:
        described("podman")
    except NoSandbox as missing:
        pytest.skip(str(missing)[:200])


def test_podman_keeps_answers_in(podman):
    with Sandbox(30, "podman") as sandbox:
        assert grade(sandbox, RIGHT).verdict == "ok"
        attack = ATTACKS["leaves a message where a container has queues"]
        assert grade(sandbox, attack.program).points == 0
        name = after(sandbox.worker.args, "--name")[0]
    left = subprocess.run(["podman", "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True).stdout
    assert name not in left
