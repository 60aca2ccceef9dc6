"""Group-relative policy optimisation: a model answers, each answer is rewarded, and the model learns from the better.

GRPO (Shao et al., 2024, arXiv:2402.03300, §4.1) compares the samples of one prompt with one another, so that it needs
no second model to say what was to be expected.
"""

import hashlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_floats, check_least
from transformer_lab.data.texts import Characters
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.training.after_pretraining.digit_sums import asked, verifies
from transformer_lab.training.after_pretraining.fine_tuning import next_token_log_probs, shuffled
from transformer_lab.training.after_pretraining.sampling import LONGEST, Samples, rewards_of, sample_answers
from transformer_lab.training.text_training import TextRecipe, TextTraining
from transformer_lab.training.torchrun import n_processes


def group_advantages(rewards: Float[Tensor, "prompts samples"]) -> Float[Tensor, "prompts samples"]:
    """The advantage of each sample over the others of its prompt: mean 0 and standard deviation 1 in each row.

    Zeros where all samples of a prompt are worth the same: they say nothing. No gradient flows through advantages.
    """
    check_floats("rewards", rewards, 2)
    rewards = rewards.detach()
    deviation = rewards - rewards.mean(1, keepdim=True)
    equal = rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True)
    spread = deviation.square().mean(1, keepdim=True).sqrt()
    return (deviation / spread).masked_fill(equal, 0.0)


def clipped_objective(
    log_probs: Float[Tensor, "*tokens"],
    old_log_probs: Float[Tensor, "*tokens"],
    advantages: Float[Tensor, "*tokens"],
    epsilon: float,
) -> Float[Tensor, ""]:
    """The objective to maximise: each token's advantage times its probability ratio to the old model, clipped.

    mean min(ρ A, clip(ρ, 1 - ε, 1 + ε) A),  ρ = p / p_old        (Schulman et al., 2017, arXiv:1707.06347, equation 7)

    Beyond 1 ± ε in the direction that its advantage asks for, a token gets no gradient any more.
    """
    check_floats("log_probs", log_probs)
    ratio = (log_probs - old_log_probs).exp()
    return torch.minimum(ratio * advantages, ratio.clamp(1 - epsilon, 1 + epsilon) * advantages).mean()


def divergence(
    log_probs: Float[Tensor, "*tokens"], reference_log_probs: Float[Tensor, "*tokens"]
) -> Float[Tensor, "*tokens"]:
    """An estimate of the KL divergence from the reference, from tokens that the model has sampled; never negative.

    p_ref / p - ln(p_ref / p) - 1        (GRPO, equation 4)
    """
    log_ratio = reference_log_probs - log_probs
    return log_ratio.exp() - log_ratio - 1


@dataclass(frozen=True)
class Problems:
    """The problems that a model is asked, and the characters in which they are written."""

    problems: list[str]
    characters: Characters

    def __len__(self) -> int:
        return len(self.problems)

    def fingerprint(self) -> str:
        """A checksum, which is equal for equal lists."""
        return hashlib.sha256("\n".join([*self.problems, self.characters.alphabet]).encode()).hexdigest()

    def batches(self, batch_size: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
        """Batches of problem numbers in a random order."""
        return shuffled(len(self), batch_size, seed, epoch)


@dataclass(frozen=True)
class RewardRecipe(TextRecipe):
    """All settings, beside the problems and the reward, that decide what a model learns. A batch consists of problems.

    Raises:
        ValueError: a number that no training can have.
    """

    batch_size: int = 32
    peak_rate: float = 1e-3  # kept after the warm-up
    warmup_steps: int = 1
    weight_decay: float = 0.0
    n_samples: int = 8  # of each problem: the group
    inner_steps: int = 1  # of the optimiser, on one batch of samples
    epsilon: float = 0.2  # beyond which a token's ratio is clipped
    kl: float = 0.0  # what a nat of divergence from the reference costs
    max_tokens: int = LONGEST  # of an answer

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(1, inner_steps=self.inner_steps, max_tokens=self.max_tokens)
        check_least(2, n_samples=self.n_samples)
        for name, least in (("epsilon", "above 0"), ("kl", "at least 0")):
            value = getattr(self, name)
            if not (value > 0 or (name == "kl" and value == 0)):
                raise ValueError(f"{name} ({value}) must be {least}")


@dataclass(frozen=True)
class Rollouts:
    """A model's answers in one step, and their rewards."""

    samples: Samples
    rewards: Float[Tensor, "problems samples"]
    advantages: Float[Tensor, " tokens"]  # of each token of the answers


class RewardTraining(TextTraining):
    """A language model that learns from the rewards `reward(problem, text)` of its own answers.

    What it answers follows from the recipe's seed and the number of the step, so that a run that stops and goes on ends
    at the same weights. The reference, where the recipe has one (kl above 0), is what the model was at first.

    Raises:
        ValueError: several processes are at work.
    """

    recipe_class: Any = RewardRecipe
    examples: Problems
    recipe: RewardRecipe

    def __init__(
        self,
        model: LanguageModel,
        examples: Problems,
        recipe: RewardRecipe,
        reward: Callable[[str, str], float] = verifies,
    ):
        if n_processes() > 1:
            raise ValueError(f"learning from rewards must have one process (got {n_processes()})")
        super().__init__(model, examples, recipe)
        self.reward = reward
        self.reference = deepcopy(model).requires_grad_(False) if recipe.kl else None
        self.rollouts: Rollouts | None = None  # of the step before
        self.mean_reward = 0.0  # of these
        self.surprise = 0.0  # nats a token of its own answers: how undecided the model was

    def rate(self, step: int) -> float:
        """The learning rate of a step: a warm-up without decay, because the number of steps is not known in advance."""
        return self.recipe.peak_rate * min(1.0, step / self.recipe.warmup_steps)

    def learn(self, batch: Int[Tensor, " B"], step: int) -> float:
        """Answer, get rewards, and take all optimiser steps that these answers are used for; returns the last loss."""
        self.rollouts = self.roll_out([self.examples.problems[i] for i in batch.tolist()])
        self.mean_reward = self.rollouts.rewards.mean().item()
        old, loss = None, 0.0
        for _ in range(self.recipe.inner_steps):
            log_probs = self.token_log_probs(self.model, self.rollouts.samples)
            old = log_probs.detach() if old is None else old
            loss = self.descend(self.objective(log_probs, old, self.rollouts), step)
        self.surprise = -old.mean().item() if old is not None else 0.0
        return loss

    def roll_out(self, problems: list[str]) -> Rollouts:
        """Let the model answer, and compute the rewards of its answers."""
        prompts, recipe = [asked(problem) for problem in problems], self.recipe
        samples = sample_answers(
            self.model, self.examples.characters, prompts, recipe.n_samples, max_tokens=recipe.max_tokens
        )
        rewards = rewards_of(problems, samples, self.reward)
        tokens = samples.answer_mask[:, 1:]
        advantages = self.advantages(rewards).flatten()[:, None].expand(tokens.shape)[tokens]
        return Rollouts(samples, rewards, advantages)

    def advantages(self, rewards: Float[Tensor, "problems samples"]) -> Float[Tensor, "problems samples"]:
        """The advantages of the samples: how much more likely their tokens should become."""
        return group_advantages(rewards)

    def token_log_probs(self, model: LanguageModel, samples: Samples) -> Float[Tensor, " tokens"]:
        """ln p of each token of the answers, in one sequence."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.bf16):
            logits = model(samples.tokens)
        return next_token_log_probs(logits, samples.tokens)[samples.answer_mask[:, 1:]]

    def objective(
        self, log_probs: Float[Tensor, " tokens"], old: Float[Tensor, " tokens"], rollouts: Rollouts
    ) -> Float[Tensor, ""]:
        """The loss: the negative of the clipped objective less the cost of diverging from the reference."""
        gain = clipped_objective(log_probs, old, rollouts.advantages, self.recipe.epsilon)
        if self.reference is not None:
            with torch.no_grad():
                wanted = self.token_log_probs(self.reference, rollouts.samples)
            gain = gain - self.recipe.kl * divergence(log_probs, wanted).mean()
        return -gain
