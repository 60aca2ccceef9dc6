"""Data parallelism: each rank has all the weights and a share of the texts; the gradients are summed once per step."""

from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.distributed.parallel import (
    NO_PADDING,
    Parallel,
    broadcast_model,
    loss_sum,
    sum_gradients,
    targets_of,
)
from transformer_lab.models.language_model import LanguageModel


class DataParallel(Parallel):
    """Each rank takes every n-th text of a batch, and all ranks take the same step.

    A share may be larger than another one, and its texts longer. So each rank divides the *sum* of its losses by the
    number of targets in the whole batch: then gradients add up to that of the mean, where a mean of the ranks' means
    would give a token of a small share more weight. A rank that has no text at all takes part with zeros.
    """

    alike = False  # each rank drops other activations, as its texts are other ones

    def __init__(self, model: LanguageModel, pad_id: int = NO_PADDING):
        super().__init__(model, pad_id)
        broadcast_model(model)

    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        share = self.share_of_loss(tokens)
        share.backward()
        sum_gradients(self.model)
        return share.detach()

    def share_of_loss(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        targets = targets_of(tokens, self.pad_id)
        mine = slice(self.rank, None, self.n)  # (B_mine, T)
        logits = self.model(tokens[mine])
        return loss_sum(logits, targets[mine], self.pad_id) / (targets != self.pad_id).sum()
