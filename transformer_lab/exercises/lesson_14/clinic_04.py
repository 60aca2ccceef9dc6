"""Lesson 14: find the bug in `clinic_04`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_04(tokens, table, encoding):
    """Vectors (B, T, d) for ids (B, T): table (vocab, d), encoding (max_len, d)."""
    vectors = table[tokens] * table.size(1) ** 0.5
    length = vectors.size(0)
    positions = encoding[:length].unsqueeze(1)
    return vectors + positions


def embedding_case(label: str, tokens: list[list[int]], width: int = 3) -> Case:
    ids = torch.tensor(tokens, device="cpu")
    return Case(label, {"tokens": ids, "table": normal(6, width), "encoding": normal(8, width)})


@partial(
    FindTheBug,
    broken=broken_clinic_04,
    defect=(
        "The length is taken from the axis of the sentences, and the extra axis lays the rows of the encoding along "
        "the batch. So all words of a sentence get one row, chosen by the place of their sentence in the batch, and "
        "the order of the words is lost."
    ),
    lesson="14",
    minutes=8,
    difficulty=1,
    statement="""
    What enters a Transformer: the vectors of the tokens times √d, and their positions. All shapes are right.

    Symptom: an encoder that is given these vectors can't tell "dog bites man" from "man bites dog"; and the same
    sentence twice in one batch gets two different results.
    """,
    returns=("vectors",),
    cases=(
        embedding_case("one sentence", [[1, 2]], 2),
        embedding_case("the same sentence twice", [[1, 2, 3], [1, 2, 3]]),
        embedding_case("as many sentences as positions", [[5, 1], [2, 2]]),
        embedding_case("a batch", [[1, 2, 3, 4], [5, 4, 3, 2], [0, 0, 1, 1]], 4),
        embedding_case("one token each", [[1], [2], [3]]),
    ),
    hints=(
        "Subtract the scaled vectors of the tokens from the result. What is left differs along one axis: which?",
        "The result is (B, T, d). Old code has (T, B, d) instead, and there the first axis is that of the positions.",
        "Broadcasting adds axes on the left: an encoding of (T, d) needs no help to meet (B, T, d).",
    ),
)
def clinic_04(tokens, table, encoding):
    """Vectors (B, T, d) for ids (B, T): table (vocab, d), encoding (max_len, d)."""
    vectors = table[tokens] * table.size(1) ** 0.5
    length = vectors.size(1)
    positions = encoding[:length]
    return vectors + positions


def scaled_vectors(tokens, table):
    return table[tokens] * table.size(1) ** 0.5


@clinic_04.mistake(
    "The extra axis still lies where the positions belong: (T, 1, d) meets the sentences. It runs only where there are "
    "as many sentences as positions, or one of either; and with more than one position the result is wrong."
)
def still_along_the_batch(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[: tokens.size(1)].unsqueeze(1)


@clinic_04.mistake(
    "There are as many rows as sentences, and there should be as many as positions. The words of a single sentence all "
    "get position 0."
)
def rows_for_each_sentence(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[: tokens.size(0)]


@clinic_04.mistake(
    "Every word gets the row that its *id* points to. The same sentence has one result now, but the order of the words "
    "is still lost: a symptom is hidden."
)
def positions_by_id(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[tokens]


@clinic_04.mistake(
    "There are no positions any more: the same sentence has one result now, but an encoder still can't tell one order "
    "of its words from another."
)
def positions_dropped(tokens, table, encoding):
    return scaled_vectors(tokens, table)


@clinic_04.mistake(
    "Every word gets one and the same row, that of the last position. The same sentence has one result now, but an "
    "encoder still can't tell one order of its words from another."
)
def one_row_for_all(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[tokens.size(1) - 1]


@clinic_04.mistake(
    "An index, `[n]`, takes a single row, and a slice, `[:n]`, takes the first n. So every word gets one and the same "
    "row, and an encoder still can't tell one order of the words from another."
)
def one_row_by_an_index(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[tokens.size(1)]


@clinic_04.mistake("The first word gets position 1. The package counts from 0.")
def counted_from_one(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[1 : tokens.size(1) + 1]


@clinic_04.mistake("The positions are scaled as well. √d belongs to the vectors of the tokens alone.")
def positions_scaled_too(tokens, table, encoding):
    return (table[tokens] + encoding[: tokens.size(1)]) * table.size(1) ** 0.5


@clinic_04.mistake(
    "The number of the sentence is added to the position, so the words of one sentence get different rows at last. But "
    "the same sentence still gets a different result in each row of the batch."
)
def counted_through_the_batch(tokens, table, encoding):
    rows = torch.arange(tokens.size(0))[:, None] + torch.arange(tokens.size(1))
    return scaled_vectors(tokens, table) + encoding[rows]


@clinic_04.mistake(
    "The vectors of the tokens are no longer multiplied by √d. That was no part of the defect: a mend changes what is "
    "broken, and nothing else."
)
def scale_lost(tokens, table, encoding):
    return table[tokens] + encoding[: tokens.size(1)]


@clinic_04.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, width), vocabulary = floats(generator), sizes(generator, 3), number(generator, 2, 7)
    ids = torch.randint(vocabulary, (batch, length + 1), generator=generator, device="cpu")
    rows = max(batch, length, vocabulary) + number(generator, 2, 9)
    return {"tokens": ids, "table": normal(vocabulary, width), "encoding": normal(rows, width)}
