"""Lesson 05: predict `visible_pairs`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


@partial(
    Predict,
    lesson="05",
    minutes=10,
    difficulty=2,
    statement="""
    A batch of sentences with `lengths` words (a list of whole numbers, some perhaps 0), all padded on the right to the
    longest of them. How many entries of their `decoder_mask` are True, in the whole batch? Return a whole number.

    Work it out on paper: whoever builds a mask and counts predicts nothing. Mind the rows of padding: what may they
    see?
    """,
    returns=("count",),
    cases=(
        Case("one sentence of three words", {"lengths": [3]}),
        Case("one word", {"lengths": [1]}),
        Case("two of the same length", {"lengths": [4, 4]}),
        Case("two words and one", {"lengths": [2, 1]}),
        Case("a short one beside a long one", {"lengths": [2, 5]}),
        Case("one of each length", {"lengths": [1, 2, 3, 4]}),
        Case("a sentence of padding alone", {"lengths": [0, 3]}),
        Case("a large batch", {"lengths": [17, 40, 3, 40, 8]}),
    ),
    hints=(
        "Draw the mask of a sentence of two words, padded to five: rows are queries, columns are keys.",
        "Query t sees the keys up to t that are words. How many keys is that in the row of a word, and how many in "
        "a row of padding?",
        "Split the True entries into the rows of words and the rows of padding. What shape does each part have?",
    ),
)
def visible_pairs(lengths):
    """How many entries of a decoder's mask are True, for sentences of these lengths, padded to the longest.

    Query t of a sentence of n words sees min(t + 1, n) keys; the queries of padding see all n words.
    """
    longest = max(lengths)
    return sum(n * (n + 1) // 2 + (longest - n) * n for n in lengths)


def triangle(n):
    return n * (n + 1) // 2


@visible_pairs.mistake(
    "You count a full triangle for every sentence, as long as the longest one. Padding may not be looked at: its "
    "columns are False."
)
def padding_seen(lengths):
    return len(lengths) * triangle(max(lengths))


@visible_pairs.mistake(
    "The rows of padding are missing. A mask hides *keys*: a query that is padding itself still sees the words before "
    "it. (What it computes is never used.)"
)
def rows_of_padding_forgotten(lengths):
    return sum(triangle(n) for n in lengths)


@visible_pairs.mistake("Each word sees itself, too: on the diagonal, only the entries of padding are False.")
def without_the_diagonal(lengths):
    return sum(triangle(n) - n + (max(lengths) - n) * n for n in lengths)


@visible_pairs.mistake("You have left the causal mask out: every query sees all words.")
def future_seen(lengths):
    return sum(max(lengths) * n for n in lengths)


@visible_pairs.mistake("You count all pairs of positions, as if there were no mask at all.")
def no_mask_at_all(lengths):
    return len(lengths) * max(lengths) ** 2


@visible_pairs.mistake("You count the pairs of words, and forget that the future is hidden.")
def pairs_of_words(lengths):
    return sum(n * n for n in lengths)


@visible_pairs.mistake("You let each row of padding see one position. It sees every word: all of them stand before it.")
def padding_sees_itself(lengths):
    return sum(triangle(n) + max(lengths) - n for n in lengths)


@visible_pairs.mistake("That is the count of the longest sentence alone: every sentence of the batch has a mask.")
def one_sentence_only(lengths):
    return triangle(max(lengths))


@visible_pairs.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"lengths": [number(generator, 0, 30) for _ in range(number(generator, 2, 9))] + [number(generator, 1, 30)]}
