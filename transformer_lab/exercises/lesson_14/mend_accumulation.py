"""Lesson 14: find the bug in `mend_accumulation`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_accumulation(weight, inputs, targets, answers, portion, max_norm):
    """A batch, read in portions, to the gradient of its loss, (d,)."""
    n_portions = -(-len(inputs) // portion)
    gradient = torch.zeros_like(weight)
    for start in range(0, len(inputs), portion):
        x, y, counts = (part[start : start + portion] for part in (inputs, targets, answers))
        errors = x @ weight - y
        gradient = gradient + (2 * errors[..., None] * x)[counts].mean(0) / n_portions
        gradient = gradient * (max_norm / gradient.norm()).clamp(max=1)
    return gradient


def marked(lengths: list[int], longest: int) -> torch.Tensor:
    """True on the first tokens of each row, as many as its length says."""
    return torch.arange(longest, device="cpu") < torch.tensor(lengths, device="cpu")[:, None]


def step_case(label: str, lengths: list[int], d: int, portion: int, max_norm: float = 100.0, **like) -> Case:
    shape = len(lengths), max(lengths) + 1
    given = {"weight": normal(d, **like), "inputs": normal(*shape, d, **like), "targets": normal(*shape, **like)}
    given |= {"answers": marked(lengths, shape[1])}
    return Case(label, {**given, "portion": portion, "max_norm": max_norm})


def by_hand() -> Case:
    """The inputs 1, 2 and 3, of which the row of two holds the first two; each error is the input."""
    given = {"weight": torch.ones(1, device="cpu"), "inputs": torch.tensor([[[1.0], [2.0]], [[3.0], [0.0]]])}
    given |= {"targets": torch.zeros(2, 2, device="cpu"), "answers": marked([2, 1], 2)}
    return Case("two tokens in one row, one in the other", given | {"portion": 1, "max_norm": 100.0})


@partial(
    FindTheBug,
    broken=broken_accumulation,
    lesson="14",
    minutes=20,
    difficulty=2,
    statement="""
    Mend the gradient of a training step that reads its batch in portions, because it would not fit into memory at
    once. It has two defects.

    The model is x @ weight, with weight (d,). inputs (B, T, d) and targets (B, T) are read `portion` rows at a time,
    and the last portion may be smaller. The loss is the mean of the squared errors over the tokens of the whole batch
    where answers (B, T) is True; there is at least one. Its gradient (d,) is returned, and where it is longer than
    max_norm, it is shortened to that length. In how many portions the batch is read must not matter.

    What was observed:
      With all rows in one portion the gradient is right. With two portions, of which one has three times as many
      answers as the other, it points in another direction, even where nothing is shortened.
      A portion in which no token counts makes the whole gradient NaN.
      With a small max_norm, the last portions count for more than the first ones.
    """,
    returns=("gradient",),
    cases=(
        by_hand(),
        step_case("one portion", [2, 1, 3], 2, 3),
        step_case("equal portions", [2, 2, 2, 2], 3, 2),
        step_case("three tokens against one", [3, 1], 2, 1),
        step_case("a portion without answers", [2, 0, 1], 3, 1),
        step_case("a last portion of one row", [4, 1, 2, 3, 1], 2, 2),
        step_case("shortened, one portion", [3, 1, 2], 2, 3, 0.25),
        step_case("shortened, three portions", [3, 1, 2], 2, 1, 0.25),
        step_case("shortened in the middle only", [1, 4, 3, 2, 1, 1], 3, 2, 1.0),
        step_case("float64", [5, 2, 1, 4], 4, 3, 0.5, dtype=torch.float64),
    ),
    hints=(
        "Take the smallest case on paper: three tokens, of which one portion has two. What does each token count for?",
        "What must be known of the whole batch before the first portion is read?",
        "Shorten the sum of two vectors. Now shorten the first before you add the second. When is that the same?",
    ),
)
def mend_accumulation(weight, inputs, targets, answers, portion, max_norm):
    """The gradient of the mean squared error over all answers of a batch, read in portions, at most max_norm long."""
    count = answers.sum()
    gradient = torch.zeros_like(weight)
    for start in range(0, len(inputs), portion):
        x, y, counts = (part[start : start + portion] for part in (inputs, targets, answers))
        errors = x @ weight - y
        gradient = gradient + (2 * errors[..., None] * x)[counts].sum(0) / count
    return gradient * (max_norm / gradient.norm()).clamp(max=1)


def portions_of(inputs, targets, answers, portion):
    starts = range(0, len(inputs), portion)
    return [tuple(part[i : i + portion] for part in (inputs, targets, answers)) for i in starts]


def summed(weight, x, y, counts):
    """The sum over the tokens that count."""
    return (2 * (x @ weight - y)[..., None] * x)[counts].sum(0)


def shortened(gradient, max_norm):
    return gradient * (max_norm / gradient.norm()).clamp(max=1)


def step_with(weight, inputs, targets, answers, portion, max_norm, share, late=True):
    """The step with the portions' sums divided by any share of theirs, and shortened late or in every portion."""
    gradient, parts = torch.zeros_like(weight), portions_of(inputs, targets, answers, portion)
    for x, y, counts in parts:
        gradient = gradient + summed(weight, x, y, counts) / share(x, counts, len(parts))
        gradient = gradient if late else shortened(gradient, max_norm)
    return shortened(gradient, max_norm)


MEANS = "The portions' means are still averaged: a token of a short portion counts for more than one of a long portion."
EARLY = "The gradient is still shortened after each portion: what was added first is shortened again and again."


@mend_accumulation.mistake(f"One of two is mended. {EARLY}")
def only_the_means(weight, inputs, targets, answers, portion, max_norm):
    count = answers.sum()
    return step_with(weight, inputs, targets, answers, portion, max_norm, lambda x, c, n: count, late=False)


@mend_accumulation.mistake(f"One of two is mended. {MEANS}")
def only_the_length(weight, inputs, targets, answers, portion, max_norm):
    return step_with(weight, inputs, targets, answers, portion, max_norm, lambda x, c, n: c.sum() * n)


@mend_accumulation.mistake(f"The NaN is gone, and that hides a symptom. {MEANS}")
def at_least_one(weight, inputs, targets, answers, portion, max_norm):
    return step_with(weight, inputs, targets, answers, portion, max_norm, lambda x, c, n: c.sum().clamp(min=1) * n)


@mend_accumulation.mistake(f"The NaN is gone, and that hides a symptom. {MEANS} {EARLY}")
def only_the_nan(weight, inputs, targets, answers, portion, max_norm):
    def share(x, counts, n):
        return counts.sum().clamp(min=1) * n

    return step_with(weight, inputs, targets, answers, portion, max_norm, share, late=False)


@mend_accumulation.mistake(
    "Each portion counts by its share of the *rows*. A row may hold one answer or many, so count the tokens."
)
def by_rows(weight, inputs, targets, answers, portion, max_norm):
    def share(x, counts, n):
        return max(1, int(counts.sum())) * len(inputs) / len(x)

    return step_with(weight, inputs, targets, answers, portion, max_norm, share)


@mend_accumulation.mistake(
    "The sums are divided by all places, questions and padding too: with more padding the gradient becomes shorter."
)
def all_places_counted(weight, inputs, targets, answers, portion, max_norm):
    return step_with(weight, inputs, targets, answers, portion, max_norm, lambda x, c, n: answers.numel())


@mend_accumulation.mistake(
    "The means are added up, and not divided by the number of portions any more: with five portions the gradient is "
    "about five times as long."
)
def sum_of_means(weight, inputs, targets, answers, portion, max_norm):
    return step_with(weight, inputs, targets, answers, portion, max_norm, lambda x, c, n: c.sum().clamp(min=1))


@mend_accumulation.mistake("The gradient is never shortened. So no portion is favoured, but max_norm has no effect.")
def never_shortened(weight, inputs, targets, answers, portion, max_norm):
    return sum(summed(weight, *part) for part in portions_of(inputs, targets, answers, portion)) / answers.sum()


@mend_accumulation.mistake(
    "Each portion's own share is shortened before it is added. Then no place is favoured, and that symptom is gone; "
    "but only long shares lose length, so the sum may be shorter or longer than it should be, and it points elsewhere."
)
def each_shortened(weight, inputs, targets, answers, portion, max_norm):
    parts = portions_of(inputs, targets, answers, portion)
    return sum(shortened(summed(weight, *part) / answers.sum(), max_norm / len(parts)) for part in parts)


@mend_accumulation.mistake(
    "A gradient shorter than max_norm is stretched to that length. Only what is longer is to be shortened."
)
def always_that_long(weight, inputs, targets, answers, portion, max_norm):
    gradient = sum(summed(weight, *part) for part in portions_of(inputs, targets, answers, portion))
    return gradient / gradient.norm() * max_norm


@mend_accumulation.mistake(
    "A last portion that is not full is left out. All portions have equally many rows then, but those answers "
    "are never learned."
)
def last_portion_left_out(weight, inputs, targets, answers, portion, max_norm):
    full = len(inputs) // portion * portion or len(inputs)
    return step_with(
        *(weight, inputs[:full], targets[:full], answers[:full], portion, max_norm),
        lambda x, c, n: answers[:full].sum().clamp(min=1),
    )


@mend_accumulation.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    """In float32 alone: a share of two counts is of that type, whatever that of the gradient."""
    normal, rows, d = floats(generator, torch.float32), number(generator, 3, 7), number(generator, 2, 5)
    lengths = [number(generator, 1, 5) for _ in range(rows)]
    given = {"weight": normal(d), "inputs": normal(rows, 6, d), "targets": normal(rows, 6)}
    given |= {"answers": marked(lengths, 6)}
    return {**given, "portion": number(generator, 1, rows - 1), "max_norm": number(generator, 1, 8) / 4}
