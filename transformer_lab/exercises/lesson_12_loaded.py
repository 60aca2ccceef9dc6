"""An exercise of lesson 12: a test whether a model was loaded rightly, beside the original."""

import torch

from transformer_lab.exercises import lesson_12_models as models
from transformer_lab.exercises import references
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest

loaded_right = WriteTheTest(
    references.loaded_right,
    lesson="12",
    minutes=20,
    difficulty=2,
    statement="""
    Somebody loaded an encoder. Write a test: True if it computes what the original computes.

    `ours(tokens, types)` and `theirs(tokens, types)` take tokens (B, T) and types (B, T), and return a vector for each
    token, (B, T, 4). Tokens are whole numbers from 1 to 9; 0 is padding, and stands behind a text. Types are 0 or 1. A
    text has 1 to 40 tokens.

    The loading is right if for every batch the vector of every token differs by at most 0.0001. Your test is tried on
    right loadings and on wrong ones. It scores the share of wrong ones that it catches, less the share of right ones
    that it refuses.
    """,
    returns=("right",),
    cases=tuple(
        Case(label, {"ours": ours, "theirs": models.original}) for label, ours in (models.RIGHT | models.WRONG).items()
    ),
    says_of_right=True,
    candidate="loading",
    hints=(
        "A defect shows only on texts that reach it. What may one text have that another has not? Name five.",
        "Two programs that compute the same round in different ways. How closely will you compare?",
        "What does a model promise about the vectors at padding?",
        "Means hide what cancels. At which positions, and in which features, do you compare?",
    ),
)


def batch(n_texts=30, length=40, highest=9, padded=True, n_types=2):
    """Random texts: (tokens, types), some of them shorter, with padding behind."""
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(1, highest + 1, (n_texts, length), generator=generator)
    types = torch.randint(n_types, (n_texts, length), generator=generator)
    if padded:
        lengths = torch.randint(1, length + 1, (n_texts, 1), generator=generator)
        lengths[0] = length
        tokens[torch.arange(length) >= lengths] = 0
    return tokens, types


def largest(ours, theirs, tokens, types):
    """The largest difference at a token."""
    return (ours(tokens, types) - theirs(tokens, types)).abs()[tokens != 0].max()


@loaded_right.mistake("Your test says of every loading that it is right.")
def every_loading_is_right(ours, theirs):
    return True


@loaded_right.mistake("Your test says of every loading that it is wrong.")
def every_loading_is_wrong(ours, theirs):
    return False


@loaded_right.mistake("All your texts are of one length, without padding: whether the mask is right stays unseen.")
def without_padding(ours, theirs):
    return bool(largest(ours, theirs, *batch(padded=False)) <= 1e-4)


@loaded_right.mistake("All your tokens are of type 0. What becomes of the others stays unseen.")
def one_type(ours, theirs):
    return bool(largest(ours, theirs, *batch(n_types=1)) <= 1e-4)


@loaded_right.mistake("You try short texts only. The table of positions has 40 rows; try its last one.")
def short_texts(ours, theirs):
    return bool(largest(ours, theirs, *batch(length=12)) <= 1e-4)


@loaded_right.mistake("You hand over one text at a time, so that no text can be given the mask of another.")
def one_text_at_a_time(ours, theirs):
    tokens, types = batch()
    pairs = zip(tokens.split(1), types.split(1), strict=True)
    return all(bool(largest(ours, theirs, *pair) <= 1e-4) for pair in pairs)


@loaded_right.mistake("Your texts leave a token of the vocabulary out. Each has a row of its own in the table.")
def without_the_last_token(ours, theirs):
    return bool(largest(ours, theirs, *batch(highest=8)) <= 1e-4)


@loaded_right.mistake("You ask for numbers that are *exactly* equal. Two programs round in different ways.")
def compared_exactly(ours, theirs):
    return bool(largest(ours, theirs, *batch()) == 0)


@loaded_right.mistake("You compare too loosely: a wrong eps, or a feature that is a little off, passes.")
def compared_loosely(ours, theirs):
    return bool(largest(ours, theirs, *batch()) <= 0.1)


@loaded_right.mistake("You compare padding, too. What stands there means nothing, and right programs differ.")
def padding_compared(ours, theirs):
    tokens, types = batch()
    return bool((ours(tokens, types) - theirs(tokens, types)).abs().max() <= 1e-4)


@loaded_right.mistake("You compare the mean vectors of texts. What one token has too much, another has too little.")
def means_compared(ours, theirs):
    tokens, types = batch()
    kept = (tokens != 0)[..., None]
    means = [(model(tokens, types) * kept).sum(1) / kept.sum(1) for model in (ours, theirs)]
    return bool((means[0] - means[1]).abs().max() <= 1e-4)


@loaded_right.mistake("You compare the first token of each text only.")
def first_token_compared(ours, theirs):
    tokens, types = batch()
    return bool((ours(tokens, types) - theirs(tokens, types))[:, 0].abs().max() <= 1e-4)
