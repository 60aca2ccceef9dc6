"""What torch computes, for the tests of the view of rewards."""

import torch

from transformer_lab.training.after_pretraining import group_advantages
from transformer_lab.training.after_pretraining.digit_sums import draw_problems, running_sums


def numbers() -> dict:
    rewards = torch.tensor(
        [[1, 0, 0, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0.2, 0.7, 3, 0, 0]], dtype=torch.float64
    )
    problems = draw_problems(20, 1)
    return {
        "rewards": rewards.tolist(),
        "advantages": group_advantages(rewards).tolist(),
        "problems": problems,
        "digits": [running_sums(problem)[-1] for problem in problems],
    }
