"""What Python computes, for the tests of the picture of ranks."""

from tests.view_examples.ranks import LARGE, shown
from transformer_lab.analysis.ranks import schedule
from transformer_lab.distributed.costs import WAYS


def numbers() -> dict:
    step = vars(LARGE.stack) | {"n": 4, "speed": 0.4 * 989e12, "link": 50e9, "overlap": False, "slow": 1, "n_micro": 4}
    ways = {way: shown(way) for way in WAYS}
    messages = {
        way: sum(task.rounds * (1 if task.kind == "send" else 4) for task in schedule(way, LARGE) if not task.computes)
        for way in WAYS
    }
    return {"step": step, "ways": ways, "messages": messages}
