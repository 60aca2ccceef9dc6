"""Training a language model on a text, which differs from training a translator in loss, optimiser and rate."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_least
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.losses import next_token_loss
from transformer_lab.storage import make_plain
from transformer_lab.training.loop import Training
from transformer_lab.training.torchrun import n_processes, rank

NO_PADDING = -1  # no token has this id: every token of a window is one of the text


@dataclass(frozen=True)
class TextRecipe:
    """All settings, beside the text and the model's sizes, that decide what a language model learns.

    The rate climbs to `peak_rate` in `warmup_steps`, then falls in a straight line to 0 at step `n_steps`.

    Raises:
        ValueError: a number that no training can have.
    """

    n_steps: int
    batch_size: int = 16
    peak_rate: float = 5e-3
    warmup_steps: int = 50
    weight_decay: float = 0.1  # of matrices; biases and norms have none
    max_norm: float = 1.0  # gradients longer than this are cut back
    seed: int = 0
    bf16: bool = False  # multiply matrices in bfloat16: for GPUs

    def __post_init__(self) -> None:
        make_plain(self)
        check_least(1, n_steps=self.n_steps, batch_size=self.batch_size, warmup_steps=self.warmup_steps)
        for name in ("peak_rate", "max_norm"):
            if not getattr(self, name) > 0:  # so NaN is refused, too
                raise ValueError(f"{name} ({getattr(self, name)}) must be above 0")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay ({self.weight_decay}) must be at least 0")


class TextTraining(Training):
    """A language model in training, step by step; interrupts and resuming are handled as in `Training`."""

    model_class: Any = LanguageModel
    recipe_class: Any = TextRecipe
    model: LanguageModel
    examples: Any  # TextExamples, or a subclass's own
    recipe: TextRecipe

    def __init__(self, model: LanguageModel, examples: Any, recipe: TextRecipe):
        super().__init__(model, examples, recipe)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW (Loshchilov & Hutter, 2019, arXiv:1711.05101), with weight decay on the matrices."""
        parameters = [*self.model.parameters()]
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": self.recipe.weight_decay},
            {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0},
        ]
        fused = parameters[0].device.type in ("cpu", "cuda")  # in one pass over all weights
        return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.99), fused=fused)

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1: a warm-up, then a decay to 0."""
        recipe = self.recipe
        return recipe.peak_rate * max(0.0, min(step / recipe.warmup_steps, 1 - (step - 1) / recipe.n_steps))

    def loss(self, batch: Int[Tensor, " B"]) -> Float[Tensor, ""]:
        """The loss of a batch; with several processes, each takes a share, and the mean over them is the loss."""
        mine = batch[rank() :: n_processes()]
        tokens = self.examples.rows(mine).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.bf16):
            logits = self.forward(tokens)
        return next_token_loss(logits.float(), tokens, NO_PADDING) * len(mine) / len(batch) * n_processes()
