"""Training on the names of numbers, with everything that goes into its checkpoint."""

import sys
import time
from argparse import Namespace
from collections import deque
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_lab.data.tasks import Pairs, number_names, wrong_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.nn.transformer import Transformer, TransformerConfig
from transformer_lab.training.checkpoint import load_checkpoint, load_training, save_checkpoint, save_training
from transformer_lab.training.commands.options import settings, written
from transformer_lab.training.evaluation import average_weights, exact_match
from transformer_lab.training.examples import Examples
from transformer_lab.training.loop import Training
from transformer_lab.training.recipe import Recipe
from transformer_lab.training.torchrun import rank

WATCHED = 200  # names of the validation that are translated every so many steps
AVERAGED, APART = 5, 20  # §6.1 averages the last 5 checkpoints, written 10 minutes apart; here they are 20 steps apart


@dataclass
class NumberRun:
    """A training run with its tokenizer and its pairs; `facts` is what the checkpoint tells about it."""

    training: Training
    tokenizer: Tokenizer
    pairs: Pairs
    until: int  # the step that it ends at
    seconds: float = 0.0  # spent before this process
    facts: dict[str, Any] = field(default_factory=dict)
    start: float = field(default_factory=time.perf_counter)
    states: deque[dict[str, Tensor]] = field(default_factory=lambda: deque(maxlen=AVERAGED))

    @property
    def name(self) -> str:
        """The default name of the checkpoint."""
        return f"{self.pairs.source}_{self.pairs.target}.safetensors"

    def remember(self) -> None:
        """Keep the weights, if they are among those that are averaged at the last step."""
        left = self.until - self.training.step
        if left % APART == 0 and left < AVERAGED * APART:
            state = self.training.model.state_dict()
            self.states.append({name: weight.clone() for name, weight in state.items()})

    def make_lean(self) -> None:
        """Replace the weights by what a lean checkpoint stores: the average of the kept ones, in float16."""
        self.training.model.load_state_dict(average_weights(self.states))
        self.training.model.half().float()

    def save(self, out: Path, lean: bool = False) -> None:
        """Write the checkpoint, from which training can be resumed unless it is lean."""
        self.facts |= {"source": self.pairs.source, "target": self.pairs.target, "steps": self.training.step}
        self.facts["seconds"] = round(self.seconds + time.perf_counter() - self.start, 1)
        if lean:
            save_checkpoint(out, self.training.model, self.tokenizer, self.facts, torch.float16)
        else:
            save_training(out, self.training, self.tokenizer, self.facts)

    def watched(self) -> str:
        """How many of the first validation names are translated correctly."""
        right = exact_match(self.training.model, self.tokenizer, self.pairs.validation[:WATCHED])
        return f"{right:.1%} of {WATCHED} unseen names right"

    def score(self) -> str:
        """Measure the translation of the test numbers, by kind of number."""
        model, parts, n_test = self.training.model, self.pairs.slices, len(self.pairs.test)
        slices = {kind: exact_match(model, self.tokenizer, pairs) for kind, pairs in parts.items()}
        exact = sum(share * len(parts[kind]) for kind, share in slices.items()) / n_test
        self.facts |= {"n_test": n_test, "exact_match": exact, "slices": slices}
        by_kind = ", ".join(f"{kind}: {share:.1%}" for kind, share in slices.items())
        return f"{by_kind}\n{self.facts['seconds']:.0f} s: {exact:.1%} of {n_test} unseen names right"


def begin(options: Namespace, device: torch.device) -> NumberRun:
    """Begin a new training run."""
    chosen = settings(options)
    pairs = number_names(chosen["source"], chosen["target"])
    for language in dict.fromkeys([pairs.source, pairs.target]):
        if rank() == 0 and (wrong := wrong_names(language)):
            print(f"note: {wrong}", file=sys.stderr)
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
    training = Training(Transformer(config).to(device), Examples.from_pairs(pairs.train, tokenizer), recipe)
    return NumberRun(training, tokenizer, pairs, options.steps)


def resume(options: Namespace, device: torch.device) -> NumberRun:
    """Resume the training of a checkpoint."""
    if written(options):
        raise ValueError(f"with --resume, {', '.join(written(options))} must be left out: the checkpoint knows")
    _, tokenizer, metrics = load_checkpoint(options.resume)
    pairs = number_names(metrics["source"], metrics["target"])
    training = load_training(options.resume, Examples.from_pairs(pairs.train, tokenizer), device)
    return NumberRun(training, tokenizer, pairs, options.steps, metrics["seconds"])
