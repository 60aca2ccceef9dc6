"""Lesson 01: implement `softmax`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def softmax_case(label: str, scores, dim: int, loose: bool = False) -> Case:
    return Case(label, {"scores": torch.as_tensor(scores), "dim": dim}, loose, by_hand="softmax")


softmax = Exercise(
    attention.softmax,
    lesson="01",
    minutes=5,
    difficulty=1,
    statement="""
    Turn scores into weights along `dim`: positive, summing to 1, each proportional to exp(score).

    Scores of 1000 must not overflow. Make it from `torch.exp`: an answer by torch's own softmax, under any of its
    names, is refused, and so is one by `logsumexp`.
    """,
    returns=("weights",),
    cases=(
        softmax_case("three scores", [0.0, 1.0, 2.0], 0),
        softmax_case("weights along each row", [[0.0, 1.0, 2.0], [4.0, 3.0, 3.0]], 1),
        softmax_case("weights down each column", [[0.0, 1.0, 2.0], [4.0, 3.0, 3.0]], 0),
        softmax_case("large scores", [1000.0, 1001.0, 1003.0], 0, loose=True),
        softmax_case("very negative scores", [-1000.0, -1001.0, -1003.0], 0, loose=True),
        softmax_case("one row small, one row large", [[0.0, 1.0], [1000.0, 1001.0]], 1, loose=True),
        softmax_case("scores far apart", [-500.0, 0.0, 500.0], 0),
        softmax_case("a single score", [[7.0]], -1),
        softmax_case("a negative dim", normal(2, 3, 5, 7), -2),
        softmax_case("float64, not contiguous", normal(7, 3, dtype=torch.float64).T, 0),
    ),
    properties=(
        Property("no weight is negative", lambda given, weights: not bool((weights < 0).any())),
        Property(
            "the weights along `dim` sum to 1",
            lambda given, weights: bool(((weights.sum(given["dim"]) - 1).abs() < 1e-3).all()),
        ),
    ),
    hints=(
        "Two steps: make every score positive, then divide so that the weights along `dim` sum to 1.",
        "The sum must keep its axis to be divided by: look up `keepdim`.",
        "exp(1000) overflows. Adding the same number to all scores of a slice does not change its weights: "
        "which number makes the largest exponent 0?",
    ),
)


@softmax.mistake(
    "exp(1000) is inf, and inf / inf is NaN. Large scores must become smaller before the exponential, but in a way "
    "that changes no weight: subtract the same number from all scores of a slice."
)
def overflow(scores, dim):
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


@softmax.mistake(
    "You subtract the largest score of the whole tensor. Where one slice is far below another, all its "
    "exponentials vanish and 0 / 0 is NaN. Each slice along `dim` needs its own maximum."
)
def global_maximum(scores, dim):
    exponentials = (scores - scores.max()).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


@softmax.mistake("You subtract the *smallest* score, so the largest exponential still overflows.")
def minimum_subtracted(scores, dim):
    exponentials = torch.exp(scores - scores.amin(dim, keepdim=True))
    return exponentials / exponentials.sum(dim, keepdim=True)


@softmax.mistake("The exponential is missing: scores divided by their sum can be negative, and the sum can be 0.")
def no_exponential(scores, dim):
    return scores / scores.sum(dim, keepdim=True)


@softmax.mistake("You divide by the sum over *all* axes: the whole tensor sums to 1, and not each slice along `dim`.")
def sum_over_everything(scores, dim):
    exponentials = torch.exp(scores - scores.amax(dim, keepdim=True))
    return exponentials / exponentials.sum()


@softmax.mistake("You normalise along the last axis whatever `dim` says.")
def last_axis_always(scores, dim):
    return scores.softmax(-1)


@softmax.mistake(
    "You normalise along the first axis whatever `dim` says; `nn.Softmax()` without `dim` may do the same."
)
def first_axis_always(scores, dim):
    return scores.softmax(0)


@softmax.mistake("These are the *logarithms* of the weights: they are negative, and their exponentials sum to 1.")
def log_softmax(scores, dim):
    return scores.log_softmax(dim)


@softmax.mistake("The sign is reversed: the smallest score gets the largest weight.")
def negative_scores(scores, dim):
    return (-scores).softmax(dim)


@softmax.mistake("You divide by the largest exponential, not by the sum of all: the largest weight is 1 everywhere.")
def divided_by_maximum(scores, dim):
    return torch.exp(scores - scores.amax(dim, keepdim=True))


@softmax.mistake(
    "The sum has lost its axis, so the division lines it up with the wrong one: it fails, "
    "or, worse, quietly divides columns by the sums of rows. `keepdim` keeps the axis."
)
def axis_lost(scores, dim):
    exponentials = torch.exp(scores - scores.amax(dim, keepdim=True))
    return exponentials / exponentials.sum(dim)


@softmax.mistake(
    "Two things at once: the sum has lost its axis (`keepdim` keeps it), and nothing is subtracted from the scores, so "
    "that large ones will overflow."
)
def axis_lost_and_overflow(scores, dim):
    return scores.exp() / scores.exp().sum(dim)


@softmax.mistake(
    "`max(dim)` returns two things, the largest values and their positions. `amax` returns the values alone; so does "
    "`max(dim).values`."
)
def maximum_with_positions(scores, dim):
    exponentials = torch.exp(scores - scores.max(dim, keepdim=True))
    return exponentials / exponentials.sum(dim, keepdim=True)


@softmax.mistake("This is the hard maximum: weight 1 on the largest score, 0 elsewhere. No gradient flows through it.")
def hard_maximum(scores, dim):
    return torch.zeros_like(scores).scatter(dim, scores.argmax(dim, keepdim=True), 1.0)


CLAMPED = (
    "You clamp the scores. Nothing overflows then, but all scores beyond the bound become equal, so that 1000 and 1003 "
    "get the same weight. Subtract the largest score instead: that changes no weight."
)


@softmax.mistake(CLAMPED)
def clamped(scores, dim):
    exponentials = scores.clamp(-80, 80).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


@softmax.mistake(CLAMPED)
def clamped_above(scores, dim):
    exponentials = scores.clamp(max=80).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


@softmax.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    shape = sizes(generator, number(generator, 1, 4))
    return {"scores": 3 * floats(generator)(*shape), "dim": number(generator, -len(shape), len(shape) - 1)}
