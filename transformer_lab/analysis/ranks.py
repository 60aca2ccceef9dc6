"""When each rank of a training step computes, sends and waits, and who holds which piece of which matrix.

Each of the tasks in `rank_tasks` begins once what it needs is done and its ranks are free. Where ranks do not send
while they compute, a rank that sends is not free. A round of a ring begins when all ranks are ready for it.
"""

from dataclasses import dataclass, replace

import torch

from transformer_lab.analysis.rank_tasks import TASKS, Step, Task
from transformer_lab.checks import check_least
from transformer_lab.distributed.costs import check_way


def lanes(task: Task, overlap: bool) -> list[tuple[int, bool]]:
    """What a task keeps busy: a rank's processor or, where it can send while it computes, what it sends with."""
    ranks = task.ranks[:1] if task.kind == "send" and overlap else task.ranks
    return [(rank, overlap and not task.computes) for rank in ranks]


def schedule(scheme: str, step: Step) -> list[Task]:
    """All tasks of a step, with the seconds at which they start.

    Raises:
        ValueError: an unknown scheme, a number of ranks or micro-batches below 1, a rank of a pipeline without a layer.
    """
    check_way(scheme)
    check_least(1, n=step.n, n_micro=step.n_micro)
    if scheme == "pipeline" and step.n > step.stack.n_layers:
        raise ValueError(f"each rank must have a layer (got {step.n} ranks, {step.stack.n_layers} layers)")
    ends: dict[str, float] = {}
    free: dict[tuple[int, bool], float] = {}
    placed = []
    for task in TASKS[scheme](step):
        mine = lanes(task, step.overlap)
        needs = [*(ends.get(name, 0.0) for name in task.after), *(free.get(lane, 0.0) for lane in mine)]
        placed.append(replace(task, start=max(needs)))
        ends[task.name] = placed[-1].end
        free |= dict.fromkeys(mine, placed[-1].end)
    return placed


@dataclass(frozen=True)
class Use:
    """What becomes of one rank's time in a step: the three add up to the whole."""

    computing: float
    sending: float  # and not computing
    waiting: float


def use_of_time(tasks: list[Task], n: int) -> list[Use]:
    """How long each rank computes, sends without computing, and waits."""
    whole = max(task.end for task in tasks)
    uses = []
    for rank in range(n):
        mine = [task for task in tasks if rank in task.ranks]
        computing = sum(task.seconds for task in mine if task.computes)
        busy, until = 0.0, 0.0
        for task in sorted(mine, key=lambda task: task.start):
            busy += max(0.0, task.end - max(task.start, until))
            until = max(until, task.end)
        uses.append(Use(computing, busy - computing, whole - busy))
    return uses


Box = tuple[float, float, float, float]  # left, top, right, bottom, as shares of a matrix


def held(scheme: str, rank: int, n: int, n_layers: int) -> list[tuple[Box, Box] | None]:
    """The piece that a rank holds of the first and of the last matrix of each layer, (in, out) each; None for nothing.

    torch's FSDP cuts both by their outputs, tensor parallel the last one by its inputs.

    Raises:
        ValueError: an unknown scheme.
    """
    check_way(scheme)
    whole, columns = (0.0, 0.0, 1.0, 1.0), (rank / n, 0.0, (rank + 1) / n, 1.0)
    rows = (0.0, rank / n, 1.0, (rank + 1) / n)
    if scheme == "pipeline":
        mine = torch.arange(n_layers, device="cpu").tensor_split(n)[rank].tolist()
        return [(whole, whole) if i in mine else None for i in range(n_layers)]
    both = {"sharded": (columns, columns), "tensor": (columns, rows)}.get(scheme, (whole, whole))
    return [both] * n_layers


def reads(scheme: str, rank: int, n: int) -> list[Box]:
    """The part of a batch that a rank computes with: texts are rows, positions columns.

    Raises:
        ValueError: an unknown scheme.
    """
    check_way(scheme)
    if scheme in ("data", "sharded"):
        return [(0.0, rank / n, 1.0, (rank + 1) / n)]
    if scheme == "context":
        pieces = (rank, 2 * n - 1 - rank)
        return [(i / (2 * n), 0.0, (i + 1) / (2 * n), 1.0) for i in pieces]
    return [(0.0, 0.0, 1.0, 1.0)]
