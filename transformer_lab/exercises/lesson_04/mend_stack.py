"""Lesson 04: find the bug in `mend_stack`."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick, several, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.exercises.lesson_04.shared import (
    bent,
    doubled,
    learned_norm,
    plus_ten,
    squared,
    standardised,
    zeros,
)


def scaled_norm(x):
    return 3 * standardised(x) + 1


def broken_stack(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x)
    x = x + sublayer_1(x)
    x = norm_1(x)
    x = x + sublayer_2(x)
    return x


Function = Callable[[Tensor], Tensor]


def stack_case(label: str, x: Tensor, sublayers: tuple[Function, Function], norms: tuple[Function, ...]) -> Case:
    names = ("sublayer_1", "sublayer_2", "norm_1", "norm_2", "norm_3")
    return Case(label, {"x": x, **dict(zip(names, (*sublayers, *norms), strict=True))})


@partial(
    FindTheBug,
    lesson="04",
    minutes=15,
    difficulty=2,
    statement="""
    Mend a stack of two pre-norm blocks and the norm after them. It has three defects.

    x is (B, T, d_model). All sub-layers and norms are functions that map it to its own shape: norm_1 belongs to
    sublayer_1, norm_2 to sublayer_2, and norm_3 comes after the last block.

    What was observed:
      With sub-layers that give zeros, and norms with different weights, the stack should do what its last norm does.
      It does something else.
      After a backward pass, most parameters of the three norms have no gradient.
      With norms whose weights are held fixed, the vectors that leave the stack still grow longer in training.
    """,
    returns=("output",),
    cases=(
        stack_case("sub-layers of zeros", counting(1, 2, 4) ** 2, (zeros, zeros), (doubled, standardised, plus_ten)),
        stack_case("one token", counting(1, 1, 3) ** 2, (doubled, plus_ten), (plus_ten, doubled, squared)),
        stack_case(
            "norms that differ", normal(2, 3, 5), (plus_ten, doubled), (standardised, learned_norm, scaled_norm)
        ),
        stack_case("sub-layers that bend", normal(2, 4, 6), (bent, squared), (scaled_norm, standardised, learned_norm)),
        stack_case(
            "float64", normal(3, 2, 7, dtype=torch.float64), (squared, bent), (learned_norm, scaled_norm, standardised)
        ),
    ),
    hints=(
        "Write the right stack as a formula first, and compare it line by line. Where does the norm stand in a "
        "pre-norm block, and what is it not applied to?",
        "If both sub-layers give zeros, a pre-norm stack hands x on as it is, up to the last norm.",
        "Count the norms that the function is given, and those that it calls.",
    ),
    broken=broken_stack,
)
def mend_stack(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    """Two pre-norm blocks and the norm after them: what is added up is never normalised in between."""
    x = x + sublayer_1(norm_1(x))
    x = x + sublayer_2(norm_2(x))
    return norm_3(x)


STREAM = "What is added up is still normalised: a pre-norm block normalises what its sub-layer *reads*, and adds to x."


NORM_2 = "The second block still uses the norm of the first: norm_2 is never called."


LAST = "The norm after the last block is still missing: norm_3 is never called."


@mend_stack.mistake(f"One of three is mended. {NORM_2} {LAST}")
def only_the_stream(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = x + sublayer_1(norm_1(x))
    return x + sublayer_2(norm_1(x))


@mend_stack.mistake(f"One of three is mended. {STREAM} {LAST}")
def only_the_second_norm(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x)
    x = norm_2(x + sublayer_1(x))
    return x + sublayer_2(x)


@mend_stack.mistake(f"One of three is mended. {STREAM} {NORM_2}")
def only_the_last_norm(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x)
    x = norm_1(x + sublayer_1(x))
    return norm_3(x + sublayer_2(x))


@mend_stack.mistake(f"Two of three are mended. {LAST}")
def all_but_the_last_norm(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = x + sublayer_1(norm_1(x))
    return x + sublayer_2(norm_2(x))


@mend_stack.mistake(f"Two of three are mended. {NORM_2}")
def all_but_the_second_norm(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = x + sublayer_1(norm_1(x))
    return norm_3(x + sublayer_2(norm_1(x)))


@mend_stack.mistake(f"Two of three are mended. {STREAM}")
def all_but_the_stream(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x)
    x = norm_2(x + sublayer_1(x))
    return norm_3(x + sublayer_2(x))


@mend_stack.mistake(
    "The first block still adds to norm_1(x), and not to x. So what is added up is normalised on its way, and the "
    "input never reaches the last norm as it is."
)
def first_block_adds_to_a_norm(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x)
    x = x + sublayer_1(x)
    return norm_3(x + sublayer_2(norm_2(x)))


@mend_stack.mistake(
    "The second block still adds to norm_1(x), and not to x. So what the first block has added up is normalised "
    "once more, by the first block's own norm, and norm_2 is never called."
)
def second_block_adds_to_a_norm(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x + sublayer_1(norm_1(x)))
    return norm_3(x + sublayer_2(x))


@mend_stack.mistake(
    "These are *post*-norm blocks: each sum is normalised. Pre-norm keeps the way from the input to the last norm free."
)
def post_norm_instead(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = norm_1(x + sublayer_1(x))
    return norm_3(norm_2(x + sublayer_2(x)))


@mend_stack.mistake("Each norm is in its place, but nothing is added up any more: the residual connections are gone.")
def without_residuals(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    return norm_3(sublayer_2(norm_2(sublayer_1(norm_1(x)))))


@mend_stack.mistake(
    "You normalise what a sub-layer *gives*, and not what it reads. The sum may be well-behaved, but each sub-layer "
    "still sees numbers of any size."
)
def outputs_normalised(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    x = x + norm_1(sublayer_1(x))
    x = x + norm_2(sublayer_2(x))
    return norm_3(x)


@mend_stack.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    x = floats(generator)(*sizes(generator, 2), number(generator, 4, 9))
    known = (plus_ten, doubled, bent, squared)
    sublayers = [pick(generator, *known) for _ in range(2)]
    norms = several(generator, 3, standardised, learned_norm, scaled_norm)
    names = ("sublayer_1", "sublayer_2", "norm_1", "norm_2", "norm_3")
    return {"x": x, **dict(zip(names, (*sublayers, *norms), strict=True))}
