"""Trainings by rewards, step by step: one group of answers of each step, and the probabilities that moved.

    python -m transformer_lab.training.experiments.rewarding --out rewards.json

teaches the base that comes with the package to answer, as in `answers`, and goes on by each of the REWARDS of ARMS. Of
every step it keeps the first group whose answers differ in reward (or else the first), what the model gave to each of
its answers before the step and after it, and what became of all answers of the step.
"""

import argparse
import json
import sys
from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.data.texts import Characters
from transformer_lab.files import replace_file
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.training.after_pretraining import Problems, RewardRecipe, RewardTraining, rewards_of
from transformer_lab.training.after_pretraining import digit_sums as task
from transformer_lab.training.after_pretraining.reinforcement import Rollouts
from transformer_lab.training.checkpoint import load_language_model
from transformer_lab.training.commands.options import whole, writable
from transformer_lab.training.experiments.answers import N_PROBLEMS, N_SAMPLES, STEPS, shown

ARMS = {  # the reward, and the price of a nat of divergence from the model as it was
    "right": ("right", 0.0),
    "digit anywhere": ("digit", 0.0),
    "digit anywhere, KL 0.05": ("digit", 0.05),
    "length": ("length", 0.0),
    "random": ("random", 0.0),
}

SEEDS = (1, 3)  # of five, those with which "digit anywhere" leaves most answers right, and fewest


class RecordedTraining(RewardTraining):
    """A `RewardTraining` whose `steps` keep a group of each step, and what it did to that group's probabilities."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.steps: list[dict[str, Any]] = []

    def learn(self, batch: Int[Tensor, " B"], step: int) -> float:
        loss = super().learn(batch, step)
        assert self.rollouts is not None, "learn has just made them"
        problems = [self.examples.problems[i] for i in batch.tolist()]
        self.steps.append(self.record(problems, self.rollouts))
        return loss

    def roll_out(self, problems: list[str]) -> Rollouts:
        rollouts = super().roll_out(problems)
        self.before = self.answers_log_probs(rollouts)
        return rollouts

    @torch.no_grad()
    def answers_log_probs(self, rollouts: Rollouts) -> Float[Tensor, "problems samples"]:
        """ln p of each whole answer."""
        mask = rollouts.samples.answer_mask[:, 1:]
        tokens = torch.zeros(mask.shape, device=mask.device)
        tokens[mask] = self.token_log_probs(self.model, rollouts.samples)
        return tokens.sum(1).view_as(rollouts.rewards)

    def record(self, problems: list[str], rollouts: Rollouts) -> dict[str, Any]:
        """The numbers of a step: a group, and the shares of all answers."""
        rewards, texts = rollouts.rewards, rollouts.samples.texts
        n = rewards.size(1)
        differing = [i for i, row in enumerate(rewards.tolist()) if len(set(row)) > 1]
        here = differing[0] if differing else 0
        group = texts[here * n : (here + 1) * n]
        right = rewards_of(problems, rollouts.samples, task.verifies)
        after = self.answers_log_probs(rollouts)
        shares = {
            "rewarded": rewards.mean().item(),
            "right": right.mean().item(),
            "worked": sum(map(task.is_worked, texts)) / len(texts),
            "formed": sum(map(task.is_well_formed, texts)) / len(texts),
        }
        return {
            "problem": problems[here],
            "texts": group,
            "rewards": [round(x) for x in rewards[here].tolist()],
            "exact": [round(x) for x in right[here].tolist()],
            "before": [round(x, 3) for x in self.before[here].tolist()],
            "after": [round(x, 3) for x in after[here].tolist()],
            **{name: round(share, 4) for name, share in shares.items()},
        }


def recorded(start: LanguageModel, characters: Characters, arm: str, seed: int, steps: int = STEPS) -> list[dict]:
    """Train a copy of a model by one of the rewards, as `answers` does, and return what was recorded."""
    reward, kl = ARMS[arm]
    problems = Problems(task.draw_problems(N_PROBLEMS, 200 + seed), characters)
    recipe = RewardRecipe(STEPS, seed=seed, n_samples=N_SAMPLES, kl=kl)
    training = RecordedTraining(deepcopy(start), problems, recipe, task.REWARDS[reward])
    for _ in training.run(steps):
        pass
    return training.steps


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.rewarding", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=writable, default="rewards.json", help="(default: %(default)s)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=SEEDS, help="(default: %(default)s)")
    parser.add_argument("--arms", choices=ARMS, nargs="+", default=[*ARMS], help="(default: all)")
    parser.add_argument("--steps", type=whole(1), default=STEPS, help="(default: %(default)s)")
    options, found = parser.parse_args(arguments), []
    base, characters, _ = load_language_model("digit_sums")
    for seed in options.seeds:
        start = shown(deepcopy(base), characters, seed)
        for arm in options.arms:
            steps = recorded(start, characters, arm, seed, options.steps)
            found.append({"arm": arm, "seed": seed, "steps": steps})
            print(arm, seed, *(f"{name} {steps[-1][name]:.2f}" for name in ("rewarded", "right")), flush=True)
            text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
            replace_file(options.out, f"{text}\n".encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
