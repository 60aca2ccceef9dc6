"""Lesson 14: find the bug in `clinic_01`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_01(query, key, value):
    """Attention: (B, T, d), (B, S, d), (B, S, d_v) to output (B, T, d_v), weights (B, T, S)."""
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores, dim=1)
    return weights @ value, weights


def attention_case(label: str, batch: int, queries: int, keys: int, width: int = 4, value_width: int = 3) -> Case:
    given = {"query": normal(batch, queries, width), "key": normal(batch, keys, width)}
    return Case(label, given | {"value": normal(batch, keys, value_width)})


@partial(
    FindTheBug,
    broken=broken_clinic_01,
    defect=(
        "The softmax runs along the queries, axis 1 of (B, T, S), and not along the keys. So the queries compete for "
        "each key, the weights of one query need not sum to 1, and a single query takes all of every value."
    ),
    lesson="14",
    minutes=5,
    difficulty=1,
    statement="""
    Attention, as in lesson 01. All shapes are right.

    Symptom: the mean of values that are all 1 must be 1, but the outputs are not. A single query gets the sum of all
    values, whatever it asks.
    """,
    returns=("output", "weights"),
    cases=(
        attention_case("one query, two keys", 1, 1, 2, 2, 2),
        attention_case("two queries, three keys", 1, 2, 3),
        attention_case("a batch", 3, 4, 5),
        attention_case("as many queries as keys", 2, 4, 4),
    ),
    properties=(
        Property(
            "the weights of each query sum to 1",
            lambda given, output, weights: torch.allclose(weights.sum(-1), torch.ones(())),
        ),
    ),
    hints=(
        "Print the sums of the weights along each axis. Which sums are 1, and which should be?",
        "Each query shares out one unit of attention among the keys. On which axis of (B, T, S) do the keys lie?",
    ),
)
def clinic_01(query, key, value):
    """Attention: (B, T, d), (B, S, d), (B, S, d_v) to output (B, T, d_v), weights (B, T, S)."""
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


def scaled_scores(query, key):
    return query @ key.transpose(-2, -1) / query.size(-1) ** 0.5


@clinic_01.mistake("That is the axis of the batch: the sentences now compete with each other for attention.")
def over_the_batch(query, key, value):
    weights = scaled_scores(query, key).softmax(0)
    return weights @ value, weights


@clinic_01.mistake(
    "Half of the symptom is gone and the cause is not: every row is divided by its sum, after a softmax over the "
    "queries. The rows sum to 1, but a single query gets the mean of all values, whatever it asks, and with several, "
    "how much one of them attends to a key still depends on what the others ask."
)
def rows_normalised_afterwards(query, key, value):
    weights = scaled_scores(query, key).softmax(1)
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


@clinic_01.mistake(
    "Only half of the symptom is gone: the *output* is divided by the sum of the weights. The weights are still wrong, "
    "and a single query gets the mean of all values, whatever it asks."
)
def output_normalised(query, key, value):
    weights = scaled_scores(query, key).softmax(1)
    return weights @ value / weights.sum(-1, keepdim=True), weights


@clinic_01.mistake("The softmax runs over queries and keys together: all the weights of a sentence sum to 1.")
def over_queries_and_keys(query, key, value):
    scores = scaled_scores(query, key)
    weights = scores.flatten(1).softmax(-1).view_as(scores)
    return weights @ value, weights


@clinic_01.mistake("The scale is lost: the scores must be divided by the root of their width.")
def right_axis_without_the_scale(query, key, value):
    weights = (query @ key.transpose(-2, -1)).softmax(-1)
    return weights @ value, weights


@clinic_01.mistake("Two softmaxes do not repair each other: the second flattens what the first returns.")
def second_softmax(query, key, value):
    weights = scaled_scores(query, key).softmax(1).softmax(-1)
    return weights @ value, weights


@clinic_01.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, words, width, value_width) = floats(generator), sizes(generator, 5)
    keys = words + 1  # more than one, lest every weight be 1
    given = {"query": normal(batch, length, width), "key": normal(batch, keys, width)}
    return given | {"value": normal(batch, keys, value_width)}
