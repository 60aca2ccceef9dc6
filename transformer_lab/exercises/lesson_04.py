"""Exercises of lesson 04: layer normalisation, and the residual block around a sub-layer."""

import torch
import torch.nn.functional as F

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
    "Mean and variance have lost their last axis, so that they line up with the wrong one. With several vectors this "
    "fails or, worse, silently subtracts the mean of another vector. `keepdim=True` keeps the axis."
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


# What the blocks are tried with: functions whose numbers a reader can follow, and some that are no straight lines.


def plus_ten(x):
    return x + 10


def doubled(x):
    return 2 * x


def zeros(x):
    return 0 * x


def bent(x):
    return 3 * torch.tanh(x.roll(1, dims=-1)) + x.roll(2, dims=-1)


def squared(x):
    return x.square() + 1


def standardised(x):
    return F.layer_norm(x, x.shape[-1:])


def learned_norm(x):
    features = torch.arange(x.size(-1), dtype=x.dtype, device=x.device)
    return F.layer_norm(x, x.shape[-1:], 1 + features / 3, 1 - features / 2)


def block_cases(label: str, x, sublayer, norm) -> tuple[Case, Case]:
    """The same block twice: post-norm and pre-norm."""
    given = {"x": x, "sublayer": sublayer, "norm": norm}
    return Case(f"{label}, post-norm", {**given, "norm_first": False}), Case(
        f"{label}, pre-norm", {**given, "norm_first": True}
    )


residual_block = Exercise(
    blocks.residual_block,
    lesson="04",
    minutes=5,
    difficulty=1,
    statement="""
    A sub-layer with a residual connection, and a norm: after the sum (post-norm) or before the sub-layer (pre-norm).

    `norm_first` says which: post-norm if it is False, pre-norm if it is True. x is (B, T, d_model); `sublayer` and
    `norm` are functions that keep its shape.
    """,
    returns=("output",),
    cases=(
        *block_cases("two simple functions", counting(1, 1, 3), plus_ten, doubled),
        *block_cases("a sub-layer that gives zeros", counting(1, 2, 3), zeros, standardised),
        *block_cases("one token", normal(1, 1, 5), bent, learned_norm),
        *block_cases("a batch", normal(2, 3, 5), bent, learned_norm),
        *block_cases("another sub-layer", normal(3, 2, 7), squared, standardised),
        *block_cases("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, squared, learned_norm),
    ),
    properties=(
        Property(
            "pre-norm hands x on untouched when its sub-layer gives zeros",
            lambda given, output: (
                given["sublayer"] is not zeros or not given["norm_first"] or torch.equal(output, given["x"])
            ),
        ),
    ),
    hints=(
        "`sublayer` and `norm` are functions that you call. In both kinds of block, each of them is called exactly "
        "once.",
        "Post-norm: what does the norm receive, the sub-layer's result alone or the sum?",
        "Pre-norm: there are two ways to the sum, through the sub-layer and around it. On which of them does the norm "
        "stand?",
    ),
)


@residual_block.mistake(
    "The input is missing: what comes out is the sub-layer's result alone. Without a way around its sub-layers, the "
    "tokens of a deep stack become alike, and the gradient has to pass through every sub-layer."
)
def skips_the_input(x, sublayer, norm, norm_first):
    return sublayer(norm(x)) if norm_first else norm(sublayer(x))


@residual_block.mistake(
    "The sub-layer's result is added to *itself*. There is a sum, but x is not part of it: add the result to the input."
)
def added_to_itself(x, sublayer, norm, norm_first):
    result = sublayer(norm(x)) if norm_first else sublayer(x)
    return result + result if norm_first else norm(result + result)


@residual_block.mistake("The norm comes after the sum in both cases, because `norm_first` is never used.")
def always_post_norm(x, sublayer, norm, norm_first):
    return norm(x + sublayer(x))


@residual_block.mistake("The norm comes before the sub-layer in both cases, because `norm_first` is never used.")
def always_pre_norm(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x))


@residual_block.mistake("The two kinds are swapped: `norm_first` means that the norm comes *before* the sub-layer.")
def kinds_exchanged(x, sublayer, norm, norm_first):
    return norm(x + sublayer(x)) if norm_first else x + sublayer(norm(x))


@residual_block.mistake(
    "In the pre-norm block you add the *normalised* x. Then nothing goes around the norm, and every layer loses its "
    "input's size and offset. Add x as it came in."
)
def adds_the_normalised_input(x, sublayer, norm, norm_first):
    y = norm(x) if norm_first else x
    return y + sublayer(y) if norm_first else norm(y + sublayer(y))


@residual_block.mistake(
    "In the post-norm block only the sub-layer's result is normalised, before it is added. Normalise the *sum*."
)
def norm_inside_the_sum(x, sublayer, norm, norm_first):
    return x + (sublayer(norm(x)) if norm_first else norm(sublayer(x)))


@residual_block.mistake(
    "In both cases the norm comes after the sub-layer but inside the sum: x + norm(sublayer(x)). That is neither "
    "kind: post-norm normalises the sum, pre-norm what the sub-layer reads."
)
def norm_behind_the_sublayer(x, sublayer, norm, norm_first):
    return x + norm(sublayer(x))


@residual_block.mistake(
    "The pre-norm block is normalised a second time, after the sum. It has only the norm before the sub-layer."
)
def pre_norm_and_post_norm(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x) if norm_first else x))


@residual_block.mistake(
    "The norm is used twice in both cases, before the sub-layer and after the sum. Each kind has one norm only."
)
def norm_twice(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x)))


@residual_block.mistake("There is no norm at all: `norm` is never called, so the sum grows from layer to layer.")
def no_norm(x, sublayer, norm, norm_first):
    return x + sublayer(x)


@residual_block.mistake("The sub-layer is applied a second time, to its own result. Each block applies it once.")
def sublayer_twice(x, sublayer, norm, norm_first):
    return x + sublayer(sublayer(norm(x))) if norm_first else norm(x + sublayer(sublayer(x)))


@residual_block.mistake(
    "The two terms are normalised one by one and then added. Post-norm adds first, and normalises the sum."
)
def each_term_normalised(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x)) if norm_first else norm(x) + norm(sublayer(x))


@residual_block.mistake(
    "In the pre-norm block the norm is on the wrong branch: the sub-layer gets the raw x, and the way around it is "
    "normalised. It must be the other way round."
)
def norm_on_the_way_around(x, sublayer, norm, norm_first):
    return norm(x) + sublayer(x) if norm_first else norm(x + sublayer(x))
