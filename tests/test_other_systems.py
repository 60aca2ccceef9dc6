"""On Windows and macOS all but grading works, and grading says what to do."""

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.notebook_rules import ROOT
from tests.support import DEVICE
from transformer_lab import cli, exercises, files, softmax
from transformer_lab.data.tasks import number_names
from transformer_lab.exercises import exercise as exercise_module
from transformer_lab.exercises.engine.thread_limit import limited_by_a_thread
from transformer_lab.exercises.engine.time_limit import OutOfTime, time_limit
from transformer_lab.training import __main__ as command
from transformer_lab.training.commands import number_names as number_run

TINY = ["--d-model", "16", "--d-ff", "8", "--layers", "1", "--batch", "8", "--merges", "30", "--device", str(DEVICE)]
SYSTEMS = {
    "win32": "(this is Windows): run the same command in WSL, the Windows Subsystem for Linux",
    "darwin": "(this is macOS): run the same command in a container or a virtual machine with Linux",
    "freebsd14": "(this is freebsd14): run the same command there",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_grading_says_in_one_sentence_that_it_needs_linux(system, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "platform", system)
    for trust in ([], ["--trust"]):
        assert cli.main(["grade", str(tmp_path), "--assignment", "a.json", "--out", str(tmp_path / "out"), *trust]) == 2
        said = capsys.readouterr().err
        assert said.startswith("transformer-lab grade: grading needs Linux, whose kernel keeps the students' code in a")
        assert said.endswith(f"{SYSTEMS[system]}\n")
        assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_what_linux_alone_has_all_but_grading_works(tmp_path):
    environment = os.environ | {"TRANSFORMER_LAB_PROGRESS": str(tmp_path / "progress.json"), "PYTHONPATH": str(ROOT)}
    call = [sys.executable, ROOT / "tests" / "like_windows.py"]
    run = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    said = dict(line.split(": ", 1) for line in run.stdout.splitlines() if line.split(":")[0] in AS_EVERYWHERE)
    assert said == AS_EVERYWHERE
    assert "grading needs Linux, whose kernel keeps the students' code in a sandbox (this is Windows)" in run.stderr


AS_EVERYWHERE = {
    "endless": "It did not end within 1.5 seconds of computing, in line 64: `while True:`: "
    "is there a loop without an end?",
    "wrong": "first_axis_always",
    "right": "True",
    "kept": "{'softmax': 'solved'}",
    "training": "0 0",
    "assign": "0",
    "grade": "2",
    "view": "True figure: True",
}


# ── a console that lacks letters ──


def printed(command: Callable[[list[str]], int], *options: str) -> str:
    """What a command prints into a file in the code page of western Windows, which has no Cyrillic letters."""
    written = io.BytesIO()
    console = io.TextIOWrapper(written, encoding="cp1252", write_through=True)
    with redirect_stdout(console), redirect_stderr(console):
        assert command([*options]) == 0
    return written.getvalue().decode("cp1252")


def test_a_name_that_the_console_cannot_write_stops_no_command(tmp_path):
    assert r"\u0414\u04171" in printed(cli.main, "assign", "--lessons", "01", "--out", str(tmp_path / "ДЗ1"))
    assert (tmp_path / "ДЗ1" / "assignment.json").exists()


def test_translations_that_the_console_cannot_write_stop_no_training(tmp_path, monkeypatch):
    monkeypatch.setattr(number_run, "number_names", partial(number_names, n_train=100, n_test=5, below=1000))
    monkeypatch.setattr(number_run.NumberRun, "watched", lambda self: "сто")
    monkeypatch.setattr("transformer_lab.training.commands.shared.EVERY", 1)
    options = ["--steps", "2", "--target", "ru", *TINY, "--out", str(tmp_path / "model.safetensors")]
    assert r"\u0441\u0442\u043e" in printed(command.main, *options)


# ── a limit to the time where no timer is ──


def for_ever(scores, dim):
    while True:
        pass


def for_ever_whatever_comes(scores, dim):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


@pytest.mark.parametrize("answer", [for_ever, for_ever_whatever_comes])
def test_an_answer_that_does_not_end_is_stopped_in_any_thread(answer, monkeypatch):
    exercises.softmax.check(softmax)  # what torch loads with its first gradient must not be cut in two
    monkeypatch.setattr(exercise_module, "time_limit", lambda: time_limit(0.2))
    with ThreadPoolExecutor(1) as pool:
        verdict = pool.submit(exercises.softmax.check, answer).result()
    assert "It did not end within" in verdict.message


def one_slip(scores, dim):
    weights = (scores - scores.amax(dim, keepdim=True)).exp()
    return weights / weights.mean(dim, keepdim=True)


def test_what_is_wrong_is_found_in_any_thread():
    with ThreadPoolExecutor(1) as pool:
        cause = pool.submit(exercises.softmax.check, one_slip).result().cause
    assert cause is not None
    assert cause == exercises.softmax.check(one_slip).cause


def test_time_in_which_other_processes_compute_is_nobodys():
    with limited_by_a_thread(0.1, 60.0, OutOfTime):
        time.sleep(0.5)


def wait(limit: float) -> None:
    with limited_by_a_thread(600.0, limit, OutOfTime):
        while True:
            time.sleep(0.01)


def test_what_waits_is_stopped_by_the_clock():
    with pytest.raises(OutOfTime, match=r"^0\.3 seconds$"):
        wait(0.3)


def computes(seconds: float, limit: float) -> None:
    with limited_by_a_thread(limit, 10 * limit, OutOfTime):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass


def test_an_error_of_time_comes_again_if_it_is_caught():
    caught = []

    def stubborn() -> None:
        with limited_by_a_thread(0.01, 0.1, OutOfTime):
            while len(caught) < 2:
                try:
                    for_ever(None, 0)
                except OutOfTime:
                    caught.append(1)

    stubborn()
    assert caught == [1, 1]


def test_an_error_of_time_never_comes_after_the_block():
    threads = threading.active_count()
    for _ in range(300):
        with suppress(OutOfTime):  # whichever is first
            computes(0.001, 0.001)
        sum(range(100))
    while threading.active_count() > threads:  # a second, for one that met the very end of its block
        time.sleep(0.1)


FOLLOWED_LATER = """
import sys
from transformer_lab.exercises.engine.thread_limit import limited_by_a_thread

with limited_by_a_thread(60.0, 60.0, TimeoutError):
    pass
sys.settrace(lambda *event: None)
print((lambda: "called")())
"""


def test_after_the_block_a_debugger_can_follow_what_is_called():
    """Python 3.11 would never come back from that call if it believed that an error is still to be raised."""
    done = subprocess.run([sys.executable, "-c", FOLLOWED_LATER], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "called\n"), done.stderr


# ── a file that another program reads ──


@pytest.mark.parametrize("times", [1, 3])
def test_on_windows_a_file_that_is_being_read_is_replaced_a_moment_later(times, tmp_path, monkeypatch):
    refusals, replace = [PermissionError("the process cannot access the file")] * times, os.replace

    def shared(old: Path, new: Path) -> None:
        if refusals:
            raise refusals.pop()
        replace(old, new)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", shared)
    files.replace_file(tmp_path / "weights", b"new")
    assert (tmp_path / "weights").read_bytes() == b"new"
    assert [one.name for one in tmp_path.iterdir()] == ["weights"]


def test_a_file_that_stays_locked_is_an_error_and_the_old_one_is_whole(tmp_path, monkeypatch):
    def locked(old: Path, new: Path) -> None:
        raise PermissionError("locked")

    (tmp_path / "weights").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", locked)
    with pytest.raises(PermissionError, match="locked"):
        files.replace_file(tmp_path / "weights", b"new")
    assert (tmp_path / "weights").read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["weights"]
