"""Exercises of lesson 01: softmax, scaled dot-product attention, the Jacobian of softmax."""

import torch

from transformer_lab import analysis
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Domain, Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def softmax_case(label: str, scores, dim: int, loose: bool = False) -> Case:
    return Case(label, {"scores": torch.as_tensor(scores), "dim": dim}, loose)


softmax = Exercise(
    attention.softmax,
    lesson="01",
    minutes=5,
    difficulty=1,
    statement="""
    Turn scores into weights along `dim`: positive, summing to 1, each proportional to exp(score).

    Scores of 1000 must not overflow.
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
    "The exponential overflows: exp(1000) is inf, and inf / inf is NaN. "
    "Weights do not change when you subtract the same number from all scores of a slice."
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
    "or, worse, quietly divides rows by the sums of columns. `keepdim` keeps the axis."
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


def attention_case(label: str, query, key, value, loose: bool = False) -> Case:
    return Case(label, {"query": query, "key": key, "value": value}, loose)


THREE_WORDS = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])


scaled_dot_product_attention = Exercise(
    attention.scaled_dot_product_attention,
    lesson="01",
    minutes=10,
    difficulty=2,
    statement="""
    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, as (output, weights).

    query (…, T, d_k), key (…, S, d_k), value (…, S, d_v); output (…, T, d_v), weights (…, T, S). Any number of
    leading axes, such as batch and heads, comes first.
    """,
    returns=("output", "weights"),
    cases=(
        attention_case(
            "one query, two keys",
            torch.tensor([[2.0, 0.0, 0.0, 0.0]]),
            torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
            torch.tensor([[10.0, 0.0, 5.0], [0.0, 20.0, 5.0]]),
        ),
        attention_case("two queries, three keys", counting(2, 2), counting(3, 2).flip(0), counting(3, 4) ** 2),
        attention_case("the 3 × 3 example", THREE_WORDS, THREE_WORDS, THREE_WORDS),
        attention_case("one token alone", counting(1, 2), counting(1, 2), counting(1, 3)),
        attention_case("a batch", normal(2, 5, 3), normal(2, 7, 3), normal(2, 7, 4)),
        attention_case("as many queries as keys", normal(2, 5, 3), normal(2, 5, 3), normal(2, 5, 3)),
        attention_case("large numbers", 20 * normal(3, 5), 20 * normal(7, 5), normal(7, 2), loose=True),
        attention_case("a batch of heads", normal(2, 3, 5, 11), normal(2, 3, 7, 11), normal(2, 3, 7, 4)),
        attention_case(
            "float64, not contiguous",
            normal(2, 3, 5, dtype=torch.float64).mT,
            normal(2, 3, 7, dtype=torch.float64).mT,
            normal(2, 4, 7, dtype=torch.float64).mT,
        ),
    ),
    properties=(
        Property(
            "the weights of each query sum to 1 over the keys",
            lambda given, output, weights: bool(((weights.sum(-1) - 1).abs() < 1e-3).all()),
        ),
        Property(
            "the output is the weights times the values",
            lambda given, output, weights: torch.allclose(weights @ given["value"], output, atol=1e-3),
        ),
    ),
    hints=(
        "Three steps: a score for each pair of query and key, weights from the scores of each query, "
        "and the average of the values with those weights.",
        "Scores have the axes (…, T, S). Their rows belong to queries; which axis must the weights sum to 1 over?",
        "A matrix product of (…, T, d_k) and (…, S, d_k) needs the last two axes of one of them swapped.",
        "What you divide by makes the variance of a score 1. It depends on d_k, the length of one key, under a root.",
    ),
)


def attend(scores, value):
    weights = scores.softmax(-1)
    return weights @ value, weights


def unscaled_scores(query, key):
    return query @ key.transpose(-2, -1)


@scaled_dot_product_attention.mistake(
    "The scores are not divided by √d_k. They grow with the width of the vectors, until the softmax "
    "saturates and hardly any gradient gets through for many queries."
)
def unscaled(query, key, value):
    return attend(unscaled_scores(query, key), value)


@scaled_dot_product_attention.mistake("You divide by d_k, not by its square root: the weights come out too even.")
def divided_by_d_k(query, key, value):
    return attend(unscaled_scores(query, key) / query.size(-1), value)


@scaled_dot_product_attention.mistake("You multiply by √d_k where the equation divides: the weights are too sharp.")
def multiplied_by_root(query, key, value):
    return attend(unscaled_scores(query, key) * query.size(-1) ** 0.5, value)


@scaled_dot_product_attention.mistake(
    "The scale is the root of d_v, the width of the values. The sum in a dot product runs over d_k numbers, "
    "those of a query and a key."
)
def scaled_by_d_v(query, key, value):
    return attend(unscaled_scores(query, key) / value.size(-1) ** 0.5, value)


@scaled_dot_product_attention.mistake(
    "The scale is the root of S, the number of keys. A score is one dot product; its size depends on d_k, "
    "however many keys there are."
)
def scaled_by_length(query, key, value):
    return attend(unscaled_scores(query, key) / key.size(-2) ** 0.5, value)


@scaled_dot_product_attention.mistake(
    "You divide the weights by √d_k after the softmax. They no longer sum to 1; the scale belongs to the scores."
)
def scaled_after_softmax(query, key, value):
    weights = unscaled_scores(query, key).softmax(-1) / query.size(-1) ** 0.5
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The softmax runs over the queries, not over the keys: the columns of the weights sum to 1 and not their rows."
)
def softmax_over_queries(query, key, value):
    weights = (unscaled_scores(query, key) / query.size(-1) ** 0.5).softmax(-2)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The softmax runs over the first axis; with a batch in front it mixes sentences. `nn.Softmax()` without `dim` may "
    "do that."
)
def softmax_over_first_axis(query, key, value):
    weights = (unscaled_scores(query, key) / query.size(-1) ** 0.5).softmax(0)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The softmax was not told its axis. Torch then guesses, with a warning: of a matrix the last, of three axes the "
    "first, the batch, and of four the second, the heads. Say `dim=-1`."
)
def softmax_without_dim(query, key, value):
    scores = unscaled_scores(query, key) / query.size(-1) ** 0.5
    weights = scores.softmax(0 if scores.ndim in (1, 3) else 1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake("The softmax is missing: the scores themselves multiply the values.")
def no_softmax(query, key, value):
    weights = unscaled_scores(query, key) / query.size(-1) ** 0.5
    return weights @ value, weights


@scaled_dot_product_attention.mistake("The output is right; you return the scores where the weights belong.")
def scores_returned(query, key, value):
    scores = unscaled_scores(query, key) / query.size(-1) ** 0.5
    return attend(scores, value)[0], scores


@scaled_dot_product_attention.mistake("The two results are in the wrong order: first the output, then the weights.")
def results_swapped(query, key, value):
    return attend(unscaled_scores(query, key) / query.size(-1) ** 0.5, value)[::-1]


@scaled_dot_product_attention.mistake("You return the output alone. Return the weights too: (output, weights).")
def output_only(query, key, value):
    return attend(unscaled_scores(query, key) / query.size(-1) ** 0.5, value)[0]


@scaled_dot_product_attention.mistake("You average the keys. Keys decide *how much*; what is averaged are the values.")
def keys_averaged(query, key, value):
    return attend(unscaled_scores(query, key) / query.size(-1) ** 0.5, key)


@scaled_dot_product_attention.mistake(
    "Keys and values have different letters for their positions in your einsum, so the weights are summed away: "
    "every query gets the plain sum of all values, whatever the scores say."
)
def values_summed(query, key, value):
    weights = (unscaled_scores(query, key) / query.size(-1) ** 0.5).softmax(-1)
    return torch.einsum("...qk,...vd->...qd", weights, value), weights


@scaled_dot_product_attention.mistake(
    "`torch.bmm` takes exactly three axes. Any number of leading axes is asked for: none, a batch, a batch of heads."
)
def three_axes_only(query, key, value):
    weights = (torch.bmm(query, key.transpose(1, 2)) / query.size(-1) ** 0.5).softmax(-1)
    return torch.bmm(weights, value), weights


@scaled_dot_product_attention.mistake(
    "`torch.bmm` multiplies batches of matrices, three axes each. `@` and `torch.matmul` take any number of axes."
)
def batches_only(query, key, value):
    weights = (torch.bmm(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5).softmax(-1)
    return torch.bmm(weights, value), weights


@scaled_dot_product_attention.mistake(
    "You swap the first two axes of the keys, or all of them by `.T`. With a batch in front these are not (S, d_k): "
    "count axes from the end."
)
def first_axes_swapped(query, key, value):
    return attend(query @ key.transpose(0, 1) / query.size(-1) ** 0.5, value)


WEIGHTS = Domain(  # positive numbers that sum to 1 along the last axis
    onto=lambda x: x.abs() / x.abs().sum(-1, keepdim=True),
    along=lambda gradient: gradient - gradient.mean(-1, keepdim=True),
)


softmax_jacobian = Exercise(
    analysis.softmax_jacobian,
    lesson="01",
    minutes=10,
    difficulty=3,
    statement="""
    The derivative of softmax weights p with respect to their scores: J = diag(p) - p pᵀ.

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
        "Two parts: one has the weights on its diagonal, the other is a product of each weight with each weight.",
        "`torch.diag` and `torch.outer` take a single row. For a batch, look for `diag_embed`, and for `unsqueeze` or "
        "`None`.",
    ),
)


@softmax_jacobian.mistake("The diagonal part is missing. A weight also grows with its *own* score.")
def outer_product_only(weights):
    return -weights.unsqueeze(-1) * weights.unsqueeze(-2)


@softmax_jacobian.mistake(
    "You treat each weight as a sigmoid of its own score. The weights share one sum: raising one score lowers all "
    "others."
)
def diagonal_only(weights):
    return torch.diag_embed(weights * (1 - weights))


@softmax_jacobian.mistake("The outer product is missing: the weights no longer compete.")
def no_competition(weights):
    return torch.diag_embed(weights)


@softmax_jacobian.mistake("The two parts are in the wrong order: a weight would *fall* when its own score rises.")
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


@softmax_jacobian.mistake(
    "The weights are squared where they should be multiplied with one another: only the diagonal has squares."
)
def squares_everywhere(weights):
    return torch.diag_embed(weights) - weights.unsqueeze(-1).square()
