"""Trainings in other processes: one that is killed again and again, and two that train one model as under torchrun.

    python -m tests.training_processes 20

kills a training 20 times, at random moments. Those processes are forked from this one, which has imported torch and
computed nothing, so each costs milliseconds instead of an import. The two that train one model, first a translator and
then a language model, are spawned: torch's launcher has threads, and a forked process can wait for ever for a lock that
one of them held.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from transformer_lab.data.tasks import number_names
from transformer_lab.storage import read_tensors
from transformer_lab.training import Training, paper_adam
from transformer_lab.training import __main__ as command
from transformer_lab.training import text as text_command
from transformer_lab.training.commands import number_names as number_run
from transformer_lab.training.commands import options
from transformer_lab.training.commands import shared as training_command
from transformer_lab.training.torchrun import GROUPS, joined

TINY = ["--d-model", "16", "--d-ff", "8", "--layers", "1", "--batch", "7", "--merges", "30", "--device", "cpu"]
TINY_TEXT = ["--d-model", "12", "--d-ff", "8", "--heads", "2", "--layers", "1", "--length", "16", "--batch", "7"]
TINY_TEXT += ["--steps", "4", "--warmup", "4", "--device", "cpu"]
BOOK = "the cat sat on the mat. the dog sat on the log. " * 240
SAVE_EVERY = 3


def train_and_tell(path: Path, pipe: int) -> None:
    """Train for ever, and write each step that is done into the pipe."""
    taken = Training.take_step

    def take_step(self: Training) -> tuple[float, float]:
        result = taken(self)
        os.write(pipe, self.step.to_bytes(8))
        return result

    Training.take_step = take_step
    begin = ["--resume", str(path), "--device", "cpu"] if path.exists() else ["--out", str(path), *TINY]
    command.main([*begin, "--steps", str(10**9), "--save-every", str(SAVE_EVERY)])


def steps_lost_by_a_kill(path: Path, rng: random.Random) -> tuple[int, int]:
    """Go on with the training, kill it at a random moment; the step that was done last, and how many are not stored."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (as long as the process)
        train_and_tell(path, writer)
        os._exit(1)  # it was to be killed
    os.close(writer)
    told = b"".join(os.read(reader, 8) for _ in range(rng.randint(1, 4 * SAVE_EVERY)))
    time.sleep(rng.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(reader, "rb") as rest:
        told += rest.read()
    done = int.from_bytes(told[-8:])
    return done, done - (read_tensors(path)["training"]["step"] if path.exists() else 0)


def killed(folder: Path, kills: int) -> dict:
    """What becomes of a training that is killed so often."""
    path, rng = folder / "killed", random.Random(kills)
    moments = [steps_lost_by_a_kill(path, rng) for _ in range(kills)]
    cpu, parse = torch.device("cpu"), options.parser().parse_args
    after = number_run.resume(parse(["--resume", str(path)]), cpu).training
    straight = number_run.begin(parse(TINY), cpu).training
    for _ in straight.run(after.step):
        pass
    pairs = zip(after.model.parameters(), straight.model.parameters(), strict=True)
    return {
        "done": [done for done, _ in moments],
        "lost": [lost for _, lost in moments],
        "as never killed": all(torch.equal(one, other) for one, other in pairs),
        "unfinished files": len([*folder.glob("*.part")]),
    }


def both_without_threads(numbers: list[str], text: list[str]) -> tuple[list[int], list[str]]:
    """The two commands' exit codes, and the threads they leave: one of gloo's can abort the exit.

    They share one group: the store, which outlives it, would lead a second one to the addresses of the first.
    """
    few_numbers()
    with ExitStack() as group:
        training_command.joined = partial(join_once, group)
        codes = [command.main(numbers), text_command.main(text)]
    GROUPS.clear()  # as when Python exits
    threads = Path("/proc/self/task").glob("*/comm")  # none where there is no /proc
    return codes, [name for name in (path.read_text().strip() for path in threads) if "gloo" in name]


def join_once(group: ExitStack, device: torch.device) -> AbstractContextManager[torch.device]:
    """The first time that a command joins the others, it stays until the group ends."""
    if not torch.distributed.is_initialized():
        group.enter_context(joined(device))
    return nullcontext(device)


def shared(folder: Path, number_arguments: list[str]) -> list[tuple[list[int], list[str]]]:
    """Both commands, one after the other, in two processes of torchrun's own launcher."""
    config = LaunchConfig(
        *(1, 1, 2), rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0, start_method="spawn", run_id="two"
    )
    numbers = [*TINY, *number_arguments, "--out", str(folder / "two")]
    text = ["--text", str(book(folder)), *TINY_TEXT, "--out", str(folder / "two of text")]
    return [*elastic_launch(config, both_without_threads)(numbers, text).values()]


def book(folder: Path) -> Path:
    """A file to learn from."""
    path = folder / "book.txt"
    path.write_text(BOOK, encoding="utf-8")
    return path


def few_numbers() -> None:
    """Train on a hundred names, which are soon made."""
    pairs = number_names(n_train=100, n_test=5, below=1000)
    number_run.number_names = lambda source, target: pairs


def main(kills: int, folder: Path, *shared_arguments: str) -> dict:
    """Do it, and say what came out."""
    paper_adam(torch.nn.Linear(1, 1))  # the first optimiser imports a part of torch: once here, not in each process
    few_numbers()
    result = killed(folder, kills)  # forked, so before the launcher starts threads
    two = shared(folder, [*shared_arguments]) if shared_arguments else []
    return result | {"shared": two}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else made)
        print(json.dumps(main(int(sys.argv[1]), folder, *sys.argv[3:])))
