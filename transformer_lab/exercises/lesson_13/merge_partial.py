"""Lesson 13: implement `merge_partial`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_13.shared import scores
from transformer_lab.kernels import tiled_attention


def halves(label: str, *axes: int, dtype: torch.dtype = torch.float32, at: float = 0.0, loose: bool = False) -> Case:
    """Two results of random numbers, their log-sum-exps around `at`."""
    output_a, output_b = normal(2, *axes, dtype=dtype)
    lse_a, lse_b = normal(2, *axes[:-1], 1, dtype=dtype)[..., 0] * 2 + at
    given = {"output_a": output_a, "lse_a": lse_a, "output_b": output_b, "lse_b": lse_b}
    return Case(label, given, loose)


def two_numbers(label: str, a: float, lse_a: float, b: float, lse_b: float) -> Case:
    given = {"output_a": scores(a, 0), "lse_a": torch.tensor(lse_a, device="cpu"), "output_b": scores(b, 8)}
    return Case(label, given | {"lse_b": torch.tensor(lse_b, device="cpu")})


def far_apart(label: str) -> Case:
    output_a, output_b = normal(2, 3, 3)
    given = {"output_a": output_a, "lse_a": scores(1000, -1000, -1000), "output_b": output_b}
    return Case(label, given | {"lse_b": scores(-1000, 1000, -1001)})  # and one query far below the others


merge_partial = Exercise(
    tiled_attention.merge_partial,
    lesson="13",
    minutes=15,
    difficulty=2,
    statement="""
    Attention over all keys, from what two halves of the keys give.

    The same queries attended to keys A, and to other keys B. Each gave an output (…, d) and, for each query, the
    log-sum-exp (…) of its scores: the logarithm of the sum of exp(score) by which its weights were divided. Return
    `(output, lse)` for all keys together, of the same shapes.

    A log-sum-exp may be 1000, whose exponential is infinite, or -1000, whose exponential is 0.
    """,
    returns=("output", "lse"),
    cases=(
        two_numbers("equal halves", 4.0, 0.0, 2.0, 0.0),
        two_numbers("three quarters and a quarter", 4.0, 1.0986123, 0.0, 0.0),
        two_numbers("negative log-sum-exps", 1.0, -3.0, 5.0, -1.0),
        halves("three queries", 3, 2),
        halves("a square", 4, 4),
        halves("heads and queries", 2, 3, 5, 4),
        halves("large log-sum-exps", 2, 3, at=1000.0),
        halves("far below zero", 2, 3, at=-1000.0),
        far_apart("one far above the other"),
        halves("float64", 3, 5, dtype=torch.float64),
    ),
    hints=(
        "By what was each output divided? Multiply by it, and you have the sums that were not divided yet.",
        "output = (e^lse_a · output_a + e^lse_b · output_b) / (e^lse_a + e^lse_b). Which numbers are too large?",
        "Only the *difference* of the two matters for the shares: subtract the larger one first, or use the sigmoid. "
        "`torch.logaddexp` is the logarithm of a sum of two exponentials.",
    ),
)


def shares(lse_a, lse_b):
    return torch.stack([lse_a, lse_b]).softmax(0)[..., None]


@merge_partial.mistake(
    "Both outputs get the same share. The half whose keys fit better must get more: its sum of exponentials is larger."
)
def plain_mean(output_a, lse_a, output_b, lse_b):
    return (output_a + output_b) / 2, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake("The shares are exchanged: output_a belongs to lse_a.")
def shares_exchanged(output_a, lse_a, output_b, lse_b):
    b, a = shares(lse_a, lse_b)
    return a * output_a + b * output_b, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake(
    "You weight by the log-sum-exps themselves. They are logarithms: the shares belong to e^lse_a and e^lse_b."
)
def weighted_by_logarithms(output_a, lse_a, output_b, lse_b):
    share = (lse_a / (lse_a + lse_b))[..., None]
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake("For the merged `lse` you add two logarithms: that is the logarithm of a *product*.")
def logarithms_added(output_a, lse_a, output_b, lse_b):
    a, b = shares(lse_a, lse_b)
    return a * output_a + b * output_b, lse_a + lse_b


@merge_partial.mistake(
    "The merged `lse` is the mean of the two. But the sum over all keys is larger than that over either half, and so "
    "is its logarithm."
)
def logarithms_averaged(output_a, lse_a, output_b, lse_b):
    a, b = shares(lse_a, lse_b)
    return a * output_a + b * output_b, (lse_a + lse_b) / 2


@merge_partial.mistake("The merged `lse` is only the larger of the two: what the other half adds is missing.")
def the_larger_one(output_a, lse_a, output_b, lse_b):
    a, b = shares(lse_a, lse_b)
    return a * output_a + b * output_b, torch.maximum(lse_a, lse_b)


@merge_partial.mistake(
    "Not every e^lse can be stored. With a log-sum-exp of 1000 it is infinite, and with -1000 it is 0: take the "
    "difference first."
)
def overflow(output_a, lse_a, output_b, lse_b):
    a, b = lse_a.exp()[..., None], lse_b.exp()[..., None]
    return (a * output_a + b * output_b) / (a + b), (lse_a.exp() + lse_b.exp()).log()


@merge_partial.mistake("The sum is not divided: the two shares must add up to 1.")
def not_divided(output_a, lse_a, output_b, lse_b):
    a, b = lse_a.exp()[..., None], lse_b.exp()[..., None]
    return a * output_a + b * output_b, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake(
    "The shares lack an axis at the end. Each belongs to a *query*, and must meet all d features of its output: (…, 1)."
)
def axis_lost(output_a, lse_a, output_b, lse_b):
    share = torch.sigmoid(lse_a - lse_b)
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake("You return the half with the larger log-sum-exp, and drop the other.")
def winner_takes_all(output_a, lse_a, output_b, lse_b):
    better = (lse_a >= lse_b)[..., None]
    return torch.where(better, output_a, output_b), torch.logaddexp(lse_a, lse_b)


@merge_partial.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, axes, (d,), shift = floats(generator), leading(generator), sizes(generator, 1), number(generator, -40, 40)
    return {
        name: normal(*axes, d) if name.startswith("output") else 2 * normal(*axes) + shift
        for name in ("output_a", "lse_a", "output_b", "lse_b")
    }
