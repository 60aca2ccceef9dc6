"""What all training commands do: read the options, train until a step or a signal, store and score."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

import torch
from tqdm import tqdm

from transformer_lab.console import print_anything
from transformer_lab.training.commands.options import writable
from transformer_lab.training.interrupts import defer_interrupt, heed_interrupt
from transformer_lab.training.loop import Training
from transformer_lab.training.progress_bar import progress
from transformer_lab.training.torchrun import any_process, is_first, joined, rank

DONE, NOT_STORED, WRONG = 0, 1, 2  # and 128 + its number after a signal, as shells have it
EVERY = 100  # steps between two lines
PATIENCE = 30  # seconds; torchrun ends all processes when one has failed, even that which is about to say why


class Run(Protocol):
    """A training run with everything that goes into its checkpoint."""

    facts: dict[str, Any]  # what the checkpoint tells about it

    @property
    def training(self) -> Training:
        """The training of this run."""

    @property
    def until(self) -> int:
        """The step at which the training ends."""

    @property
    def name(self) -> str:
        """The default name of the checkpoint."""

    def remember(self) -> None:
        """Keep the weights of this step, if the lean checkpoint is made from them."""

    def make_lean(self) -> None:
        """Replace the weights by what a lean checkpoint stores."""

    def save(self, out: Path, lean: bool = False) -> None:
        """Write the checkpoint, from which training can be resumed unless it is lean."""

    def watched(self) -> str:
        """Say in a few words how good the model is so far. An interrupt may end this."""

    def score(self) -> str:
        """Score the model, keep the result in `facts`, and say it in a line or two. An interrupt may end this."""


Maker = Callable[[argparse.Namespace, torch.device], Run]


def run_command(arguments: list[str] | None, parser: argparse.ArgumentParser, begin: Maker, resume: Maker) -> int:
    """Run a training command and return its exit code."""
    code = WRONG
    print_anything()
    try:
        options = parsed(arguments, parser)
        with joined(options.device) as device:
            run, out = prepare(options, (resume if options.resume else begin)(options, device))
            code = NOT_STORED
            return train(run, options, out)
    except (ValueError, OSError) as error:
        tell(error)
        return code
    except KeyboardInterrupt:
        if code == WRONG and is_first():
            print("interrupted before the first step: there is nothing to save", file=sys.stderr)
        return 128 + signal.SIGINT


def parsed(arguments: list[str] | None, parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options. The first process says what is wrong with them, and the others wait until it has."""
    with nullcontext() if is_first() else redirect_stderr(StringIO()):
        try:
            return parser.parse_args(arguments)
        except SystemExit as end:
            if end.code and not is_first():
                time.sleep(PATIENCE)
            raise


def tell(error: ValueError | OSError) -> None:
    """Say what is wrong: one process on each machine says it, and the others wait until it has.

    All say that another has ended, for it may have been the first.
    """
    if isinstance(error, ConnectionError) or os.environ.get("LOCAL_RANK", "0") == "0":
        below = "" if is_first() or not sys.stderr.isatty() else "\n"  # the bar that the first has left
        print(f"{below}error: {error}", file=sys.stderr)
    else:
        time.sleep(PATIENCE)


def prepare(options: argparse.Namespace, run: Run) -> tuple[Run, Path]:
    """The training run, and the path of its checkpoint, which has been checked to be writable."""
    if run.training.step >= run.until:
        raise ValueError(f"--steps ({run.until}) must be above the steps that are done ({run.training.step})")
    try:
        return run, writable(str(options.out or options.resume or run.name))
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"--out {error}") from error


def train(run: Run, options: argparse.Namespace, out: Path) -> int:
    """Train up to the requested step or until a signal; the checkpoint is written before anything else."""
    with defer_interrupt(signal.SIGINT, signal.SIGTERM) as came:
        stopped = follow(run, options, out, came)
        if rank() == 0 and not stopped:
            finish(run, options.lean, out, came)
        ended_by = came[0] if came else signal.SIGTERM if stopped else None
        came.clear()
    return DONE if ended_by is None else 128 + ended_by


def follow(run: Run, options: argparse.Namespace, out: Path, came: list[int]) -> bool:
    """Train with a progress bar, regular checkpoints and reports, until the end or a signal in any process.

    True if it was a signal.
    """
    first, reports = rank() == 0, run.training.run(run.until)
    for report in progress(reports, run.until) if first else reports:
        run.facts["loss"] = report.loss
        if options.lean:
            run.remember()
        stopped = any_process(bool(came), run.training.device) and report.step < run.until
        last = stopped or report.step == run.until
        if first and (last or report.step % options.save_every == 0):
            run.save(out)
        if first and not last and report.step % EVERY == 0:
            show(f"step {report.step}: loss {report.loss:.3f}, {said(run.watched, came) or '?'}")
        if last:
            break
    if first:
        show(f"step {report.step}: loss {report.loss:.3f}, stored in {out}")
    return stopped


def finish(run: Run, lean: bool, out: Path, came: list[int]) -> None:
    """Score the weights in the form in which they are stored, and store them with the score."""
    if lean:
        run.make_lean()
    lines = said(run.score, came)
    if lines is None:
        show("interrupted: the score is not in the file")
        return
    run.save(out, lean)
    show(lines)


def said(measure: Callable[[], str], came: list[int]) -> str | None:
    """The text of a measurement; None if a signal ended it."""
    try:
        with heed_interrupt(came):
            return measure()
    except KeyboardInterrupt:
        return None


def show(line: str) -> None:
    """Print a line above the progress bar, if there is one."""
    tqdm.write(line)
