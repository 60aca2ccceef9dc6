"""What the sandbox promises: nothing of an answer outlives it, memory is bounded, given functions can be called."""

import builtins
import gc
import json
import math
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from tests.grading.support import descendants, needs_bwrap
from transformer_lab.exercises.engine.running import Case, Outcome, run_with_gradients
from transformer_lab.grading.marking import course
from transformer_lab.grading.sandbox import launching, policy, protocol
from transformer_lab.grading.sandbox.launching import TRUST
from transformer_lab.grading.sandbox.policy import NoSandbox, find_bwrap, refuse_readable
from transformer_lab.grading.sandbox.sandbox import Ended, Sandbox

pytestmark = needs_bwrap
SWITCH = Path(policy.LARGE_PAGES) / "enabled"
LARGE_PAGES = os.geteuid() == 0 and SWITCH.exists() and "[never]" not in SWITCH.read_text()


LEAVES = {
    "a daemon": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)",
    "sleepers": "for _ in range(6):\n    if os.fork() == 0: time.sleep(600)",
    "a process that ignores signals": (
        "import signal\nif os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(600)"
    ),
}


@pytest.mark.parametrize("program", LEAVES.values(), ids=LEAVES.keys())
def test_nothing_of_an_answer_outlives_it(sandbox, program):
    before = descendants(sandbox.worker.pid)
    with sandbox.attempt(f"import os, time\n{program}\ndef one():\n    return 1", "one") as attempt:
        assert attempt.run(Case("", {})).value == 1
        assert descendants(sandbox.worker.pid) > before
    assert descendants(sandbox.worker.pid) == before


@pytest.mark.skipif(not LARGE_PAGES, reason="this kernel gives no large pages, or asks for more rights to look")
def test_what_is_forked_for_each_answer_lies_in_large_pages(sandbox):
    rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8") for pid in descendants(sandbox.worker.pid)]
    in_large = [int(line.split()[1]) for text in rollups for line in text.splitlines() if "AnonHugePages" in line]
    assert max(in_large) > 0


def test_one_that_sleeps_is_ended(sandbox):
    before = descendants(sandbox.worker.pid)
    with sandbox.attempt("import time\ndef one():\n    time.sleep(1_000_000)", "one") as attempt:
        attempt.clock_left = 0.2
        with pytest.raises(Ended, match="did not end in time") as end:
            attempt.run(Case("", {}))
    assert end.value.how == "timeout"
    assert descendants(sandbox.worker.pid) == before


@pytest.mark.parametrize("kind", ["bubblewrap", TRUST])
def test_processor_time_is_what_an_answer_may_take(kind):
    """It has 1 second, and by the clock ten; one that ends otherwise has not used it up."""
    computes = "import time\ndef one(seconds):\n    while time.process_time() < seconds: pass\n    return 1"
    sleeps = "import time\ndef one(seconds):\n    time.sleep(seconds)\n    return 1"
    dies = "import os\ndef one(seconds):\n    os._exit(0)"
    hows = []
    with Sandbox(1, kind) as sandbox:
        for program, seconds in (computes, 0.2), (sleeps, 1.5):
            with sandbox.attempt(program, "one") as attempt:
                assert attempt.run(Case("", {"seconds": seconds})).value == 1
        for program in (computes, f"import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n{computes}", dies):
            with pytest.raises(Ended) as end, sandbox.attempt(program, "one") as attempt:
                attempt.run(Case("", {"seconds": 5}))
            hows.append(end.value.how)
    assert hows == ["timeout", "timeout", "crashed"]


def test_the_grader_s_own_time_is_not_the_answer_s(sandbox):
    with sandbox.attempt("def one():\n    return 1", "one") as attempt:
        before = attempt.seconds_left, attempt.clock_left
        compute_for(0.1)
        assert (attempt.seconds_left, attempt.clock_left) == before
        assert attempt.run(Case("", {})).value == 1
        assert attempt.seconds_left < before[0]
        assert attempt.clock_left < before[1]


def compute_for(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_memory_is_counted_over_all_processes_of_a_cell(sandbox):
    eat = "held = b'x' * (450 << 20)\n        time.sleep(600)"
    seven = f"for _ in range(7):\n      if os.fork() == 0:\n        {eat}"
    program = f"import os, time\ndef one():\n    {seven}\n    time.sleep(600)"
    with sandbox.attempt(program, "one") as attempt, pytest.raises(Ended, match="its process ended"):
        attempt.run(Case("", {}))


def test_one_process_cannot_have_more_than_its_memory(sandbox):
    with sandbox.attempt("def one():\n    return len(bytearray(3 << 30))", "one") as attempt:
        assert isinstance(attempt.run(Case("", {})).error, MemoryError)


def test_when_the_worker_is_gone_the_next_answer_gets_another(sandbox):
    sandbox.worker.kill()
    sandbox.worker.wait()
    with sandbox.attempt("def one():\n    return 1", "one") as attempt:
        assert attempt.run(Case("", {})).value == 1


def doubled(x):
    return 2 * x


DRAWS = """import random, numpy as np, torch
def draw():
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]
ONCE = draw()
def drawn(times):
    return [ONCE, *(draw() for _ in range(times))]
"""


def test_an_answer_draws_the_same_in_each_process_and_at_each_call(sandbox):
    seen = []
    for _ in range(2):
        for _ in range(2):
            with sandbox.attempt(DRAWS, "drawn") as attempt:
                seen += [tuple(map(tuple, attempt.run(Case("", {"times": 1})).value)) for _ in range(2)]
        sandbox.restart()  # what forks the answers is another process now, as in another run
    assert len(seen) == 8
    assert len(set(seen)) == 1


def test_answers_call_given_functions_and_gradients_flow_through_them(sandbox):
    table = torch.tensor([1.0, 0.0, -1.0])

    def given(x, power=2):
        return sum((lambda part: doubled(part**power))(part) for part in (x, math.e * table))

    case = Case("", {"f": given, "x": torch.tensor([1.0, 2.0, 3.0])})
    wanted = run_with_gradients(lambda f, x: f(f(x)) + x, case)
    with sandbox.attempt("def twice(f, x):\n    return f(f(x)) + x", "twice") as attempt:
        outcome = attempt.run_with_gradients(case)
    torch.testing.assert_close(outcome.value, wanted.value)
    torch.testing.assert_close(outcome.gradients["x"], wanted.gradients["x"])


@pytest.mark.parametrize("given", [math.sqrt, torch.tanh, torch.nn.functional.relu], ids=["math", "torch", "torch.nn"])
def test_functions_of_libraries_can_be_given(sandbox, given):
    with sandbox.attempt("def ask(f, x):\n    return f(x)", "ask") as attempt:
        outcome = attempt.run(Case("", {"f": given, "x": torch.tensor(4.0)}))
    assert outcome.value == given(torch.tensor(4.0))


def exported(x):
    """numpy() imports what it needs, by the builtins of whoever calls it."""
    return torch.from_numpy(x.double().cumsum(0).numpy()).to(x.dtype)


def test_a_given_function_can_have_torch_import_what_it_needs(sandbox):
    rebuilt = protocol.decode(protocol.encode(exported, [], functions=True), [], functions=True)
    assert rebuilt.__globals__["__builtins__"] is builtins
    with sandbox.attempt("def answer(f, x):\n    return f(x)\n", "answer") as attempt:
        outcome = attempt.run(Case("", {"f": exported, "x": torch.ones(3)}))
    assert torch.equal(outcome.value, torch.tensor([1.0, 2.0, 3.0]))


def test_errors_of_given_functions_keep_their_type_and_text(sandbox):
    def picky(x):
        raise KeyError("no such thing")

    with sandbox.attempt("def ask(f):\n    return f(1)", "ask") as attempt:
        error = attempt.run(Case("", {"f": picky})).error
    assert isinstance(error, KeyError)
    assert "no such thing" in str(error)


def test_what_cannot_be_given_is_refused():
    with pytest.raises(TypeError, match=r"plain values, tensors and functions \(got a Linear\)"):
        protocol.encode({"f": torch.nn.Linear(1, 1)}, [], functions=True)


def test_functions_cross_to_an_answer_and_never_back(sandbox):
    with sandbox.attempt("def give():\n    return lambda: 1", "give") as attempt:
        assert type(attempt.run(Case("", {})).value).__name__ == "function"
    for tree in (protocol.encode(doubled, [], functions=True), {"import": ["os", "system"]}):
        with pytest.raises(protocol.Malformed):
            protocol.decode(tree, [])


# ── what an answer sends may be neither large nor many ──


FORGED = {
    "parts": ({"value": [{"other": f"T{i}"} for i in range(30_000)]}, []),
    "lists": ({"value": [[]] * 30_000}, []),
    "tensors": ({}, [["bool", [0], [0], False]] * 10_000),
    "axes": ({}, [["bool", [0] * 3000, [*range(3000)], False]]),
    "bytes": ({}, [["uint8", [20 << 20], [0], False]]),
}


def test_tensors_of_every_layout_arrive_as_they_were_sent():
    table = torch.arange(24.0).reshape(2, 3, 4)
    sent = [table, table.mT, table[..., 1:3], table[:1, :1, ::3][..., :1], table[0, 0, 1], table[:, :0], table.bool()]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        protocol.send(ours, {}, sent)
        _, arrived = protocol.receive(theirs, time.monotonic() + 600)
    for one, other in zip(arrived, sent, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


@pytest.mark.parametrize("what", FORGED)
def test_a_message_of_too_much_is_refused_before_anything_is_made_of_it(what):
    message, tensors = FORGED[what]
    header = json.dumps(message | {"tensors": tensors}).encode()
    payload = bytes(20 << 20) if what == "bytes" else b""
    ours, theirs = socket.socketpair()
    sender = threading.Thread(
        target=lambda: suppressed(ours.sendall, struct.pack("<II", len(header), len(payload)) + header + payload)
    )
    sender.start()
    start = time.process_time()
    with theirs, pytest.raises(protocol.Malformed):
        protocol.receive(theirs, time.monotonic() + 600)
    assert time.process_time() - start < 1
    ours.close()
    sender.join()


def suppressed(act, *arguments) -> None:
    with suppress(OSError):
        act(*arguments)


def test_kinds_that_nobody_knows_leave_nothing_behind():
    for i in range(1000):
        value = protocol.decode({"other": f"Kind{i}"}, [])
    assert type(value).__name__ == "Kind999"
    gc.collect()
    assert len(protocol.Other.__subclasses__()) < 100


def test_to_read_what_an_answer_sends_is_its_own_time(sandbox, monkeypatch):
    with sandbox.attempt("def one():\n    return 1", "one") as attempt:
        attempt.seconds_left = 0.2
        slow = lambda *_, **__: compute_for(0.3) or Outcome()  # noqa: E731
        monkeypatch.setattr("transformer_lab.grading.sandbox.sandbox.outcome_of", slow)
        attempt.run(Case("", {}))
        with pytest.raises(Ended, match="did not end in time"):
            attempt.run(Case("", {}))


@pytest.mark.parametrize(
    ("ready", "message"),
    [("", "the sandbox did not start"), ("control.sendall(b'!')", "the sandbox can't run a function here")],
    ids=["it does not start", "it starts and ends"],
)
def test_a_sandbox_that_does_not_work_is_no_sandbox(monkeypatch, ready, message):
    start = f"import socket\ncontrol = socket.socket(fileno={{control}})\n{ready}\nraise SystemExit('the reason')"
    monkeypatch.setattr("transformer_lab.grading.sandbox.launching.START", start)
    with pytest.raises(NoSandbox, match=f"{message}.*: the reason"):
        Sandbox().start()


def test_one_that_ends_when_it_is_asked_is_no_sandbox_and_leaves_nothing_open(monkeypatch):
    """Sockets that nobody closes are warnings, and these are errors."""
    start = "import socket\ncontrol = socket.socket(fileno={control})\ncontrol.sendall(b'!')\nraise SystemExit('why')"
    monkeypatch.setattr("transformer_lab.grading.sandbox.launching.START", start)

    def launch_and_seem_alive(kind):
        launched = launching.launch(kind)
        launched.lives = lambda: bool(launched.worker.wait())
        return launched

    monkeypatch.setattr("transformer_lab.grading.sandbox.sandbox.launch", launch_and_seem_alive)
    with pytest.raises(NoSandbox, match="the sandbox can't run a function here: why"):
        Sandbox().start()


LOOKS_AROUND = """
import os
from pathlib import Path
from transformer_lab.exercises.engine.running import Case
from transformer_lab.grading.sandbox.sandbox import Sandbox
program = '''
import os
def seen():
    return [path for path in ({secrets}) if os.path.exists(path)]
'''
with Sandbox(20) as sandbox:
    with sandbox.attempt(program, "seen") as attempt:
        print(attempt.run(Case("", {{}})).value)
"""


@pytest.mark.parametrize("place", ["/usr/src", "/usr/lib"])
def test_a_repository_in_a_folder_of_the_system_cannot_be_read(place):
    """The repository lies there, in a view of this machine's files made for the test."""
    repository = Path(course.__file__).parents[3]
    if place == "/usr/lib":  # which the sandbox shows; in a folder there without a library
        place = min(str(p) for p in Path(place).iterdir() if p.is_dir() and not any(p.rglob("*.so*")))
    home, view = f"{place}/app", ["bwrap", "--dev-bind", "/", "/", "--tmpfs", place]
    names = ("README.md", "transformer_lab/nn/masks.py", "tests/answers/lesson_01.py")
    assert all((repository / name).exists() for name in names)
    secrets = [f"{home}/{name}" for name in names]
    script = LOOKS_AROUND.format(secrets=", ".join(map(repr, secrets)))
    command = [*view, "--dir", home, "--ro-bind", str(repository), home, "--", sys.executable, "-c", script]
    done = subprocess.run(command, cwd="/", env=os.environ | {"PYTHONPATH": home}, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_a_course_where_answers_could_read_it_is_refused(tmp_path, monkeypatch):
    (tmp_path / "shown" / "hw1").mkdir(parents=True)
    (tmp_path / "hw1").symlink_to(tmp_path / "shown" / "hw1")
    monkeypatch.setattr(policy, "SYSTEM", (*policy.SYSTEM, str(tmp_path / "shown")))
    refuse_readable(tmp_path / "submitted", None)
    with pytest.raises(
        ValueError,
        match=r"where no answer can read it \(.*/hw1/assignment.json lies in .*/shown",
    ):
        refuse_readable(tmp_path / "submitted", tmp_path / "hw1" / "assignment.json")


def test_a_bubblewrap_that_does_not_work_is_said_to(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho no permission >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NoSandbox, match="bubblewrap is there, but can't make a sandbox here: no permission"):
        find_bwrap()


def test_a_bubblewrap_that_makes_namespaces_and_no_sandbox_is_said_to(tmp_path, monkeypatch):
    """As in a plain container of podman, where a file system is shown, and the sandbox's own options are refused."""
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\ncase "$*" in *--hostname*) echo no hostname >&2; exit 1; esac\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NoSandbox, match="can't make a sandbox here: no hostname"):
        find_bwrap()


AS_A_USER = """
from transformer_lab.exercises.engine.running import Case
from transformer_lab.grading.sandbox.sandbox import Sandbox
program = '''
import os
def who():
    written = []
    for place in ("/", "/usr", "/proc", "/dev", "/tmp", "/scratch"):
        try: open(place + "/x", "w").close()
        except OSError: continue
        written.append(place)
    child = os.fork()
    if child == 0:
        os._exit(0)
    return [os.getuid() == 0, written, os.path.exists("/home"), child > 0]
'''
with Sandbox(20) as sandbox:
    for _ in range(2):
        with sandbox.attempt(program, "who") as attempt:
            print(attempt.run(Case("", {})).value)
"""


def test_the_sandbox_works_for_those_who_are_not_root():
    """Within a namespace in which this user has the number 1000, whoever it is outside."""
    become = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    environment = os.environ | {"PYTHONPATH": str(Path(course.__file__).parents[3])}
    command = [*become, sys.executable, "-c", AS_A_USER]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == 2 * "[False, ['/scratch'], False, True]\n", done.stderr
