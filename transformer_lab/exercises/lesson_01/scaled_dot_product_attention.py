"""Lesson 01: implement `scaled_dot_product_attention`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def attention_case(label: str, query, key, value, loose: bool = False) -> Case:
    return Case(label, {"query": query, "key": key, "value": value}, loose)


THREE_WORDS = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])


scaled_dot_product_attention = Exercise(
    attention.scaled_dot_product_attention,
    lesson="01",
    minutes=10,
    difficulty=2,
    statement="""
    Compute Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V, and return (output, weights).

    query (…, T, d_k), key (…, S, d_k), value (…, S, d_v); output (…, T, d_v), weights (…, T, S). Any number of
    leading axes, such as batch and heads, comes first.

    It must be right in float16 as well, the type in which GPUs often compute. Its numbers end at 65 504, and a sum of
    d_k products may lie beyond that, although it would not if it were divided by √d_k.
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
        attention_case(
            "float16, products that add up to 131 072",
            torch.tensor([64.0, -64.0])[:, None].expand(2, 64).half(),
            torch.tensor([32.0, 24.0, -32.0])[:, None].expand(3, 64).half(),
            counting(3, 2).half(),
            loose=True,
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
        "What you divide by stands in equation 1: the root of d_k, the width of one key, however many keys there are.",
        "In float16 the sum may be infinite before you divide it. What else can be divided, and when?",
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


@scaled_dot_product_attention.mistake(
    "You divide too late for float16. Its numbers end at 65 504: the sum of the products is infinite before it is "
    "divided, and infinity less infinity is NaN. Divide what goes into the product, or compute in float32."
)
def divided_too_late(query, key, value):
    return attend(unscaled_scores(query, key) / query.size(-1) ** 0.5, value)


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


@scaled_dot_product_attention.mistake("The softmax is missing: scores stand where the weights belong.")
def no_softmax(query, key, value):
    weights = unscaled_scores(query, key) / query.size(-1) ** 0.5
    return weights @ value, weights


@scaled_dot_product_attention.mistake("The output is right; you return the scores where the weights belong.")
def scores_returned(query, key, value):
    scores = unscaled_scores(query, key) / query.size(-1) ** 0.5
    return attend(scores, value)[0], scores


@scaled_dot_product_attention.mistake(
    "The output stands where the weights belong: return first the output, then the weights."
)
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


@scaled_dot_product_attention.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, axes, (queries, keys, d_k, d_v) = floats(generator), leading(generator), sizes(generator, 4, most=8)
    return {"query": normal(*axes, queries, d_k), "key": normal(*axes, keys, d_k), "value": normal(*axes, keys, d_v)}
