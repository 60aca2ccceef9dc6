"""Training runs for `Ranks.call`, each of which returns what lesson 17 and the tests compare."""

import time
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from transformer_lab.distributed.collectives import ring_all_reduce
from transformer_lab.distributed.context_parallel import ContextParallel
from transformer_lab.distributed.data_parallel import DataParallel
from transformer_lab.distributed.memory import Kept, local
from transformer_lab.distributed.parallel import NO_PADDING, Parallel, loss_sum, seed_dropout, targets_of
from transformer_lab.distributed.pipeline import OneForwardOneBack, Pipeline
from transformer_lab.distributed.sharded import Sharded
from transformer_lab.distributed.tensor_parallel import TensorParallel
from transformer_lab.distributed.traffic import Traffic
from transformer_lab.models.language_model import LanguageModel, LanguageModelConfig

SCHEMES: dict[str, type[Parallel]] = {
    "data": DataParallel,
    "sharded": Sharded,
    "tensor": TensorParallel,
    "context": ContextParallel,
    "pipeline": Pipeline,
}
ORDERS: dict[str, type[Pipeline]] = {"GPipe": Pipeline, "1F1B": OneForwardOneBack}


class MeanOfMeans(DataParallel):
    """A deliberate mistake, to be measured: each rank averages over its own targets, then their means are averaged."""

    def share_of_loss(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        mine = slice(self.rank, None, self.n)
        targets = targets_of(tokens, self.pad_id)[mine]
        return loss_sum(self.model(tokens[mine]), targets, self.pad_id) / (targets != self.pad_id).sum() / self.n


BROKEN: dict[str, type[Parallel]] = {"mean of means": MeanOfMeans}
EPS = 1e-5  # of Adam: large enough that rounding alone moves no weight whose gradient is 0, such as the keys' bias


@dataclass
class Outcome:
    """The result of a training run; traffic and memory are those of one rank in its first step."""

    losses: list[float]
    gradients: dict[str, Tensor]  # of the first step
    weights: dict[str, Tensor]  # after the last
    calls: dict[str, int] = field(default_factory=dict)
    bytes: float = 0.0
    n_parameters: int = 0  # that the rank holds
    kept_bytes: int = 0  # for the backward pass


def new_model(config: LanguageModelConfig, seed: int = 0) -> LanguageModel:
    torch.manual_seed(seed)
    return LanguageModel(config)


def train_alone(
    config: LanguageModelConfig, batches: list[Tensor], pad_id: int = NO_PADDING, rate: float = 1e-3
) -> Outcome:
    """Train in one process, with a step of Adam for each batch of tokens (B, T)."""
    model = new_model(config)
    adam, outcome = torch.optim.Adam(model.parameters(), rate, eps=EPS), Outcome([], {}, {})
    for step, tokens in enumerate(batches):
        targets = targets_of(tokens, pad_id)
        adam.zero_grad()
        with Kept(model.parameters()) as kept:
            loss = loss_sum(model(tokens), targets, pad_id) / (targets != pad_id).sum()
        loss.backward()
        if step == 0:
            outcome.gradients = {name: p.grad.clone() for name, p in model.named_parameters()}  # type: ignore[union-attr]
            outcome.kept_bytes = kept.bytes
        adam.step()
        outcome.losses.append(loss.item())
    outcome.weights = {name: p.detach() for name, p in model.named_parameters()}
    outcome.n_parameters = sum(p.numel() for p in model.parameters())
    return outcome


def train(
    scheme: str,
    config: LanguageModelConfig,
    batches: list[Tensor],
    pad_id: int = NO_PADDING,
    rate: float = 1e-3,
    **options: Any,
) -> Outcome:
    """Train with the ranks of a group, with a step of Adam for each batch (B, T); `options` are those of the scheme.

    Weights and gradients are those of rank 0 alone, because they are the same everywhere.
    """
    parallel = (SCHEMES | ORDERS | BROKEN)[scheme](new_model(config), pad_id, **options)
    adam, outcome = torch.optim.Adam(parallel.parameters(), rate, eps=EPS), Outcome([], {}, {})
    for step, tokens in enumerate(batches):
        adam.zero_grad()
        seed_dropout(0, step, parallel.alike)
        with Kept(parallel.parameters()) as kept, Traffic() as traffic:
            loss = parallel.backward(tokens)
        if step == 0:
            outcome.gradients = parallel.whole(gradients=True)
            outcome.calls, outcome.bytes, outcome.kept_bytes = dict(traffic.calls), traffic.total(), kept.bytes
        adam.step()
        dist.all_reduce(loss)
        outcome.losses.append(loss.item())
    outcome.weights = parallel.whole()
    outcome.n_parameters = sum(local(p).numel() for p in parallel.parameters())
    if parallel.rank:
        outcome.gradients, outcome.weights = {}, {}
    return outcome


def micro_batches_held(order: str, config: LanguageModelConfig, tokens: Int[Tensor, "B T"], n_micro: int) -> int:
    """The largest number of micro-batches whose activations this rank has held at once, in a step of a pipeline."""
    pipeline = ORDERS[order](new_model(config), n_micro=n_micro)
    pipeline.backward(tokens)
    return pipeline.most_held


def ring_sum(size: int) -> tuple[float, int, float]:
    """The error of `ring_all_reduce` against torch's sum of `size` numbers; the messages and bytes that a rank sent."""
    mine = torch.arange(size) / (dist.get_rank() + 1)
    with Traffic() as traffic:
        total = ring_all_reduce(mine)
    dist.all_reduce(mine)
    return (total - mine).abs().max().item(), traffic.calls["send"], traffic.total()


def against_torch(config: LanguageModelConfig, tokens: Int[Tensor, "B T"]) -> float:
    """The largest difference between the gradients of `DataParallel` and of torch's DistributedDataParallel.

    torch's takes the mean of the ranks' means, so the texts must be as long as each other, and as many on each rank.
    """
    ours, theirs = DataParallel(new_model(config)), DistributedDataParallel(new_model(config))
    ours.backward(tokens)
    mine = tokens[ours.rank :: ours.n]
    targets = targets_of(mine, NO_PADDING)
    (loss_sum(theirs(mine), targets, NO_PADDING) / (targets != NO_PADDING).sum()).backward()
    pairs = zip(ours.whole(gradients=True).values(), theirs.module.parameters(), strict=True)
    return max((one - other.grad).abs().max().item() for one, other in pairs)


def skipped_sum(skipping: int, seconds: float) -> tuple[float, str]:
    """Make all ranks wait for a sum that one of them never joins; returns how long each waited, and its error."""
    start, said = time.perf_counter(), ""
    if dist.get_rank() == skipping:
        time.sleep(seconds)
        return seconds, said
    try:
        dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        said = str(error).partition("] ")[2].partition(" [")[0]  # without a line of gloo's source and an address
    return time.perf_counter() - start, said


def dropped_patterns(alike: bool) -> list[str]:
    """Which of eight features this rank drops in its two texts, with a `·` for each dropped one."""
    seed_dropout(0, 0, alike)
    return ["".join("·" if x == 0 else "█" for x in row) for row in F.dropout(torch.ones(2, 8), 0.5).tolist()]
