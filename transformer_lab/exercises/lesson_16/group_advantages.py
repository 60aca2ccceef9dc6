"""Lesson 16: implement `group_advantages`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.training.after_pretraining import reinforcement


def rewards_case(label: str, rewards) -> Case:
    return Case(label, {"rewards": torch.as_tensor(rewards, device="cpu")})


def each_row_has_mean_0(given, advantages) -> bool:
    return bool((advantages.double().mean(1).abs() < 1e-4).all())


group_advantages = Exercise(
    reinforcement.group_advantages,
    lesson="16",
    minutes=15,
    difficulty=2,
    statement="""
    How much better is each answer than the others to the same prompt?

    rewards is (prompts, samples). Give each *row* mean 0 and standard deviation 1 (that of the population: divide by
    the number of samples). Where all samples of a row are worth the same, they say nothing, and all of its advantages
    are 0.
    """,
    returns=("advantages",),
    cases=(
        rewards_case("one right of two", [[1.0, 0.0]]),
        rewards_case("one right of four", [[0.0, 0.0, 1.0, 0.0]]),
        rewards_case("an easy prompt and a hard one", [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
        rewards_case("all are right", [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]),
        rewards_case("none is right", [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]]),
        rewards_case("rewards of any size", 5 * normal(3, 8) + 20),
        rewards_case("as many prompts as samples", normal(4, 4)),
        rewards_case("not contiguous", normal(5, 3).mT),
    ),
    properties=(Property("the advantages of each row have mean 0", each_row_has_mean_0),),
    hints=(
        "Each row is judged on its own: a mean and a standard deviation for each prompt, kept as a column so that they "
        "broadcast.",
        "Compare `std`'s default with what the statement asks for: by how many is divided?",
        "What is 0 divided by 0? Decide what a row is divided by before you divide.",
    ),
)


def spread(rewards, dim=1, correction=0):
    """The standard deviation, 1 where it is 0."""
    found = rewards.std(dim, correction=correction, keepdim=True) if dim is not None else rewards.std(correction=0)
    return torch.where(found == 0, torch.ones_like(found), found)


@group_advantages.mistake(
    "Mean and standard deviation are those of the whole batch. Compare an answer with the others to its own prompt, "
    "or right ones to an easy prompt would look too good."
)
def over_the_batch(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean()) / spread(rewards, None)


@group_advantages.mistake("That is along dim 0: you compare answers to *different* prompts. Each row is a prompt.")
def over_the_prompts(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean(0)) / spread(rewards, 0)


@group_advantages.mistake("Where all samples are worth the same, you divide 0 by 0. Such a row has advantages of 0.")
def nan_for_equal_rewards(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean(1, keepdim=True)) / rewards.std(1, correction=0, keepdim=True)


@group_advantages.mistake(
    "That is the standard deviation of a *sample*, divided by one fewer than there are samples. Here it is that of the "
    "population."
)
def one_fewer(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean(1, keepdim=True)) / spread(rewards, correction=1)


@group_advantages.mistake(
    "Two things are wrong: by default `std` divides by one fewer than there are samples, and where all samples are "
    "worth the same, you divide 0 by 0."
)
def one_fewer_and_nan(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean(1, keepdim=True)) / rewards.std(1, keepdim=True)


@group_advantages.mistake(
    "By default `std` divides by one fewer than there are samples; here it is that of the population. And 1e-4 is too "
    "much to add: it makes all advantages a little too small."
)
def one_fewer_and_a_little(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)


@group_advantages.mistake(
    "The mean is taken off, and nothing is divided. (Dr. GRPO does it so; here a standard deviation of 1 is asked for.)"
)
def not_divided(rewards):
    rewards = rewards.detach()
    return rewards - rewards.mean(1, keepdim=True)


@group_advantages.mistake("You divide by the variance. Its root, the standard deviation, is asked for.")
def divided_by_the_variance(rewards):
    rewards = rewards.detach()
    return (rewards - rewards.mean(1, keepdim=True)) / spread(rewards) ** 2


@group_advantages.mistake(
    "The mean is not taken off: without this baseline every right answer of any prompt is pushed."
)
def no_baseline(rewards):
    rewards = rewards.detach()
    equal = rewards.amax(1, keepdim=True) == rewards.amin(1, keepdim=True)
    return (rewards / spread(rewards)).masked_fill(equal, 0.0)


@group_advantages.mistake("The sign is the wrong way round: the better an answer, the lower you rate it.")
def sign_changed(rewards):
    rewards = rewards.detach()
    return (rewards.mean(1, keepdim=True) - rewards) / spread(rewards)


@group_advantages.mistake(
    "A softmax gives shares that add up to 1. What is asked for is a mean of 0 and a standard deviation of 1."
)
def shares(rewards):
    return rewards.detach().softmax(1)


@group_advantages.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    prompts, samples = number(generator, 2, 6), number(generator, 3, 9)
    if number(generator, 0, 1):
        return {"rewards": 3 * floats(generator, torch.float32)(prompts, samples) + number(generator, -9, 9)}
    rewards = (torch.rand(prompts, samples, generator=generator, device="cpu") < 0.5).float()
    rewards[0] = number(generator, 0, 1)  # all alike
    return {"rewards": rewards}
