"""A training by ranks of torchrun, one of which is killed: all must end, with a sentence, and little may be lost.

    python -m tests.killed_ranks 10

kills a rank at 10 random moments, and goes on from the checkpoint each time with another number of ranks.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from transformer_lab.storage import read_tensors
from transformer_lab.training import Training
from transformer_lab.training import text as command
from transformer_lab.training.torchrun import ALL_NEEDED

SAVE_EVERY = 3
SIZES = ["--d-model", "12", "--d-ff", "8", "--heads", "2", "--layers", "1", "--length", "16", "--batch", "7"]
BOOK = "the cat sat on the mat. the dog sat on the log. " * 240


def train_and_tell(folder: Path, arguments: list[str]) -> int:
    """What each rank does: train, and write down who it is and each step that it has done."""
    taken, rank = Training.take_step, os.environ["RANK"]
    (folder / f"pid {rank}").write_text(str(os.getpid()))

    def take_step(self: Training) -> tuple[float, float]:
        result = taken(self)
        (folder / f"step {rank}").write_text(str(self.step))
        return result

    Training.take_step = take_step
    return command.main(arguments)


def kill_one(folder: Path, rng: random.Random) -> dict:
    """Start or go on, kill a rank at a random moment; what was done, what is stored, and what was said."""
    path, n = folder / "model", rng.choice([2, 3])
    for old in (*folder.glob("pid *"), *folder.glob("step *")):
        old.unlink()
    new = ["--text", str(folder / "book.txt"), *SIZES, "--steps", "1000000", "--out", str(path), "--device", "cpu"]
    arguments = ["--resume", str(path), "--device", "cpu"] if path.exists() else new
    torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={n}", "-m", "tests.killed_ranks"]
    every = ["--save-every", str(SAVE_EVERY)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RANKS_FOLDER": str(folder)}
    run = subprocess.Popen([*torchrun, *arguments, *every], env=environment, stdout=-1, stderr=-2, text=True)
    while not all((folder / f"step {rank}").exists() for rank in range(n)) and run.poll() is None:
        time.sleep(0.05)
    time.sleep(rng.uniform(0, 1))
    pids = {rank: int((folder / f"pid {rank}").read_text()) for rank in range(n)}
    killed = rng.randrange(n)
    os.kill(pids[killed], signal.SIGKILL)
    said, _ = run.communicate()
    done = min(int((folder / f"step {rank}").read_text() or 0) for rank in range(n) if rank != killed)
    stored = read_tensors(path)["training"]["step"] if path.exists() else 0
    left = [pid for pid in pids.values() if Path(f"/proc/{pid}").exists()]
    sentence, traces = ALL_NEEDED in said, said.count("[rank")
    return {"done": done, "lost": done - stored, "left": left, "sentence": sentence, "traces": traces, "ranks": n}


def main(kills: int, folder: Path) -> list[dict]:
    """Kill so often."""
    (folder / "book.txt").write_text(BOOK, encoding="utf-8")
    rng = random.Random(kills)
    return [kill_one(folder, rng) for _ in range(kills)]


if __name__ == "__main__":
    if "RANKS_FOLDER" in os.environ:
        sys.exit(train_and_tell(Path(os.environ["RANKS_FOLDER"]), sys.argv[1:]))
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(main(int(sys.argv[1]), Path(made)), indent=1))
