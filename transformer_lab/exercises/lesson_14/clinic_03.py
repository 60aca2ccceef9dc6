"""Lesson 14: find the bug in `clinic_03`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_03(query, key):
    """The weights of every head: (B, h, T, d_head) and (B, h, S, d_head) to (B, h, T, S)."""
    scale = query.size(-1) ** -0.5
    scores = query @ key.transpose(-2, -1)
    scores.mul(scale)
    return scores.softmax(-1)


@partial(
    FindTheBug,
    broken=broken_clinic_03,
    defect=(
        "`scores.mul(scale)` leaves `scores` as they are and gives back scaled ones, which nobody takes. So the larger "
        "the width, the larger the scores that enter the softmax, until it gives nearly all attention to one key."
    ),
    lesson="14",
    minutes=5,
    difficulty=1,
    statement="""
    The attention weights of several heads. Every row sums to 1.

    Symptom: with d_head = 256 nearly all of the attention goes to one key, in every head, before any training; and
    little gradient reaches the scores. With d_head = 1 all is well.
    """,
    returns=("weights",),
    cases=(
        Case("two queries of width 4", {"query": counting(1, 1, 2, 4) / 4, "key": counting(1, 1, 2, 4) / 2}),
        Case("width 1", {"query": normal(1, 2, 3, 1), "key": normal(1, 2, 4, 1)}),
        Case("two heads", {"query": normal(1, 2, 3, 9), "key": normal(1, 2, 5, 9)}),
        Case("a batch", {"query": normal(3, 2, 4, 16), "key": normal(3, 2, 6, 16)}),
    ),
    properties=(
        Property(
            "the weights of each query sum to 1",
            lambda given, weights: torch.allclose(weights.sum(-1), torch.ones(())),
        ),
    ),
    hints=(
        "Print the standard deviation of the scores line by line, for random queries and keys of width 256. What "
        "should it be before the softmax?",
        "Does every line of the function change what it returns?",
        "A tensor's method whose name ends with an underscore changes the tensor. What do the others do?",
    ),
)
def clinic_03(query, key):
    """The weights of every head: (B, h, T, d_head) and (B, h, S, d_head) to (B, h, T, S)."""
    scale = query.size(-1) ** -0.5
    scores = query @ key.transpose(-2, -1)
    scores = scores * scale
    return scores.softmax(-1)


@clinic_03.mistake("The scores are divided by the width itself. It must be its *square root*: now they are too even.")
def divided_by_the_width(query, key):
    return (query @ key.transpose(-2, -1) / query.size(-1)).softmax(-1)


@clinic_03.mistake("The scores are *multiplied* by the root of the width: the weights become sharper still.")
def multiplied_by_the_root(query, key):
    return (query @ key.transpose(-2, -1) * query.size(-1) ** 0.5).softmax(-1)


@clinic_03.mistake(
    "The width of all heads together is in the scale. Each head's dot product is a sum of d_head terms only."
)
def scaled_by_all_heads(query, key):
    d_model = query.size(1) * query.size(-1)
    return (query @ key.transpose(-2, -1) * d_model**-0.5).softmax(-1)


@clinic_03.mistake("The *weights* are scaled, after the softmax. They are as sharp as before, and no longer sum to 1.")
def weights_scaled(query, key):
    return (query @ key.transpose(-2, -1)).softmax(-1) * query.size(-1) ** -0.5


@clinic_03.mistake("The softmax is lost: what is returned are scores, which may be negative and need not sum to 1.")
def softmax_lost(query, key):
    return query @ key.transpose(-2, -1) * query.size(-1) ** -0.5


@clinic_03.mistake(
    "You divide by the measured standard deviation of the scores. The symptom is gone; but a head that has learned "
    "to be sharp is made soft again, and if all scores are measured together, one sentence changes the weights of "
    "another."
)
def scores_standardised(query, key):
    scores = query @ key.transpose(-2, -1)
    return (scores / scores.std()).softmax(-1)


@clinic_03.mistake(
    "Queries and keys are brought to length 1. That hides the symptom: the scores lie between -1 and 1 now, and no "
    "head can ever become sharp."
)
def cosines(query, key):
    return (F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)).softmax(-1)


@clinic_03.mistake(
    "The scores are clamped. The attention is no longer on one key, and that hides half of the symptom: all large "
    "scores become equal, and no gradient flows through them."
)
def scores_clamped(query, key):
    return (query @ key.transpose(-2, -1)).clamp(-3, 3).softmax(-1)


@clinic_03.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, n_heads, length, words), width = floats(generator), sizes(generator, 4), number(generator, 2, 20)
    return {"query": normal(batch, n_heads, length, width), "key": normal(batch, n_heads, words + 1, width)}
