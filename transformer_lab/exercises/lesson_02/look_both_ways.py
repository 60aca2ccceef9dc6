"""Lesson 02: set the weights of `look_both_ways`."""

from functools import partial

import torch

from transformer_lab.exercises.engine.specification import Goal
from transformer_lab.exercises.kinds import SetTheWeights
from transformer_lab.exercises.lesson_02.look_back_one import hidden_case
from transformer_lab.exercises.lesson_02.shared import (
    AT_RIGHT_ANGLES,
    POSITIONS,
    attention_of,
    lacks_a_neighbour,
    position_cases,
    where_they_look,
)


@partial(
    SetTheWeights,
    lesson="02",
    minutes=10,
    difficulty=2,
    statement=f"""
    Two heads, set by hand: with the first, position t attends to t - 1, with the second to t + 1, each with a weight of
    at least 0.9, wherever there is such a position. Return a list of two pairs, `[(w_q, w_k), (w_q, w_k)]`, all of
    shape (d_model, d_model). One head could not do both: its weights sum to 1.
    {POSITIONS}
    """,
    returns=("[(w_q, w_k), (w_q, w_k)]",),
    cases=tuple(position_cases()),
    domains={"positions": AT_RIGHT_ANGLES},
    goal=Goal(attention_of, lacks_a_neighbour((-1, 1)), where_they_look((-1, 1))),
    hints=(
        "The first head is that of `look_back_one`.",
        "The second is the same with the rows moved the other way: row t is the vector of t + 1.",
    ),
)
def look_both_ways(positions):
    """Two heads: position t attends to t - 1 with the first, and to t + 1 with the second."""
    d_model = positions.size(1)
    before = torch.cat([positions[:1], positions[:-1]])
    after = torch.cat([positions[1:], positions[-1:]])
    heads = []
    for target in (before, after):
        heads.append((10 * d_model**0.5 * positions.T @ target, torch.eye(d_model)))
    return heads


@look_both_ways.mistake("The two heads have changed places: the first must look back, the second ahead.")
def in_the_other_order(positions):
    long, eye = 10 * positions.size(1) ** 0.5 * positions.T, torch.eye(positions.size(1))
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(long @ after, eye), (long @ before, eye)]


@look_both_ways.mistake("Both heads look back. The second must look at the position *after* its own, t + 1.")
def both_back(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    return [(10 * positions.size(1) ** 0.5 * positions.T @ before, torch.eye(positions.size(1)))] * 2


@look_both_ways.mistake("Both heads look ahead. The first must look at the position before its own, t - 1.")
def both_ahead(positions):
    after = torch.cat([positions[1:], positions[-1:]])
    return [(10 * positions.size(1) ** 0.5 * positions.T @ after, torch.eye(positions.size(1)))] * 2


@look_both_ways.mistake(
    "Each head looks to both sides, with a weight of about one half each. Give each head *one* neighbour."
)
def halves(positions):
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(10 * positions.size(1) ** 0.5 * positions.T @ (before + after), torch.eye(positions.size(1)))] * 2


@look_both_ways.mistake("Each position looks at itself, with both heads.")
def both_at_themselves(positions):
    eye = torch.eye(positions.size(1))
    return [(100 * eye, eye), (100 * eye, eye)]


@look_both_ways.mistake(
    "The right positions get the largest weights, but too little: multiply W_Q of both heads by a number."
)
def both_too_soft(positions):
    eye = torch.eye(positions.size(1))
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(positions.T @ before, eye), (positions.T @ after, eye)]


@look_both_ways.mistake(
    "Two things at once: the two heads have changed places, since the first must look back and the second ahead; and "
    "their weights are too even. Multiply W_Q of both by a number."
)
def exchanged_and_too_soft(positions):
    eye = torch.eye(positions.size(1))
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(positions.T @ after, eye), (positions.T @ before, eye)]


look_both_ways.hidden_case(hidden_case)
