"""The communication among the ranks of a group: the number of calls, and the bytes that a rank sends for them."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

Wire = Callable[[Sequence[Any], int], float]


def payload(tensors: Any) -> int:
    """The bytes of a tensor, or of tensors in lists."""
    if isinstance(tensors, Tensor):
        return tensors.numel() * tensors.element_size()
    return sum(map(payload, tensors))


def summed(arguments: Sequence[Any], n: int) -> float:
    """The bytes that a rank sends to all-reduce in a ring: one round to sum and one to share, each n - 1 of n parts."""
    return 2 * (n - 1) * payload(arguments[0]) / n


WIRE: dict[str, tuple[str, Wire]] = {  # torch's operators: our name, and the bytes that a rank of n sends in a ring
    "allreduce_": ("all_reduce", summed),
    "allgather_": ("all_gather", lambda arguments, n: (n - 1) * payload(arguments[1])),
    "_allgather_base_": ("all_gather", lambda arguments, n: (n - 1) * payload(arguments[1])),
    "_reduce_scatter_base_": ("reduce_scatter", lambda arguments, n: (n - 1) * payload(arguments[0])),
    "broadcast_": ("broadcast", lambda arguments, n: (n - 1) * payload(arguments[0]) / n),
    "barrier": ("barrier", lambda arguments, n: 0),
    "send": ("send", lambda arguments, n: payload(arguments[0])),
    "recv_": ("receive", lambda arguments, n: 0),  # its sender has counted it
}


class Traffic(TorchDispatchMode):
    """Within the block, counts what this rank sends: `calls` and `bytes` of each kind of message, by its name.

    Each collective of torch, those that DistributedDataParallel and FSDP start in C++ too, is an operator that passes
    here on its way to the group. A `send` is counted as what it is; a collective as what a ring of its ranks sends for
    that many numbers (Patarasuk & Yuan, 2009, "Bandwidth optimal all-reduce algorithms"), which is not measured. gloo
    sends as much, except for a reduce-scatter, which it makes out of a whole all-reduce.

    Raises:
        ValueError: a collective whose bytes are not known here.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "c10d":
            self.count(func.__name__.split(".")[0], args)
        return func(*args, **(kwargs or {}))

    def count(self, operator: str, arguments: Sequence[Any]) -> None:
        """Record one call."""
        if operator not in WIRE:
            raise ValueError(f"a call must be one of {', '.join(WIRE)} to be counted (got {operator})")
        name, wire = WIRE[operator]
        self.calls[name] += 1
        self.bytes[name] += wire(arguments, dist.get_world_size())  # type: ignore[assignment]

    def total(self) -> float:
        """The total of the bytes that this rank has sent."""
        return sum(self.bytes.values())
