"""Lesson 02: implement `merge_heads`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention

merge_heads = Exercise(
    attention.merge_heads,
    lesson="02",
    minutes=5,
    difficulty=1,
    statement="""
    Put the heads of each token side by side, (B, h, T, d_head) → (B, T, d_model). This undoes `split_heads`.
    """,
    returns=("x",),
    cases=(
        Case("two heads, two tokens", {"x": counting(1, 2, 2, 2)}),
        Case("one head", {"x": counting(1, 1, 3, 2)}),
        Case("one token", {"x": counting(1, 3, 1, 2)}),
        Case("one feature in each head", {"x": counting(1, 4, 3, 1)}),
        Case("a batch", {"x": normal(2, 3, 5, 7)}),
        Case("as many heads as tokens", {"x": normal(3, 2, 2, 5)}),
        Case("float64, not contiguous", {"x": normal(2, 5, 3, 7, dtype=torch.float64).transpose(1, 2)}),
    ),
    properties=(
        Property(
            "the first token begins with its features from head 0",
            lambda given, x: torch.equal(x[0, 0, : given["x"].size(3)], given["x"][0, 0, 0]),
        ),
        Property(
            "no number is lost or made up",
            lambda given, x: torch.equal(x.flatten().sort()[0], given["x"].flatten().sort()[0]),
        ),
    ),
    hints=(
        "Undo `split_heads` backwards: move the axis of heads next to the features, then make one axis of the two.",
        "Once the axes are swapped, the numbers no longer lie in order in memory, so `view` refuses. What copies them?",
    ),
)


NOT_SWAPPED = (
    "The axes of heads and tokens were not swapped before they were merged: the shape is right, and one row mixes "
    "features of several tokens."
)


@merge_heads.mistake(NOT_SWAPPED)
def not_swapped(x):
    return x.reshape(x.size(0), x.size(2), -1)


@merge_heads.mistake(NOT_SWAPPED)
def not_swapped_without_a_copy(x):
    return x.view(x.size(0), x.size(2), -1)


@merge_heads.mistake(
    "The last two axes were merged, tokens and features: (B, h, T · d_head). Merge heads and features, of each token."
)
def tokens_and_features_merged(x):
    return x.flatten(2)


@merge_heads.mistake(
    "`view` cannot merge axes right after `transpose`: the numbers are not in order in memory. `reshape` copies them."
)
def view_after_transpose(x):
    return x.transpose(1, 2).view(x.size(0), x.size(2), -1)


@merge_heads.mistake("The features are interleaved: feature 0 of all heads, then feature 1. Heads come in blocks.")
def features_interleaved(x):
    return x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1)


@merge_heads.mistake("The heads were added up. They go side by side, so that W_O can tell them apart.")
def heads_added(x):
    return x.sum(1)


@merge_heads.mistake("The heads were averaged. They go side by side; it is W_O that later mixes them.")
def heads_averaged(x):
    return x.mean(1)


@merge_heads.mistake(
    "The heads were put one after the other along the tokens: (B, h · T, d_head). They belong side by side."
)
def joined_in_time(x):
    return x.flatten(1, 2)


@merge_heads.mistake("Heads and tokens are swapped, and not yet merged: (B, T, h, d_head) still has four axes.")
def not_merged(x):
    return x.transpose(1, 2)


@merge_heads.mistake("The heads are side by side in reverse order.")
def reversed_heads(x):
    return x.flip(1).transpose(1, 2).flatten(2)


@merge_heads.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"x": floats(generator)(*sizes(generator, 4))}
