"""Lesson 01: implement `softmax_jacobian`."""

import torch
from torch import Generator

from transformer_lab import analysis
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_01.shared import WEIGHTS

softmax_jacobian = Exercise(
    analysis.softmax_jacobian,
    lesson="01",
    minutes=10,
    difficulty=3,
    statement="""
    Compute the derivative of softmax weights p with respect to their scores, J = diag(p) - p pᵀ.

    weights (…, S) gives (…, S, S): entry (i, j) is the derivative of weight i with respect to score j.
    """,
    returns=("jacobian",),
    domains={"weights": WEIGHTS},
    cases=(
        Case("two weights", {"weights": torch.tensor([0.25, 0.75])}),
        Case("three weights", {"weights": torch.tensor([0.5, 0.3, 0.2])}),
        Case("a one-hot row", {"weights": torch.tensor([0.0, 1.0, 0.0])}),
        Case("two rows", {"weights": torch.tensor([[0.5, 0.5], [0.9, 0.1]])}),
        Case("a batch of heads", {"weights": normal(2, 3, 5, 7).softmax(-1)}),
        Case("float64, not contiguous", {"weights": normal(7, 4, dtype=torch.float64).softmax(0).T}),
    ),
    properties=(
        Property(
            "each row sums to 0: if all scores rise alike, no weight changes",
            lambda given, jacobian: bool((jacobian.sum(-1).abs() < 1e-3).all()),
        ),
        Property("it is symmetric", lambda given, jacobian: torch.allclose(jacobian, jacobian.mT, atol=1e-4)),
    ),
    hints=(
        "Work out one case by hand. For the weights 0.25 and 0.75 the entries (0, 0) and (0, 1) are 0.25 - 0.25² and "
        "-0.25 · 0.75. What are the other two?",
        "For a single row, `torch.diag` makes the first part and `torch.outer` the second. What does each of them make "
        "of its row, entry by entry?",
        "For a batch, `diag_embed` makes the first part. In the second, every weight meets every weight of its own "
        "row: multiply the weights as columns by the weights as rows. `unsqueeze` or `None` adds the axis of size 1.",
    ),
)


@softmax_jacobian.mistake("The diagonal part is missing. A weight also grows with its *own* score.")
def outer_product_only(weights):
    return -weights.unsqueeze(-1) * weights.unsqueeze(-2)


@softmax_jacobian.mistake(
    "p_i (1 − p_i) would be all if each weight were a sigmoid of its own score. But the weights share one sum: raising "
    "one score lowers all others."
)
def diagonal_only(weights):
    return torch.diag_embed(weights * (1 - weights))


@softmax_jacobian.mistake("The outer product is missing: the weights no longer compete.")
def no_competition(weights):
    return torch.diag_embed(weights)


@softmax_jacobian.mistake("All signs are turned: a weight would *fall* when its own score rises.")
def sign_flipped(weights):
    return weights.unsqueeze(-1) * weights.unsqueeze(-2) - torch.diag_embed(weights)


@softmax_jacobian.mistake("The outer product is added. Raising one score lowers the other weights: its sign is minus.")
def outer_product_added(weights):
    return torch.diag_embed(weights) + weights.unsqueeze(-1) * weights.unsqueeze(-2)


@softmax_jacobian.mistake("The diagonal holds ones; it should hold the weights.")
def ones_on_the_diagonal(weights):
    ones = torch.diag_embed(torch.ones_like(weights))
    return ones - weights.unsqueeze(-1) * weights.unsqueeze(-2)


@softmax_jacobian.mistake(
    "`torch.diag` and `torch.outer` take one row of weights. Any number of leading axes is asked for."
)
def one_row_only(weights):
    return torch.diag(weights) - torch.outer(weights, weights)


SQUARES = "The weights are squared where they should be multiplied with one another: only the diagonal has squares."


@softmax_jacobian.mistake(SQUARES)
def squares_everywhere(weights):
    return torch.diag_embed(weights) - weights.unsqueeze(-1).square()


@softmax_jacobian.mistake(SQUARES)
def squares_down_each_column(weights):
    return torch.diag_embed(weights) - weights.unsqueeze(-2).square()


@softmax_jacobian.mistake(
    "In p_i ([i = j] − p_j) you take [i = j] for 1 everywhere. It is 1 on the diagonal alone, and 0 elsewhere."
)
def delta_taken_for_one(weights):
    return weights.unsqueeze(-1) * (1 - weights.unsqueeze(-2))


@softmax_jacobian.mistake(
    "In p_j ([i = j] − p_i) you take [i = j] for 1 everywhere. It is 1 on the diagonal alone, and 0 elsewhere."
)
def delta_taken_for_one_in_columns(weights):
    return weights.unsqueeze(-2) * (1 - weights.unsqueeze(-1))


@softmax_jacobian.mistake(
    "The diagonal holds p_i alone. There, too, the product is subtracted: p_i − p_i², because a score's own "
    "exponential is in the sum as well."
)
def no_square_on_the_diagonal(weights):
    product = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    return torch.diag_embed(weights) - product + torch.diag_embed(weights.square())


@softmax_jacobian.mistake(
    "The products of all rows are added up, as a matrix product over the rows does. Each row of weights has a Jacobian "
    "of its own."
)
def products_of_all_rows(weights):
    rows = weights.reshape(-1, weights.size(-1))
    return torch.diag_embed(weights) - rows.T @ rows


@softmax_jacobian.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"weights": floats(generator)(*leading(generator), number(generator, 1, 8)).softmax(-1)}
