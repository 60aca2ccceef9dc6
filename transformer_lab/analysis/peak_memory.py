"""The peak memory of a computation, counted tensor by tensor, so that it is the same on every machine."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class MemoryCount(TorchDispatchMode):
    """Within the `with` block, adds up the bytes of all memory that operations have allocated and that is still in use.

    What was there before the block does not count. What a kernel uses inside it, and frees, is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.known: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        given = [part.untyped_storage() for part in tree_leaves((args, kwargs)) if isinstance(part, Tensor)]
        made = function(*args, **(kwargs or {}))
        for part in tree_leaves(made):
            if isinstance(part, Tensor) and all(part.untyped_storage() is not storage for storage in given):
                self.add(part.untyped_storage())
        return made

    def add(self, storage: torch.UntypedStorage) -> None:
        if storage not in self.known:
            self.known.add(storage)
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self.remove, storage.nbytes())

    def remove(self, n_bytes: int) -> None:
        self.now -= n_bytes


def peak_bytes(compute: Callable[[], object]) -> int:
    """The most bytes that a computation holds at once, on top of what existed before: its result and all intermediates.

    >>> peak_bytes(lambda: x @ x.T)    # x: (1000, 8), float32
    4000000
    """
    with MemoryCount() as count:
        compute()
    return count.peak


def tile_bytes(tile: int, d_head: int, bytes_per_number: int = 4) -> int:
    """The bytes of fast memory in use while attention works on one tile of `tile` queries and as many keys.

    Queries, keys, values and the output so far are 4 · tile · d_head numbers, the scores tile², and each query has a
    maximum and a sum.
    """
    return bytes_per_number * (4 * tile * d_head + tile * tile + 2 * tile)
