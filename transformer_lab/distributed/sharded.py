"""Sharded data parallelism, in which each rank holds only an n-th of each weight, gradient and average of Adam.

torch's FSDP2 does it (Zhao et al., 2023, arXiv:2304.11277; the idea is ZeRO's: Rajbhandari et al., 2019,
arXiv:1910.02054). A layer's weights are gathered before it computes and freed after it; for the backward pass they are
gathered again, and of the summed gradients each rank keeps its own part.
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from transformer_lab.distributed.data_parallel import DataParallel
from transformer_lab.distributed.parallel import NO_PADDING, own_tensors
from transformer_lab.models.language_model import LanguageModel


class Sharded(DataParallel):
    """`DataParallel` whose ranks each hold a part of every weight, split along its first axis."""

    def __init__(self, model: LanguageModel, pad_id: int = NO_PADDING):
        super().__init__(model, pad_id)
        mesh = init_device_mesh(next(model.parameters()).device.type, (self.n,))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)  # what is in no layer: embeddings, the last norm

    def backward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        share = self.share_of_loss(tokens)
        (share * self.n).backward()  # FSDP takes the mean over the ranks, and each share is a part of a sum
        return share.detach()

    def whole(self, gradients: bool = False) -> dict[str, Tensor]:
        tensors = own_tensors(self.model, gradients)
        return {name: x.full_tensor() if isinstance(x, DTensor) else x for name, x in tensors.items()}
