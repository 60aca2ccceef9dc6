"""Pipeline parallelism: each rank has some layers, and a batch flows through the ranks in micro-batches.

Huang et al., 2018, "GPipe", arXiv:1811.06965: all micro-batches forward, then all backward. A rank waits while the
first one is on its way to it; of (m + n - 1) turns each way it works m. Narayanan et al., 2021,
arXiv:2104.04473, section 2.2.1: each micro-batch goes back as soon as it can, so that a rank keeps fewer of them.
"""

from typing import NamedTuple

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_least
from transformer_lab.distributed.parallel import (
    NO_PADDING,
    Parallel,
    broadcast_model,
    loss_sum,
    of_all_ranks,
    own_tensors,
    targets_of,
)
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.masks import causal_mask


def waiting_share(n_ranks: int, n_micro: int) -> float:
    """The fraction of its time that a rank of a pipeline waits, if all turns take equally long: (n - 1) / (m + n - 1).

    Raises:
        ValueError: one of them is below 1.
    """
    check_least(1, n_ranks=n_ranks, n_micro=n_micro)
    return (n_ranks - 1) / (n_micro + n_ranks - 1)


class Turn(NamedTuple):
    """One micro-batch that passes through the layers of a rank, forward or back."""

    micro: int
    forward: bool

    @property
    def step(self) -> int:
        """By how much the number of the rank that comes next differs."""
        return 1 if self.forward else -1


class Pipeline(Parallel):
    """Rank r has the r-th part of the layers; the first rank also embeds, the last adds the final norm and the logits.

    Where embedding and logits share a matrix, first and last rank each have it, and add up their gradients.

    Raises:
        ValueError: there are more ranks than layers; n_micro is below 1, or above the number of texts in a batch.
    """

    alike = False  # each rank drops other activations, as its layers are other ones

    def __init__(self, model: LanguageModel, pad_id: int = NO_PADDING, n_micro: int = 4):
        super().__init__(model, pad_id)
        n_layers = len(model.layers)
        check_least(1, n_micro=n_micro)
        if n_layers < self.n:
            raise ValueError(f"each rank must have a layer (got {self.n} ranks, {n_layers} layers)")
        broadcast_model(model)
        self.n_micro, self.first, self.last = n_micro, self.rank == 0, self.rank == self.n - 1
        self.layers = [int(i) for i in torch.arange(n_layers).tensor_split(self.n)[self.rank]]
        self.tied = model.config.tie_weights and self.n > 1 and (self.first or self.last)
        drop_other_parts(model, self.layers, self.first, self.last, self.tied)

    def turns(self) -> list[Turn]:
        """What this rank does, in order: GPipe's way takes all micro-batches forward before any comes back."""
        micro = range(self.n_micro)
        return [Turn(i, True) for i in micro] + [Turn(i, False) for i in reversed(micro)]

    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        targets = targets_of(tokens, self.pad_id)
        if len(tokens) < self.n_micro:
            raise ValueError(f"a batch must have a text for each of {self.n_micro} micro-batches (got {len(tokens)})")
        micro = [*zip(tokens.tensor_split(self.n_micro), targets.tensor_split(self.n_micro), strict=True)]
        count, turns = (targets != self.pad_id).sum(), self.turns()
        loss, self.most_held = torch.zeros((), device=tokens.device), 0
        held: dict[int, tuple[Tensor, Tensor]] = {}  # of the micro-batches that are on their way: input and result
        came = self.exchange(None, None, turns[0], tokens=micro[0][0])
        for turn, following in zip(turns, [*turns[1:], None], strict=True):
            if turn.forward:
                _, result = held[turn.micro] = self.forward(came, *micro[turn.micro], count)
                made: Tensor | None = result.detach()
                loss = loss + result.detach() if self.last else loss
            else:
                made = self.backward_of(*held.pop(turn.micro), came)
            self.most_held = max(self.most_held, len(held))
            came = self.exchange(turn, made, following, tokens=micro[following.micro if following else 0][0])
        if self.tied:
            self.add_other_gradient()
        return loss

    def forward(self, x: Tensor | None, tokens: Tensor, targets: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        """The input, and what these layers make of it: the next rank's input or, at the last rank, a share of the loss.

        `x` is what the rank before has made; the first rank has none, and embeds the tokens.
        """
        model = self.model
        x = model.embedded(tokens, 0) if x is None else x.requires_grad_()  # (b, T, d_model)
        y, mask = x, causal_mask(tokens.size(1), tokens.device)
        for i in self.layers:
            y = model.layers[i](y, mask)
        if self.last:
            y = loss_sum(model.to_logits(model.norm(y)), targets, self.pad_id) / count
        return x, y

    def backward_of(self, x: Tensor, result: Tensor, gradient: Tensor | None) -> Tensor | None:
        """The gradient of the input, from that of the result; the first rank's input needs none."""
        result.backward(gradient)
        if self.first:
            return None
        return torch.zeros_like(x) if x.grad is None else x.grad

    def exchange(self, turn: Turn | None, made: Tensor | None, following: Turn | None, tokens: Tensor) -> Tensor | None:
        """Send what a turn has made, and receive what the following one needs; `tokens` are those of the latter.

        Both at once: if two neighbours each waited for the other to receive, neither would go on.
        """
        came, messages = None, []
        if turn and made is not None and 0 <= self.rank + turn.step < self.n:
            messages.append(dist.P2POp(dist.isend, made.contiguous(), self.rank + turn.step))
        if following and 0 <= self.rank - following.step < self.n:
            came = torch.empty(*tokens.shape, self.model.config.d_model, device=tokens.device)
            messages.append(dist.P2POp(dist.irecv, came, self.rank - following.step))
        for request in dist.batch_isend_irecv(messages) if messages else ():
            request.wait()
        return came

    def add_other_gradient(self) -> None:
        """Exchange the gradients of the matrix that the first and the last rank share, and sum them."""
        weight, other = self.model.tokens.weight, self.n - 1 if self.first else 0
        received = torch.empty_like(weight)
        mine = torch.zeros_like(weight) if weight.grad is None else weight.grad
        pair = [dist.P2POp(dist.isend, mine, other), dist.P2POp(dist.irecv, received, other)]
        for request in dist.batch_isend_irecv(pair):
            request.wait()
        weight.grad = mine + received

    def whole(self, gradients: bool = False) -> dict[str, Tensor]:
        ranks = of_all_ranks(own_tensors(self.model, gradients))
        return {name: x for of in ranks for name, x in of.items()}


class OneForwardOneBack(Pipeline):
    """A pipeline in the order that is called 1F1B: rank r of n never holds more than n - r micro-batches at once.

    It takes as many forward as it needs to have work while it waits for the first one to come back, and from then on
    takes one forward and one back in turns. GPipe's order holds all micro-batches, and waits as long.
    """

    def turns(self) -> list[Turn]:
        early, turns = min(self.n - self.rank - 1, self.n_micro), []
        for i in range(self.n_micro + early):
            turns += [Turn(i, True)] if i < self.n_micro else []
            turns += [Turn(i - early, False)] if i >= early else []
        return turns


def drop_other_parts(model: LanguageModel, layers: list[int], first: bool, last: bool, tied: bool) -> None:
    """Drop the parts that belong to other ranks."""
    for i in range(len(model.layers)):
        if i not in layers:
            model.layers[i] = nn.Identity()
    if not first:
        model.positions = None
        if not tied:
            model.add_module("tokens", nn.Identity())
    if not last:
        model.norm = nn.Identity()
        model.add_module("to_logits", nn.Identity())
