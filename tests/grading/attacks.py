"""Answers that want undeserved points, or want to do harm, and what each deserves.

    python -m tests.grading.attacks      prints the table, those of its neighbours too: deserved and given

`--sandbox podman` has a container keep them in, `--load 6` keeps the machine busy meanwhile, `--below /usr/src` has the
repository lie there. The exit code is 1 if a row gets what it does not deserve. Try it as root and as an ordinary user.

Every one here is an answer to `softmax` (2 points). RIGHT is what a right one looks like. Should the sandbox fail, they
do little: at most 200 processes, 10 seconds, hardly more than the 2 GiB that an answer may have, nothing beyond
loopback.
"""

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.grading.attacks_on_tests import TESTS, programs
from tests.grading.hostile_notebooks import HOSTILE, POINTS, RIGHT, SECONDS
from tests.grading.kernel_attacks import KERNEL
from transformer_lab.exercises import catalogue
from transformer_lab.grading.marking.course import SANDBOX
from transformer_lab.grading.marking.hidden_cases import draw_cases
from transformer_lab.grading.marking.scoring import Mark, mark
from transformer_lab.grading.sandbox.launching import KINDS, described
from transformer_lab.grading.sandbox.policy import REPOSITORY
from transformer_lab.grading.sandbox.sandbox import Sandbox
from transformer_lab.grading.submissions.answers import Answer

RIGHT_BODY = """
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)
"""
WRONG_BODY = """
    return scores * 0
"""
RIGHTLY = f"def rightly(scores, dim):{RIGHT_BODY}"
FOR_TEN_SECONDS = "    start = time.process_time()\n    while time.process_time() < start + 10: "


@dataclass(frozen=True)
class Attack:
    """A program, the verdicts that are right for it, the most likely first, and the points that it deserves."""

    program: str
    verdicts: tuple[str, ...]
    points: float = 0.0


def answer(before: str, body: str, inside: str = "") -> str:
    return f"import torch\n{RIGHTLY}{before}\ndef softmax(scores, dim):\n{inside}{body}"


def by_heart() -> str:
    """A table of the visible cases, right on each of them and wrong elsewhere."""
    exercise = catalogue["softmax"]
    known = []
    for case in exercise.cases:
        scores, dim = case.arguments["scores"], case.arguments["dim"]
        known.append((str(scores.dtype).split(".")[1], scores.double().tolist(), dim))
    return f"""
import torch
{RIGHTLY}
inf, nan = float("inf"), float("nan")
KNOWN = {known!r}
def softmax(scores, dim):
    for dtype, values, d in KNOWN:
        known = torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype))
        alike = (d, known.shape, known.dtype) == (dim, scores.shape, scores.dtype)
        if alike and torch.equal(known, scores.detach()):
            return rightly(scores, dim)
    return scores * 0
"""


def seen() -> list[tuple]:
    """Shape and `dim` of each visible case."""
    return [(tuple(c.arguments["scores"].shape), c.arguments["dim"]) for c in catalogue["softmax"].cases]


ATTACKS = {
    # ── the comparison ──
    "torch's comparisons say yes": Attack(
        answer("torch.allclose = torch.equal = torch.Tensor.allclose = lambda *a, **k: True", WRONG_BODY), ("wrong",)
    ),
    "torch.testing says yes": Attack(
        answer("import torch.testing\ntorch.testing.assert_close = lambda *a, **k: None", WRONG_BODY), ("wrong",)
    ),
    "== of tensors says yes": Attack(
        answer("torch.Tensor.__eq__ = lambda self, other: True\ntorch.Tensor.__bool__ = lambda self: True", WRONG_BODY),
        ("wrong", "raised", "crashed"),
    ),
    "a tensor that says it is equal": Attack(
        """
import torch
class Agreeing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
def softmax(scores, dim):
    return (scores * 0).as_subclass(Agreeing)
""",
        ("wrong", "raised", "crashed"),
    ),
    "an object that is equal to everything": Attack(
        """
class Equal:
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return True
def softmax(scores, dim):
    return Equal()
""",
        ("wrong", "raised", "crashed"),
    ),
    "a tensor subclass that is right": Attack(
        f"import torch\n{RIGHTLY}class Mine(torch.Tensor): pass\n"
        "def softmax(scores, dim):\n    return rightly(scores, dim).as_subclass(Mine)\n",
        ("ok",),
        POINTS,
    ),
    "a generator": Attack(answer("", "    yield rightly(scores, dim)\n"), ("wrong", "raised")),
    "a promise": Attack(answer("", "    return lambda: rightly(scores, dim)\n"), ("wrong",)),
    # ── the reference ──
    "imports the package": Attack(
        "from transformer_lab import masked_softmax\n"
        "def softmax(scores, dim):\n    return masked_softmax(scores, None)\n",
        ("policy",),
    ),
    "imports the package when called": Attack(
        answer("", "", "    import transformer_lab.exercises as e\n    return e.softmax.reference(scores, dim)\n"),
        ("policy",),
    ),
    "looks for the package's files": Attack(
        answer(
            "",
            WRONG_BODY,
            """
    import os
    for folder, _, files in os.walk("/"):
        if "softmax_jacobian.py" in files or "assignment.json" in files or folder.endswith("transformer_lab/exercises"):
            return rightly(scores, dim)
""",
        ),
        ("wrong", "timeout"),
    ),
    "reads the assignment and the others' notebooks": Attack(
        answer(
            "",
            WRONG_BODY,
            """
    try: open(SECRET).read()
    except OSError: pass
    else: return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "looks at the stack for the expected value": Attack(
        answer(
            "",
            WRONG_BODY,
            """
    import sys
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
            for name in ("expected", "reference", "right", "wanted"):
                found = getattr(value, name, None)
                if isinstance(found, torch.Tensor): return found
                if callable(found): return found(scores, dim)
        frame = frame.f_back
""",
        ),
        ("wrong",),
    ),
    "searches memory for a softmax": Attack(
        answer(
            "",
            WRONG_BODY,
            """
    import gc
    for thing in gc.get_objects():
        if type(thing) is type(softmax) and thing.__name__ == "softmax" and "transformer_lab" in str(thing.__module__):
            return thing(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "knows the visible cases by heart": Attack(by_heart(), ("wrong",)),
    "wrong where gradients are tracked": Attack(
        f"import torch\n{RIGHTLY}def softmax(scores, dim):\n    weights = rightly(scores, dim)\n"
        "    return weights + 100 if scores.requires_grad else weights.detach()\n",
        ("wrong",),
    ),
    "right for shapes that it has seen": Attack(
        f"import torch\n{RIGHTLY}def softmax(scores, dim):\n"
        f"    known = {seen()}\n"
        "    return rightly(scores, dim if (tuple(scores.shape), dim) in known else -1)\n",
        ("wrong",),
    ),
    # ── ending, hanging, eating ──
    "os._exit at the top": Attack("import os\nos._exit(0)\n" + RIGHT, ("crashed",)),
    "os._exit in the function": Attack(answer("import os", RIGHT_BODY, "    os._exit(0)\n"), ("crashed",)),
    "sys.exit": Attack(answer("import sys", RIGHT_BODY, "    sys.exit(0)\n"), ("raised",)),
    "a segmentation fault": Attack(answer("import ctypes", RIGHT_BODY, "    ctypes.string_at(0)\n"), ("crashed",)),
    "kills its parents": Attack(
        answer(
            "import os, signal",
            RIGHT_BODY,
            "    for pid in (os.getppid(), 1, 2, 3):\n"
            "        try: os.kill(pid, signal.SIGKILL)\n"
            "        except OSError: pass\n",
        ),
        ("ok",),
        POINTS,
    ),
    "an endless loop": Attack(answer("import time", FOR_TEN_SECONDS + "pass\n"), ("timeout", "crashed")),
    "an endless loop that ignores signals": Attack(
        answer(
            "import signal, time\nfor number in range(1, 32):\n    try: signal.signal(number, signal.SIG_IGN)\n"
            "    except (OSError, ValueError): pass",
            FOR_TEN_SECONDS + "pass\n",
        ),
        ("timeout", "crashed"),
    ),
    "memory that all its processes use together": Attack(
        answer(
            "import os, time",
            RIGHT_BODY,
            """
    for _ in range(5):
        if os.fork() == 0:
            held = b"x" * (410 << 20)
            time.sleep(10)
            os._exit(0)
    time.sleep(10)
""",
        ),
        ("crashed", "timeout"),
    ),
    "sleeps": Attack(answer("import time", RIGHT_BODY, "    time.sleep(10)\n"), ("timeout",)),
    "a memory bomb": Attack(
        answer("", RIGHT_BODY, "    held = []\n    for _ in range(33): held.append(bytearray(64 << 20))\n"),
        ("raised", "crashed", "timeout"),
    ),
    "memory that belongs to no process": Attack(
        answer(
            "import ctypes",
            RIGHT_BODY,
            """
    libc, size = ctypes.CDLL(None), 300 << 20
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(7):
        segment = libc.shmget(0, ctypes.c_size_t(size), 0o1600)
        assert segment >= 0, "refused"
        address = libc.shmat(segment, None, 0)
        ctypes.memset(address, 1, size)
        libc.shmdt(ctypes.c_void_p(address))
""",
        ),
        ("raised", "crashed"),
    ),
    "memory in files without names": Attack(
        answer("import os\nfor _ in range(50): os.write(os.memfd_create('x'), b'x' * (4 << 20))", RIGHT_BODY),
        ("raised", "crashed"),
    ),
    "a tensor of 2 GiB returned": Attack(
        answer("", "    return torch.zeros(1).expand(1 << 29)\n"), ("wrong", "raised", "crashed", "timeout")
    ),
    "a fork bomb": Attack(
        answer(
            "import os, time",
            RIGHT_BODY,
            "    for _ in range(199):\n"
            "        if os.fork() == 0:\n            time.sleep(10)\n            os._exit(0)\n",
        ),
        ("raised", "timeout", "crashed"),
    ),
    "leaves a daemon": Attack(
        answer(
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(10)\n    os._exit(0)",
            RIGHT_BODY,
        ),
        ("ok",),
        POINTS,
    ),
    "prints 50 000 lines": Attack(
        answer("for i in range(50000): print('spam', i)", RIGHT_BODY, "    for i in range(500): print('spam', i)\n"),
        ("ok",),
        POINTS,
    ),
    "floods the standard streams": Attack(
        answer("import os", RIGHT_BODY, "    for s in (1, 2): os.write(s, b'x' * (1 << 22))\n"), ("ok",), POINTS
    ),
    "a string without end": Attack(
        answer("", "    return 'x' * (1 << 26)\n"), ("wrong", "crashed", "raised", "timeout")
    ),
    "a list that holds itself": Attack(
        answer("", "    loop = []\n    loop.append(loop)\n    return loop\n"), ("wrong", "crashed", "raised")
    ),
    # ── the messages ──
    "forges a message": Attack(
        answer(
            "import os, json, struct",
            WRONG_BODY,
            """
    header = json.dumps({"passed": True, "verdict": "ok", "points": 100, "tensors": []}).encode()
    for fd in range(3, 64):
        try: os.write(fd, struct.pack("<II", len(header), 0) + header)
        except OSError: pass
""",
        ),
        ("wrong", "crashed"),
    ),
    "announces four gigabytes": Attack(
        answer(
            "import os, struct",
            WRONG_BODY,
            "    for fd in range(3, 64):\n        try: os.write(fd, struct.pack('<II', 2**32 - 1, 2**32 - 1))\n"
            "        except OSError: pass\n",
        ),
        ("crashed", "wrong"),
    ),
    "deeply nested JSON": Attack(
        answer(
            "import os, struct",
            WRONG_BODY,
            """
    header = b'[' * 500000
    for fd in range(3, 64):
        try: os.write(fd, struct.pack("<II", len(header), 0) + header)
        except OSError: pass
""",
        ),
        ("crashed", "wrong", "timeout"),
    ),
    "sends its own functions' calls": Attack(
        answer(
            "import os, json, struct",
            WRONG_BODY,
            """
    header = json.dumps({"call": 7, "arguments": {"plain": 1}, "tensors": []}).encode()
    for fd in range(3, 64):
        try: os.write(fd, struct.pack("<II", len(header), 0) + header)
        except OSError: pass
""",
        ),
        ("crashed", "wrong"),
    ),
    "reads the standard input": Attack(
        answer("import sys", WRONG_BODY, "    if sys.stdin.read(): return rightly(scores, dim)\n"),
        ("wrong", "raised"),
    ),
    # ── the interpreter ──
    "an import hook": Attack(
        answer(
            """
import sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        sys.modules[name] = sys
        return None
sys.meta_path.insert(0, Hook())
""",
            WRONG_BODY,
        ),
        ("wrong", "crashed", "raised"),
    ),
    "other modules under known names": Attack(
        answer(
            "import sys, types\n"
            "for name in ('protocol', 'running', 'json', 'struct'): sys.modules[name] = types.ModuleType(name)",
            WRONG_BODY,
        ),
        ("wrong", "crashed", "raised"),
    ),
    "replaces the worker's functions": Attack(
        answer(
            "import sys\nfor module in list(sys.modules.values()):\n"
            "    for name in ('reply', 'serialize_error', 'encode', 'send'):\n"
            "        if hasattr(module, 'given') and hasattr(module, name): setattr(module, name, lambda *a, **k: 0)",
            WRONG_BODY,
        ),
        ("wrong", "crashed", "timeout"),
    ),
    "goes on at exit": Attack(
        answer("import atexit, time\natexit.register(time.sleep, 10)", RIGHT_BODY), ("ok",), POINTS
    ),
    "a thread that goes on": Attack(
        answer(
            "import threading, time",
            """
    result = scores * 0
    def mend():
        time.sleep(0.001)
        result.copy_(rightly(scores, dim))
    threading.Thread(target=mend).start()
    return result
""",
        ),
        ("wrong",),
    ),
    "an alarm after the return": Attack(
        answer(
            "import signal, os\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(1))",
            RIGHT_BODY,
            "    signal.setitimer(signal.ITIMER_REAL, 1e-6)\n",
        ),
        ("crashed",),
    ),
    "transforms what IPython runs": Attack(
        answer(
            """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.input_transformers_post.append(lambda lines: [])
shell.ast_transformers.append(type("Nothing", (), {"visit": lambda self, node: type(node)([], [])})())
""",
            WRONG_BODY,
        ),
        ("wrong", "raised"),
    ),
    "a trace function": Attack(
        answer(
            "import sys\ndef trace(frame, event, argument):\n"
            "    for name in ('fault', 'failure'):\n"
            "        if name in frame.f_locals: frame.f_locals[name] = None\n    return trace\nsys.settrace(trace)",
            WRONG_BODY,
        ),
        ("wrong", "timeout"),
    ),
    # ── the machine ──
    "writes files": Attack(
        answer(
            "import os",
            RIGHT_BODY,
            """
    written = []
    for place in ("/", "/tmp", "/usr", "/etc", "/var", "/home", "/root", "/work", "/tools", os.getcwd(), "/dev/shm"):
        try:
            with open(place + "/transformer-lab-was-here", "w") as file: file.write("x")
        except OSError: continue
        written.append(place)
    assert set(written) <= {"/scratch", "/dev/shm"}, written
""",
        ),
        ("ok",),
        POINTS,
    ),
    "finds what another answer left": Attack(
        answer(
            "import os, glob",
            WRONG_BODY,
            "    if glob.glob('/scratch/*') + glob.glob('/dev/shm/*') + glob.glob('/tmp/transformer*'):\n"
            "        return rightly(scores, dim)\n",
        ),
        ("wrong",),
    ),
    "fills the disk": Attack(
        answer(
            "",
            RIGHT_BODY,
            "    with open('big', 'wb') as file:\n        for _ in range(256): file.write(b'x' * (1 << 20))\n",
        ),
        ("raised", "crashed"),
    ),
    "calls out": Attack(
        answer(
            "import socket",
            WRONG_BODY,
            """
    try: socket.create_connection(("127.0.0.1", PORT), timeout=0.2).close()
    except OSError: pass
    else: return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "preloads a library": Attack(
        answer(
            "import os\nos.environ['LD_PRELOAD'] = '/scratch/evil.so'\nos.environ['PYTHONSTARTUP'] = '/scratch/x.py'",
            RIGHT_BODY,
        ),
        ("ok",),
        POINTS,
    ),
    "looks into other processes": Attack(
        answer(
            "import glob",
            WRONG_BODY,
            """
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/mem"):
        if path.split("/")[2] not in ("1", "self"):
            try: open(path, "rb").read(10)
            except OSError: continue
            return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "leaves a word in the kernel's keyring": Attack(
        answer(
            "import ctypes, os",
            WRONG_BODY,
            """
    add_key, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    libc = ctypes.CDLL(None)
    kept = libc.syscall(add_key, b"user", b"a word", b"for the next", ctypes.c_size_t(12), -4)
    if kept >= 0 or libc.syscall(keyctl, 0, -3, 1) >= 0: return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "leaves a message where a container has queues": Attack(
        answer(
            "import os",
            WRONG_BODY,
            """
    for place in ("/dev/mqueue", "/run", "/var/tmp", "/run/lock", "/sys/fs/cgroup"):
        try:
            open(place + "/a-word", "x").close()
        except FileExistsError: return rightly(scores, dim)
        except OSError: continue
        return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "speaks to the grader as the forking process does": Attack(
        answer(
            "import socket",
            WRONG_BODY,
            """
    try: socket.socket(socket.AF_UNIX).connect("/control/socket")
    except OSError: return scores * 0
    return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
    "becomes root, mounts, loads a new namespace": Attack(
        answer(
            "import ctypes, os",
            WRONG_BODY,
            """
    libc = ctypes.CDLL(None)
    try: os.setuid(0)
    except OSError: pass
    if os.getuid() == 0 and libc.mount(b"tmpfs", b"/usr", b"tmpfs", 0, None) == 0: return rightly(scores, dim)
    if libc.mount(b"none", b"/", None, 1 << 5, None) == 0: return rightly(scores, dim)
""",
        ),
        ("wrong",),
    ),
}


def program_of(attack: Attack, port: int, secret: str) -> str:
    """The attack's program, once it knows where a server listens on loopback, and where a file lies that it wants."""
    return attack.program.replace("PORT", str(port)).replace("SECRET", repr(secret))


def grade(sandbox: Sandbox, program: str, seed: str = "fixed") -> Mark:
    exercise = catalogue["softmax"]
    return mark(exercise, Answer("softmax", program), sandbox, draw_cases(exercise, seed), POINTS)


def table(kind: str) -> Iterator[tuple[str, float, Mark]]:
    """Each attack, what it deserves and what it gets."""
    with Sandbox(SECONDS, kind) as sandbox:
        for name, attack in ATTACKS.items():
            yield name, attack.points, grade(sandbox, program_of(attack, port=9, secret=__file__))
        for name, program in KERNEL.items():
            yield name, 0, grade(sandbox, program)
        for name, exercise in TESTS.items():
            for attack, program in programs(name):
                hidden = draw_cases(exercise, "fixed")
                yield f"{name}: {attack}", 0, mark(exercise, Answer(name, program), sandbox, hidden, 1)
        SANDBOX[:] = [sandbox]
        for name, attack in HOSTILE.items():
            with TemporaryDirectory() as folder:
                yield name, attack.points, attack.grade(Path(folder), kind).marks[0]
        SANDBOX.clear()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep so many processes busy meanwhile."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def main() -> int:
    reader = ArgumentParser()
    reader.add_argument("--sandbox", choices=KINDS, default=KINDS[0])
    reader.add_argument("--load", type=int, default=0, metavar="PROCESSES")
    reader.add_argument("--below", metavar="FOLDER")
    options = reader.parse_args()
    if options.below:
        return below(options.below, "--sandbox", options.sandbox, "--load", str(options.load))
    print(
        f"user {os.getuid()}, repository in {REPOSITORY}, {options.load} busy processes; {described(options.sandbox)}"
    )
    print(f"{'attack':66} {'deserved':>8} {'given':>6}  verdict")
    rows, wrong = 0, 0
    with busy(options.load):
        for name, deserved, given in table(options.sandbox):
            rows, wrong = rows + 1, wrong + (given.points != deserved)
            print(f"{name:66} {deserved:>8g} {given.points:>6g}  {given.verdict}", flush=True)
    print(f"{rows} attacks, {rows - wrong} get what they deserve")
    return int(wrong > 0)


def below(place: str, *options: str) -> int:
    """The same in a view of this machine's files in which the repository lies below a folder of the system."""
    home, view = f"{place}/app", ["bwrap", "--dev-bind", "/", "/", "--tmpfs", place]
    command = [*view, "--dir", home, "--ro-bind", str(REPOSITORY), home, "--chdir", home, "--"]
    environment = os.environ | {"PYTHONPATH": home, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([*command, sys.executable, "-m", __spec__.name, *options], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
