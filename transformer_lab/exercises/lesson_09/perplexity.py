"""Lesson 09: implement `perplexity`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import losses


def text_case(label: str, *probabilities: float) -> Case:
    return Case(label, {"token_log_probs": torch.tensor(probabilities, device="cpu").log()})


perplexity = Exercise(
    losses.perplexity,
    lesson="09",
    minutes=5,
    difficulty=1,
    statement="""
    The perplexity of a text: among how many equally probable tokens does the model seem to choose?

    `token_log_probs` holds ln p of each token of the text. A model that gives each of them probability 1/8 has
    perplexity 8. It must work for a text of thousands of tokens. Return a number, plain or in a tensor.
    """,
    returns=("perplexity",),
    number=True,
    cases=(
        text_case("two tokens of probability 1/8", 1 / 8, 1 / 8),
        text_case("probabilities 1/2 and 1/8", 1 / 2, 1 / 8),
        text_case("one token", 0.3),
        text_case("four different tokens", 0.9, 0.05, 0.5, 0.25),
        text_case("a token that was all but excluded", 0.9, 0.9, 1e-6),
        Case("3 000 tokens", {"token_log_probs": -normal(3000).abs() - 0.5}, loose=True),
        Case("float64", {"token_log_probs": -normal(7, dtype=torch.float64).abs()}),
    ),
    hints=(
        "Start from the case of two tokens: ln(1/8) = -2.08. How do you get 8 back?",
        "If the tokens have different probabilities, their logarithms are averaged, not the probabilities themselves.",
        "A product of 3 000 probabilities is 0 in floating point. A mean of 3 000 logarithms is no problem.",
    ),
)


@perplexity.mistake(
    "The mean is missing. Without it you get 1 / p of the whole text, which grows with its length, and soon no number "
    "can hold it."
)
def of_the_whole_text(token_log_probs):
    return torch.exp(-token_log_probs.sum())


@perplexity.mistake(
    "The sign is missing: exp of the mean is at most 1. It is the typical probability, not its inverse."
)
def typical_probability(token_log_probs):
    return torch.exp(token_log_probs.mean())


@perplexity.mistake("The logarithms are natural ones, so the way back is exp. Two to the power is for bits.")
def two_to_the_power(token_log_probs):
    return 2 ** (-token_log_probs.mean())


@perplexity.mistake("This is the loss in nats. The perplexity is exp of it.")
def loss_itself(token_log_probs):
    return -token_log_probs.mean()


@perplexity.mistake(
    "You average 1 / p. One improbable token then decides the result. Average the logarithms: then the probabilities "
    "multiply, as they do for a text."
)
def mean_of_inverses(token_log_probs):
    return torch.exp(-token_log_probs).mean()


@perplexity.mistake(
    "You average the probabilities themselves. Average their logarithms: then the probabilities multiply, as they do "
    "for a text."
)
def inverse_of_the_mean(token_log_probs):
    return 1 / torch.exp(token_log_probs).mean()


@perplexity.mistake(
    "You go back from the logarithms too early. Of a long text the product of the probabilities is 0 in floating "
    "point, and that of their inverses infinite."
)
def root_of_the_product(token_log_probs):
    return (1 / token_log_probs.exp().prod()) ** (1 / len(token_log_probs))


@perplexity.mistake("You divide by one too few. All the logarithms that you are given belong to predicted tokens.")
def one_token_less(token_log_probs):
    return torch.exp(-token_log_probs.sum() / max(1, len(token_log_probs) - 1))


@perplexity.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"token_log_probs": -2 * floats(generator, torch.float32)(number(generator, 2, 400)).abs()}
