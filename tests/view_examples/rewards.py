"""Two small trainings by rewards, drawn at random; the second finds a hole."""

from math import exp

import torch

from transformer_lab import training

SET_UP = r"""
import torch
from transformer_lab import widgets

def reward_step(seed, share):
    drawn = torch.Generator().manual_seed(seed)
    rewards = (torch.rand(6, generator=drawn) < share).long()
    before = -12 * torch.rand(6, generator=drawn)
    after = before + 3 * torch.rand(6, generator=drawn) * (2 * rewards - 1)
    shares = torch.rand(3, generator=drawn).mul(0.2).tolist()
    return {
        "problem": f"{seed:05}", "texts": ["9.", "31639:9.", "99\n<9", "3:9.", "9 9", "8."],
        "rewards": rewards.tolist(),
        "exact": [1, 1, 0, 0, 0, 0], "before": before.tolist(), "after": after.clamp(max=0).tolist(),
        "rewarded": share, "right": shares[0], "worked": shares[1], "formed": shares[2],
    }

reward_runs = [
    {"arm": "right", "seed": 0, "steps": [reward_step(i, 0.05) for i in range(5)]},
    {"arm": "digit", "seed": 0, "steps": [reward_step(10 + i, 0.2 * i) for i in range(6)]},
    {"arm": "digit", "seed": 4, "steps": [reward_step(20 + i, 0.5) for i in range(6)]},
]
"""
SHOW = {
    "rewards": "widgets.rewards(reward_runs, 'digit', 0, step=3)",
    "right alone": "widgets.rewards(reward_runs, 'right', step=1)",
}

data: dict = {}
exec(SET_UP, data)


def shown(run: int = 1, step: int = 2) -> dict:
    """What the view shows of a step, with torch's advantages."""
    now = data["reward_runs"][run]
    one = now["steps"][step]
    advantages = training.after_pretraining.group_advantages(torch.tensor([one["rewards"]], dtype=torch.float64))
    return {
        "arm": now["arm"],
        "seed": now["seed"],
        "step": step,
        "advantages": advantages[0].tolist(),
        "before": [exp(x) for x in one["before"]],
        "after": [exp(x) for x in one["after"]],
        **{name: one[name] for name in ("rewarded", "right", "worked", "formed")},
    }


START = {"rewards": shown, "right alone": lambda: shown(0, 0)}
