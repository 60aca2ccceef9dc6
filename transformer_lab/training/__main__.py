"""The command line: `python -m transformer_lab.training --help`."""

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import torch
from tqdm import tqdm

from transformer_lab.config import TransformerConfig
from transformer_lab.device import default_device
from transformer_lab.model import Transformer
from transformer_lab.tasks import Pairs, number_names
from transformer_lab.tokenizer import Tokenizer
from transformer_lab.training import (
    Examples,
    Recipe,
    Training,
    exact_match,
    load_checkpoint,
    load_training,
    progress,
    save_checkpoint,
    save_training,
)
from transformer_lab.training.processes import any_process, joined, rank

DESCRIPTION = """
Train a Transformer to translate the names of numbers, and store it.

The end, Ctrl-C and SIGTERM write the checkpoint. It can be used (Transformer.from_checkpoint), or trained further
(--resume). Under torchrun all processes train one model together, each on its share of every batch.
"""
EPILOG = """
exit codes: 0 trained, 2 wrong arguments or an unreadable checkpoint, 130 interrupted (and saved)

  python -m transformer_lab.training --target fr --out fr.safetensors
  python -m transformer_lab.training --resume fr.safetensors --steps 600
  torchrun --nproc-per-node 2 -m transformer_lab.training --out de.safetensors
"""
DONE, WRONG, INTERRUPTED = 0, 2, 130
WATCHED = 200  # names that are translated every now and then
SETTINGS = {  # what makes a training; one that goes on keeps it
    "source": ("en", "language of the source, as num2words calls it"),
    "target": ("de", "language of the target"),
    "merges": (120, "byte-pair merges of the tokenizer"),
    "batch": (Recipe.batch_size, "pairs in a batch, over all processes"),
    "warmup": (Recipe.warmup_steps, "steps of warm-up"),
    "rate-factor": (Recipe.rate_factor, "times the rate of the paper"),
    "d-model": (128, "width of the model"),
    "heads": (4, "attention heads"),
    "d-ff": (256, "inner width of the feed-forward networks"),
    "layers": (2, "layers of the encoder, and of the decoder"),
    "dropout": (0.1, "dropout"),
    "seed": (Recipe.seed, "of weights, order and dropout"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    try:
        options = parser().parse_args(arguments)
        with joined(options.device) as device:
            return train(options, device)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("interrupted before the first step: there is nothing to save", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """What can be written after the command. The options of SETTINGS are None unless they are."""
    made = argparse.ArgumentParser(
        "python -m transformer_lab.training",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--out", type=Path, help="the checkpoint (default: SOURCE_TARGET.safetensors, or --resume)")
    made.add_argument("--steps", type=int, default=400, help="train up to this step (default: %(default)s)")
    made.add_argument("--device", type=this_device, default=default_device(), help="(default here: %(default)s)")
    made.add_argument("--lean", action="store_true", help="store weights in float16, to use and not to train further")
    made.add_argument("--resume", type=Path, metavar="CHECKPOINT", help="go on from here; the rest comes from it:")
    for name, (default, text) in SETTINGS.items():
        made.add_argument(f"--{name}", type=type(default), help=f"{text} (default: {default})")
    made.add_argument("--bf16", action=argparse.BooleanOptionalAction, help="bfloat16 autocast (default: on a GPU)")
    return made


def this_device(name: str) -> torch.device:
    """The device of that name, if this machine has it."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise argparse.ArgumentTypeError(f"{name!r} is no device of this machine") from error


def train(options: argparse.Namespace, device: torch.device) -> int:
    """Train up to the step that was asked for, or to an interrupt, and store the result."""
    start = time.perf_counter()
    training, tokenizer, pairs, seconds = (resume if options.resume else begin)(options, device)
    out = options.out or options.resume or Path(f"{pairs.source}_{pairs.target}.safetensors")
    if training.step >= options.steps:
        raise ValueError(f"--steps ({options.steps}) must be above the steps that are done ({training.step})")
    if not out.parent.is_dir():
        raise ValueError(f"--out must be in a folder that exists ({out.parent} does not)")
    loss = follow(training, tokenizer, pairs, options.steps)
    done = training.step == options.steps
    if rank() == 0:
        facts = {"loss": loss, "seconds": round(seconds + time.perf_counter() - start, 1)}
        store(out, training, tokenizer, pairs, facts, lean=options.lean and done)
    return DONE if done else INTERRUPTED


def begin(options: argparse.Namespace, device: torch.device) -> tuple[Training, Tokenizer, Pairs, float]:
    """A new training, and 0 seconds spent on it."""
    given = {name: getattr(options, name.replace("-", "_")) for name in SETTINGS}
    chosen = {name: SETTINGS[name][0] if value is None else value for name, value in given.items()}
    pairs = number_names(chosen["source"], chosen["target"])
    tokenizer = Tokenizer.train(chain.from_iterable(pairs.train), chosen["merges"])
    torch.manual_seed(chosen["seed"])
    config = TransformerConfig(
        vocab_size=len(tokenizer),
        d_model=chosen["d-model"],
        n_heads=chosen["heads"],
        d_ff=chosen["d-ff"],
        n_layers=chosen["layers"],
        max_len=128,
        dropout=chosen["dropout"],
        pad_id=tokenizer.pad_id,
    )
    recipe = Recipe(
        batch_size=chosen["batch"],
        warmup_steps=chosen["warmup"],
        rate_factor=chosen["rate-factor"],
        seed=chosen["seed"],
        bf16=device.type == "cuda" if options.bf16 is None else options.bf16,
    )
    training = Training(Transformer(config).to(device), Examples.encode(pairs.train, tokenizer), recipe)
    return training, tokenizer, pairs, 0.0


def resume(options: argparse.Namespace, device: torch.device) -> tuple[Training, Tokenizer, Pairs, float]:
    """The training of a checkpoint, and the seconds spent on it."""
    given = [f"--{name}" for name in (*SETTINGS, "bf16") if getattr(options, name.replace("-", "_")) is not None]
    if given:
        raise ValueError(f"with --resume, {', '.join(given)} must be left out: the checkpoint knows")
    _, tokenizer, metrics = load_checkpoint(options.resume)
    pairs = number_names(metrics["source"], metrics["target"])
    training = load_training(options.resume, Examples.encode(pairs.train, tokenizer), device)
    return training, tokenizer, pairs, metrics["seconds"]


def follow(training: Training, tokenizer: Tokenizer, pairs: Pairs, until: int) -> float:
    """Train, with a bar and a line at each evaluation, to the end or to a signal in any process; the last loss."""
    first = rank() == 0
    evaluate = partial(exact_match, training.model, tokenizer, pairs.test[:WATCHED])
    reports = training.run(until, evaluate if first else None)
    with signals() as came:
        for report in progress(reports, until) if first else reports:
            if report.exact_match is not None:
                right = f"{report.exact_match:.1%} of {WATCHED} unseen names right"
                show(f"step {report.step}: loss {report.loss:.3f}, {right}")
            if any_process(bool(came), training.device):
                break
    return report.loss


@contextmanager
def signals() -> Iterator[list[int]]:
    """Collect the signals that ask for an end (Ctrl-C, SIGTERM); the second of a kind ends the program at once."""
    came: list[int] = []

    def collect(number: int, frame: object) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, collect) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def store(out: Path, training: Training, tokenizer: Tokenizer, pairs: Pairs, facts: dict, lean: bool) -> None:
    """Write the checkpoint, with the score of the weights as they are in it."""
    if lean:
        training.model.half().float()
    metrics = {
        "source": pairs.source,
        "target": pairs.target,
        "steps": training.step,
        **facts,
        "n_test": len(pairs.test),
        "exact_match": exact_match(training.model, tokenizer, pairs.test),
    }
    if lean:
        save_checkpoint(out, training.model, tokenizer, metrics, torch.float16)
    else:
        save_training(out, training, tokenizer, metrics)
    show("{steps} steps in {seconds:.0f} s: {exact_match:.1%} of {n_test} unseen names right".format(**metrics))
    show(f"stored in {out}")


def show(line: str) -> None:
    """Print a line above the bar, if there is one."""
    tqdm.write(line)


if __name__ == "__main__":
    sys.exit(main())
