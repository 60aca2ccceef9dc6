"""Pipeline parallelism: each rank has some layers, and a batch flows through the ranks in micro-batches.

Huang et al., 2018, "GPipe", arXiv:1811.06965: all micro-batches forward, then all backward. A rank waits while the
first one is on its way to it; of (m + n - 1) turns each way it works m.
"""

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

    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        targets = targets_of(tokens, self.pad_id)
        if len(tokens) < self.n_micro:
            raise ValueError(f"a batch must have a text for each of {self.n_micro} micro-batches (got {len(tokens)})")
        micro = [*zip(tokens.tensor_split(self.n_micro), targets.tensor_split(self.n_micro), strict=True)]
        count = (targets != self.pad_id).sum()
        held = [self.forward(some, wanted, count) for some, wanted in micro]
        for x, result in reversed(held):
            self.backward_of(x, result)
        if self.tied:
            self.add_other_gradient()
        shares = [result.detach() for _, result in held]
        return torch.stack(shares).sum() if self.last else torch.zeros((), device=tokens.device)

    def forward(self, tokens: Tensor, targets: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        """Receive the input and compute the output: the next rank's input or, at the last rank, a share of the loss."""
        model = self.model
        if self.first:
            x = model.embedded(tokens, 0)  # (b, T, d_model)
        else:
            x = torch.empty(*tokens.shape, model.config.d_model, device=tokens.device)
            dist.recv(x, self.rank - 1)
            x.requires_grad_()
        y, mask = x, causal_mask(tokens.size(1), tokens.device)
        for i in self.layers:
            y = model.layers[i](y, mask)
        if self.last:
            return x, loss_sum(model.to_logits(model.norm(y)), targets, self.pad_id) / count
        dist.send(y.detach().contiguous(), self.rank + 1)
        return x, y

    def backward_of(self, x: Tensor, result: Tensor) -> None:
        """Take the gradient of the output, and send back the gradient of the input."""
        gradient = None
        if not self.last:
            gradient = torch.empty_like(result)
            dist.recv(gradient, self.rank + 1)
        result.backward(gradient)
        if not self.first:
            back = torch.zeros_like(x) if x.grad is None else x.grad.contiguous()
            dist.send(back, self.rank - 1)

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
