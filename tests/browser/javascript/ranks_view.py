"""What Python computes, for the tests of the view of ranks."""

from tests.view_examples.ranks import LARGE, shown
from transformer_lab.analysis.ranks import schedule
from transformer_lab.distributed.costs import WAYS


def numbers() -> dict:
    moments = {way: [shown(way, LARGE, at) for at in (0, 30, 101, 199, 200)] for way in WAYS}
    tasks = schedule("sharded", LARGE)
    computing = {task.name.split("@")[0]: task for task in tasks if task.computes}
    there = []
    for i in range(40):
        moment = i / 40 * max(task.end for task in tasks)
        gathers = [task for task in tasks if task.kind == "gather" and task.end <= moment]
        there.append([int(task.name[8:]) for task in gathers if moment < computing[task.name[7:]].end])
    step = vars(LARGE.stack) | {"n": 4, "speed": 0.4 * 989e12, "link": 50e9, "overlap": False, "slow": 1, "n_micro": 4}
    return {"step": step, "moments": moments, "gathered": there}
