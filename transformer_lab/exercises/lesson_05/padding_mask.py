"""Lesson 05: implement `padding_mask`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, tokens
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_05.shared import TOKEN_CASES, hides_every_pad
from transformer_lab.nn import masks

padding_mask = Exercise(
    masks.padding_mask,
    lesson="05",
    minutes=5,
    difficulty=1,
    statement="""
    The padding mask of a batch of sentences: (B, S) token ids in, bool (B, 1, 1, S) out, True = may attend.

    Every query may attend to every key that is not padding, wherever the padding stands.
    """,
    returns=("mask",),
    cases=TOKEN_CASES,
    properties=(Property("no query may attend to padding", hides_every_pad),),
    hints=(
        "Compare each token with pad_id. Which comparison is True for words?",
        "The result must broadcast to weights of (B, h, T, S). It depends on the sentence and the key, but not on the "
        "head and the query, so those two axes have size 1.",
        "Indexing with `None` inserts an axis of size 1; so does `unsqueeze`.",
    ),
)


@padding_mask.mistake(
    "The polarity is inverted: True stands at the padding. That is the `key_padding_mask` of "
    "`nn.MultiheadAttention`; here True = may attend."
)
def padding_is_true(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :]


@padding_mask.mistake(
    "This hides *queries*, whole rows: (B, 1, S, 1). What must be hidden are keys, so the sentence lies along the last "
    "axis. A padded query does no harm; attending to a padded key does."
)
def rows_hidden(tokens, pad_id):
    return (tokens != pad_id)[:, None, :, None]


@padding_mask.mistake(
    "Rows are hidden as well as columns: (B, 1, S, S). A padded query then attends to nothing, which needs care in "
    "the softmax and gains nothing; and where T ≠ S, as in cross-attention, the shape does not fit."
)
def rows_and_columns_hidden(tokens, pad_id):
    words = tokens != pad_id
    return words[:, None, None, :] & words[:, None, :, None]


@padding_mask.mistake(
    "The mask has the shape (B, S). Against weights of (B, h, T, S) its first axis is taken for the queries. Insert "
    "axes of size 1 for heads and queries."
)
def two_axes(tokens, pad_id):
    return tokens != pad_id


@padding_mask.mistake(
    "One axis is missing: (B, 1, S). Against weights of (B, h, T, S) the sentences are taken for the heads."
)
def three_axes(tokens, pad_id):
    return (tokens != pad_id)[:, None, :]


@padding_mask.mistake("The mask holds numbers, 1.0 and 0.0. Make it torch.bool: a mask of numbers is added to scores.")
def float_padding(tokens, pad_id):
    return (tokens != pad_id).float()[:, None, None, :]


@padding_mask.mistake("You compare with 0. That is right as long as pad_id is 0, and hides a word when it is not.")
def pad_is_zero(tokens, pad_id):
    return (tokens != 0)[:, None, None, :]


@padding_mask.mistake(
    "You count the words and allow as many keys from the left. Padding may stand on the left, too, and then you hide "
    "words and show padding."
)
def padding_assumed_right(tokens, pad_id):
    lengths = (tokens != pad_id).sum(1, keepdim=True)
    return (torch.arange(tokens.size(1)) < lengths)[:, None, None, :]


@padding_mask.mistake("Only ids above pad_id are taken for words. Nothing says that the pad has the smallest id.")
def words_above_the_pad(tokens, pad_id):
    return (tokens > pad_id)[:, None, None, :]


@padding_mask.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    pad_id = number(generator, 0, 9)
    ids = tokens(generator)
    return {"tokens": torch.where(ids == 0, pad_id, ids + 10), "pad_id": pad_id}
