"""Lesson 02: set the weights of `look_back_one`."""

from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.specification import Goal
from transformer_lab.exercises.kinds import SetTheWeights
from transformer_lab.exercises.lesson_02.shared import (
    AT_RIGHT_ANGLES,
    POSITIONS,
    attention_of,
    lacks_a_neighbour,
    position_cases,
    where_they_look,
)


def one_head(given: dict, w_q: Tensor, w_k: Tensor) -> Tensor:
    return attention_of(given, (w_q, w_k))


@partial(
    SetTheWeights,
    lesson="02",
    minutes=15,
    difficulty=2,
    statement=f"""
    Set the weights of a head by hand, without training: `w_q` and `w_k`, (d_model, d_model) each, such that every
    position t from 1 on attends to position t - 1 with a weight of at least 0.9. Position 0 may look anywhere.
    {POSITIONS}
    """,
    returns=("w_q", "w_k"),
    cases=tuple(position_cases()),
    domains={"positions": AT_RIGHT_ANGLES},
    goal=Goal(one_head, lacks_a_neighbour((-1,)), where_they_look((-1,))),
    hints=(
        "The score of query t and key s is x_t W_Q W_Kᵀ x_sᵀ. Take W_K = I: then x_t W_Q should point where x_{t-1} "
        "points.",
        "With one-hot vectors x_t W_Q is row t of W_Q. Which matrix has x_{t-1} as its row t? For other vectors, "
        "make them one-hot first: positions @ positions.T is the identity.",
        "A score of 1 beside scores of 0 gives no weight near 0.9. Multiply W_Q by a number, and remember that the "
        "scores are divided by √d_model.",
    ),
)
def look_back_one(positions):
    """The projections of a head by which position t attends to position t - 1.

    The query of position t is the vector of position t - 1, made long; its key is its own vector.
    """
    d_model = positions.size(1)
    before = torch.cat([positions[:1], positions[:-1]])  # row t: the vector of t - 1
    w_q = 10 * d_model**0.5 * positions.T @ before  # x_t @ w_q = 10 √d · x_{t-1}, since the x are orthonormal
    w_k = torch.eye(d_model)
    return w_q, w_k


@look_back_one.mistake(
    "It looks *ahead*: the matrix is transposed. With one-hot vectors row t of W_Q is what x_t becomes, and so it must "
    "be the vector of t - 1."
)
def looks_ahead(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    w_q = 10 * positions.size(1) ** 0.5 * before.T @ positions
    return w_q, torch.eye(positions.size(1))


@look_back_one.mistake(
    "Each position looks at itself, because its query matches its own key best. The query has to move by one."
)
def looks_at_itself(positions):
    eye = torch.eye(positions.size(1))
    return 100 * eye, eye


@look_back_one.mistake(
    "The right position gets the largest weight, but too little: scores of 1 and 0 are nearly alike for the softmax. "
    "Multiply W_Q by a number."
)
def too_soft(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    return positions.T @ before, torch.eye(positions.size(1))


@look_back_one.mistake(
    "It is right for one-hot vectors alone. Where position t is another vector, W_Q has to be made from `positions`."
)
def one_hot_only(positions):
    eye = torch.eye(positions.size(1))
    return 100 * torch.cat([eye[:1], eye[:-1]]), eye


@look_back_one.mistake(
    "It looks two positions back. That is what comes out if query *and* key are moved, by one each in opposite "
    "directions: move only one of them."
)
def moved_twice(positions):
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return 10 * positions.size(1) ** 0.5 * positions.T @ before, positions.T @ after


@look_back_one.mistake(
    "Every position attends to position 0, whatever its own is. Each needs a query of its own, which matches the key "
    "of the position before it."
)
def looks_at_the_first(positions):
    first = positions[:1].expand_as(positions)
    return 10 * positions.size(1) ** 0.5 * positions.T @ first, torch.eye(positions.size(1))


@look_back_one.mistake(
    "Two things at once: it looks *ahead*, so the matrix is transposed, and it does so too weakly. Multiply W_Q by a "
    "number, too."
)
def ahead_and_too_soft(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    return before.T @ positions, torch.eye(positions.size(1))


@look_back_one.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    d_model = number(generator, 3, 12)
    axes = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator, dtype=torch.float64)).Q
    return {"positions": axes[: number(generator, 2, d_model)].float()}
