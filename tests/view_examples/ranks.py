"""Four ranks with a large model, and three with the small one of lesson 17, in a pipeline."""

from transformer_lab.analysis.rank_tasks import Stack, Step
from transformer_lab.analysis.ranks import schedule, use_of_time
from transformer_lab.distributed.costs import WAYS, Cluster

SET_UP = r"""
from transformer_lab import widgets
from transformer_lab.analysis.rank_tasks import Stack
from transformer_lab.distributed.costs import Cluster
"""
SHOW = {
    "ranks": "widgets.ranks()",
    "three ranks in a pipeline": (
        "widgets.ranks('pipeline', 3, Stack(64, 5, 512, 64, 4), Cluster(4e9, 1e9, reached=0.5), overlap=True)"
    ),
}
LARGE = Step(Stack(), 4, Cluster(989e12, 50e9))
SMALL = Step(Stack(64, 5, 512, 64, 4), 3, Cluster(4e9, 1e9, 0.5), overlap=True)


def shown(scheme: str = "data", step: Step = LARGE, at: int = 64) -> dict:
    """What the view shows of a step, at a moment of 200."""
    tasks = schedule(scheme, step)
    uses = use_of_time(tasks, step.n)
    whole = max(task.end for task in tasks)
    moment = at / 200 * whole
    does = []
    for rank in range(step.n):
        now = [task for task in tasks if rank in task.ranks and task.start <= moment < task.end]
        computed = [task.name.split("@")[0] for task in now if task.computes]
        sent = [task.name for task in now if not task.computes]
        does.append(f"{computed[0] if computed else ''}|{sent[0] if sent else ''}")
    return {
        "way": scheme,
        "seconds": whole,
        "bytes": sum(task.n_bytes for task in tasks),
        "calls": sum(task.n_calls for task in tasks),
        **{name: [getattr(use, name) for use in uses] for name in ("computing", "sending", "waiting")},
        "ways": [max(task.end for task in schedule(way, step)) for way in WAYS],
        "moment": moment,
        "does": does,
    }


START = {"ranks": shown, "three ranks in a pipeline": lambda: shown("pipeline", SMALL)}
