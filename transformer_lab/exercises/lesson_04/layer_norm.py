"""Lesson 04: implement `layer_norm`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import blocks


def norm_case(label: str, x, weight=None, bias=None, eps: float = 1e-5) -> Case:
    """A case whose weight and bias, unless given, are neither 1 and 0 nor alike."""
    features = torch.arange(x.size(-1), dtype=x.dtype, device="cpu")
    weight = 1 + features / 4 if weight is None else weight
    bias = features - 1 if bias is None else bias
    return Case(label, {"x": x, "weight": weight, "bias": bias, "eps": eps})


def standard_rows(given, output) -> bool:
    """Mean 0 and variance var / (var + eps) for every vector, once weight and bias are taken off again."""
    rows = ((output - given["bias"]) / given["weight"]).double()
    variance = given["x"].double().var(-1, correction=0)
    return (
        rows.mean(-1).abs().max() < 1e-3
        and (rows.var(-1, correction=0) - variance / (variance + given["eps"])).abs().max() < 1e-3
    )


layer_norm = Exercise(
    blocks.layer_norm,
    lesson="04",
    minutes=10,
    difficulty=1,
    statement="""
    Give each vector mean 0 and variance 1, then scale it by `weight` and shift it by `bias`.

    LN(x) = (x - mean) / √(variance + eps) · weight + bias

    x is (…, d_model); mean and variance are over the last axis, and the variance divides by d_model.
    """,
    returns=("output",),
    cases=(
        norm_case("one vector, weight 1 and bias 0", 1 + 2 * counting(4), 1 + 0 * counting(4), 0 * counting(4)),
        norm_case("one vector", 1 + 2 * counting(4)),
        norm_case("a large eps", counting(2, 3), eps=0.5),
        norm_case("two features", torch.tensor([[0.0, 8.0], [9.0, 1.0], [2.0, 12.0]])),
        norm_case("all features equal", 0 * counting(2, 3) + 4, eps=0.1),
        norm_case("a batch of sentences", normal(2, 5, 7)),
        norm_case("numbers far from 0", 3 * normal(3, 2, 5) + 20),
        norm_case("four axes", normal(2, 3, 5, 7), eps=0.01),
        norm_case("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT),
    ),
    properties=(
        Property("with weight and bias undone, each vector has mean 0 and (but for eps) variance 1", standard_rows),
    ),
    hints=(
        "Four steps for each vector: subtract its mean, find its variance, divide, then apply weight and bias.",
        "Mean and variance are taken over the features, the last axis. Keep that axis with size 1, so that both "
        "broadcast against x.",
        "The variance is the plain mean of the squared deviations: torch's `var` divides by one less unless it is "
        "told otherwise. And eps belongs to the variance: add it before you take the root.",
    ),
)


def scaled(x, mean, variance, weight, bias, eps):
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def moments(x, axes):
    return x.mean(axes, keepdim=True), x.var(axes, correction=0, keepdim=True)


@layer_norm.mistake(
    "Mean and variance are taken over the first axis, as in *batch* normalisation, so what comes out for a sentence "
    "depends on the other sentences of the batch. Normalise each vector over its own features."
)
def over_the_batch(x, weight, bias, eps):
    return scaled(x, *moments(x, 0), weight, bias, eps)


@layer_norm.mistake(
    "Mean and variance are taken over the positions, so the tokens of a sentence influence one another, and padding "
    "changes the words. Normalise over the features, the last axis."
)
def over_time(x, weight, bias, eps):
    return scaled(x, *moments(x, -2 if x.ndim > 1 else -1), weight, bias, eps)


@layer_norm.mistake(
    "There is one mean and one variance for the whole tensor. Each vector needs its own, taken over the last axis."
)
def over_everything(x, weight, bias, eps):
    return scaled(x, x.mean(), x.var(correction=0), weight, bias, eps)


@layer_norm.mistake(
    "Mean and variance are taken over positions *and* features, once for each sentence. Each token needs its own."
)
def over_the_sentence(x, weight, bias, eps):
    return scaled(x, *moments(x, (-2, -1) if x.ndim > 1 else -1), weight, bias, eps)


@layer_norm.mistake(
    "The variance divides by d_model - 1, which is what `var` and `std` do by default. Layer normalisation takes the "
    "plain mean of the squared deviations: `correction=0`."
)
def unbiased(x, weight, bias, eps):
    return scaled(x, x.mean(-1, keepdim=True), x.var(-1, keepdim=True), weight, bias, eps)


@layer_norm.mistake(
    "The mean, the variance or both have lost the last axis, so that they line up with the wrong one. With several "
    "vectors this fails or, worse, silently takes the numbers of another vector. `keepdim=True` keeps the axis."
)
def axis_lost(x, weight, bias, eps):
    return scaled(x, x.mean(-1), x.var(-1, correction=0), weight, bias, eps)


@layer_norm.mistake(
    "The mean is subtracted, but the vector is divided by the root mean square of the *original* x. The variance is "
    "the mean square of what is left after the subtraction."
)
def mean_square_with_the_mean(x, weight, bias, eps):
    return scaled(x, x.mean(-1, keepdim=True), x.square().mean(-1, keepdim=True), weight, bias, eps)


@layer_norm.mistake(
    "eps is always 1e-5, the default of `F.layer_norm`, whatever the argument says. Use the eps that is given."
)
def eps_of_its_own(x, weight, bias, eps):
    return scaled(x, *moments(x, -1), weight, bias, 1e-5)


@layer_norm.mistake("eps is added to the standard deviation, after the root. Add it to the variance, before the root.")
def eps_outside_the_root(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps) * weight + bias


@layer_norm.mistake(
    "Two slips at once: `std` divides by d_model - 1, and eps is added after the root. Take the plain mean of the "
    "squared deviations, add eps, then take the root."
)
def unbiased_std_plus_eps(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) * weight + bias


@layer_norm.mistake("eps is missing, so a vector whose features are all equal is divided by 0.")
def no_eps(x, weight, bias, eps):
    return scaled(x, *moments(x, -1), weight, bias, 0.0)


@layer_norm.mistake("The weight is never used.")
def no_weight(x, weight, bias, eps):
    return scaled(x, *moments(x, -1), 1.0, bias, eps)


@layer_norm.mistake("The bias is never used.")
def no_bias(x, weight, bias, eps):
    return scaled(x, *moments(x, -1), weight, 0.0, eps)


@layer_norm.mistake("Neither the weight nor the bias is used.")
def no_weight_and_no_bias(x, weight, bias, eps):
    return scaled(x, *moments(x, -1), 1.0, 0.0, eps)


@layer_norm.mistake(
    "The mean is not subtracted: the vector is divided by its standard deviation, but keeps its offset. You use the "
    "mean for the variance only."
)
def not_centred(x, weight, bias, eps):
    return scaled(x, 0.0, x.var(-1, correction=0, keepdim=True), weight, bias, eps)


@layer_norm.mistake(
    "The vector is divided by its root mean square, and its mean is never subtracted. That is RMS normalisation, a "
    "relative that many later models use; layer normalisation subtracts the mean first."
)
def root_mean_square(x, weight, bias, eps):
    return scaled(x, 0.0, x.square().mean(-1, keepdim=True), weight, bias, eps)


@layer_norm.mistake("The vector is divided by its variance. Divide by its root, the standard deviation.")
def divided_by_the_variance(x, weight, bias, eps):
    mean, variance = moments(x, -1)
    return (x - mean) / (variance + eps) * weight + bias


@layer_norm.mistake(
    "The weight is applied before the normalisation, which takes its overall size off again. Apply it afterwards."
)
def weight_before_norm(x, weight, bias, eps):
    return scaled(x * weight, *moments(x * weight, -1), 1.0, bias, eps)


@layer_norm.mistake(
    "The bias is added before the weight is applied: weight · (normalised + bias). First scale, then shift."
)
def bias_before_weight(x, weight, bias, eps):
    return (scaled(x, *moments(x, -1), 1.0, 0.0, eps) + bias) * weight


@layer_norm.mistake(
    "The vector is divided by its length, not by its standard deviation, so the result is √d_model times too small."
)
def divided_by_the_length(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt(centred.square().sum(-1, keepdim=True) + eps) * weight + bias


@layer_norm.mistake(
    "Mean and variance are taken over all axes but the first, as if there were one vector for each index of the first. "
    "Each vector along the last axis needs its own, however many axes stand before it."
)
def over_all_but_the_first(x, weight, bias, eps):
    return scaled(x, *moments(x, tuple(range(1, x.ndim)) or -1), weight, bias, eps)


@layer_norm.mistake("Weight and bias are exchanged: multiply by `weight`, then add `bias`.")
def weight_and_bias_exchanged(x, weight, bias, eps):
    return scaled(x, *moments(x, -1), bias, weight, eps)


@layer_norm.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, d_model = floats(generator), number(generator, 4, 12)
    x = pick(generator, 0.5, 2) * normal(*leading(generator), d_model) + number(generator, -3, 3)
    return {"x": x, "weight": normal(d_model), "bias": normal(d_model), "eps": pick(generator, 1e-5, 1e-3, 0.1)}
