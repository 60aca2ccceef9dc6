"""The command-line options of `python -m transformer_lab.training`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transformer_lab.data.number_names import WRONG
from transformer_lab.device import default_device
from transformer_lab.files import check_writable
from transformer_lab.training.recipe import Recipe

DESCRIPTION = f"""
Train a Transformer to translate the names of numbers, and store it. The names are those of num2words, which cannot
count to a million in am, and gets a part of the names wrong in
{", ".join(WRONG)}.

A checkpoint is written every so many steps, at the end, and after Ctrl-C or SIGTERM, which wait for the end of their
step. It can be used (Transformer.from_checkpoint), or trained further (--resume). Under torchrun all processes train
one model together, each on its share of every batch.
"""
EPILOG = """
exit codes: 0 trained and stored, 1 could not be stored, or the loss was no number any more, 2 wrong arguments or an
unreadable checkpoint, 130 ended by Ctrl-C and stored, 143 ended by SIGTERM and stored

  python -m transformer_lab.training --target fr --out fr.safetensors
  python -m transformer_lab.training --resume fr.safetensors --steps 600
  torchrun --nproc-per-node 2 -m transformer_lab.training --out de.safetensors
"""


def number(kind: Callable[[str], float], rule: str, keeps: Callable[[float], bool]) -> Callable[[str], float]:
    """An argument type for numbers of one kind that obey a rule."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = float("nan")  # which keeps no rule
        if not keeps(value):
            raise argparse.ArgumentTypeError(f"must be {rule} (got {text})")
        return value

    return read


def whole(least: int) -> Callable[[str], float]:
    return number(int, f"a whole number from {least} to 2^63 - 1", lambda value: least <= value < 2**63)


def this_device(name: str) -> torch.device:
    """The device of that name, if this machine has it and it can store data."""
    try:
        device = torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise argparse.ArgumentTypeError(f"{name!r} is no device of this machine") from error
    if device.type == "meta":
        raise argparse.ArgumentTypeError("must be a device that holds numbers (meta holds shapes alone)")
    return device


def writable(name: str) -> Path:
    """The path of that name, if a file can be written there."""
    try:
        check_writable(Path(name))
    except OSError as error:
        raise argparse.ArgumentTypeError(f"must be a file that can be written ({name}: {error})") from error
    return Path(name)


positive = number(float, "a number above 0", lambda value: 0 < value < float("inf"))
share = number(float, "from 0 to below 1", lambda value: 0 <= value < 1)
Settings = dict[str, tuple[Any, Callable[[str], Any], str]]  # by name: the default, how it is read, what it is
SETTINGS: Settings = {  # what makes a training; one that goes on keeps it
    "source": ("en", str, "language of the source, as num2words calls it"),
    "target": ("de", str, "language of the target"),
    "merges": (120, whole(0), "byte-pair merges of the tokenizer"),
    "batch": (Recipe.batch_size, whole(1), "pairs in a batch, over all processes"),
    "warmup": (Recipe.warmup_steps, whole(1), "steps of warm-up"),
    "rate-factor": (Recipe.rate_factor, positive, "times the rate of the paper"),
    "d-model": (128, whole(1), "width of the model"),
    "heads": (4, whole(1), "attention heads"),
    "d-ff": (256, whole(1), "inner width of the feed-forward networks"),
    "layers": (2, whole(1), "layers of the encoder, and of the decoder"),
    "dropout": (0.1, share, "dropout"),
    "seed": (Recipe.seed, whole(0), "of weights, order and dropout"),
}


def parser() -> argparse.ArgumentParser:
    """The parser for training on the names of numbers; the options of SETTINGS are None unless they are given."""
    made = parser_of("python -m transformer_lab.training", DESCRIPTION, EPILOG, "SOURCE_TARGET.safetensors", SETTINGS)
    made.add_argument("--steps", type=whole(1), default=400, help="train up to this step (default: %(default)s)")
    made.add_argument(
        "--lean",
        action="store_true",
        help="store the average of the last weights in float16, to use and not to train further",
    )
    return made


def parser_of(program: str, description: str, epilog: str, out: str, chosen: Settings) -> argparse.ArgumentParser:
    """A parser with the options that every training command has, and those of `chosen`, which are None unless given."""
    made = argparse.ArgumentParser(
        program, description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--out", type=Path, help=f"the checkpoint (default: {out}, or --resume)")
    made.add_argument(
        "--save-every",
        type=whole(1),
        default=50,
        metavar="STEPS",
        help="write the checkpoint every so many steps, too (default: %(default)s)",
    )
    made.add_argument("--device", type=this_device, default=default_device(), help="(default here: %(default)s)")
    made.add_argument("--resume", type=Path, metavar="CHECKPOINT", help="go on from here; the rest comes from it:")
    for name, (default, kind, text) in chosen.items():
        made.add_argument(f"--{name}", type=kind, help=f"{text} (default: {default})")
    made.add_argument("--bf16", action=argparse.BooleanOptionalAction, help="bfloat16 autocast (default: on a GPU)")
    return made


def settings(options: argparse.Namespace, chosen: Settings = SETTINGS) -> dict:
    """The value of each setting by name: as given, or the default."""
    given = {name: getattr(options, name.replace("-", "_")) for name in chosen}
    return {name: chosen[name][0] if value is None else value for name, value in given.items()}


def written(options: argparse.Namespace, chosen: Settings = SETTINGS) -> list[str]:
    """The given options among those that a resumed training takes from its checkpoint."""
    return [f"--{name}" for name in (*chosen, "bf16") if getattr(options, name.replace("-", "_")) is not None]
