"""Lesson 02: implement `split_heads`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def split_case(label: str, x, n_heads: int) -> Case:
    return Case(label, {"x": x, "n_heads": n_heads})


split_heads = Exercise(
    attention.split_heads,
    lesson="02",
    minutes=5,
    difficulty=1,
    statement="""
    Split the features of each token into heads, (B, T, d_model) → (B, h, T, d_head): head i owns the i-th block of
    d_head = d_model / h features.
    """,
    returns=("heads",),
    cases=(
        split_case("two tokens of four features, two heads", counting(1, 2, 4), 2),
        split_case("one head", counting(1, 2, 3), 1),
        split_case("one token", counting(1, 1, 6), 3),
        split_case("as many heads as features", counting(1, 3, 4), 4),
        split_case("a batch", normal(2, 5, 21), 3),
        split_case("float64, not contiguous", normal(2, 6, 5, dtype=torch.float64).mT, 2),
    ),
    properties=(
        Property(
            "head 0 of the first token is the first block of its features",
            lambda given, heads: torch.equal(heads[0, 0, 0], given["x"][0, 0].chunk(given["n_heads"])[0]),
        ),
        Property(
            "no number is lost or made up",
            lambda given, heads: torch.equal(heads.flatten().sort()[0], given["x"].flatten().sort()[0]),
        ),
    ),
    hints=(
        "First give the features two axes, (h, d_head); then move the axis of heads to where it belongs.",
        "A single `view` gives the shape (B, h, T, d_head), but with the numbers in the wrong positions. "
        "Which two axes have to be swapped on the way?",
    ),
)


STRAIGHT = (
    "A straight view to (B, h, T, d_head): the shape is right, but the numbers are not. It cuts the sentence into runs "
    "of *tokens*, one for each head, so that a head sees one part of the sentence and never the others."
)


@split_heads.mistake(STRAIGHT)
def straight_view(x, n_heads):
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


@split_heads.mistake(STRAIGHT)
def straight_view_without_a_copy(x, n_heads):
    return x.view(x.size(0), n_heads, x.size(1), -1)


@split_heads.mistake("The axis of heads still comes after that of tokens: (B, T, h, d_head).")
def heads_left_behind(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1)


@split_heads.mistake(
    "The features are dealt out like cards: head i owns every h-th feature. It must own the i-th *block* of them."
)
def interleaved(x, n_heads):
    return x.reshape(x.size(0), x.size(1), -1, n_heads).permute(0, 3, 1, 2)


@split_heads.mistake("You have used n_heads as the width of a head: these are d_head heads with h features each.")
def width_for_number(x, n_heads):
    return x.reshape(x.size(0), x.size(1), -1, n_heads).transpose(1, 2)


@split_heads.mistake("The last two axes are swapped: (B, h, d_head, T). Only the keys need that, and only later.")
def features_before_tokens(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).permute(0, 2, 3, 1)


@split_heads.mistake("The heads came out in front of the batch: (h, B, T, d_head).")
def heads_before_batch(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).permute(2, 0, 1, 3)


@split_heads.mistake("Every head got a copy of all features. A head owns d_model / h of them.")
def copied(x, n_heads):
    return x.unsqueeze(1).expand(-1, n_heads, -1, -1)


@split_heads.mistake("Batch and heads share one axis: (B · h, T, d_head). Keep an axis for each.")
def batch_and_heads_joined(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).transpose(1, 2).flatten(0, 1)


@split_heads.mistake(
    "You swap the axes first and reshape then, which reads one *feature* of all tokens after the other: what was one "
    "token's block of features is scattered. Give the features two axes before you move any."
)
def swapped_too_early(x, n_heads):
    return x.transpose(1, 2).reshape(x.size(0), n_heads, x.size(1), -1)


@split_heads.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    batch, length, n_heads, d_head = sizes(generator, 4)
    return {"x": floats(generator)(batch, length, n_heads * d_head), "n_heads": n_heads}
