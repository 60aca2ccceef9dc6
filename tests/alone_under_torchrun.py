"""A process that trains as under torchrun, all by itself, and ends: nothing may wait for Python's lock meanwhile.

LOCAL_RANK=0 RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=0 python -m tests.alone_under_torchrun
"""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from transformer_lab.training.torchrun import joined


def train_and_leave(sums: list[torch.Tensor]) -> None:
    """One step, after which the model of DDP is the last that knows the group; sums are still being made."""
    with joined(torch.device("cpu")):
        model = DistributedDataParallel(torch.nn.Linear(6, 5))
        model(torch.ones(2, 6)).sum().backward()
        for x in sums:
            dist.all_reduce(x, async_op=True)  # a thread of the group will let go of it, with Python's lock


if __name__ == "__main__":
    sys.setswitchinterval(1e6)  # a thread gets the lock only where this one gives it away
    train_and_leave([torch.ones(1000) for _ in range(1000)])
    print("left")
