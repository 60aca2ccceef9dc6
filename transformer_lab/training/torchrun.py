"""Several processes that `torchrun` starts to train one model; with a single process, nothing here has any effect."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

ALL_NEEDED = "all processes of a training must run to its end, but one of them has ended or can't be reached any more"

# DDP keeps its group, too. If it were the last to let go of it, it would hold Python's lock while it waits for the
# group's threads to end, and a thread that waits for this lock to free a tensor would never end. So we let go last:
GROUPS: list[Any] = []
atexit.register(GROUPS.clear)


@contextmanager
def joined(device: torch.device) -> Iterator[torch.device]:
    """Within the block, this process belongs to the group that `torchrun` started, and has a device of its own.

    Raises:
        ConnectionError: another of them has ended, or can't be reached any more.
    """
    if "LOCAL_RANK" not in os.environ:
        yield device
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    # DDP imports this module, whose default arguments keep the group of that moment, and so its threads, for ever:
    import_module("torch.distributed.nn")  # now they keep none, and no thread is left to abort the exit
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    GROUPS.append(dist.group.WORLD)
    try:
        yield device
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        raise ConnectionError(f"{ALL_NEEDED}: go on from the last checkpoint, with --resume") from error
    finally:
        dist.destroy_process_group()


def is_lost_connection(error: RuntimeError) -> bool:
    """Whether a message could not be sent or did not arrive. (Gloo has no exception class for this.)"""
    return isinstance(error, dist.DistError) or "gloo" in str(error)


def n_processes() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """The number of this process, counted from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def mean_over_processes(values: Tensor) -> list[float]:
    """The mean of each number over the processes."""
    if n_processes() > 1:
        dist.all_reduce(values)
    return [value / n_processes() for value in values.tolist()]


def any_process(value: bool, device: torch.device) -> bool:
    """Whether the value is true in at least one process."""
    return mean_over_processes(torch.tensor([float(value)], device=device))[0] > 0


def is_first() -> bool:
    """Whether this is the process that reports for all, even before they are joined."""
    return os.environ.get("RANK", "0") == "0"
