"""Exercises of lesson 13 on softmax in parts: scores that come in chunks, and two results that become one."""

import torch
from torch import Tensor

from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.kernels import tiled_attention


def chunks_case(label: str, *chunks: Tensor) -> Case:
    return Case(label, {"chunks": chunks})


def scores(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float32, device="cpu")


online_softmax = Exercise(
    tiled_attention.online_softmax,
    lesson="13",
    minutes=15,
    difficulty=2,
    statement="""
    All that a softmax needs to know of its scores, while you see each of them once.

    `chunks` is an iterator of tensors (…, s_i). They are the scores of one row each (of as many rows as the axes in
    front hold), cut along the last axis; the s_i differ. Return `(maximum, total)`, each (…): the largest score of
    all chunks, and the sum of exp(score - maximum) over all chunks. There is one chunk at least.

    Keep no chunk: in practice all of them together do not fit into memory.
    """,
    returns=("maximum", "total"),
    cases=(
        chunks_case("one chunk", scores(1, 3, 2)),
        chunks_case("the maximum comes first", scores(3, 1), scores(2, 0)),
        chunks_case("the maximum grows", scores(0, 1), scores(2), scores(4, 3, 4)),
        chunks_case("all scores are negative", scores(-3, -2), scores(-5, -4, -2)),
        chunks_case("large scores", scores(900, 1000), scores(1001, -1000)),
        chunks_case("two rows", normal(2, 3), normal(2, 4)),
        chunks_case("heads and queries", 3 * normal(2, 3, 5), 3 * normal(2, 3, 1), 3 * normal(2, 3, 4)),
        chunks_case("many chunks of one score", *(2 * normal(12, 4, 1)).unbind(0)),
        chunks_case("square", normal(3, 3), 2 * normal(3, 3) + 1),
        chunks_case("float64", normal(4, 2, dtype=torch.float64), 5 * normal(4, 6, dtype=torch.float64)),
    ),
    hints=(
        "What do you have to remember of the chunks that you have seen? Two numbers for each row are enough.",
        "Suppose that you have the sum of exp(score - 2), and a score of 4 comes. By which factor must the old sum be "
        "multiplied, so that it is measured from 4?",
        "exp(score - new) = exp(score - old) · exp(old - new). The factor is the same for all scores of a row.",
    ),
)


@online_softmax.mistake(
    "The sum is not rescaled. What you had added up was measured from a lower maximum, and a new maximum makes all of "
    "it too large."
)
def without_rescaling(chunks):
    maximum = total = None
    for chunk in chunks:
        larger = chunk.amax(-1) if maximum is None else torch.maximum(maximum, chunk.amax(-1))
        new = torch.exp(chunk - larger[..., None]).sum(-1)
        maximum, total = larger, new if total is None else total + new
    return maximum, total


@online_softmax.mistake("The factor is upside down: the old sum must shrink when the maximum grows, by exp(old - new).")
def rescaled_upside_down(chunks):
    maximum = total = None
    for chunk in chunks:
        larger = chunk.amax(-1) if maximum is None else torch.maximum(maximum, chunk.amax(-1))
        new = torch.exp(chunk - larger[..., None]).sum(-1)
        total = new if total is None else total * torch.exp(larger - maximum) + new
        maximum = larger
    return maximum, total


@online_softmax.mistake(
    "Each chunk is measured from its *own* maximum, and these sums are added up. They must all be measured from one."
)
def each_from_its_own_maximum(chunks):
    maximum = total = None
    for chunk in chunks:
        new = torch.exp(chunk - chunk.amax(-1, keepdim=True)).sum(-1)
        maximum = chunk.amax(-1) if maximum is None else torch.maximum(maximum, chunk.amax(-1))
        total = new if total is None else total + new
    return maximum, total


@online_softmax.mistake(
    "You subtract no maximum: exp(1000) is infinite. And `total` is to be the sum of exp(score - maximum)."
)
def without_the_maximum(chunks):
    maximum = total = None
    for chunk in chunks:
        new = torch.exp(chunk).sum(-1)
        maximum = chunk.amax(-1) if maximum is None else torch.maximum(maximum, chunk.amax(-1))
        total = new if total is None else total + new
    return maximum, total


@online_softmax.mistake(
    "You go over `chunks` twice. An iterator gives each chunk once: in your second loop nothing is left."
)
def reads_twice(chunks):
    largest = [chunk.amax(-1) for chunk in chunks]
    maximum = torch.stack(largest).amax(0)
    total = torch.zeros_like(maximum)
    for chunk in chunks:
        total = total + torch.exp(chunk - maximum[..., None]).sum(-1)
    return maximum, total


@online_softmax.mistake(
    "Your maximum starts at 0, so that it is too large if all scores are negative. Start with the first chunk, or "
    "below every number."
)
def starts_at_zero(chunks):
    maximum, total = 0, 0
    for chunk in chunks:
        larger = torch.maximum(torch.as_tensor(maximum).to(chunk), chunk.amax(-1))
        total = total * torch.exp(maximum - larger) + torch.exp(chunk - larger[..., None]).sum(-1)
        maximum = larger
    return maximum, total


@online_softmax.mistake("You return what the *last* chunk alone gives. What came before it must be kept.")
def last_chunk_alone(chunks):
    for chunk in chunks:
        maximum = chunk.amax(-1)
        total = torch.exp(chunk - maximum[..., None]).sum(-1)
    return maximum, total


@online_softmax.mistake("You return what the *first* chunk alone gives. Is a `return` inside the loop?")
def first_chunk_alone(chunks):
    for chunk in chunks:
        maximum = chunk.amax(-1)
        return maximum, torch.exp(chunk - maximum[..., None]).sum(-1)


@online_softmax.mistake("The maximum is that of all rows. Each row has its own: reduce the last axis alone.")
def over_all_rows(chunks):
    maximum = total = None
    for chunk in chunks:
        larger = chunk.amax() if maximum is None else torch.maximum(maximum, chunk.amax())
        new = torch.exp(chunk - larger).sum()
        total = new if total is None else total * torch.exp(maximum - larger) + new
        maximum = larger
    return maximum, total


@online_softmax.mistake(
    "Your second value is the log-sum-exp, maximum + log(total). The sum itself is asked for, measured from the "
    "maximum."
)
def log_sum_exp(chunks):
    parts = list(chunks)
    together = torch.cat(parts, -1)
    return together.amax(-1), together.logsumexp(-1)


@online_softmax.mistake("The number of scores is divided out: `total` is the sum, not the mean.")
def mean_of_exponentials(chunks):
    together = torch.cat(list(chunks), -1)
    maximum = together.amax(-1)
    return maximum, torch.exp(together - maximum[..., None]).mean(-1)


def halves(label: str, *axes: int, dtype: torch.dtype = torch.float32, at: float = 0.0, loose: bool = False) -> Case:
    """Two results of random numbers, their log-sum-exps around `at`."""
    output_a, output_b = normal(2, *axes, dtype=dtype)
    lse_a, lse_b = normal(2, *axes[:-1], 1, dtype=dtype)[..., 0] * 2 + at
    given = {"output_a": output_a, "lse_a": lse_a, "output_b": output_b, "lse_b": lse_b}
    return Case(label, given, loose)


def two_numbers(label: str, a: float, lse_a: float, b: float, lse_b: float) -> Case:
    given = {"output_a": scores(a, 0), "lse_a": torch.tensor(lse_a, device="cpu"), "output_b": scores(b, 8)}
    return Case(label, given | {"lse_b": torch.tensor(lse_b, device="cpu")})


merge_partial = Exercise(
    tiled_attention.merge_partial,
    lesson="13",
    minutes=15,
    difficulty=2,
    statement="""
    Attention over all keys, from what two halves of the keys give.

    The same queries attended to keys A, and to other keys B. Each gave an output (…, d) and, for each query, the
    log-sum-exp (…) of its scores: log of the sum of exp(score), by which its weights were divided. Return
    `(output, lse)` for all keys together, of the same shapes.

    A log-sum-exp may be 1000, whose exponential is infinite.
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
    "You average the two outputs. The half whose keys fit better counts for more: its sum of exponentials is larger."
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


@merge_partial.mistake(
    "The output is right, but for the merged `lse` you add two logarithms: that is the logarithm of a *product*."
)
def logarithms_added(output_a, lse_a, output_b, lse_b):
    a, b = shares(lse_a, lse_b)
    return a * output_a + b * output_b, lse_a + lse_b


@merge_partial.mistake("The output is right, but the merged `lse` is only the larger of the two.")
def the_larger_one(output_a, lse_a, output_b, lse_b):
    a, b = shares(lse_a, lse_b)
    return a * output_a + b * output_b, torch.maximum(lse_a, lse_b)


@merge_partial.mistake(
    "The numbers are right as long as e^lse is one that can be stored. With a log-sum-exp of 1000 it is infinite, and "
    "with -1000 it is 0: take the difference first."
)
def overflow(output_a, lse_a, output_b, lse_b):
    a, b = lse_a.exp()[..., None], lse_b.exp()[..., None]
    return (a * output_a + b * output_b) / (a + b), (lse_a.exp() + lse_b.exp()).log()


@merge_partial.mistake("The sum is not divided: the two shares must add up to 1.")
def not_divided(output_a, lse_a, output_b, lse_b):
    a, b = lse_a.exp()[..., None], lse_b.exp()[..., None]
    return a * output_a + b * output_b, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake(
    "The shares lack an axis. Each belongs to a *query*, and must meet all d features of its output: (…, 1)."
)
def axis_lost(output_a, lse_a, output_b, lse_b):
    share = torch.sigmoid(lse_a - lse_b)
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)


@merge_partial.mistake("You return the half with the larger log-sum-exp, and drop the other.")
def winner_takes_all(output_a, lse_a, output_b, lse_b):
    better = (lse_a >= lse_b)[..., None]
    return torch.where(better, output_a, output_b), torch.logaddexp(lse_a, lse_b)
