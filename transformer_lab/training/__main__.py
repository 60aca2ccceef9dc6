"""The command line: `python -m transformer_lab.training --help`."""

import argparse
import signal
import sys
from pathlib import Path

import torch
from tqdm import tqdm

from transformer_lab.storage import check_writable
from transformer_lab.training.evaluation import exact_match
from transformer_lab.training.interrupts import defer_interrupt, heed_interrupt
from transformer_lab.training.number_run import NumberRun, begin, resume
from transformer_lab.training.options import parser
from transformer_lab.training.processes import any_process, joined, rank
from transformer_lab.training.progress_bar import progress

DONE, NOT_STORED, WRONG = 0, 1, 2  # and 128 + its number after a signal, as shells have it
WATCHED, EVERY = 200, 100  # names of the validation that are translated every so many steps


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    code = WRONG
    try:
        options = parser().parse_args(arguments)
        with joined(options.device) as device:
            run, out = prepare(options, device)
            code = NOT_STORED
            return train(run, options, out)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        if code == WRONG:
            print("interrupted before the first step: there is nothing to save", file=sys.stderr)
        return 128 + signal.SIGINT


def prepare(options: argparse.Namespace, device: torch.device) -> tuple[NumberRun, Path]:
    """The training, and where its checkpoint will be, which can be written."""
    run = (resume if options.resume else begin)(options, device)
    if run.training.step >= options.steps:
        raise ValueError(f"--steps ({options.steps}) must be above the steps that are done ({run.training.step})")
    out = options.out or options.resume or Path(f"{run.pairs.source}_{run.pairs.target}.safetensors")
    try:
        check_writable(out)
    except OSError as error:
        raise ValueError(f"--out must be a file that can be written ({out}: {error})") from error
    return run, out


def train(run: NumberRun, options: argparse.Namespace, out: Path) -> int:
    """Train up to the step that was asked for, or to a signal; the checkpoint is written before anything else."""
    with defer_interrupt(signal.SIGINT, signal.SIGTERM) as came:
        stopped = follow(run, options, out, came)
        if rank() == 0 and not stopped:
            score(run, options.lean, out, came)
        ended_by = came[0] if came else signal.SIGTERM if stopped else None
        came.clear()
    return DONE if ended_by is None else 128 + ended_by


def follow(run: NumberRun, options: argparse.Namespace, out: Path, came: list[int]) -> bool:
    """Train, with a bar, a checkpoint and a line every so many steps, to the end or to a signal in any process.

    True if it was a signal.
    """
    first, reports = rank() == 0, run.training.run(options.steps)
    for report in progress(reports, options.steps) if first else reports:
        run.facts["loss"] = report.loss
        if options.lean:
            run.remember(options.steps)
        stopped = any_process(bool(came), run.training.device) and report.step < options.steps
        last = stopped or report.step == options.steps
        if first and (last or report.step % options.save_every == 0):
            run.save(out)
        if first and not last and report.step % EVERY == 0:
            right = share_right(run, WATCHED, came)
            show(f"step {report.step}: loss {report.loss:.3f}, {right} of {WATCHED} unseen names right")
        if last:
            break
    if first:
        show(f"step {report.step}: loss {report.loss:.3f}, stored in {out}")
    return stopped


def score(run: NumberRun, lean: bool, out: Path, came: list[int]) -> None:
    """Measure the weights as they will be stored, and store what came out."""
    if lean:
        run.make_lean()
    try:
        with heed_interrupt(came):
            slices = {
                kind: exact_match(run.training.model, run.tokenizer, pairs) for kind, pairs in run.pairs.slices.items()
            }
    except KeyboardInterrupt:
        show("interrupted: the score is not in the file")
        return
    n_test = len(run.pairs.test)
    exact = sum(share * len(run.pairs.slices[kind]) for kind, share in slices.items()) / n_test
    run.facts |= {"n_test": n_test, "exact_match": exact, "slices": slices}
    run.save(out, lean)
    show(", ".join(f"{kind}: {share:.1%}" for kind, share in slices.items()))
    show(f"{run.facts['seconds']:.0f} s: {exact:.1%} of {n_test} unseen names right")


def share_right(run: NumberRun, n: int, came: list[int]) -> str:
    """How many of the first names of the validation come out right, to print; a signal ends the count."""
    try:
        with heed_interrupt(came):
            return f"{exact_match(run.training.model, run.tokenizer, run.pairs.validation[:n]):.1%}"
    except KeyboardInterrupt:
        return "?"


def show(line: str) -> None:
    """Print a line above the bar, if there is one."""
    tqdm.write(line)


if __name__ == "__main__":
    sys.exit(main())
