"""Lesson 04: implement `residual_block`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_04.shared import (
    bent,
    doubled,
    learned_norm,
    plus_ten,
    squared,
    standardised,
    zeros,
)
from transformer_lab.nn import blocks


def block_cases(label: str, x, sublayer, norm) -> tuple[Case, Case]:
    """The same block twice: post-norm and pre-norm."""
    given = {"x": x, "sublayer": sublayer, "norm": norm}
    return Case(f"{label}, post-norm", {**given, "norm_first": False}), Case(
        f"{label}, pre-norm", {**given, "norm_first": True}
    )


residual_block = Exercise(
    blocks.residual_block,
    lesson="04",
    minutes=5,
    difficulty=1,
    statement="""
    A sub-layer with a residual connection, and a norm: after the sum (post-norm) or before the sub-layer (pre-norm).

    `norm_first` says which: post-norm if it is False, pre-norm if it is True. x is (B, T, d_model); `sublayer` and
    `norm` are functions that keep its shape.
    """,
    returns=("output",),
    cases=(
        *block_cases("two simple functions", counting(1, 1, 3), plus_ten, doubled),
        *block_cases("a sub-layer that gives zeros", counting(1, 2, 3), zeros, standardised),
        *block_cases("one token", normal(1, 1, 5), bent, learned_norm),
        *block_cases("a batch", normal(2, 3, 5), bent, learned_norm),
        *block_cases("another sub-layer", normal(3, 2, 7), squared, standardised),
        *block_cases("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, squared, learned_norm),
    ),
    properties=(
        Property(
            "pre-norm hands x on untouched when its sub-layer gives zeros",
            lambda given, output: (
                given["sublayer"] is not zeros or not given["norm_first"] or torch.equal(output, given["x"])
            ),
        ),
    ),
    hints=(
        "`sublayer` and `norm` are functions that you call. In both kinds of block, each of them is called exactly "
        "once.",
        "Post-norm: what does the norm receive, the sub-layer's result alone or the sum?",
        "Pre-norm: there are two ways to the sum, through the sub-layer and around it. On which of them does the norm "
        "stand?",
    ),
)


@residual_block.mistake(
    "The input is missing: what comes out is the sub-layer's result alone. Without a way around its sub-layers, the "
    "tokens of a deep stack become alike, and the gradient has to pass through every sub-layer."
)
def skips_the_input(x, sublayer, norm, norm_first):
    return sublayer(norm(x)) if norm_first else norm(sublayer(x))


@residual_block.mistake(
    "The sub-layer's result is added to *itself*. There is a sum, but x is not part of it: add the result to the input."
)
def added_to_itself(x, sublayer, norm, norm_first):
    result = sublayer(norm(x)) if norm_first else sublayer(x)
    return result + result if norm_first else norm(result + result)


@residual_block.mistake("The norm comes after the sum in both cases, so `norm_first` changes nothing.")
def always_post_norm(x, sublayer, norm, norm_first):
    return norm(x + sublayer(x))


@residual_block.mistake("The norm comes before the sub-layer in both cases, so `norm_first` changes nothing.")
def always_pre_norm(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x))


@residual_block.mistake("The two kinds are swapped: `norm_first` means that the norm comes *before* the sub-layer.")
def kinds_exchanged(x, sublayer, norm, norm_first):
    return norm(x + sublayer(x)) if norm_first else x + sublayer(norm(x))


@residual_block.mistake(
    "In the pre-norm block you add the *normalised* x. Then nothing goes around the norm, and every layer loses its "
    "input's size and offset. Add x as it came in."
)
def adds_the_normalised_input(x, sublayer, norm, norm_first):
    y = norm(x) if norm_first else x
    return y + sublayer(y) if norm_first else norm(y + sublayer(y))


@residual_block.mistake(
    "In the post-norm block only the sub-layer's result is normalised, before it is added. Normalise the *sum*."
)
def norm_inside_the_sum(x, sublayer, norm, norm_first):
    return x + (sublayer(norm(x)) if norm_first else norm(sublayer(x)))


@residual_block.mistake(
    "In both cases the norm comes after the sub-layer but inside the sum: x + norm(sublayer(x)). That is neither "
    "kind: post-norm normalises the sum, pre-norm what the sub-layer reads."
)
def norm_behind_the_sublayer(x, sublayer, norm, norm_first):
    return x + norm(sublayer(x))


@residual_block.mistake(
    "The pre-norm block is normalised a second time, after the sum. A pre-norm block has only the norm before its "
    "sub-layer."
)
def pre_norm_and_post_norm(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x) if norm_first else x))


@residual_block.mistake(
    "The norm is used twice in both cases, before the sub-layer and after the sum. Each kind has one norm only."
)
def norm_twice(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x)))


@residual_block.mistake("There is no norm at all: `norm` is never called, so the sum grows from layer to layer.")
def no_norm(x, sublayer, norm, norm_first):
    return x + sublayer(x)


@residual_block.mistake("The sub-layer is applied a second time, to its own result. Each block applies it once.")
def sublayer_twice(x, sublayer, norm, norm_first):
    return x + sublayer(sublayer(norm(x))) if norm_first else norm(x + sublayer(sublayer(x)))


@residual_block.mistake(
    "The two terms are normalised one by one and then added. Post-norm adds first, and normalises the sum."
)
def each_term_normalised(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x)) if norm_first else norm(x) + norm(sublayer(x))


@residual_block.mistake(
    "In the pre-norm block the norm is on the wrong branch: the sub-layer gets the raw x, and the way around it is "
    "normalised. It must be the other way round."
)
def norm_on_the_way_around(x, sublayer, norm, norm_first):
    return norm(x) + sublayer(x) if norm_first else norm(x + sublayer(x))


@residual_block.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    x = floats(generator)(*sizes(generator, 2), number(generator, 4, 9))
    sublayer = pick(generator, plus_ten, doubled, bent, squared)
    norm = pick(generator, standardised, learned_norm)
    return {"x": x, "sublayer": sublayer, "norm": norm, "norm_first": pick(generator, False, True)}
