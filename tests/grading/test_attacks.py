"""No attack gets a point that it does not deserve, reaches a socket, leaves a trace, or harms the answer after it."""

import ctypes.util
import os
import socket
import threading
from pathlib import Path

import pytest

from tests.grading.attacks import ATTACKS, grade, program_of
from tests.grading.hostile_notebooks import ASSIGNMENT, HOSTILE, POINTS, RIGHT, SECONDS, notebook, text
from tests.grading.kernel_attacks import KERNEL
from tests.grading.support import needs_bwrap
from transformer_lab.grading.marking import course
from transformer_lab.grading.marking.course import grade_one
from transformer_lab.grading.reports.reports import write_reports
from transformer_lab.grading.sandbox.launching import TRUST
from transformer_lab.grading.sandbox.sandbox import Sandbox
from transformer_lab.grading.submissions.submissions import find_submissions

pytestmark = needs_bwrap


@pytest.fixture(scope="module")
def sandbox():
    """One for all answers here, those in notebooks, too."""
    with Sandbox(SECONDS) as sandbox, pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "SANDBOX", [sandbox])
        yield sandbox


@pytest.fixture(scope="module")
def visitors():
    """A server on loopback: its port, and the addresses of those who called."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        called = []

        def listen():
            while True:
                try:
                    connection, address = server.accept()
                except OSError:
                    return
                called.append(address)
                connection.close()

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], called


@pytest.fixture(scope="module")
def secret(tmp_path_factory) -> str:
    """An assignment that every user of this machine may read."""
    path = tmp_path_factory.mktemp("course") / "assignment.json"
    path.write_text("{}")
    return str(path)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_what_it_deserves_and_the_next_answer_too(sandbox, visitors, secret, monkeypatch, name):
    attack, (port, called) = ATTACKS[name], visitors
    with monkeypatch.context() as patch:
        if attack.verdicts[0] == "timeout":
            patch.setattr(sandbox, "seconds", 1)
        if name == "sleeps":  # for as long as it may by the clock
            patch.setattr("transformer_lab.grading.sandbox.sandbox.TIMES_BY_THE_CLOCK", 1)
        given = grade(sandbox, program_of(attack, port, secret))
    assert given.verdict in attack.verdicts, given
    assert given.points == attack.points
    assert called == []
    assert not traces()
    after = grade(sandbox, RIGHT)
    assert (after.verdict, after.points) == ("ok", POINTS)


@pytest.fixture(scope="module")
def open_door():
    with Sandbox(10, TRUST) as sandbox:
        yield sandbox


@pytest.mark.parametrize("name", ["reads the assignment and the others' notebooks", "calls out"])
def test_without_a_sandbox_an_attack_would_work(open_door, visitors, secret, name):
    port, called = visitors
    assert grade(open_door, program_of(ATTACKS[name], port, secret)).points == POINTS
    called.clear()


def traces() -> list[str]:
    places = ("/", "/tmp", "/usr", "/etc", "/var", "/home", "/root", "/dev/shm", os.getcwd())
    return [place for place in places if (Path(place) / "transformer-lab-was-here").exists()]


def test_the_server_can_be_reached_from_here(visitors):
    port, called = visitors
    socket.create_connection(("127.0.0.1", port)).close()
    while not called:
        threading.Event().wait(0.01)
    assert len(called) == 1
    called.clear()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_notebook_gets_what_it_deserves_and_the_next_student_too(sandbox, tmp_path, name):
    attack = HOSTILE[name]
    graded = attack.grade(tmp_path)
    (given,) = graded.marks
    assert (given.verdict, given.points) == (attack.verdict, attack.points), graded
    assert attack.note in "\n".join((*graded.notes, *given.notes))
    assert {path.name for path in tmp_path.iterdir()} == {"others", "submitted"}
    (tmp_path / "next").mkdir()
    text(notebook(RIGHT), "ann.ipynb")(tmp_path / "next")
    (ann,) = find_submissions(tmp_path / "next", "hw1")
    after = grade_one(ann, ASSIGNMENT)
    assert after.points == POINTS
    assert [sandbox] == course.SANDBOX
    (tmp_path / "out").mkdir()
    write_reports([graded, after], ASSIGNMENT, tmp_path / "out")
    assert len(list((tmp_path / "out" / "feedback").iterdir())) == 2


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of calls are those of x86_64")
@pytest.mark.skipif(ctypes.util.find_library("seccomp") is None, reason="needs libseccomp")
def test_the_kernel_refuses_all_that_an_answer_has_no_need_of(sandbox):
    given = {name: grade(sandbox, program) for name, program in KERNEL.items()}
    assert {name: (mark.verdict, mark.message) for name, mark in given.items() if mark.verdict != "wrong"} == {}
    assert {mark.points for mark in given.values()} == {0}


def test_there_are_at_least_a_hundred_and_twenty_attacks():
    assert len(ATTACKS | HOSTILE | KERNEL) >= 120
