"""Lesson 17: find the bug in `mend_data_parallel`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_data_parallel(weight, inputs, targets, centres, drop, seed):
    n = len(centres)
    gradient = torch.zeros_like(weight)
    for rank in range(n):
        x, y = inputs[rank::n], targets[rank::n]
        generator = torch.Generator(x.device).manual_seed(seed)
        kept = torch.rand(x.shape, generator=generator) >= drop
        x = (x - centres[rank]) * kept / (1 - drop)
        errors = x @ weight - y
        gradient += (2 * x * errors[:, None]).mean(0) / n
    return gradient


def regression(label: str, rows: int, d: int, n: int, drop: float = 0.0, same=False, dtype=torch.float32) -> Case:
    centres = normal(n, d, dtype=dtype)
    given = {"weight": normal(d, dtype=dtype), "inputs": normal(rows, d, dtype=dtype)}
    given |= {"targets": normal(rows, 1, dtype=dtype)[:, 0], "centres": centres[:1].expand(n, -1) if same else centres}
    return Case(label, given | {"drop": drop, "seed": 3})


def by_hand() -> Case:
    """Weight 1, no centre, no dropout: rank 0 has the inputs 0 and 2, rank 1 has 1; each error is the input."""
    zero = torch.zeros(2, 1, device="cpu")
    given = {"weight": torch.ones(1, device="cpu"), "inputs": counting(3, 1), "targets": torch.zeros(3, device="cpu")}
    return Case("three rows for two ranks", given | {"centres": zero, "drop": 0.0, "seed": 0})


@partial(
    FindTheBug,
    lesson="17",
    minutes=25,
    difficulty=2,
    statement="""
    Mend data parallel training. It has three defects.

    The loop stands for n ranks, one for each row of `centres`. Rank r takes every n-th row of `inputs` (B, d) and
    `targets` (B,), from row r on. It subtracts a centre (d,), a buffer that is no weight, and drops features with
    probability `drop`, by a generator of its own, whose seed is `seed` + r. The model is x @ weight, the loss the mean
    of the squared errors over all B rows. Every rank must compute with the centre of rank 0, because the model that is
    stored is that of rank 0. The gradient of the weight (d,) is returned.

    What was observed:
      With equally many rows on all ranks, equal centres and no dropout, the gradient is that of one process. With 3
      rows on 2 ranks it is another one.
      With dropout, the same features are dropped on all ranks: a batch of 8 rows on 4 ranks has two patterns, not
      eight.
      The model that rank 0 stores has a larger loss than the ranks had in training.
    """,
    returns=("gradient",),
    cases=(
        by_hand(),
        regression("four rows for two ranks, equal centres", 4, 2, 2, same=True),
        regression("three ranks, five rows", 5, 3, 3, same=True),
        regression("centres that differ", 6, 2, 3),
        regression("with dropout", 6, 4, 2, 0.5, same=True),
        regression("all at once", 7, 5, 3, 0.25),
        regression("as many features as rows", 4, 4, 2, 0.5),
        regression("one rank", 3, 2, 1, 0.5),
        regression("float64", 8, 3, 3, 0.25, dtype=torch.float64),
    ),
    hints=(
        "Take the smallest case on paper: three rows, of which rank 0 has two. What does each row count for, and what "
        "should it count for?",
        "By what must a *sum* over a rank's rows be divided, so that the sums of all ranks add up to the mean over the "
        "batch?",
        "What do two ranks draw whose generators start from the same seed?",
        "Buffers are not learned, so no gradient makes them equal. Whose centre does the statement ask for?",
    ),
    broken=broken_data_parallel,
)
def mend_data_parallel(weight, inputs, targets, centres, drop, seed):
    """The gradient (d,) that n ranks add up, of which each has every n-th row."""
    n = len(centres)
    gradient = torch.zeros_like(weight)
    for rank in range(n):
        x, y = inputs[rank::n], targets[rank::n]  # (B_r, d), (B_r,)
        generator = torch.Generator(x.device).manual_seed(seed + rank)
        kept = torch.rand(x.shape, generator=generator) >= drop
        x = (x - centres[0]) * kept / (1 - drop)
        errors = x @ weight - y  # (B_r,)
        gradient = gradient + (2 * x * errors[:, None]).sum(0) / len(inputs)
    return gradient


def step_with(weight, inputs, targets, centres, drop, seed, divided=True, seeded=True, broadcast=True, centre=None):
    """The reference, with some of the defects left in."""
    n, gradient = len(centres), torch.zeros_like(weight)
    for rank in range(n):
        x, y = inputs[rank::n], targets[rank::n]
        generator = torch.Generator(x.device).manual_seed(seed + rank * seeded)
        kept = torch.rand(x.shape, generator=generator) >= drop
        own = centres[0 if broadcast else rank] if centre is None else centre
        x = (x - own) * kept / (1 - drop)
        parts = 2 * x * (x @ weight - y)[:, None]
        gradient = gradient + (parts.sum(0) / len(inputs) if divided else parts.mean(0) / n)
    return gradient


MEANS = "The ranks' means are still averaged: a row on a rank with few rows counts for more than one on a full rank."
SEEDS = "All ranks still draw the same random numbers."
CENTRES = "Each rank still has a centre of its own, and the model that is stored has that of rank 0."


@mend_data_parallel.mistake(f"One of three is mended. {SEEDS} {CENTRES}")
def only_the_means(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, seeded=False, broadcast=False)


@mend_data_parallel.mistake(f"One of three is mended. {MEANS} {CENTRES}")
def only_the_seeds(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, divided=False, broadcast=False)


@mend_data_parallel.mistake(f"One of three is mended. {MEANS} {SEEDS}")
def only_the_centres(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, divided=False, seeded=False)


@mend_data_parallel.mistake(f"Two of three are mended. {MEANS}")
def all_but_the_means(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, divided=False)


@mend_data_parallel.mistake(f"Two of three are mended. {SEEDS}")
def all_but_the_seeds(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, seeded=False)


@mend_data_parallel.mistake(f"Two of three are mended. {CENTRES}")
def all_but_the_centres(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, broadcast=False)


@mend_data_parallel.mistake(
    "All ranks have one centre now, but it is the *mean* of theirs. The third symptom stays: the model that is "
    "stored is still another one, with the centre of rank 0."
)
def mean_of_centres(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, drop, seed, centre=centres.mean(0))


@mend_data_parallel.mistake(
    "Rows are left out until every rank has as many. The first symptom stays: the gradient is that of fewer rows."
)
def rows_left_out(weight, inputs, targets, centres, drop, seed):
    full = len(inputs) // len(centres) * len(centres)
    return step_with(weight, inputs[:full], targets[:full], centres, drop, seed)


@mend_data_parallel.mistake(
    "Each rank divides by its own number of rows, and the sums are not divided by the number of ranks any more: the "
    "gradient is about n times as long."
)
def sum_of_means(weight, inputs, targets, centres, drop, seed):
    return len(centres) * step_with(weight, inputs, targets, centres, drop, seed, divided=False)


@mend_data_parallel.mistake("Dropout is gone. So is the second symptom, but the model should be trained with it.")
def without_dropout(weight, inputs, targets, centres, drop, seed):
    return step_with(weight, inputs, targets, centres, 0.0, seed)


@mend_data_parallel.mistake(
    "The sums of the ranks are divided by the number of *ranks*. The loss is the mean over all B rows: divide by B."
)
def divided_by_the_ranks(weight, inputs, targets, centres, drop, seed):
    return len(inputs) / len(centres) * step_with(weight, inputs, targets, centres, drop, seed)


@mend_data_parallel.mistake("The sums of the ranks are not divided at all: the gradient is B times as long.")
def not_divided(weight, inputs, targets, centres, drop, seed):
    return len(inputs) * step_with(weight, inputs, targets, centres, drop, seed)


@mend_data_parallel.mistake(
    "One generator serves all ranks, one after the other. They draw different numbers now, but ranks on different "
    "machines cannot share one: each needs its own, with the seed `seed` + r."
)
def one_generator_for_all(weight, inputs, targets, centres, drop, seed):
    n, gradient, generator = len(centres), torch.zeros_like(weight), torch.Generator(inputs.device).manual_seed(seed)
    for rank in range(n):
        x, y = inputs[rank::n], targets[rank::n]
        kept = torch.rand(x.shape, generator=generator) >= drop
        x = (x - centres[0]) * kept / (1 - drop)
        gradient = gradient + (2 * x * (x @ weight - y)[:, None]).sum(0) / len(inputs)
    return gradient


@mend_data_parallel.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, n, d = floats(generator), number(generator, 2, 4), number(generator, 2, 5)
    rows = n * number(generator, 1, 3) + number(generator, 1, n - 1)
    given = {"weight": normal(d), "inputs": normal(rows, d), "targets": normal(rows), "centres": normal(n, d)}
    return given | {"drop": number(generator, 1, 3) / 4, "seed": number(generator, 0, 1000)}
