"""Lesson 05: implement `causal_mask`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import masks

causal_mask = Exercise(
    masks.causal_mask,
    lesson="05",
    minutes=5,
    difficulty=1,
    statement="""
    The causal mask of a sentence, bool of shape (length, length): True = this query may attend to this key.

    A token may attend to itself and to those before it.
    """,
    returns=("mask",),
    cases=tuple(Case(f"{n} token{'s' * (n > 1)}", {"length": n}) for n in (3, 1, 2, 4, 7)),
    properties=(
        Property("every token may attend to itself", lambda given, mask: bool(mask.diagonal().all())),
        Property("no token may attend to a later one", lambda given, mask: not mask.triu(1).any()),
        Property("the last token may attend to all", lambda given, mask: bool(mask[-1].all())),
    ),
    hints=(
        "Row t says what query t may see. Write the table for three tokens on paper: which half of it is True?",
        "The diagonal is included: a token may attend to itself.",
        "Make a square that is True everywhere, then keep one triangle. Or compare the position of each key with the "
        "position of each query.",
    ),
)


@causal_mask.mistake(
    "The polarity is inverted: True stands where attention is *forbidden*. That is the convention of "
    "`nn.MultiheadAttention`; here, as in `F.scaled_dot_product_attention`, True = may attend."
)
def future_is_true(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


@causal_mask.mistake(
    "The triangle is strict: no token may attend to itself, and the first may attend to nothing at all."
)
def strict_triangle(length):
    return torch.ones(length, length, dtype=torch.bool).tril(-1)


@causal_mask.mistake(
    "It is the upper triangle: each token sees itself and the *future*. Rows are queries, columns are keys."
)
def upper_triangle(length):
    return torch.ones(length, length, dtype=torch.bool).triu()


@causal_mask.mistake(
    "The triangle reaches one too far: each token sees the next one, which is the very word that it must predict."
)
def one_step_ahead(length):
    return torch.ones(length, length, dtype=torch.bool).tril(1)


@causal_mask.mistake(
    "The mask holds numbers, 1.0 and 0.0. Torch *adds* a mask of numbers to the scores, so that this one hides "
    "nothing. A mask of True and False has the dtype torch.bool."
)
def float_mask(length):
    return torch.ones(length, length).tril()


@causal_mask.mistake(
    "This mask is to be added to the scores: 0 and -inf. A boolean one is asked for, True = may attend."
)
def additive_mask(length):
    return torch.full((length, length), float("-inf")).triu(1)


@causal_mask.mistake("Every token may attend to every other: nothing is hidden.")
def everything_allowed(length):
    return torch.ones(length, length, dtype=torch.bool)


@causal_mask.mistake("Each token may attend to itself only. Those before it are allowed, too.")
def itself_only(length):
    return torch.eye(length, dtype=torch.bool)


@causal_mask.mistake("This is a single row. Each query needs a row of its own, so the shape is (T, T).")
def one_row(length):
    return torch.ones(length, dtype=torch.bool)


@causal_mask.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"length": number(generator, 1, 40)}
