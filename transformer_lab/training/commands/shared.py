"""What every command that trains does: read the options, train to a step or a signal, store, score."""

import argparse
import signal
import sys
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
from transformer_lab.training.processes import any_process, is_first, joined, rank
from transformer_lab.training.progress_bar import progress

DONE, NOT_STORED, WRONG = 0, 1, 2  # and 128 + its number after a signal, as shells have it
EVERY = 100  # steps between two lines


class Run(Protocol):
    """A training, with all that belongs into its checkpoint."""

    facts: dict[str, Any]  # what the checkpoint tells about it

    @property
    def training(self) -> Training:
        """What it trains."""

    @property
    def until(self) -> int:
        """The step that it ends at."""

    @property
    def name(self) -> str:
        """Of its checkpoint, unless another is asked for."""

    def remember(self) -> None:
        """Keep the weights of this step, if the lean checkpoint is made of them."""

    def make_lean(self) -> None:
        """Let the weights become what a lean checkpoint holds."""

    def save(self, out: Path, lean: bool = False) -> None:
        """Write the checkpoint, one to go on from unless it shall be lean."""

    def watched(self) -> str:
        """How good it is by now, in a few words. An interrupt may end it."""

    def score(self) -> str:
        """Measure it, keep that in `facts`, and say it in a line or two. An interrupt may end it."""


Maker = Callable[[argparse.Namespace, torch.device], Run]


def run_command(arguments: list[str] | None, parser: argparse.ArgumentParser, begin: Maker, resume: Maker) -> int:
    """Run a command that trains; the exit code."""
    code = WRONG
    print_anything()
    try:
        with nullcontext() if is_first() else redirect_stderr(StringIO()):  # one process says what is wrong with them
            options = parser.parse_args(arguments)
        with joined(options.device) as device:
            run, out = prepare(options, (resume if options.resume else begin)(options, device))
            code = NOT_STORED
            return train(run, options, out)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        if code == WRONG:
            print("interrupted before the first step: there is nothing to save", file=sys.stderr)
        return 128 + signal.SIGINT


def prepare(options: argparse.Namespace, run: Run) -> tuple[Run, Path]:
    """The training, and where its checkpoint will be, which can be written."""
    if run.training.step >= run.until:
        raise ValueError(f"--steps ({run.until}) must be above the steps that are done ({run.training.step})")
    try:
        return run, writable(str(options.out or options.resume or run.name))
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"--out {error}") from error


def train(run: Run, options: argparse.Namespace, out: Path) -> int:
    """Train up to the step that was asked for, or to a signal; the checkpoint is written before anything else."""
    with defer_interrupt(signal.SIGINT, signal.SIGTERM) as came:
        stopped = follow(run, options, out, came)
        if rank() == 0 and not stopped:
            finish(run, options.lean, out, came)
        ended_by = came[0] if came else signal.SIGTERM if stopped else None
        came.clear()
    return DONE if ended_by is None else 128 + ended_by


def follow(run: Run, options: argparse.Namespace, out: Path, came: list[int]) -> bool:
    """Train, with a bar, a checkpoint and a line every so many steps, to the end or to a signal in any process.

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
    """Measure the weights as they will be stored, and store what came out."""
    if lean:
        run.make_lean()
    lines = said(run.score, came)
    if lines is None:
        show("interrupted: the score is not in the file")
        return
    run.save(out, lean)
    show(lines)


def said(measure: Callable[[], str], came: list[int]) -> str | None:
    """What a measurement says; None if a signal ended it."""
    try:
        with heed_interrupt(came):
            return measure()
    except KeyboardInterrupt:
        return None


def show(line: str) -> None:
    """Print a line above the bar, if there is one."""
    tqdm.write(line)
