"""The training loop: one step, and many of them until a step number or an interrupt."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from transformer_lab.checks import check_least
from transformer_lab.nn.transformer import Transformer
from transformer_lab.training.examples import derive_seed
from transformer_lab.training.interrupts import defer_interrupt
from transformer_lab.training.recipe import Recipe, label_smoothing_loss, paper_adam, shift_right, warmup_rate
from transformer_lab.training.torchrun import mean_over_processes, n_processes, rank


@dataclass(frozen=True)
class Report:
    """The report of one step."""

    step: int
    loss: float
    rate: float
    score: float | None = None  # what `evaluate` gave; only of the steps that were evaluated


class Training:
    """A model in training, step by step.

    Which pairs a step sees and which features its dropout drops follow from the recipe's seed and the number of the
    step. So weights, Adam's two averages and that number are all there is to keep: a run that stops and goes on
    ends at the same weights as one that never stopped.
    """

    model_class: Any = Transformer
    recipe_class: Any = Recipe

    def __init__(self, model: Any, examples: Any, recipe: Any):  # of these classes, or of a subclass's own
        least, most = n_processes(), len(examples)
        if not least <= recipe.batch_size <= most:
            size = f"batch_size ({recipe.batch_size})"
            raise ValueError(f"{size} must be from {least}, the number of processes, to {most}, that of the examples")
        self.model, self.examples, self.recipe = model, examples, recipe
        self.optimizer = self.make_optimizer()
        self.step = 0  # so many are done
        self.epoch = -1  # the one that was asked for last
        self.batches: tuple[Tensor, ...] = ()  # those of that epoch
        self.device = next(model.parameters()).device
        self.forward = DistributedDataParallel(model) if n_processes() > 1 else model

    def make_optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of the paper; its learning rate is set anew at each step."""
        return paper_adam(self.model)

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        return self.recipe.rate_factor * warmup_rate(step, self.model.config.d_model, self.recipe.warmup_steps)

    def run(self, until: int, evaluate: Callable[[], float] | None = None, every: int = 100) -> Iterator[Report]:
        """Train up to step `until`, yielding a report after each; `evaluate` runs after every `every` and the last.

        To stop, leave the loop; to go on, run again. An interrupt waits for the end of its step, and nothing is lost.

        Raises:
            ValueError: every is below 1; or the loss or its gradient is no finite number: the weights are then those
                of the step before.
        """
        check_least(1, every=every)
        while self.step < until:
            with defer_interrupt():
                loss, rate = self.take_step()
            due = self.step % every == 0 or self.step == until
            yield Report(self.step, loss, rate, evaluate() if evaluate and due else None)

    def take_step(self) -> tuple[float, float]:
        """Learn from the next batch; returns the loss before the step, and the learning rate."""
        step, recipe = self.step + 1, self.recipe
        rate = self.rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.forward.train()
        with fork_rng(derive_seed(recipe.seed, "dropout", step, rank()), self.device):
            loss = self.learn(self.batch(step), step)
        self.step = step
        return loss, rate

    def learn(self, batch: Int[Tensor, " B"], step: int) -> float:
        """Learn from a batch; returns the loss before the step."""
        return self.descend(self.loss(batch), step)

    def descend(self, loss: Float[Tensor, ""], step: int) -> float:
        """Take one optimiser step on a loss; returns the loss as a number."""
        self.optimizer.zero_grad()
        loss.backward()
        norm = clip_grad_norm_(self.model.parameters(), self.recipe.max_norm)
        measured, length = mean_over_processes(torch.stack([loss.detach(), norm.to(loss)]))
        check_finite(step, measured, length)  # before the weights change; all is read at once, as a GPU would wait
        self.optimizer.step()
        return measured

    def batch(self, step: int) -> Int[Tensor, " B"]:
        """The rows that a step, counted from 1, learns from."""
        size, seed = self.recipe.batch_size, self.recipe.seed
        epoch, i = divmod(step - 1, len(self.examples) // size)
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, self.examples.batches(size, seed, epoch)
        return self.batches[i]

    def loss(self, batch: Int[Tensor, " B"]) -> Float[Tensor, ""]:
        """The loss of a batch; with several processes, each takes a share, and the mean over them is the loss."""
        mine = batch[rank() :: n_processes()]
        src, tgt = (tokens.to(self.device) for tokens in self.examples.rows(mine))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.bf16):
            logits = self.forward(src, shift_right(tgt, self.examples.bos_id))
        loss = label_smoothing_loss(logits.float(), tgt, self.recipe.smoothing, self.examples.pad_id)
        return loss * self.examples.count(mine) / self.examples.count(batch) * n_processes()


def check_finite(step: int, loss: float, gradient: float) -> None:
    """Raise a ValueError unless the loss of a step and the norm of its gradient are finite."""
    for name, value in (("loss", loss), ("gradient", gradient)):
        if not math.isfinite(value):
            cure = "try a lower learning rate or a longer warm-up"
            raise ValueError(f"the {name} must be a finite number (at step {step} it is {value}): {cure}")


@contextmanager
def fork_rng(seed: int, device: torch.device) -> Iterator[None]:
    """Within the block, draw random numbers from this seed; afterwards torch's generators continue as before."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
