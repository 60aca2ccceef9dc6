"""Lesson 10: implement `induction_score`."""

import torch
from torch import Generator, Tensor

from transformer_lab import analysis
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise

BY_HAND = [[[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.2, 0.7, 0.1, 0], [0, 0.1, 0.6, 0.3]]]


def causal(scores: Tensor) -> Tensor:
    """The weights of heads that see what is past."""
    return scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float("-inf")).softmax(-1)


def weights_case(label: str, weights: Tensor) -> Case:
    return Case(label, {"weights": weights, "period": weights.size(-1) // 2})


induction_score = Exercise(
    analysis.induction_score,
    lesson="10",
    minutes=10,
    difficulty=1,
    statement="""
    The induction score of heads: how much does each look at what came after the same token?

    A random sequence of `period` tokens is followed by itself, and `weights` (h, 2 · period, 2 · period) is where h
    heads look: rows are queries, columns are keys. At each position of the second half stands a token that was there
    one period before. An induction head looks at the position right *after* that one.

    Return (h,): for each head, the mean over the second half of the weight that it gives to that position.
    """,
    returns=("score",),
    cases=(
        weights_case("a head by hand, period 2", torch.tensor(BY_HAND, device="cpu")),
        weights_case("two heads, period 1", torch.tensor([[[1.0, 0], [0.25, 0.75]], [[1, 0], [1, 0]]], device="cpu")),
        weights_case("two heads, period 3", causal(normal(2, 6, 6))),
        weights_case("a head that finds every token", torch.eye(12, device="cpu").roll(-5, 1)[None]),
        weights_case("three heads, period 5", causal(2 * normal(3, 10, 10))),
        weights_case("heads without a mask", normal(4, 14, 14).softmax(-1)),
        weights_case("float64", causal(normal(2, 8, 8, dtype=torch.float64))),
    ),
    hints=(
        "Write the tokens a b c a b c under one another, with their positions. Where does position 4 look, if it is to "
        "find what comes after b?",
        "Which positions make up the second half? There are `period` of them, and each asks for one entry of its row.",
        "These entries lie on one diagonal of the square. You may pick them with a loop, with two ranges as an index, "
        "or with `diagonal`, of which you need a part.",
    ),
)


@induction_score.mistake(
    "You look at the same token, one period before. An induction head looks one further: at what came *after* it."
)
def the_same_token(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - period].mean(-1)


@induction_score.mistake("That is one position too far: what comes right after t - period stands at t - period + 1.")
def one_too_far(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - period + 2].mean(-1)


@induction_score.mistake("That is the score of a *previous-token* head: it looks at t - 1, whatever stands there.")
def the_token_before(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - 1].mean(-1)


@induction_score.mistake(
    "The mean runs over a whole diagonal. On that of the positions right after, the first entry is of the last "
    "position of the *first* half, whose token has not been seen before."
)
def the_whole_diagonal(weights, period):
    return weights.diagonal(1 - period, dim1=-2, dim2=-1).mean(-1)


@induction_score.mistake(
    "The mean runs over both halves. In the first, nothing has come before, and a negative index counts from the end."
)
def over_both_halves(weights, period):
    t = torch.arange(2 * period)
    return weights[:, t, t - period + 1].mean(-1)


@induction_score.mistake("The last position is missing: the second half has `period` positions, up to 2 · period - 1.")
def without_the_last(weights, period):
    t = torch.arange(period, 2 * period - 1)
    return weights[:, t, t - period + 1].mean(-1)


@induction_score.mistake("These are sums. The mean over the positions makes scores of different periods comparable.")
def sums(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - period + 1].sum(-1)


@induction_score.mistake("You divide by all positions. Only those of the second half are asked: there are `period`.")
def divided_by_all(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - period + 1].sum(-1) / (2 * period)


@induction_score.mistake("You average over the heads as well. Each head has a score of its own: the shape is (h,).")
def over_the_heads(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t, t - period + 1].mean()


@induction_score.mistake("Query and key have changed places: the first index of a square is the query, which looks.")
def query_and_key_exchanged(weights, period):
    t = torch.arange(period, 2 * period)
    return weights[:, t - period + 1, t].mean(-1)


@induction_score.mistake("You send the weights through a softmax. They are weights already, and sum to 1.")
def softmax_of_weights(weights, period):
    t = torch.arange(period, 2 * period)
    return weights.softmax(-1)[:, t, t - period + 1].mean(-1)


@induction_score.mistake(
    "You count how often that position has the *largest* weight. The score is the mean of the weights themselves."
)
def how_often_the_largest(weights, period):
    t = torch.arange(period, 2 * period)
    return (weights[:, period:].argmax(-1) == t - period + 1).to(weights.dtype).mean(-1)


@induction_score.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    period, n_heads = number(generator, 2, 12), number(generator, 1, 5)
    scores = 2 * floats(generator)(n_heads, 2 * period, 2 * period)
    return {"weights": causal(scores), "period": period}
