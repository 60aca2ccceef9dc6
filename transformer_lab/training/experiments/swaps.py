"""The block of 2017 with any of six later components: what each swap gains at an equal number of parameters.

    python -m transformer_lab.training.experiments.swaps --out swaps.json

trains the model of every combination, 64 of them, and two controls, and writes its loss on a part of the test that none
has learned from. Those that a lesson compares one by one are trained with three seeds; two more are six times as deep.
Lesson 11 reads the table.
"""

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import torch

from transformer_lab.data.texts import PRINTABLE, Characters, Corpus, python_source
from transformer_lab.decoding.completion import token_log_probs
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.storage import replace_file
from transformer_lab.training.commands.options import whole, writable
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

PAPER: dict[str, Any] = {
    "norm_first": False,
    "norm": "layer_norm",
    "feed_forward": "two_layers",
    "activation": "relu",
    "positions": "sinusoidal",
    "n_kv_heads": 0,
    "bias": True,
}
N_HEADS, N_KV_HEADS = 4, 2
SWAPS: dict[str, dict[str, Any]] = {  # in the order of the lesson
    "pre-norm": {"norm_first": True},
    "RMSNorm": {"norm": "rms_norm"},
    "SwiGLU": {"feed_forward": "swiglu", "activation": "silu"},
    "RoPE": {"positions": "rotary"},
    "grouped queries": {"n_kv_heads": N_KV_HEADS},
    "no biases": {"bias": False},
}
CONTROL = "learned positions"  # RoPE also leaves the scaling of embeddings away, and so do they
D_MODEL, N_LAYERS, LENGTH = 48, 2, 64
DEEP, DEEP_STEPS = 12, 200  # layers and steps of the deep ones
STEPS, SEEDS, RATE, READ = 400, (0, 1, 2), 1e-2, 30_000  # characters of the test that are read


class Run(NamedTuple):
    """A model and its training setup, to be run once with each seed."""

    swaps: tuple[str, ...]
    n_layers: int
    n_steps: int
    seeds: Sequence[int]


def config(swaps: Collection[str], d_model: int = D_MODEL, n_layers: int = N_LAYERS) -> LanguageModelConfig:
    """The sizes of a model with these swaps, whose matrices always have 12 d_model² parameters per layer.

    Raises:
        ValueError: a swap has no name in SWAPS; the sizes do not come out even.
    """
    known = SWAPS | {CONTROL: {"positions": "learned"}}
    if unknown := [*set(swaps).difference(known)]:
        raise ValueError(f"swaps must be among {', '.join(SWAPS)} (got {unknown[0]!r})")
    parts = dict(PAPER)
    for name in swaps:
        parts |= known[name]
    of_attention = 2 * d_model**2 * (N_HEADS + (parts["n_kv_heads"] or N_HEADS)) // N_HEADS
    matrices = 3 if parts["feed_forward"] == "swiglu" else 2
    d_ff, rest = divmod(12 * d_model**2 - of_attention, matrices * d_model)
    if rest:
        raise ValueError(f"d_model must be divisible by 6, so that all blocks have as many numbers (got {d_model})")
    vocab_size = len(Characters(PRINTABLE))
    paper = LanguageModelConfig(
        vocab_size, d_model, N_HEADS, d_ff, n_layers, LENGTH, dropout=0.0, attention_dropout=0.0
    )
    return replace(paper, **parts)


def train(
    corpus: Corpus,
    swaps: Collection[str],
    seed: int,
    n_steps: int = STEPS,
    n_layers: int = N_LAYERS,
    rate: float = RATE,
) -> LanguageModel:
    """A model with these swaps, trained on Python's source."""
    torch.manual_seed(seed)
    model = LanguageModel(config(swaps, n_layers=n_layers))
    examples = TextExamples(Characters(PRINTABLE).encode(corpus.text("train")), LENGTH)
    training = TextTraining(model, examples, TextRecipe(n_steps, peak_rate=rate, seed=seed))
    for _ in training.run(n_steps):
        pass
    return training.model


def nats(corpus: Corpus, model: LanguageModel) -> float:
    """The mean loss per character at the beginning of the test text."""
    text = corpus.text("test")[:READ]
    return -token_log_probs(model, Characters(PRINTABLE).encode(text)).mean().item()


def combinations() -> list[tuple[str, ...]]:
    """All combinations of the swaps, from the paper's block to today's."""
    chosen = product((False, True), repeat=len(SWAPS))
    return [tuple(name for name, yes in zip(SWAPS, row, strict=True) if yes) for row in chosen]


def compared() -> list[tuple[str, ...]]:
    """The models trained with three seeds: each swap added in turn, today's block without each, and the controls."""
    names = tuple(SWAPS)
    steps = [names[:n] for n in range(len(names) + 1)]
    undone = [tuple(name for name in names if name != swap) for swap in names[:-1]]  # without the last is a step
    without_rope = undone[names.index("RoPE")]
    return [*steps, *undone, (CONTROL,), (*without_rope, CONTROL)]


def models() -> list[tuple[str, ...]]:
    """All two-layer models that are trained."""
    return [*combinations(), *compared()[-2:]]


def all_runs(n_steps: int, seeds: Sequence[int]) -> list[Run]:
    """All training runs: the swaps, layers, steps and seeds of each."""
    flat = [Run(swaps, N_LAYERS, n_steps, seeds if swaps in compared() else seeds[:1]) for swaps in models()]
    names = tuple(SWAPS)
    return [*flat, *(Run(swaps, DEEP, min(n_steps, DEEP_STEPS), seeds) for swaps in (names[1:], names))]


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.swaps", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=writable, default="swaps.json", help="(default: %(default)s)")
    for name, default in (("steps", STEPS), ("first", len(models()) + 2)):
        parser.add_argument(f"--{name}", type=whole(1), default=default, help="(default: %(default)s)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=SEEDS, help="(default: %(default)s)")
    options, corpus, found = parser.parse_args(arguments), python_source(), []
    for swaps, n_layers, n_steps, seeds in all_runs(options.steps, options.seeds)[: options.first]:
        trained = [train(corpus, swaps, seed, n_steps, n_layers) for seed in seeds]
        losses = [round(nats(corpus, model), 4) for model in trained]
        found.append({"swaps": swaps, "n_layers": n_layers, "losses": losses})
        print(found[-1], flush=True)
    replace_file(options.out, ("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
