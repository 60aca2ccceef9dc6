"""What Python computes, for the tests of the schedule of ranks."""

from transformer_lab.analysis.rank_tasks import Stack, Step
from transformer_lab.analysis.ranks import held, reads, schedule, use_of_time
from transformer_lab.distributed.costs import WAYS, Cluster

CASES = [  # n, overlap, slow, n_micro, link
    (1, False, 1, 2, 1e5),
    (2, False, 1, 4, 1e5),
    (3, True, 1.5, 5, 1e4),
    (4, True, 1, 1, 1e6),
    (4, False, 2, 8, 3e4),
]


def numbers() -> dict:
    stack = Stack(d_model=8, n_layers=5, n_tokens=960, length=48, n_bytes=4)
    cases = []
    for way in WAYS:
        for n, overlap, slow, n_micro, link in CASES:
            tasks = schedule(way, Step(stack, n, Cluster(1e6, link), overlap, slow, n_micro))
            given = {"n": n, "overlap": overlap, "slow": slow, "n_micro": n_micro, "link": link, "speed": 0.4e6}
            uses = [vars(use) for use in use_of_time(tasks, n)]
            cases.append(
                {
                    "way": way,
                    "step": vars(stack) | given,
                    "names": [task.name for task in tasks],
                    "starts": [task.start for task in tasks],
                    "ends": [task.end for task in tasks],
                    "bytes": sum(task.n_bytes for task in tasks),
                    "calls": sum(task.n_calls for task in tasks),
                    "rounds": sum(task.rounds for task in tasks),
                    "uses": {name: [use[name] for use in uses] for name in ("computing", "sending", "waiting")},
                    "held": [held(way, rank, n, 5) for rank in range(n)],
                    "reads": [reads(way, rank, n) for rank in range(n)],
                }
            )
    return {"cases": cases}
