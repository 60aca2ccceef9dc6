"""What the jail promises: nothing of an answer outlives it, memory is bounded, the grader's functions can be called."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.grading.support import needs_bwrap
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.running import Case, Outcome
from transformer_lab.grading import course, marking, wire
from transformer_lab.grading.jail import Ended, Jail
from transformer_lab.grading.remote import MOST_WORK, Given
from transformer_lab.grading.walls import NoJail, find_bwrap, python_folders

pytestmark = needs_bwrap


@pytest.fixture(scope="module")
def jail():
    with Jail(seconds=20) as jail:
        yield jail


def descendants(pid: int) -> set[int]:
    """The processes below a process, as this machine sees them."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
    found, fresh = set(), {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh}
        found |= fresh
    return found


LEAVES = {
    "a daemon": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)",
    "sleepers": "for _ in range(6):\n    if os.fork() == 0: time.sleep(600)",
    "a process that ignores signals": (
        "import signal\nif os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(600)"
    ),
}


@pytest.mark.parametrize("program", LEAVES.values(), ids=LEAVES.keys())
def test_nothing_of_an_answer_outlives_it(jail, program):
    before = descendants(jail.worker.pid)
    with jail.attempt(f"import os, time\n{program}\ndef one():\n    return 1", "one") as attempt:
        assert attempt.run(Case("", {})).value == 1
        assert descendants(jail.worker.pid) > before
    assert descendants(jail.worker.pid) == before


def test_one_that_sleeps_is_ended_at_once(jail):
    start = time.monotonic()
    with jail.attempt("import time\ndef one():\n    time.sleep(600)", "one") as attempt:
        attempt.seconds_left = 0.2
        with pytest.raises(Ended, match="did not end in time"):
            attempt.run(Case("", {}))
    assert time.monotonic() - start < 5


def test_the_grader_s_own_time_is_not_the_answer_s(jail):
    with jail.attempt("def one():\n    return 1", "one") as attempt:
        attempt.seconds_left = 1
        time.sleep(1.1)
        assert attempt.run(Case("", {})).value == 1
        assert attempt.seconds_left < 1


def test_memory_is_counted_over_all_processes_of_a_cell(jail):
    eat = "held = b'x' * (450 << 20)\n        time.sleep(600)"
    seven = f"for _ in range(7):\n      if os.fork() == 0:\n        {eat}"
    program = f"import os, time\ndef one():\n    {seven}\n    time.sleep(600)"
    with jail.attempt(program, "one") as attempt, pytest.raises(Ended, match="its process ended"):
        attempt.run(Case("", {}))


def test_one_process_cannot_have_more_than_its_memory(jail):
    with jail.attempt("def one():\n    return len(bytearray(3 << 30))", "one") as attempt:
        assert isinstance(attempt.run(Case("", {})).error, MemoryError)


def test_when_the_worker_is_gone_the_next_answer_gets_another(jail):
    jail.worker.kill()
    jail.worker.wait()
    with jail.attempt("def one():\n    return 1", "one") as attempt:
        assert attempt.run(Case("", {})).value == 1


def test_answers_call_the_grader_s_functions_and_gradients_flow_through_them(jail):
    def squared(x):
        return x**2

    case = Case("", {"f": squared, "x": torch.tensor([1.0, 2.0, 3.0])})
    with jail.attempt("def twice(f, x):\n    return f(f(x)) + x", "twice") as attempt:
        outcome = attempt.run_with_gradients(case)
    assert outcome.value.tolist() == [2, 18, 84]
    pulled = outcome.gradients["x"] / (4 * case.arguments["x"] ** 3 + 1)  # the seed is the same fixed one here
    with jail.attempt("def same(f, x):\n    return x + 0", "same") as attempt:
        seed = attempt.run_with_gradients(case).gradients["x"]
    torch.testing.assert_close(pulled, seed)


def test_errors_of_the_grader_s_functions_keep_their_type_and_text(jail):
    def picky(x):
        raise KeyError("no such thing")

    with jail.attempt("def ask(f):\n    return f(1)", "ask") as attempt:
        error = attempt.run(Case("", {"f": picky})).error
    assert isinstance(error, KeyError)
    assert "no such thing" in str(error)


@pytest.mark.parametrize(
    ("shapes", "numbers"),
    [
        ([(int(MOST_WORK**0.5) + 1,)], 0),
        ([(60_000, 0)], 0),  # with its transpose it would be 60 000 × 60 000 zeros
        ([(1000, 1, 1), (1, 1000, 1), (1, 1, 1000)], 0),  # together 1000 × 1000 × 1000
        ([], 5000),
    ],
    ids=["one long", "one empty", "three for each axis", "a list"],
)
def test_a_call_that_would_cost_too_much_is_refused_before_it_runs(shapes, numbers):
    given = Given(lambda *arguments: pytest.fail("called"))
    tensors = [torch.zeros(shape) for shape in shapes]
    tree = wire.encode([[*tensors, [0] * numbers], {}], [], None)
    reply, _ = given.call({"call": 0, "arguments": tree}, tensors)
    assert reply == {"raised": "RuntimeError", "text": "a function was called too often, or with too much"}


def test_a_law_is_not_asked_of_a_shape_that_would_cost_too_much(monkeypatch):
    exercise = catalogue["softmax_jacobian"]
    outcome = Outcome(torch.zeros(60_000, 1))
    monkeypatch.setattr(marking, "breaks", lambda *_: pytest.fail("asked"))
    verdict, _, message = marking.explained(
        exercise, [outcome] * len(exercise.cases), exercise.cases[0], outcome, "No."
    )
    assert (verdict, message.splitlines()[-1]) == ("wrong", "No.")


@pytest.mark.parametrize(
    ("ready", "message"),
    [("", "the jail did not start"), ("control.sendall(b'!')", "the jail can't run a function here")],
    ids=["it does not start", "it starts and ends"],
)
def test_a_jail_that_does_not_work_is_no_jail(monkeypatch, ready, message):
    start = f"import socket\ncontrol = socket.socket(fileno={{control}})\n{ready}\nraise SystemExit('the reason')"
    monkeypatch.setattr("transformer_lab.grading.jail.START", start)
    with pytest.raises(NoJail, match=f"{message}.*: the reason"):
        Jail().start()


def test_one_that_ends_when_it_is_asked_is_no_jail_and_leaves_nothing_open(monkeypatch):
    """Sockets that nobody closes are warnings, and these are errors."""
    start = "import socket\ncontrol = socket.socket(fileno={control})\ncontrol.sendall(b'!')\nraise SystemExit('why')"
    monkeypatch.setattr("transformer_lab.grading.jail.START", start)
    launch = Jail.launch

    def launch_and_seem_alive(self):
        launch(self)
        self.worker.poll = lambda: self.worker.wait() and None

    monkeypatch.setattr(Jail, "launch", launch_and_seem_alive)
    with pytest.raises(NoJail, match="the jail can't run a function here: why"):
        Jail().start()


def test_neither_package_nor_repository_lie_within():
    package = Path(course.__file__).parents[1]
    assert not any(package.is_relative_to(folder) for folder in python_folders())


def test_a_bubblewrap_that_does_not_work_is_said_to(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho no permission >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NoJail, match="bubblewrap is there, but can't make a jail here: no permission"):
        find_bwrap()


AS_A_USER = """
from transformer_lab.exercises.running import Case
from transformer_lab.grading.jail import Jail
program = '''
import os
def who():
    written = []
    for place in ("/", "/usr", "/proc", "/scratch"):
        try: open(place + "/x", "w").close()
        except OSError: continue
        written.append(place)
    child = os.fork()
    if child == 0:
        os._exit(0)
    return [os.getuid() == 0, written, os.path.exists("/home"), child > 0]
'''
with Jail(20) as jail:
    for _ in range(2):
        with jail.attempt(program, "who") as attempt:
            print(attempt.run(Case("", {})).value)
"""


def test_the_jail_works_for_those_who_are_not_root():
    """Within a namespace in which this user has the number 1000, whoever it is outside."""
    become = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    environment = os.environ | {"PYTHONPATH": str(Path(course.__file__).parents[2])}
    command = [*become, sys.executable, "-c", AS_A_USER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == 2 * "[False, ['/scratch'], False, True]\n", done.stderr
