"""Small language models of several sizes, trained for several numbers of steps, to predict the cost of the next one.

    python -m transformer_lab.training.experiments.sweep --out sweep.json

writes the loss of each on a part of the validation that none has learned from. Lesson 09 fits a law to them.
"""

import argparse
import json
import sys

import torch

from transformer_lab.data.texts import PRINTABLE, Characters, Corpus, python_source
from transformer_lab.decoding.completion import token_log_probs
from transformer_lab.files import replace_file
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.training.commands.options import whole, writable
from transformer_lab.training.text_examples import TextExamples
from transformer_lab.training.text_training import TextRecipe, TextTraining

WIDTHS, STEPS, SEEDS = (32, 64), (50, 100, 200, 400), (0, 1, 2)
LENGTH, READ = 64, 20_000  # characters of a window, and of the validation


def train(corpus: Corpus, d_model: int, n_steps: int, seed: int) -> LanguageModel:
    """A two-layer model trained on Python's source for so many steps."""
    characters = Characters(PRINTABLE)
    torch.manual_seed(seed)
    config = LanguageModelConfig(
        vocab_size=len(characters),
        d_model=d_model,
        n_heads=d_model // 16,
        d_ff=4 * d_model,
        n_layers=2,
        max_len=LENGTH,
        dropout=0.0,
        attention_dropout=0.0,
        activation="gelu",
        positions="rotary",
    )
    examples = TextExamples(characters.encode(corpus.text("train")), LENGTH)
    training = TextTraining(LanguageModel(config), examples, TextRecipe(n_steps, seed=seed))
    for _ in training.run(n_steps):
        pass
    return training.model


def nats(corpus: Corpus, model: LanguageModel) -> float:
    """The mean loss per character at the beginning of the validation text."""
    text = corpus.text("validation")[:READ]
    return -token_log_probs(model, Characters(PRINTABLE).encode(text)).mean().item()


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.sweep", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=writable, default="sweep.json", help="(default: %(default)s)")
    for name, default in (("widths", WIDTHS), ("steps", STEPS), ("seeds", SEEDS)):
        parser.add_argument(f"--{name}", type=whole(0), nargs="+", default=default, help="(default: %(default)s)")
    options, corpus, found = parser.parse_args(arguments), python_source(), []
    for d_model in options.widths:
        for n_steps in options.steps:
            losses = [round(nats(corpus, train(corpus, d_model, n_steps, seed)), 4) for seed in options.seeds]
            found.append({"d_model": d_model, "steps": n_steps, "losses": losses})
            print(found[-1], flush=True)
    replace_file(options.out, (json.dumps(found, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
