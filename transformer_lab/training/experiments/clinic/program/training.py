"""Training: the loss of the answers, a step over several micro-batches, the learning rate, and the loop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.training.experiments.clinic.program import data
from transformer_lab.training.experiments.clinic.program.data import Rows


@dataclass(frozen=True)
class Recipe:
    """How to train: each step reads `chats` chats in `micro_batches` portions."""

    n_steps: int = 250
    chats: int = 32
    length: int = 64
    micro_batches: int = 2
    rate: float = 5e-3
    warmup: int = 20
    weight_decay: float = 0.1
    max_norm: float = 1.0
    seed: int = 0


def token_losses(logits: Float[Tensor, "B T vocab"], rows: Rows) -> Float[Tensor, " N"]:
    """The loss of each token that the assistant writes: the logits before a token are asked for it."""
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), rows.tokens[:, 1:], reduction="none")
    return losses[rows.answers[:, 1:]]


def add_gradients(model: nn.Module, batches: Sequence[Rows]) -> float:
    """Backward through all micro-batches; the loss is the mean over the answers' tokens of all of them."""
    count = sum(int(rows.answers[:, 1:].sum()) for rows in batches)
    total = 0.0
    for rows in batches:
        loss = token_losses(model(rows.tokens, rows.documents), rows).sum() / count
        loss.backward()
        total += loss.item()
    return total


def rate_at(step: int, recipe: Recipe) -> float:
    """The learning rate of a step, counted from 0: up in a line while it warms up, then down in a line to 0."""
    climbing, falling = (step + 1) / recipe.warmup, 1 - step / recipe.n_steps
    return recipe.rate * max(0.0, min(climbing, falling))


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW, which lets matrices decay, but no gains."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    gains = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": gains, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.99))


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Sequence[Rows], step: int, recipe: Recipe
) -> float:
    """One step of the optimiser on some micro-batches; returns the loss."""
    for group in optimizer.param_groups:
        group["lr"] = rate_at(step, recipe)
    optimizer.zero_grad()
    loss = add_gradients(model, batches)
    nn.utils.clip_grad_norm_(model.parameters(), recipe.max_norm)
    optimizer.step()
    return loss


def micro_batches(tokenizer: data.Tokenizer, chats: Sequence[Sequence[data.Turn]], recipe: Recipe) -> list[Rows]:
    """Chats as packed rows, in as many portions as the recipe says; some rows are fuller than others."""
    ids = [tokenizer.encode(data.chat_text(chat)) for chat in chats]
    share = -(-len(ids) // recipe.micro_batches)
    return [data.pack(ids[i : i + share], recipe.length) for i in range(0, len(ids), share)]


def train(
    model: nn.Module, tokenizer: data.Tokenizer, numbers: Sequence[int], recipe: Recipe
) -> Iterator[tuple[int, float]]:
    """Train on new chats about these numbers in each step; yields the step and its loss."""
    torch.manual_seed(recipe.seed)
    optimizer = make_optimizer(model, recipe)
    model.train()
    for step in range(recipe.n_steps):
        chats = data.draw_chats(numbers, recipe.chats, seed=1000 * recipe.seed + step)
        yield step, train_step(model, optimizer, micro_batches(tokenizer, chats, recipe), step, recipe)
