"""The memory of a rank: the bytes that the forward pass keeps for the backward pass."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class Kept:
    """Within the block, counts the `bytes` that autograd keeps for the backward pass, not counting weights.

    What is freed before the end, such as weights that FSDP had gathered, does not count.
    """

    def __init__(self, parameters: Iterable[Tensor] = ()):
        self.weights = {storage_of(parameter)._cdata for parameter in parameters}
        self.storages: dict[int, torch.UntypedStorage] = {}
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.keep, lambda tensor: tensor)

    def keep(self, tensor: Tensor) -> Tensor:
        storage = storage_of(tensor)
        if storage._cdata not in self.weights:
            self.storages[storage._cdata] = storage
        return tensor

    @property
    def bytes(self) -> int:
        return sum(storage.nbytes() for storage in self.storages.values())

    def __enter__(self) -> "Kept":
        self.hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.hooks.__exit__(*error)


def local(tensor: Any) -> Tensor:
    """The part of a tensor that is on this rank."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def storage_of(tensor: Tensor) -> torch.UntypedStorage:
    return local(tensor).untyped_storage()
