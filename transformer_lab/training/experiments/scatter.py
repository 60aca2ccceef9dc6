"""How much estimates of the policy gradient scatter, with a baseline and without, before rewards have taught and after.

    python -m transformer_lab.training.experiments.scatter --seeds 0 1

An estimate is the mean over the 32 x 8 answers of one step of the gradient of each answer's log probability, times its
weight. WEIGHTS says what may be the weight of an answer. The first two have the same mean, by what lesson 16 says of
baselines, so that their variances can be compared; the third has another one, whose square is printed with it.
"""

import argparse
import sys
from collections.abc import Callable

import torch
from torch import Tensor

from transformer_lab.data.texts import Characters
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.training.after_pretraining import Problems, RewardRecipe, RewardTraining, group_advantages
from transformer_lab.training.after_pretraining import digit_sums as task
from transformer_lab.training.checkpoint import load_language_model
from transformer_lab.training.commands.options import whole
from transformer_lab.training.experiments.answers import N_PROBLEMS, N_SAMPLES, STEPS, shown
from transformer_lab.training.loop import fork_rng

BATCHES, BATCH = 24, 32  # estimates, and the problems of each


def less_the_others(rewards: Tensor) -> Tensor:
    """Each reward less the mean of the others of its group, on which it has no influence."""
    n = rewards.size(1)
    return rewards - (rewards.sum(1, keepdim=True) - rewards) / (n - 1)


WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "reward": lambda rewards: rewards,
    "less the mean of the others": less_the_others,
    "advantage of GRPO": group_advantages,
}


def estimates(training: RewardTraining, problems: list[str]) -> dict[str, Tensor]:
    """One estimate of the gradient for each kind of weight, all of them from the same answers."""
    rollouts = training.roll_out(problems)
    samples, parameters = rollouts.samples, [*training.model.parameters()]
    log_probs = training.token_log_probs(training.model, samples)
    n_tokens, found = samples.answer_mask.sum(1), {}
    for name, weigh in WEIGHTS.items():
        weights = weigh(rollouts.rewards).flatten().repeat_interleave(n_tokens)  # of each token that of its answer
        mean = (weights * log_probs).sum() / len(n_tokens)
        gradients = torch.autograd.grad(mean, parameters, retain_graph=True)
        found[name] = torch.cat([gradient.flatten() for gradient in gradients])
    return found


def scatter(training: RewardTraining, seed: int, batches: int = BATCHES) -> dict[str, tuple[float, float]]:
    """For each kind of weight the variance of an estimate, summed over all parameters, and the square of the mean.

    The square is what is left of that of the mean estimate when the variance of this mean is taken off.
    """
    problems = task.draw_problems(batches * BATCH, 900 + seed)
    with fork_rng(seed, training.device):
        found = [estimates(training, problems[i * BATCH : (i + 1) * BATCH]) for i in range(batches)]
    result = {}
    for name in WEIGHTS:
        every = torch.stack([one[name] for one in found])  # (batches, parameters)
        variance = every.var(0).sum().item()
        result[name] = variance, every.mean(0).square().sum().item() - variance / batches
    return result


def new_training(model: LanguageModel, characters: Characters, seed: int) -> RewardTraining:
    """A training by right and wrong, as in `answers`."""
    problems = Problems(task.draw_problems(N_PROBLEMS, 200 + seed), characters)
    return RewardTraining(model, problems, RewardRecipe(STEPS, seed=seed, n_samples=N_SAMPLES))


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "python -m transformer_lab.training.experiments.scatter", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=(0, 1), help="(default: %(default)s)")
    for seed in parser.parse_args(arguments).seeds:
        base, characters, _ = load_language_model("digit_sums")
        training = new_training(shown(base, characters, seed), characters, seed)
        for until in (0, STEPS):
            for _ in training.run(until):
                pass
            for name, (variance, square) in scatter(training, seed).items():
                print(
                    f"seed {seed}, {until:2} steps, {name:27}: variance {variance:.4f}, mean² {square:.4f}", flush=True
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
