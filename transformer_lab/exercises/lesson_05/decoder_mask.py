"""Lesson 05: implement `decoder_mask`."""

import torch

from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_05.padding_mask import hidden_case
from transformer_lab.exercises.lesson_05.shared import TOKEN_CASES, hides_every_pad
from transformer_lab.nn import masks

decoder_mask = Exercise(
    masks.decoder_mask,
    lesson="05",
    minutes=10,
    difficulty=2,
    statement="""
    What the self-attention of a decoder may see: neither the future nor padding.

    (B, T) token ids in, bool (B, 1, T, T) out, True = may attend. `pad_id` may be any number, and padding may stand
    anywhere. It is hidden as a key alone: a query that is padding itself sees what every query at its position sees.
    """,
    returns=("mask",),
    cases=TOKEN_CASES,
    properties=(
        Property("no query may attend to padding", hides_every_pad),
        Property("no query may attend to a later key", lambda given, mask: not mask.triu(1).any()),
    ),
    hints=(
        "You have both parts from the previous exercises: the triangle, and one row for each sentence.",
        "A key must satisfy both at once. Which operator combines two tables of True and False so, and which combines "
        "them if one of the two is enough?",
        "Write down the axes of both parts, aligned at the right. Which of them have size 1, or are missing?",
    ),
)


def triangle(tokens):
    return torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool, device=tokens.device).tril()


@decoder_mask.mistake(
    "The masks are combined by `|`, *or*: a future word may be seen because it is no padding. A key must pass both."
)
def either(tokens, pad_id):
    return triangle(tokens) | (tokens != pad_id)[:, None, None, :]


@decoder_mask.mistake("The polarity is inverted: True stands where attention is forbidden. Here True = may attend.")
def forbidden_is_true(tokens, pad_id):
    return ~(triangle(tokens) & (tokens != pad_id)[:, None, None, :])


@decoder_mask.mistake("Only the future is hidden. A decoder's batch has padding, too.")
def causal_only(tokens, pad_id):
    return triangle(tokens).expand(tokens.size(0), 1, -1, -1)


@decoder_mask.mistake("Only padding is hidden, and every word sees the future.")
def padding_only(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :].expand(-1, 1, tokens.size(1), -1)


@decoder_mask.mistake("The triangle is strict: no token may attend to itself.")
def strictly_before(tokens, pad_id):
    return triangle(tokens).tril(-1) & (tokens != pad_id)[:, None, None, :]


@decoder_mask.mistake("This is the upper triangle: every token sees itself and the future, but not its past.")
def future_only(tokens, pad_id):
    return triangle(tokens).T & (tokens != pad_id)[:, None, None, :]


@decoder_mask.mistake(
    "The padding hides rows, queries, where it should hide columns, keys: words still attend to the padding."
)
def padded_rows_hidden(tokens, pad_id):
    return triangle(tokens) & (tokens != pad_id)[:, None, :, None]


@decoder_mask.mistake(
    "The padding hides rows as well as columns. Hiding the keys is enough: what a padded query computes is thrown away."
)
def padded_rows_and_columns_hidden(tokens, pad_id):
    words = tokens != pad_id
    return triangle(tokens) & words[:, None, None, :] & words[:, None, :, None]


@decoder_mask.mistake(
    "The axis of heads is missing: (B, T, T). Against weights of (B, h, T, T) the sentences are taken for the heads."
)
def no_axis_of_heads(tokens, pad_id):
    return triangle(tokens) & (tokens != pad_id)[:, None, :]


@decoder_mask.mistake("The mask holds numbers, as a product of two masks of numbers does. Make it torch.bool.")
def product_of_floats(tokens, pad_id):
    return triangle(tokens).float() * (tokens != pad_id).float()[:, None, None, :]


decoder_mask.hidden_case(hidden_case)
