"""Lesson 03: implement `rotate`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import positions


def lengths_of_pairs(x):
    return x.unflatten(-1, (-1, 2)).norm(dim=-1)


rotate = Exercise(
    positions.rotate,
    lesson="03",
    minutes=15,
    difficulty=2,
    statement="""
    Rotary positions: the row of position p is turned, each pair of neighbouring features by the angle p · ω_i.

    (x_2i, x_2i+1) → (x_2i cos pω_i - x_2i+1 sin pω_i,  x_2i sin pω_i + x_2i+1 cos pω_i)

    x is (…, T, d_head), such as the queries of all heads; d_head is even, and ω_i = 10000^(-2i / d_head). The first row
    has position 0. Returns the same shape.
    """,
    returns=("rotated",),
    cases=(
        Case("two positions, one pair", {"x": torch.tensor([[1.0, 0.0], [1.0, 0.0]], device="cpu")}),
        Case("three positions, two pairs", {"x": counting(3, 4)}),
        Case("position 0 alone", {"x": normal(1, 6)}),
        Case("more features than positions", {"x": normal(3, 8)}),
        Case("more positions than features", {"x": normal(40, 4)}),
        Case("a batch", {"x": normal(2, 5, 6)}),
        Case("a batch and heads", {"x": normal(2, 3, 5, 4)}),
        Case("as many heads as positions", {"x": normal(2, 4, 4, 6)}),
    ),
    properties=(
        Property(
            "the first row, position 0, stays as it is",
            lambda given, rotated: torch.allclose(rotated[..., 0, :], given["x"][..., 0, :], atol=1e-5),
        ),
        Property(
            "no pair changes its length: it is only turned",
            lambda given, rotated: torch.allclose(lengths_of_pairs(rotated), lengths_of_pairs(given["x"]), atol=1e-4),
        ),
    ),
    hints=(
        "You need a table of angles (T, d_head / 2), position times frequency, and its cosines and sines.",
        "`x[..., 0::2]` are the first features of all pairs. What are the second ones? Both fit the table.",
        "You have the two halves of each new pair. Which two operations deal them out in turn, so that they are "
        "neighbours again?",
    ),
)


def table_of_angles(x):
    omega = 10000.0 ** (-torch.arange(0, x.size(-1), 2, device=x.device).double() / x.size(-1))
    return torch.arange(x.size(-2), device=x.device).double()[:, None] * omega


def turned(x, angle):
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@rotate.mistake(
    "You pair feature i with feature i + d_head / 2, as some models do. Here neighbours are pairs: 0 and 1, 2 and 3, …"
)
def halves_are_pairs(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


@rotate.mistake(
    "The pairs are turned correctly and then put together as halves, all first features and then all second ones. Deal "
    "them out in turn."
)
def put_together_as_halves(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], -1)


@rotate.mistake("You turn the other way round: the signs of the two sines have changed places.")
def other_way_round(x):
    return turned(x, -table_of_angles(x))


@rotate.mistake("The first row has position 0 and stays as it is. You count from 1.")
def first_row_turned(x):
    omega = 10000.0 ** (-torch.arange(0, x.size(-1), 2, device=x.device).double() / x.size(-1))
    return turned(x, torch.arange(1, x.size(-2) + 1, device=x.device).double()[:, None] * omega)


@rotate.mistake(
    "The positions run along the wrong axis: they are the last axis but one, whatever stands before it. With heads, "
    "the second axis counts the heads."
)
def positions_on_the_second_axis(x):
    if x.ndim < 3:
        return turned(x, table_of_angles(x))
    return turned(x.transpose(1, -2), table_of_angles(x.transpose(1, -2))).transpose(1, -2)


@rotate.mistake("You turn the rows of the first axis. Positions are the last axis but one; a batch stands before it.")
def positions_on_the_first_axis(x):
    return turned(x.transpose(0, -2), table_of_angles(x.transpose(0, -2))).transpose(0, -2)


@rotate.mistake("Each pair has its own frequency, 10000^(-2i / d_head). You turn all of them by p.")
def all_pairs_alike(x):
    return turned(x, torch.arange(x.size(-2), device=x.device).double()[:, None].expand(-1, x.size(-1) // 2))


@rotate.mistake("The exponent is -2i / d_head: you leave out the 2, so that neighbouring pairs turn too much alike.")
def two_left_out(x):
    omega = 10000.0 ** (-torch.arange(x.size(-1) // 2, device=x.device).double() / x.size(-1))
    return turned(x, torch.arange(x.size(-2), device=x.device).double()[:, None] * omega)


@rotate.mistake("The exponent of 10000 is negative: each pair turns *slower* than the one before it.")
def faster_and_faster(x):
    omega = 10000.0 ** (torch.arange(0, x.size(-1), 2, device=x.device).double() / x.size(-1))
    return turned(x, torch.arange(x.size(-2), device=x.device).double()[:, None] * omega)


@rotate.mistake("Both new features have a minus. A rotation has one: x cos - y sin, and x sin *plus* y cos.")
def two_minuses(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin - odd * cos], -1).flatten(-2)


@rotate.mistake(
    "The second feature of a pair is computed from the *new* first one. Keep the old one until both are there."
)
def new_in_place_of_old(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    even = even * cos - odd * sin
    return torch.stack([even, even * sin + odd * cos], -1).flatten(-2)


@rotate.mistake("The encoding is *added*. Rotary positions turn the vector instead, and add nothing.")
def encoding_added(x):
    angle = table_of_angles(x)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).to(x.dtype)


@rotate.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal = floats(generator, torch.float32)  # so that angles in float32 are close enough
    return {"x": normal(*leading(generator), number(generator, 2, 12), 2 * number(generator, 1, 8))}
