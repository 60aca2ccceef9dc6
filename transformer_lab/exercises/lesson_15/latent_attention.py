"""Lesson 15: implement `latent_attention`."""

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.models.since_llama import latent_attention as latent

NAMES = ("query_nope", "query_rope", "latent", "key_rope", "w_uk", "w_uv")


def drawn(
    label: str, batch: int, heads: int, lengths: tuple[int, int], widths: tuple[int, int, int, int], times=1.0, **like
) -> Case:
    """Lengths of queries and keys; widths: d_nope, d_rope, d_latent, d_v."""
    (n, s), (d_nope, d_rope, d_latent, d_v) = lengths, widths
    tensors: tuple[Tensor, ...] = (
        times * normal(batch, heads, n, d_nope, **like),
        times * normal(batch, heads, n, d_rope, **like),
        normal(batch, s, d_latent, **like),
        normal(batch, s, d_rope, **like),
        normal(heads, d_latent, d_nope, **like) / d_latent**0.5,
        normal(heads, d_latent, d_v, **like) / d_latent**0.5,
    )
    return Case(label, dict(zip(NAMES, tensors, strict=True)), by_hand="keys" if s >= 64 else "")


def one_position() -> Case:
    """A single position gets all the weight, so that the output is its value."""
    tensors = (counting(1, 2, 1, 1), counting(1, 2, 1, 2), counting(1, 1, 3), counting(1, 1, 2), counting(2, 3, 1))
    return Case("one position", dict(zip(NAMES, (*tensors, counting(2, 3, 2)), strict=True)))


latent_attention = Exercise(
    latent.latent_attention,
    lesson="15",
    minutes=25,
    difficulty=3,
    statement="""
    Multi-head latent attention with its up-projections absorbed: keys and values of the positions are never made.

    The cache holds two vectors for each of S positions. From `latent` (B, S, d_latent) head i would make its keys,
    latent @ w_uk[i], and its values, latent @ w_uv[i], with w_uk (h, d_latent, d_nope) and w_uv (h, d_latent, d_v).
    `key_rope` (B, S, d_rope) has the features of the keys that were turned, and all heads share them. The queries are
    `query_nope` (B, h, T, d_nope) and `query_rope` (B, h, T, d_rope), turned already.

    The score of a query and a position is (query_nope · key + query_rope · key_rope) / √(d_nope + d_rope), and the
    weights are its softmax over the positions. There is no mask. Return each head's sum of values by these weights,
    (B, h, T, d_v).

    But in a long text every head's keys and values would take far more memory than the cache. So where the text has 64
    positions, the check refuses every tensor with more than three times as many numbers as the largest argument has.
    """,
    returns=("output",),
    cases=(
        one_position(),
        drawn("one head, two positions", 1, 1, (1, 2), (2, 1, 3, 2)),
        drawn("two heads, one query", 1, 2, (1, 3), (2, 2, 3, 4)),
        drawn("a batch", 2, 3, (4, 5), (3, 2, 6, 7)),
        drawn("a latent as wide as a key", 2, 2, (3, 4), (5, 2, 5, 5)),
        drawn("wide latents, narrow heads", 3, 4, (2, 6), (2, 4, 9, 3)),
        drawn("sharp weights", 2, 3, (2, 5), (4, 2, 3, 6), times=4.0),
        drawn("64 positions", 1, 4, (1, 64), (32, 2, 4, 32)),
        drawn("float64", 2, 2, (3, 4), (3, 2, 5, 6), dtype=torch.float64),
    ),
    hints=(
        "Write a score of head i with all its parts: query_nope · (latent @ w_uk[i]). It is a product of three, and a "
        "product of matrices does not depend on which two are multiplied first. Which order makes nothing that is as "
        "long as the text?",
        "The same at the other end: weights @ (latent @ w_uv[i]) is a product of three, too.",
        "The two parts of a score are added before the softmax, and their sum is scaled once. `latent` and `key_rope` "
        "have no axis for the heads: give them one of size 1.",
    ),
)


def weights_of(query_nope, query_rope, latent, key_rope, w_uk, scale=None, turned=1.0):
    scores = query_nope @ w_uk.mT @ latent[:, None].mT + turned * query_rope @ key_rope[:, None].mT
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** -0.5 if scale is None else scale
    return (scores * scale).softmax(-1)


def summed(weights, latent, w_uv):
    return weights @ latent[:, None] @ w_uv


@latent_attention.mistake(
    "The scores are divided by √d_nope alone. A key has d_nope + d_rope features, and all of them add to a score."
)
def scaled_by_d_nope(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = query_nope.size(-1) ** -0.5
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk, scale), latent, w_uv)


@latent_attention.mistake(
    "The scores are divided by √(d_latent + d_rope), as wide as the absorbed query is. But absorbing must change "
    "nothing: the scale is that of the keys that are not made, √(d_nope + d_rope)."
)
def scaled_by_d_latent(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = (latent.size(-1) + query_rope.size(-1)) ** -0.5
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk, scale), latent, w_uv)


@latent_attention.mistake("The scores are not scaled. Divide their sum by √(d_nope + d_rope).")
def not_scaled(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk, 1.0), latent, w_uv)


@latent_attention.mistake("The scores are divided by d_nope + d_rope, and not by its root: the weights are too even.")
def scaled_without_the_root(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = 1 / (query_nope.size(-1) + query_rope.size(-1))
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk, scale), latent, w_uv)


@latent_attention.mistake(
    "Each part of a score is divided by the root of its own width. Add the parts first, and scale their sum."
)
def scaled_apart(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    nope, rope = query_nope / query_nope.size(-1) ** 0.5, query_rope / query_rope.size(-1) ** 0.5
    return summed(weights_of(nope, rope, latent, key_rope, w_uk, 1.0), latent, w_uv)


@latent_attention.mistake(
    "The turned features are left out of the scores, so that no score depends on where a position is."
)
def without_the_turned(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk, turned=0.0), latent, w_uv)


@latent_attention.mistake("The scores hold the turned features alone. What the latent vectors say is left out.")
def the_turned_alone(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return summed(weights_of(0 * query_nope, query_rope, latent, key_rope, w_uk), latent, w_uv)


@latent_attention.mistake("The values are made with w_uk, which makes keys. Values are made with w_uv.")
def values_from_w_uk(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk), latent, w_uk)


@latent_attention.mistake(
    "The output is a sum of *latent* vectors. Each head must still make its value from it, with its w_uv."
)
def latents_returned(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return weights_of(query_nope, query_rope, latent, key_rope, w_uk) @ latent[:, None]


@latent_attention.mistake(
    "w_uk has been given its shape by `reshape` or `view`. That deals its numbers out anew; swap its last two axes "
    "instead."
)
def reshaped(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    uk = w_uk.reshape(w_uk.size(0), w_uk.size(2), w_uk.size(1)).mT
    return summed(weights_of(query_nope, query_rope, latent, key_rope, uk), latent, w_uv)


@latent_attention.mistake("All heads use the w_uk of the first. Each head has a matrix of its own.")
def keys_of_the_first_head(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk[:1]), latent, w_uv)


@latent_attention.mistake("All heads use the w_uv of the first. Each head has a matrix of its own.")
def values_of_the_first_head(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    return summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk), latent, w_uv[:1])


@latent_attention.mistake(
    "You take the mean of the weights over the heads, as if they were shared like the latent vectors. Only the cache "
    "is shared: each head has its own weights."
)
def mean_of_the_weights(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    weights = weights_of(query_nope, query_rope, latent, key_rope, w_uk).mean(1, keepdim=True)
    return summed(weights, latent, w_uv)


@latent_attention.mistake("The softmax runs over the queries. The weights of one query sum to 1 over the positions.")
def softmax_over_queries(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scores = query_nope @ w_uk.mT @ latent[:, None].mT + query_rope @ key_rope[:, None].mT
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** -0.5
    return summed((scores * scale).softmax(-2), latent, w_uv)


@latent_attention.mistake("A causal mask is added. There is none here: every query sees every position.")
def with_a_causal_mask(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scores = query_nope @ w_uk.mT @ latent[:, None].mT + query_rope @ key_rope[:, None].mT
    scores = scores * (query_nope.size(-1) + query_rope.size(-1)) ** -0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return summed(scores.masked_fill(future, float("-inf")).softmax(-1), latent, w_uv)


@latent_attention.mistake("You return the heads merged, (B, T, h · d_v). Here they stay apart: (B, h, T, d_v).")
def heads_merged(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    output = summed(weights_of(query_nope, query_rope, latent, key_rope, w_uk), latent, w_uv)
    return output.transpose(1, 2).flatten(2)


@latent_attention.mistake(
    "One part of a score is scaled, and the turned features are added unscaled. Add the parts first, and scale their "
    "sum."
)
def turned_not_scaled(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** 0.5
    return summed(weights_of(query_nope / scale, query_rope, latent, key_rope, w_uk, 1.0), latent, w_uv)


@latent_attention.mistake(
    "Each part of a score has a softmax of its own, and the weights are added: they sum to 2. Add the scores, and take "
    "one softmax."
)
def two_softmaxes(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    weights = weights_of(query_nope, 0 * query_rope, latent, key_rope, w_uk)
    return summed(weights + weights_of(0 * query_nope, query_rope, latent, key_rope, w_uk), latent, w_uv)


@latent_attention.mistake(
    "The turned part of the scores is summed over the heads. They share its key, but each head asks with a query of "
    "its own."
)
def turned_summed_over_heads(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    rope = query_rope.sum(1, keepdim=True).expand_as(query_rope)
    return summed(weights_of(query_nope, rope, latent, key_rope, w_uk), latent, w_uv)


@latent_attention.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, heads, n, d_nope, d_rope, d_v) = floats(generator), sizes(generator, 6, most=5)
    s, d_latent = number(generator, 2, 7), number(generator, 2, 8)
    queries = (2 * normal(batch, heads, n, d) for d in (d_nope, d_rope))
    cached = (normal(batch, s, d) for d in (d_latent, d_rope))
    weights = (normal(heads, d_latent, d) / d_latent**0.5 for d in (d_nope, d_v))
    return dict(zip(NAMES, (*queries, *cached, *weights), strict=True))
