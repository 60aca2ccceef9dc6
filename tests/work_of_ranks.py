"""What the tests have ranks do: functions that a spawned process can import."""

import os
import signal
import time
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from transformer_lab.distributed.checkpoints import load_sharded, save_sharded
from transformer_lab.distributed.memory import local
from transformer_lab.distributed.parallel import seed_dropout
from transformer_lab.distributed.tensor_parallel import own_random_numbers
from transformer_lab.distributed.traffic import Traffic
from transformer_lab.distributed.trials import EPS, SCHEMES, Outcome, new_model, train
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig
from transformer_lab.training import Training
from transformer_lab.training import text as text_command
from transformer_lab.training.commands import shared as training_command


def traffic_of_ddp() -> tuple[dict[str, int], float]:
    """What torch's own data parallel sends in a backward pass; its messages start in C++."""
    model = DistributedDataParallel(torch.nn.Linear(6, 5))
    with Traffic() as traffic:
        model(torch.ones(2, 6)).sum().backward()
    return dict(traffic.calls), traffic.total()


def refused_by_traffic() -> None:
    with Traffic():
        dist.all_to_all_single(torch.empty(4), torch.ones(4))


def train_with(scheme: str, config: LanguageModelConfig, batches: list[Tensor], pad_id: int, options: dict) -> Outcome:
    return train(scheme, config, batches, pad_id, **options)


def refused(scheme: str, config: LanguageModelConfig, tokens: Tensor, options: dict[str, Any]) -> None:
    """Something that a scheme can't cut."""
    SCHEMES[scheme](new_model(config), **options).backward(tokens)


def dropped(scheme: str, config: LanguageModelConfig, tokens: Tensor) -> tuple[list[float], float, float]:
    """After two steps with dropout: weights that all ranks have; a number drawn for the heads, and the one after it."""
    parallel = SCHEMES[scheme](new_model(config))
    adam = torch.optim.Adam(parallel.parameters(), 1e-2, eps=EPS)
    for step in range(2):
        adam.zero_grad()
        seed_dropout(0, step, parallel.alike)
        parallel.backward(tokens)
        adam.step()
    with own_random_numbers():
        own = torch.rand(()).item()
    norms = [parameter for name, parameter in parallel.model.named_parameters() if "norm" in name]
    return local(norms[0]).tolist(), own, torch.rand(()).item()


def steps(
    number: int, scheme: str, config: LanguageModelConfig, tokens: Tensor, load: Path | None, save: Path | None
) -> dict[str, Tensor]:
    """So many steps, from a checkpoint if there is one, and to another if there shall be one; the weights after."""
    parallel = SCHEMES[scheme](new_model(config, seed=1 if load else 0))
    adam = torch.optim.Adam(parallel.parameters(), 1e-2, eps=EPS)
    start = load_sharded(load, parallel.model, adam) if load else 0
    for _ in range(number):
        adam.zero_grad()
        parallel.backward(tokens)
        adam.step()
    if save:
        save_sharded(save, parallel.model, adam, start + number)
    weights = parallel.whole()
    return weights if parallel.rank == 0 else {}


def loaded_alone(config: LanguageModelConfig, folder: Path) -> tuple[LanguageModel, torch.optim.Optimizer, int]:
    """A checkpoint of many ranks in one process, which has no group."""
    model = new_model(config, seed=2)
    adam = torch.optim.Adam(model.parameters(), 1e-2, eps=EPS)
    return model, adam, load_sharded(folder, model, adam)


def raises(rank: int) -> None:
    """One rank raises an error, for which all others wait."""
    if dist.get_rank() == rank:
        raise ValueError("a rank of ours has no memory left")
    dist.all_reduce(torch.ones(1))


def skips(rank: int) -> None:
    """One rank leaves out a message that the others wait for; it has something else to do meanwhile."""
    if dist.get_rank() == rank:
        time.sleep(6)
    else:
        dist.all_reduce(torch.ones(1))


def dies(rank: int) -> None:
    if dist.get_rank() == rank:
        os._exit(7)
    dist.all_reduce(torch.ones(1))


def train_command(arguments: list[str], until: int) -> tuple[int, str, str, list[float]]:
    """The command that trains on a text, in a group that is there, to a step at which a signal comes.

    Its exit code, what it printed, and its losses.
    """
    training_command.joined = nullcontext
    losses: list[float] = []

    def take_step(self: Training) -> tuple[float, float]:
        result = taken(self)
        losses.append(result[0])
        if self.step == until < 8:
            signal.raise_signal(signal.SIGTERM)
        return result

    taken, Training.take_step = Training.take_step, take_step
    try:
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
            code = text_command.main(arguments)
        return code, out.getvalue(), errors.getvalue(), losses
    finally:
        Training.take_step = taken
