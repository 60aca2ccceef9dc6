"""What the five forms of parallelism have in common, and what their ranks have to agree on."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_lab.checks import check_tokens
from transformer_lab.models.language_model import LanguageModel, LanguageModelLayer
from transformer_lab.training.examples import derive_seed

NO_PADDING = -1  # no token has this id


class Parallel(ABC):
    """One language model that the ranks of a group train together, with the result of training in a single process.

    Every rank makes the same model, hands it over, and steps its own optimiser over `parameters()`. `pad_id` is the
    token on the right of texts that are shorter than the longest; it is no target.
    """

    alike: bool  # whether all ranks have the same activations between the layers, and so must drop the same

    def __init__(self, model: LanguageModel, pad_id: int = NO_PADDING):
        self.model, self.pad_id = model, pad_id
        self.rank, self.n = dist.get_rank(), dist.get_world_size()

    @abstractmethod
    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        """Run forward and backward on a batch, which is given to each rank in full.

        After it, the gradients are those of the batch's mean loss. What is returned is this rank's share of that loss:
        the shares of all ranks add up to it.
        """

    def parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that this rank learns."""
        return self.model.parameters()

    def whole(self, gradients: bool = False) -> dict[str, Tensor]:
        """All weights, or their gradients, under the names they have in a single process; every rank must call this."""
        return own_tensors(self.model, gradients)


def layers_of(model: LanguageModel) -> list[LanguageModelLayer]:
    """The layers of the model, before they are split."""
    return [layer for layer in model.layers if isinstance(layer, LanguageModelLayer)]


def own_tensors(model: nn.Module, gradients: bool) -> dict[str, Tensor]:
    """The weights that this rank holds, or their gradients, by name."""
    named = model.named_parameters()
    return {name: (parameter.grad if gradients else parameter).detach() for name, parameter in named}  # type: ignore[union-attr]


def of_all_ranks(mine: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """Gather what each rank holds, on every rank."""
    every: list[dict[str, Tensor]] = [{}] * dist.get_world_size()
    dist.all_gather_object(every, {name: tensor.cpu() for name, tensor in mine.items()})
    return every


def targets_of(tokens: Int[Tensor, "B T"], pad_id: int) -> Int[Tensor, "B T"]:
    """The token that follows each token, or the padding's id where there is none.

    Raises:
        ValueError: the tokens are no (B, T) of whole numbers, or there is nothing to predict.
    """
    check_tokens("tokens", tokens)
    targets = F.pad(tokens[:, 1:], (0, 1), value=pad_id)
    if not bool((targets != pad_id).any()):
        raise ValueError(f"tokens must have a token to predict (got {tuple(tokens.shape)}, all else is padding)")
    return targets


def loss_sum(logits: Float[Tensor, "B T vocab"], targets: Int[Tensor, "B T"], pad_id: int) -> Float[Tensor, ""]:
    """The sum of the losses of all targets that are not padding; 0 if there are none."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten().long(), ignore_index=pad_id, reduction="sum")


def sum_gradients(model: nn.Module) -> None:
    """Give each rank the sum of all ranks' gradients, in one message; a gradient that a rank lacks counts as 0."""
    parameters = [*model.parameters()]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = part.view_as(parameter)


def broadcast_model(model: nn.Module) -> None:
    """Give each rank the weights and the buffers of rank 0."""
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), src=0)


def seed_dropout(seed: int, step: int, alike: bool) -> None:
    """Seed torch for a step's dropout: `alike` where ranks hold the same activations, otherwise one seed per rank."""
    key = (seed, "dropout", step) if alike else (seed, "dropout", step, dist.get_rank())
    torch.manual_seed(derive_seed(*key))
