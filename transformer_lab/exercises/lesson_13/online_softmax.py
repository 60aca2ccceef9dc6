"""Lesson 13: implement `online_softmax`."""

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_13.shared import scores
from transformer_lab.kernels import tiled_attention


def chunks_case(label: str, *chunks: Tensor) -> Case:
    return Case(label, {"chunks": chunks})


online_softmax = Exercise(
    tiled_attention.online_softmax,
    lesson="13",
    minutes=15,
    difficulty=2,
    statement="""
    All that a softmax needs to know about its scores, while you see each of them only once.

    `chunks` is an iterator of tensors (…, s_i): scores that were cut into pieces along the last axis. The s_i differ.
    Each place on the axes in front is a row of its own. Return `(maximum, total)`, each (…): the largest score of
    all chunks, and the sum of exp(score - maximum) over all chunks. There is at least one chunk.

    Keep no chunk: in practice all of them together do not fit into memory, and here the iterator raises an error
    if more than two of the earlier chunks still exist.
    """,
    returns=("maximum", "total"),
    cases=(
        chunks_case("one chunk", scores(1, 3, 2)),
        chunks_case("the maximum comes first", scores(3, 1), scores(2, 0)),
        chunks_case("the maximum grows", scores(0, 1), scores(2), scores(4, 3, 4)),
        chunks_case("all scores are negative", scores(-3, -2), scores(-5, -4, -2)),
        chunks_case("large scores", scores(900, 1000), scores(1001, -1000)),
        chunks_case("a row far below", torch.stack([scores(900), scores(-901)]), scores(901, -900)[:, None]),
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
    "The sum keeps its size when the maximum grows. What you had added up was measured from a lower maximum, and a new "
    "maximum makes all of it too large."
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


@online_softmax.mistake("You multiply the old sum by old - new. The factor is the exponential of that, exp(old - new).")
def rescaled_by_the_difference(chunks):
    maximum = total = None
    for chunk in chunks:
        larger = chunk.amax(-1) if maximum is None else torch.maximum(maximum, chunk.amax(-1))
        new = torch.exp(chunk - larger[..., None]).sum(-1)
        total = new if total is None else total * (maximum - larger) + new
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
    "The sum of exp(score) may be too large to store: exp(1000) is infinite. `total` is that of exp(score - maximum)."
)
def without_the_maximum(chunks):
    maximum = total = None
    for chunk in chunks:
        new = torch.exp(chunk).sum(-1)
        maximum = chunk.amax(-1) if maximum is None else torch.maximum(maximum, chunk.amax(-1))
        total = new if total is None else total + new
    return maximum, total


@online_softmax.mistake(
    "Nothing was added to your total. Do you go over `chunks` twice? An iterator gives each chunk once, so that in a "
    "second loop nothing is left."
)
def reads_twice(chunks):
    largest = [chunk.amax(-1) for chunk in chunks]
    maximum = torch.stack(largest).amax(0)
    total = torch.zeros_like(maximum)
    for chunk in chunks:
        total = total + torch.exp(chunk - maximum[..., None]).sum(-1)
    return maximum, total


@online_softmax.mistake(
    "Your maximum never falls below 0, so that it is too large if all scores are negative. Start with the first chunk, "
    "or below every number."
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
    maximum, total = tiled_attention.online_softmax(chunks)
    return maximum, maximum + total.log()


@online_softmax.mistake("The number of scores is divided out: `total` is the sum, not the mean.")
def mean_of_exponentials(chunks):
    widths = []

    def counted():
        for chunk in chunks:
            widths.append(chunk.size(-1))
            yield chunk

    maximum, total = tiled_attention.online_softmax(counted())
    return maximum, total / sum(widths)


@online_softmax.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, axes, shift = floats(generator), leading(generator, most=2), number(generator, -30, 30)
    widths = sizes(generator, number(generator, 2, 6))
    return {"chunks": tuple(4 * normal(*axes, width) + shift for width in widths)}
