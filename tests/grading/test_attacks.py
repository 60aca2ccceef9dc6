"""No attack gets a point that it does not deserve, reaches a socket, leaves a trace, or harms the answer after it."""

import os
import socket
import threading
from pathlib import Path

import pytest

from tests.grading.attacks import ATTACKS, grade, program_of
from tests.grading.hostile_notebooks import HOSTILE, KEY, POINTS, RIGHT, notebook, text
from tests.grading.support import needs_bwrap
from transformer_lab.grading.course import close_jail, find_submissions, grade_one
from transformer_lab.grading.jail import Jail
from transformer_lab.grading.reports import write_reports

pytestmark = needs_bwrap


@pytest.fixture(scope="module")
def jail():
    with Jail(seconds=3) as jail:
        yield jail


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
    """A key that every user of this machine may read."""
    path = tmp_path_factory.mktemp("course") / "key.json"
    path.write_text("{}")
    return str(path)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_what_it_deserves_and_the_next_answer_too(jail, visitors, secret, name):
    attack, (port, called) = ATTACKS[name], visitors
    given = grade(jail, program_of(attack, port, secret))
    assert given.verdict in attack.verdicts, given
    assert given.points == attack.points
    assert called == []
    assert not traces()
    after = grade(jail, RIGHT)
    assert (after.verdict, after.points) == ("ok", POINTS)


@pytest.mark.parametrize("name", ["reads the key and the others' notebooks", "calls out"])
def test_without_walls_an_attack_would_work(visitors, secret, name):
    port, called = visitors
    with Jail(seconds=10, trust=True) as open_door:
        assert grade(open_door, program_of(ATTACKS[name], port, secret)).points == POINTS
    called.clear()


def traces() -> list[str]:
    places = ("/", "/tmp", "/usr", "/etc", "/var", "/home", "/root", "/dev/shm", os.getcwd())
    return [place for place in places if (Path(place) / "transformer-lab-was-here").exists()]


def test_the_server_can_be_reached_from_here(visitors):
    port, called = visitors
    socket.create_connection(("127.0.0.1", port), timeout=1).close()
    for _ in range(100):
        if called:
            break
        threading.Event().wait(0.01)
    assert len(called) == 1
    called.clear()


@pytest.fixture(scope="module", autouse=True)
def _jail_of_this_process():
    yield
    close_jail()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_notebook_gets_what_it_deserves_and_the_next_student_too(tmp_path, name):
    attack = HOSTILE[name]
    graded = attack.grade(tmp_path)
    (given,) = graded.marks
    assert (given.verdict, given.points) == (attack.verdict, attack.points), graded
    assert attack.note in "\n".join((*graded.notes, *given.notes))
    assert {path.name for path in tmp_path.iterdir()} == {"others", "submitted"}
    (tmp_path / "next").mkdir()
    text(notebook(RIGHT), "ann.ipynb")(tmp_path / "next")
    (ann,) = find_submissions(tmp_path / "next", "hw1")
    after = grade_one(ann, KEY)
    assert after.points == POINTS
    (tmp_path / "out").mkdir()
    write_reports([graded, after], KEY, tmp_path / "out")
    assert len(list((tmp_path / "out" / "feedback").iterdir())) == 2


def test_there_are_at_least_thirty_attacks():
    assert len(ATTACKS | HOSTILE) >= 30
