"""Lesson 11: implement `rms_norm` for heads."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise


def norm_case(label: str, x, d_head: int, weight=None, eps: float = 1e-5) -> Case:
    """A case whose weight, unless given, is neither 1 nor the same for all features of a head."""
    weight = 1 + torch.arange(d_head, dtype=x.dtype, device="cpu") / 4 if weight is None else weight
    return Case(label, {"x": x, "weight": weight, "eps": eps})


def heads_of_size_one(given, output) -> bool:
    """Mean square m / (m + eps) for every head of every vector, once the weight is taken off again."""
    heads = (-1, given["weight"].numel())
    undone = output.unflatten(-1, heads) / given["weight"]
    squares, before = (part.double().square().mean(-1) for part in (undone, given["x"].unflatten(-1, heads)))
    return (squares - before / (before + given["eps"])).abs().max() < 1e-3


@partial(
    Exercise,
    lesson="11",
    minutes=10,
    difficulty=2,
    statement="""
    RMSNorm for the heads of queries or keys, as Qwen 3 and Gemma 3 have it before the scores (QK-norm).

    x is (…, d_model) and holds the heads side by side: the first d_head features are head 0, the next d_head are
    head 1, and so on. `weight` is (d_head,), the same for all heads, and d_model is a multiple of d_head. Every head of
    every vector is normed by itself:

    RMSNorm(z) = z / √(mean(z²) + eps) · weight, for z the d_head features of one head

    Return the normed heads as they came, side by side: (…, d_model).
    """,
    returns=("output",),
    cases=(
        norm_case("one head, weight 1", torch.tensor([1.0, 7.0]), 2, torch.tensor([1.0, 1.0])),
        norm_case("two heads, one ten times the other", torch.tensor([1.0, 7.0, 10.0, 70.0]), 2, torch.ones(2)),
        norm_case("two heads, and a weight", 1 + 2 * counting(6), 3),
        norm_case("heads of one feature", normal(6), 1),
        norm_case("a large eps", counting(2, 6), 3, eps=0.5),
        norm_case("a head of zeros", torch.tensor([[0.0, 0, 1, 2], [3, 4, 0, 0]]), 2, eps=0.1),
        norm_case("as many heads as features in each", normal(4, 9), 3),
        norm_case("a batch of sentences", normal(2, 5, 8), 4),
        norm_case("numbers far from 0", 3 * normal(3, 2, 10) + 20, 5),
        norm_case("four axes", normal(2, 3, 5, 6), 3, eps=0.01),
        norm_case("float64, not contiguous", normal(2, 8, 5, dtype=torch.float64).mT, 2),
    ),
    properties=(Property("with the weight undone, each head has (but for eps) a mean square of 1", heads_of_size_one),),
    hints=(
        "How many heads are there? d_model features, and d_head of them in each; the weight tells you d_head.",
        "Give the heads an axis of their own, (…, h, d_head). Then which axis is the mean over, and does it keep its "
        "place so that it broadcasts?",
        "eps belongs to the mean square, before the root. At the end the last two axes become one again.",
    ),
)
def rms_norm(x, weight, eps):
    """Each head of each vector with a root mean square of 1, then scaled by one weight for all heads."""
    heads = x.unflatten(-1, (-1, weight.numel()))  # (…, h, d_head)
    mean_square = heads.square().mean(-1, keepdim=True)  # (…, h, 1)
    return (heads * torch.rsqrt(mean_square + eps) * weight).flatten(-2)


def in_heads(x, weight):
    return x.unflatten(-1, (-1, weight.size(0)))


def by_root(heads, mean_square, weight, eps):
    return (heads / torch.sqrt(mean_square + eps) * weight).flatten(-2)


def squared(heads):
    return heads.square().mean(-1, keepdim=True)


@rms_norm.mistake(
    "The mean runs over the whole vector, so that a large head makes the others small. Each head has one of its own."
)
def over_the_whole_vector(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, x.square().mean(-1, keepdim=True).unsqueeze(-1), weight, eps)


@rms_norm.mistake(
    "You take every h-th feature for a head. The heads lie side by side: the *first* d_head features are head 0."
)
def heads_interleaved(x, weight, eps):
    heads = x.unflatten(-1, (weight.size(0), -1))  # (…, d_head, h)
    return (heads * torch.rsqrt(heads.square().mean(-2, keepdim=True) + eps) * weight[:, None]).flatten(-2)


@rms_norm.mistake("The mean is over the heads, feature by feature. Take it over the d_head features of each head.")
def over_the_heads(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, heads.square().mean(-2, keepdim=True), weight, eps)


@rms_norm.mistake("You return the heads on an axis of their own, (…, h, d_head). Put them side by side again.")
def heads_left_apart(x, weight, eps):
    heads = in_heads(x, weight)
    return heads * torch.rsqrt(squared(heads) + eps) * weight


@rms_norm.mistake(
    "You subtract the mean, as LayerNorm does. RMSNorm leaves the mean where it is: that is what it saves."
)
def mean_subtracted(x, weight, eps):
    heads = in_heads(x, weight)
    centred = heads - heads.mean(-1, keepdim=True)
    return by_root(centred, squared(centred), weight, eps)


@rms_norm.mistake("You measure from the mean, as a standard deviation does. The root mean square is measured from 0.")
def standard_deviation(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, heads.var(-1, correction=0, keepdim=True), weight, eps)


@rms_norm.mistake("That is the *sum* of the squares. Its root is the length of the head, √d_head times too large.")
def divided_by_the_length(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, heads.square().sum(-1, keepdim=True), weight, eps)


@rms_norm.mistake("The root *of the mean square* is missing. It is this root that a head is divided by.")
def without_the_root(x, weight, eps):
    heads = in_heads(x, weight)
    return (heads / (squared(heads) + eps) * weight).flatten(-2)


@rms_norm.mistake("You take the mean of the *absolute* values. The root mean square squares first, and takes the root.")
def mean_of_absolute_values(x, weight, eps):
    heads = in_heads(x, weight)
    return (heads / (heads.abs().mean(-1, keepdim=True) + eps) * weight).flatten(-2)


@rms_norm.mistake("You square the mean. First square each feature, then take the mean of the squares.")
def square_of_the_mean(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, heads.mean(-1, keepdim=True).square(), weight, eps)


@rms_norm.mistake("eps is added after the root. Add it to the mean square, before the root.")
def eps_outside_the_root(x, weight, eps):
    heads = in_heads(x, weight)
    return (heads / (squared(heads).sqrt() + eps) * weight).flatten(-2)


@rms_norm.mistake("eps is missing, so a head of zeros is divided by 0.")
def no_eps(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, squared(heads), weight, 0.0)


@rms_norm.mistake("eps is always 1e-5, whatever the argument says. Use the eps that is given.")
def eps_of_its_own(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, squared(heads), weight, 1e-5)


@rms_norm.mistake("The weight is never used.")
def no_weight(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, squared(heads), 1.0, eps)


@rms_norm.mistake(
    "The weight is applied before the norm, so that it changes what is divided by. Apply it to the result."
)
def weight_before_norm(x, weight, eps):
    heads = in_heads(x, weight) * weight
    return by_root(heads, squared(heads), 1.0, eps)


@rms_norm.mistake(
    "You multiply by 1 + weight. Gemma stores its weights so; here a weight of 1 is one that changes nothing."
)
def one_more_than_the_weight(x, weight, eps):
    heads = in_heads(x, weight)
    return by_root(heads, squared(heads), 1 + weight, eps)


@rms_norm.mistake("There is one mean square for the whole tensor. Each head of each vector needs its own.")
def over_everything(x, weight, eps):
    return by_root(in_heads(x, weight), x.square().mean(), weight, eps)


@rms_norm.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, n_heads, d_head = floats(generator), number(generator, 2, 4), number(generator, 2, 6)
    x = pick(generator, 0.5, 2) * normal(*leading(generator), n_heads * d_head) + number(generator, -3, 3)
    return {"x": x, "weight": normal(d_head), "eps": pick(generator, 1e-5, 1e-3, 0.1)}
