"""Exercises of lesson 10 on what a model shows from outside: where a head looks, what a state between layers says."""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lab import analysis
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_04 import doubled, learned_norm, standardised

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
    "The mean runs over a whole diagonal. Its first entry is of the last position of the *first* half, whose token has "
    "not been seen before."
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


def root_mean_square(x):
    """A norm that takes no mean away."""
    return x / x.square().mean(-1, keepdim=True).add(1e-6).sqrt()


def lens_case(label: str, hidden: Tensor, norm, unembedding: Tensor) -> Case:
    return Case(label, {"hidden": hidden, "norm": norm, "unembedding": unembedding})


THREE_TOKENS = torch.tensor([[1.0, 0], [0, 1], [1, 1]], device="cpu")
logit_lens = Exercise(
    analysis.logit_lens,
    lesson="10",
    minutes=5,
    difficulty=1,
    statement="""
    The logit lens: what would the model say if its layers ended here?

    `hidden` (…, d_model) is the residual stream between two layers. `norm` is the model's last norm, a function, and
    `unembedding` (vocab, d_model) its output matrix, with a row for each token as in `nn.Linear`. Read the stream as
    the model reads its last one: return logits (…, vocab).
    """,
    returns=("logits",),
    cases=(
        lens_case("two numbers, three tokens", torch.tensor([1.0, 2], device="cpu"), doubled, THREE_TOKENS),
        lens_case("as many tokens as numbers", normal(3, 4), standardised, counting(4, 4) / 4),
        lens_case("a norm with weights", normal(3, 5), learned_norm, normal(7, 5)),
        lens_case("another norm", normal(4, 3), root_mean_square, normal(6, 3)),
        lens_case("a batch", 3 * normal(2, 3, 4), learned_norm, normal(5, 4)),
        lens_case("a square batch", normal(4, 4, 4), learned_norm, normal(4, 4)),
        lens_case("all layers of a batch", normal(3, 2, 4, 6), learned_norm, normal(9, 6)),
        lens_case("float64", normal(2, 5, dtype=torch.float64), learned_norm, normal(8, 5, dtype=torch.float64)),
    ),
    hints=(
        "What does the model do to its stream behind the last layer? Name the two steps, in their order.",
        "Each logit is the dot product of a state with the row of a token. Which axis of the matrix is summed over?",
    ),
)


@logit_lens.mistake(
    "The norm is missing. The output matrix has only ever read normalised states; the stream itself grows with depth."
)
def without_the_norm(hidden, norm, unembedding):
    return hidden @ unembedding.T


@logit_lens.mistake("You normalise the *logits*. The norm belongs to the stream, and comes before the matrix.")
def norm_after_the_matrix(hidden, norm, unembedding):
    return norm(hidden @ unembedding.T)


@logit_lens.mistake("You normalise the rows of the matrix. They are weights: the state is what the norm is for.")
def matrix_normalised(hidden, norm, unembedding):
    return hidden @ norm(unembedding).T


@logit_lens.mistake(
    "The matrix is not transposed. `unembedding` has a row for each token, (vocab, d_model): the sum runs over its "
    "*columns*. It fits by chance where there are as many tokens as numbers."
)
def not_transposed(hidden, norm, unembedding):
    return norm(hidden) @ unembedding


@logit_lens.mistake("These are probabilities. Logits are asked for: what comes before the softmax.")
def probabilities(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).softmax(-1)


@logit_lens.mistake("These are logarithms of probabilities. Logits are asked for: what comes before the softmax.")
def log_probabilities(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).log_softmax(-1)


@logit_lens.mistake("You apply the norm twice. Its weights then count twice as well.")
def norm_applied_twice(hidden, norm, unembedding):
    return norm(norm(hidden)) @ unembedding.T


@logit_lens.mistake(
    "You normalise with a norm of your own. The model's has learned weights, which the output matrix counts on: call "
    "`norm`."
)
def a_norm_of_its_own(hidden, norm, unembedding):
    return F.layer_norm(hidden, hidden.shape[-1:]) @ unembedding.T


@logit_lens.mistake("The norm runs over the positions. It is to run over the features of each state: the last axis.")
def norm_over_positions(hidden, norm, unembedding):
    return norm(hidden.mT).mT @ unembedding.T


@logit_lens.mistake("You read the last position alone. Every state has logits: the axes before the last one stay.")
def last_position_alone(hidden, norm, unembedding):
    return norm(hidden[..., -1, :]) @ unembedding.T


@logit_lens.mistake("You return the most likely token. The logits of *all* tokens are asked for.")
def most_likely_token(hidden, norm, unembedding):
    return (norm(hidden) @ unembedding.T).argmax(-1)
