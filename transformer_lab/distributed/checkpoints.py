"""Checkpoints to which each rank writes its own part, and which any other number of ranks can read, even one.

They are folders, by torch's own `distributed.checkpoint`. The training commands need none of them, because they train
data parallel under torchrun, where rank 0 has all there is to write. They are for a script of your own whose ranks hold
a part each. The following one trains a `Sharded` model under torchrun; started again, it goes on from the folder, with
any number of ranks:

    dist.init_process_group()
    sharded = Sharded(LanguageModel(config))
    adam = torch.optim.Adam(sharded.parameters())
    step = load_sharded(folder, sharded.model, adam) if folder.exists() else 0
    for tokens in batches[step:until]:
        adam.zero_grad()
        sharded.backward(tokens)
        adam.step()
    save_sharded(folder, sharded.model, adam, until)
    dist.destroy_process_group()

And this reads it in one process, which needs no group:

    model = LanguageModel(config)
    load_sharded(folder, model, torch.optim.Adam(model.parameters()))
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save


def save_sharded(folder: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Write the weights, the state of the optimiser and the number of the step; every rank must call this."""
    weights, known = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": known, "step": step}
    with in_one_process_too():
        save(state, checkpoint_id=folder)


def load_sharded(folder: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load a model and its optimiser, sharded in any way or not at all, and return the number of the step.

    Raises:
        ValueError: there is no such checkpoint, or it is another model's.
    """
    weights, known = get_state_dict(model, optimizer)
    state: dict[str, Any] = {"model": weights, "optimizer": known, "step": 0}
    try:
        with in_one_process_too():
            load(state, checkpoint_id=folder)
    except (CheckpointException, OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"a checkpoint of this model must be in the folder {folder} ({first_line(error)})") from error
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return int(state["step"])


@contextmanager
def in_one_process_too() -> Iterator[None]:
    """Within the block torch does not warn that there is no group, because we may be a single process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled, unavailable or uninitialized")
        yield


def first_line(error: BaseException) -> str:
    """The message of an error, without the traceback that torch adds to it."""
    causes = [*getattr(error, "failures", {}).values()]
    text = str(causes[0][0] if causes else error).strip() or type(error).__name__
    return text.splitlines()[0]
