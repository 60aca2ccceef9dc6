"""The block of 2017 with any of six later components: what each swap gains at an equal number of parameters.

    python -m transformer_lab.training.experiments.swaps --out swaps.json

trains the model of every combination, 64 of them, and its controls, with three seeds each, and writes their losses on a
part of the test that none has learned from. All begin with embeddings of the same size, unless a control asks for
others. Some are trained again for longer, or six times as deep. Lesson 11 reads the table.
"""

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.data.texts import PRINTABLE, Characters, Corpus, python_source
from transformer_lab.decoding.completion import token_log_probs
from transformer_lab.files import replace_file
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
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
CONTROLS: dict[str, dict[str, Any]] = {
    "learned positions": {"positions": "learned"},
    "no positions": {},  # the sine is left out, and nothing turns
    "small embeddings": {},  # with a standard deviation of 0.02 and no factor, as in GPT-2 and Llama
}
LENGTH, READ, SEEDS = 64, 30_000, (0, 1, 2)  # characters of a window, and of the test that are read


class Setup(NamedTuple):
    """How large a model is, and how it is trained."""

    n_steps: int = 200
    n_layers: int = 2
    d_model: int = 48
    rate: float = 1e-2
    warmup: int = 50


class Run(NamedTuple):
    """A model and its training setup, to be run once with each seed."""

    swaps: tuple[str, ...]
    setup: Setup = Setup()


def config(swaps: Collection[str], d_model: int = 48, n_layers: int = 2, length: int = LENGTH) -> LanguageModelConfig:
    """The sizes of a model with these swaps, whose matrices always have 12 d_model² parameters per layer.

    Raises:
        ValueError: a swap has no name in SWAPS or CONTROLS; the sizes do not come out even.
    """
    known = SWAPS | CONTROLS
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
        vocab_size, d_model, N_HEADS, d_ff, n_layers, length, dropout=0.0, attention_dropout=0.0
    )
    return replace(paper, **parts)


def build(swaps: Collection[str], d_model: int = 48, n_layers: int = 2, length: int = LENGTH) -> LanguageModel:
    """A new model with these swaps, whose embeddings have the paper's size, whatever its positions are.

    `LanguageModel` gives the sine the embeddings of 2017, of standard deviation 1/√d_model, times √d_model, and other
    positions those of GPT-2, with 0.02 and no factor. The loss depends on that choice, so here it is the same for all.

    Raises:
        ValueError: as `config`.
    """
    model = LanguageModel(config(swaps, d_model, n_layers, length))
    small = "small embeddings" in swaps
    model.scale = 1.0 if small else d_model**0.5
    nn.init.normal_(model.tokens.weight, std=0.02 if small else 1 / model.scale)
    if "no positions" in swaps:
        model.positions = None
    return model


def train(corpus: Corpus, swaps: Collection[str], seed: int, setup: Setup | None = None) -> LanguageModel:
    """A model with these swaps, trained on Python's source.

    Raises:
        ValueError: as `config`.
    """
    setup = setup or Setup()
    torch.manual_seed(seed)
    model = build(swaps, setup.d_model, setup.n_layers)
    examples = TextExamples(Characters(PRINTABLE).encode(corpus.text("train")), LENGTH)
    recipe = TextRecipe(setup.n_steps, peak_rate=setup.rate, warmup_steps=setup.warmup, seed=seed)
    training = TextTraining(model, examples, recipe)
    for _ in training.run(setup.n_steps):
        pass
    return training.model


def nats(corpus: Corpus, model: LanguageModel) -> float:
    """The mean loss per character at the beginning of the test text."""
    text = corpus.text("test")[:READ]
    return -token_log_probs(model, Characters(PRINTABLE).encode(text)).mean().item()


NAMES = tuple(SWAPS)
LONGER = Setup(n_steps=800)
DEEP = Setup(n_layers=12)


def without(*names: str) -> tuple[str, ...]:
    """Today's block but for these swaps."""
    return tuple(name for name in NAMES if name not in names)


def combinations() -> list[tuple[str, ...]]:
    """All combinations of the swaps, from the paper's block to today's."""
    chosen = product((False, True), repeat=len(SWAPS))
    return [tuple(name for name, yes in zip(SWAPS, row, strict=True) if yes) for row in chosen]


def controls() -> list[tuple[str, ...]]:
    """Blocks with other positions or smaller embeddings: the paper's, today's, and today's with one or two undone."""
    blocks: list[tuple[str, ...]] = [(), without("RoPE")]
    others = [(*block, name) for name in ("learned positions", "no positions") for block in blocks]
    small = [(), without("RoPE"), without("pre-norm", "RoPE"), without("pre-norm"), NAMES]
    return [*others, *((*block, "small embeddings") for block in small)]


def all_runs() -> list[Run]:
    """All models that are trained, and how: first those of the lesson's table, then those that test it elsewhere."""
    table = [Run(swaps) for swaps in (*combinations(), *controls())]
    deep = [Run(swaps, DEEP) for swaps in (without("pre-norm"), NAMES)]
    longer = [Run(swaps, LONGER) for swaps in (NAMES, *map(without, ("pre-norm", "SwiGLU", "RoPE")))]
    return [*table, *deep, *longer]


def losses_of(
    rows: Iterable[Mapping[str, Any]], setup: Setup | None = None
) -> dict[frozenset[str], Float[Tensor, " seeds"]]:
    """The losses of a table's models with one setup, by the names of their swaps: one for each seed."""
    wanted = (setup or Setup())._asdict()
    chosen = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return {frozenset(row["swaps"]): torch.tensor(row["losses"]) for row in chosen}


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.swaps", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=writable, default="swaps.json", help="(default: %(default)s)")
    for name, default in (("steps", LONGER.n_steps), ("first", len(all_runs()))):
        parser.add_argument(f"--{name}", type=whole(1), default=default, help="at most (default: %(default)s)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=SEEDS, help="(default: %(default)s)")
    options, corpus, found = parser.parse_args(arguments), python_source(), []
    for swaps, setup in all_runs()[: options.first]:
        shown = setup._replace(n_steps=min(setup.n_steps, options.steps))
        losses = [round(nats(corpus, train(corpus, swaps, seed, shown)), 4) for seed in options.seeds]
        found.append({"swaps": swaps, **shown._asdict(), "losses": losses})
        print(json.dumps(found[-1]), flush=True)
    replace_file(options.out, ("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
