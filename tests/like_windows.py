"""Takes away what Python has on Linux and not on Windows, and then uses the package, for `test_other_systems.py`.

What other packages are is their own matter, so they are imported before; and so is the standard library.
"""

import os
import signal
import socket
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import forkserver, get_context, synchronize
from pkgutil import walk_packages
from tempfile import TemporaryDirectory

import anywidget
import filelock
import huggingface_hub
import matplotlib.pyplot
import nbclient
import nbformat
import num2words
import platformdirs
import safetensors.torch
import tokenizers
import torch
from IPython import display
from torch.distributed import checkpoint

BEFORE = (ProcessPoolExecutor, forkserver, get_context, synchronize, anywidget, huggingface_hub, matplotlib, nbclient)
BEFORE += (filelock, nbformat, num2words, platformdirs, safetensors, tokenizers, display, checkpoint)
MISSING = {
    os: "fork geteuid getuid getgid setsid killpg uname sysconf set_blocking pidfd_open sched_getaffinity setresuid",
    signal: "setitimer getitimer SIGALRM ITIMER_REAL SIGKILL SIGHUP SIGUSR1 pthread_sigmask",
    socket: "AF_UNIX send_fds recv_fds",
}
NOT_THERE = ("fcntl", "resource", "pwd", "grp", "termios")
NOT_FOR_WINDOWS = ("sandbox.supervisor", "sandbox.answer_process", "sandbox.kernel", "__main__")

for module, names in MISSING.items():
    for name in names.split():
        delattr(module, name)
for name in NOT_THERE:
    sys.modules[name] = None  # type: ignore[assignment]
sys.platform = "win32"

import transformer_lab  # noqa: E402

for found in walk_packages(transformer_lab.__path__, "transformer_lab."):
    if not found.name.endswith(NOT_FOR_WINDOWS):
        __import__(found.name)

from transformer_lab import cli, exercises, widgets  # noqa: E402
from transformer_lab.exercises import exercise  # noqa: E402
from transformer_lab.exercises.engine import time_limit  # noqa: E402
from transformer_lab.exercises.progress import progress_store  # noqa: E402
from transformer_lab.training.__main__ import main  # noqa: E402
from transformer_lab.training.commands import number_names as number_run  # noqa: E402

TINY = ["--steps", "2", "--d-model", "16", "--d-ff", "8", "--layers", "1", "--batch", "8", "--merges", "30"]


def for_ever(scores, dim):
    while True:
        pass


def by_hand(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


time_limit.TIMES_BY_THE_CLOCK = 1000  # on a busy machine, ten times as long may be over before the loop has computed
LIMIT = time_limit.time_limit
exercise.time_limit = lambda: LIMIT(1.5)
print("endless:", exercises.softmax.check(for_ever).message.splitlines()[0])
exercise.time_limit = LIMIT
print("wrong:", exercises.softmax.check(lambda scores, dim: scores.softmax(0)).mistake)
print("right:", exercises.softmax.check(by_hand).passed)
print("kept:", progress_store.read_progress())

with TemporaryDirectory() as folder:
    number_run.number_names = partial(number_run.number_names, n_train=100, n_test=5, below=1000)
    path = os.path.join(folder, "model.safetensors")
    print("training:", main([*TINY, "--out", path]), main(["--steps", "3", "--resume", path]))
    print("assign:", cli.main(["assign", "--lessons", "01", "--out", os.path.join(folder, "hw1")]))
    print("grade:", cli.main(["grade", folder, "--assignment", "hw1", "--out", os.path.join(folder, "grades")]))
html = widgets.attention_steps(torch.eye(2), torch.eye(2), torch.eye(2), ["a", "b"]).html()
print("view:", "<script" in html, "figure:", "data:image/png" in html)
