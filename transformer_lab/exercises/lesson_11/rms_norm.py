"""Lesson 11: implement `rms_norm`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import blocks


def norm_case(label: str, x, weight=None, eps: float = 1e-5) -> Case:
    """A case whose weight, unless given, is neither 1 nor the same for all features."""
    weight = 1 + torch.arange(x.size(-1), dtype=x.dtype, device="cpu") / 4 if weight is None else weight
    return Case(label, {"x": x, "weight": weight, "eps": eps})


def rows_of_size_one(given, output) -> bool:
    """Mean square m / (m + eps) for every vector, once the weight is taken off again."""
    squares, before = ((output / given["weight"]).double().square().mean(-1), given["x"].double().square().mean(-1))
    return (squares - before / (before + given["eps"])).abs().max() < 1e-3


rms_norm = Exercise(
    blocks.rms_norm,
    lesson="11",
    minutes=5,
    difficulty=1,
    statement="""
    Give each vector a root mean square of 1, then scale it by `weight`.

    RMSNorm(x) = x / √(mean(x²) + eps) · weight

    x is (…, d_model), and the mean is over the last axis. Nothing is subtracted, and nothing is added at the end.
    """,
    returns=("output",),
    cases=(
        norm_case("one vector, weight 1", torch.tensor([1.0, 7.0]), torch.tensor([1.0, 1.0])),
        norm_case("one vector", 1 + 2 * counting(4)),
        norm_case("a large eps", counting(2, 3), eps=0.5),
        norm_case("a vector of zeros", 0 * counting(2, 3), eps=0.1),
        norm_case("all features equal", 0 * counting(2, 3) + 4, eps=0.1),
        norm_case("a batch of sentences", normal(2, 5, 7)),
        norm_case("numbers far from 0", 3 * normal(3, 2, 5) + 20),
        norm_case("four axes", normal(2, 3, 5, 7), eps=0.01),
        norm_case("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT),
    ),
    properties=(
        Property("with the weight undone, each vector has (but for eps) a mean square of 1", rows_of_size_one),
    ),
    hints=(
        "Three steps for each vector: find the mean of its squares, divide by the root of that, apply the weight.",
        "The mean is over the features, the last axis. Keep that axis with size 1, so that it broadcasts against x.",
        "eps belongs to the mean square: add it before you take the root.",
    ),
)


def by_root(x, mean_square, weight, eps):
    return x / torch.sqrt(mean_square + eps) * weight


@rms_norm.mistake(
    "You subtract the mean, as LayerNorm does. RMSNorm leaves the mean where it is: that is what it saves."
)
def mean_subtracted(x, weight, eps):
    centred = x - x.mean(-1, keepdim=True)
    return by_root(centred, centred.square().mean(-1, keepdim=True), weight, eps)


@rms_norm.mistake(
    "You divide by the standard deviation. It is measured from the mean; the root mean square is measured from 0."
)
def standard_deviation(x, weight, eps):
    return by_root(x, x.var(-1, correction=0, keepdim=True), weight, eps)


@rms_norm.mistake("That is the *sum* of the squares: you divide by the length of the vector, √d_model times too much.")
def divided_by_the_length(x, weight, eps):
    return by_root(x, x.square().sum(-1, keepdim=True), weight, eps)


@rms_norm.mistake("The root is missing: you divide by the mean square itself.")
def without_the_root(x, weight, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps) * weight


@rms_norm.mistake("You take the mean of the *absolute* values. The root mean square squares first, and takes the root.")
def mean_of_absolute_values(x, weight, eps):
    return x / (x.abs().mean(-1, keepdim=True) + eps) * weight


@rms_norm.mistake("You square the mean. First square each feature, then take the mean of the squares.")
def square_of_the_mean(x, weight, eps):
    return by_root(x, x.mean(-1, keepdim=True).square(), weight, eps)


@rms_norm.mistake("eps is added after the root. Add it to the mean square, before the root.")
def eps_outside_the_root(x, weight, eps):
    return x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * weight


@rms_norm.mistake("eps is missing, so a vector of zeros is divided by 0.")
def no_eps(x, weight, eps):
    return by_root(x, x.square().mean(-1, keepdim=True), weight, 0.0)


@rms_norm.mistake("eps is always 1e-5, whatever the argument says. Use the eps that is given.")
def eps_of_its_own(x, weight, eps):
    return by_root(x, x.square().mean(-1, keepdim=True), weight, 1e-5)


@rms_norm.mistake("The weight is never used.")
def no_weight(x, weight, eps):
    return by_root(x, x.square().mean(-1, keepdim=True), 1.0, eps)


@rms_norm.mistake(
    "The weight is applied before the norm, so that it changes what is divided by. Apply it to the result."
)
def weight_before_norm(x, weight, eps):
    return by_root(x * weight, (x * weight).square().mean(-1, keepdim=True), 1.0, eps)


@rms_norm.mistake(
    "You multiply by 1 + weight. Gemma stores its weights so; here a weight of 1 is one that changes nothing."
)
def one_more_than_the_weight(x, weight, eps):
    return by_root(x, x.square().mean(-1, keepdim=True), 1 + weight, eps)


@rms_norm.mistake("There is one mean square for the whole tensor. Each vector needs its own, over the last axis.")
def over_everything(x, weight, eps):
    return by_root(x, x.square().mean(), weight, eps)


@rms_norm.mistake("The mean is over the positions, so that tokens influence one another. Take it over the features.")
def over_time(x, weight, eps):
    return by_root(x, x.square().mean(-2 if x.ndim > 1 else -1, keepdim=True), weight, eps)


@rms_norm.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, d_model = floats(generator), number(generator, 3, 12)
    x = pick(generator, 0.5, 2) * normal(*leading(generator), d_model) + number(generator, -3, 3)
    return {"x": x, "weight": normal(d_model), "eps": pick(generator, 1e-5, 1e-3, 0.1)}
