"""Lesson 01: predict `new_weights`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, leading, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.kinds import Predict
from transformer_lab.exercises.lesson_01.shared import WEIGHTS

TWO_ROWS = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]


def weights_case(label: str, weights: list, shift: float, factor: float) -> Case:
    tensor = torch.tensor(weights, dtype=torch.float64, device="cpu")
    return Case(label, {"weights": tensor, "shift": shift, "factor": factor})


@partial(
    Predict,
    lesson="01",
    minutes=10,
    difficulty=2,
    statement="""
    A softmax has made these weights, (…, S), of scores that you do not know. What do the weights become if `shift` is
    added to every score, and the sums are then multiplied by `factor`, which is positive?

    Work it out on paper. Nothing but the old weights is needed.
    """,
    returns=("new weights",),
    domains={"weights": WEIGHTS},
    cases=(
        weights_case("all scores grow by 100", [0.5, 0.3, 0.2], 100.0, 1.0),
        weights_case("all scores are doubled", [0.5, 0.3, 0.2], 0.0, 2.0),
        weights_case("all scores are halved", [0.64, 0.36], 0.0, 0.5),
        weights_case("both at once", [0.5, 0.3, 0.2], 7.0, 3.0),
        weights_case("two rows", TWO_ROWS, -4.0, 2.5),
        weights_case("a batch of one", [TWO_ROWS], 50.0, 0.25),
        weights_case("a single weight", [[1.0], [1.0]], 2.0, 5.0),
    ),
    properties=(
        Property(
            "each row of weights sums to 1",
            lambda given, weights: bool(((weights.sum(-1) - 1).abs() < 1e-9).all()),
        ),
    ),
    hints=(
        "Write down what softmax makes of one score, exp(s) over the sum. Now put s + shift in place of s: which "
        "factor do all exponentials have in common?",
        "And exp(factor · s)? It can be written with exp(s), and the old weights are exp(s) up to a common factor.",
        "In the end each row must sum to 1 again.",
    ),
)
def new_weights(weights, shift, factor):
    """The weights (…, S) that `factor * (score + shift)` makes of the scores behind these weights.

    A shift multiplies all exponentials of a row alike, and cancels. A factor is an exponent: e^(f s) = (e^s)^f.
    """
    powers = weights**factor  # (…, S): a row of weights is a row of exponentials, but for a factor
    return powers / powers.sum(-1, keepdim=True)


def normalised(x):
    return x / x.sum(-1, keepdim=True)


@new_weights.mistake(
    "You add the shift to the *weights*. Added to the scores, it multiplies all exponentials of a row by the same "
    "number, which cancels: it changes nothing."
)
def shift_added_to_the_weights(weights, shift, factor):
    return normalised((weights + shift) ** factor)


@new_weights.mistake(
    "Your weights do not change, whatever the factor is. (If you multiply the *weights* by it, it cancels when they "
    "are divided by their sum.) The factor of a score is an exponent of its weight."
)
def factor_of_the_weights(weights, shift, factor):
    return normalised(factor * weights)


@new_weights.mistake(
    "You have divided where the scores are multiplied: scores that are twice as large make the weights sharper, not "
    "more even."
)
def made_more_even(weights, shift, factor):
    return normalised(weights ** (1 / factor))


@new_weights.mistake("The powers are right, and do not sum to 1 yet.")
def not_normalised(weights, shift, factor):
    return weights**factor


@new_weights.mistake(
    "You treat the weights as if they were the scores: a softmax of weights is much more even. The scores are, up to a "
    "constant, the *logarithms* of the weights."
)
def softmax_of_the_weights(weights, shift, factor):
    return (factor * (weights + shift)).softmax(-1)


@new_weights.mistake("You divide by the sum over all rows. Each row is a softmax of its own, and sums to 1 by itself.")
def all_rows_together(weights, shift, factor):
    powers = weights**factor
    return powers / powers.sum()


@new_weights.mistake(
    "Large scores do not make a hard choice at once: the largest weight has not got everything. Compute the powers."
)
def all_to_the_largest(weights, shift, factor):
    return torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0) + 0 * weights


@new_weights.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    scores = torch.randn(*leading(generator), number(generator, 2, 8), generator=generator, dtype=torch.float64)
    given: Arguments = {"weights": scores.softmax(-1), "shift": float(number(generator, -90, 90))}
    return given | {"factor": pick(generator, 0.2, 0.7, 1.6, 2.2, 4.0)}
