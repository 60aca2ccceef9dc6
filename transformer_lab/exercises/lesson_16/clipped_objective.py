"""Lesson 16: implement `clipped_objective`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_16.shared import CONSTANT
from transformer_lab.training.after_pretraining import reinforcement


def ratio_case(label: str, ratios, advantages, epsilon: float = 0.2, before: float = 0.25) -> Case:
    """Tokens that had a probability `before`, and have become so many times as likely."""
    ratios, advantages = (torch.as_tensor(x, device="cpu") for x in (ratios, advantages))
    old = torch.full_like(ratios, before).log()
    return Case(
        label,
        {"log_probs": old + ratios.log(), "old_log_probs": old, "advantages": advantages, "epsilon": epsilon},
    )


def drawn(label: str, *shape: int, epsilon: float = 0.2, **like) -> Case:
    old = -normal(*shape, **like).abs() - 0.1
    new = old + 0.4 * normal(*shape, 1, **like)[..., 0]
    return Case(
        label,
        {"log_probs": new, "old_log_probs": old, "advantages": normal(*shape, 2, **like)[..., 1], "epsilon": epsilon},
    )


clipped_objective = Exercise(
    reinforcement.clipped_objective,
    lesson="16",
    minutes=15,
    difficulty=2,
    statement="""
    The clipped objective of PPO and GRPO, which a training makes as large as possible.

    mean of min(ρ A, clip(ρ, 1 - ε, 1 + ε) A),  with ρ = p / p_old

    log_probs and old_log_probs are ln p of each token now, and when it was drawn; advantages has each token's A. They
    have one shape, any one, and the mean is over all tokens. The gradient is that of log_probs alone: old_log_probs and
    advantages are numbers.
    """,
    returns=("objective",),
    domains={"old_log_probs": CONSTANT, "advantages": CONSTANT},
    cases=(
        ratio_case("nothing has changed yet", [1.0], [2.0]),
        ratio_case("a good token, a little likelier", [1.1], [1.0]),
        ratio_case("a good token, far likelier", [1.5], [1.0]),
        ratio_case("a good token, less likely", [0.5], [1.0]),
        ratio_case("a bad token, far less likely", [0.5], [-1.0]),
        ratio_case("a bad token, likelier", [1.5], [-1.0]),
        ratio_case("five tokens", [1.5, 0.5, 1.5, 0.5, 1.05], [1.0, 1.0, -1.0, -2.0, 3.0]),
        ratio_case("a wide epsilon", [1.5, 0.3], [1.0, -1.0], epsilon=0.6),
        drawn("a batch", 3, 5),
        drawn("float64, a narrow epsilon", 2, 4, epsilon=0.05, dtype=torch.float64),
    ),
    hints=(
        "From two logarithms to a ratio: subtract, then undo the logarithm.",
        "Two products for each token: one with the ratio, and one with the ratio kept between 1 - ε and 1 + ε.",
        "Take the smaller of the two for each token, before any mean. Look at the fourth and the sixth case: what "
        "would the clipped product alone say there?",
    ),
)


def ratio_of(log_probs, old_log_probs):
    return (log_probs - old_log_probs.detach()).exp()


@clipped_objective.mistake(
    "You take the *larger* of the two. With the smaller one, a step that went too far gains nothing more, and one that "
    "went the wrong way is still called back."
)
def larger_of_the_two(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return torch.maximum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean()


@clipped_objective.mistake(
    "The clipped product alone is not enough: a good token that has become far *less* likely gets no gradient, and "
    "nothing calls it back. Take the smaller of both."
)
def without_the_minimum(log_probs, old_log_probs, advantages, epsilon):
    return (ratio_of(log_probs, old_log_probs).clamp(1 - epsilon, 1 + epsilon) * advantages.detach()).mean()


@clipped_objective.mistake("Nothing is clipped: epsilon is never used.")
def nothing_clipped(log_probs, old_log_probs, advantages, epsilon):
    return (ratio_of(log_probs, old_log_probs) * advantages.detach()).mean()


@clipped_objective.mistake("That is the ratio of the two *logarithms*. The ratio of the probabilities is asked for.")
def ratio_of_logarithms(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = log_probs / old_log_probs.detach(), advantages.detach()
    return torch.minimum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean()


@clipped_objective.mistake("The difference of logarithms is still a logarithm: the exponential is missing.")
def without_exponential(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = log_probs - old_log_probs.detach(), advantages.detach()
    return torch.minimum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean()


@clipped_objective.mistake("The ratio is upside down: it says how much likelier the token *was*.")
def upside_down(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = (old_log_probs.detach() - log_probs).exp(), advantages.detach()
    return torch.minimum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean()


@clipped_objective.mistake("That is the loss: the objective with its sign changed. Here it is to be made large.")
def as_a_loss(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return -torch.minimum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean()


@clipped_objective.mistake("The ratio is clipped between -ε and ε. It is near 1, so clip it from 1 - ε to 1 + ε.")
def clipped_around_zero(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return torch.minimum(ratio * a, ratio.clamp(-epsilon, epsilon) * a).mean()


@clipped_objective.mistake(
    "The smaller *ratio* is taken, and then multiplied by A. Where A is negative that is the larger product: compare "
    "the products."
)
def minimum_of_ratios(log_probs, old_log_probs, advantages, epsilon):
    ratio = ratio_of(log_probs, old_log_probs)
    return (torch.minimum(ratio, ratio.clamp(1 - epsilon, 1 + epsilon)) * advantages.detach()).mean()


@clipped_objective.mistake("That is the sum over the tokens. The mean is asked for.")
def summed(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return torch.minimum(ratio * a, ratio.clamp(1 - epsilon, 1 + epsilon) * a).sum()


@clipped_objective.mistake(
    "The minimum is taken after the means. Each token has its own: a sum could hide one that went too far."
)
def minimum_of_means(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return torch.minimum((ratio * a).mean(), (ratio.clamp(1 - epsilon, 1 + epsilon) * a).mean())


@clipped_objective.mistake(
    "The ratio is clipped above alone. A bad token that has become far less likely gains more and more: clip at 1 - ε, "
    "too."
)
def clipped_above_alone(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return torch.minimum(ratio * a, ratio.clamp(max=1 + epsilon) * a).mean()


@clipped_objective.mistake(
    "The logarithm is clipped, from -ε to ε, before the exponential: the ratio then ends at e^ε, and not at 1 + ε."
)
def logarithm_clipped(log_probs, old_log_probs, advantages, epsilon):
    away, a = log_probs - old_log_probs.detach(), advantages.detach()
    return torch.minimum(away.exp() * a, away.clamp(-epsilon, epsilon).exp() * a).mean()


@clipped_objective.mistake(
    "Tokens whose ratio is beyond 1 ± ε count as 0. Clipped, they keep a value, and one that went the wrong way keeps "
    "its gradient as well."
)
def left_out_beyond(log_probs, old_log_probs, advantages, epsilon):
    ratio, a = ratio_of(log_probs, old_log_probs), advantages.detach()
    return (ratio * a * ((ratio - 1).abs() < epsilon)).mean()


@clipped_objective.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, shape = floats(generator), (number(generator, 2, 5), number(generator, 2, 6))
    old = -normal(*shape).abs() - 0.1
    new = {"log_probs": old + 0.5 * normal(*shape), "old_log_probs": old, "advantages": 2 * normal(*shape)}
    return new | {"epsilon": pick(generator, 0.1, 0.2, 0.3)}
