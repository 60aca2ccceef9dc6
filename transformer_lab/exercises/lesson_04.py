"""Exercises of lesson 04: layer normalisation, and the residual block around a sub-layer."""

import torch
import torch.nn.functional as F

from transformer_lab import blocks
from transformer_lab.exercises.exercise import Law, exercise
from transformer_lab.exercises.running import Case
from transformer_lab.exercises.samples import counting, normal


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


@exercise(
    lesson="04",
    returns=("output",),
    package=blocks.layer_norm,
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
    laws=(Law("with weight and bias taken off, each vector has mean 0 and (but for eps) variance 1", standard_rows),),
    hints=(
        "Four steps for each vector: its mean off, its variance, the division, then weight and bias.",
        "Mean and variance run over the features, the last axis. Keep that axis with size 1, so that they can be "
        "taken off and divided by.",
        "The variance is the plain mean of the squared deviations: torch's `var` divides by one less unless it is told "
        "otherwise. And eps belongs to the variance: add it before the root is taken.",
    ),
)
def layer_norm(x, weight, bias, eps):
    """Give each vector mean 0 and variance 1, then scale it by `weight` and shift it by `bias`.

    LN(x) = (x - mean) / √(variance + eps) · weight + bias

    x is (…, d_model); mean and variance are over the last axis, and the variance divides by d_model.
    """
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias


def scaled(x, mean, variance, weight, bias, eps):
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def moments(x, axes):
    return x.mean(axes, keepdim=True), x.var(axes, correction=0, keepdim=True)


@layer_norm.mistake(
    "Mean and variance run over the first axis, as in *batch* normalisation: what a sentence gets depends on the "
    "sentences beside it. Each vector is normalised over its own features."
)
def over_the_batch(x, weight, bias, eps):
    return scaled(x, *moments(x, 0), weight, bias, eps)


@layer_norm.mistake(
    "Mean and variance run over time: the tokens of a sentence are mixed, and padding changes the words. "
    "Normalise over the features, the last axis."
)
def over_time(x, weight, bias, eps):
    return scaled(x, *moments(x, -2 if x.ndim > 1 else -1), weight, bias, eps)


@layer_norm.mistake(
    "One mean and one variance for all numbers of the tensor. Each vector has its own: over the last axis, kept."
)
def over_everything(x, weight, bias, eps):
    return scaled(x, x.mean(), x.var(correction=0), weight, bias, eps)


@layer_norm.mistake("Mean and variance run over tokens *and* features: one for each sentence. Each token has its own.")
def over_the_sentence(x, weight, bias, eps):
    return scaled(x, *moments(x, (-2, -1) if x.ndim > 1 else -1), weight, bias, eps)


@layer_norm.mistake(
    "The variance divides by d_model - 1, which is what `var` and `std` do unless told otherwise. "
    "Layer normalisation takes the plain mean of the squares: `correction=0`."
)
def unbiased(x, weight, bias, eps):
    return scaled(x, x.mean(-1, keepdim=True), x.var(-1, keepdim=True), weight, bias, eps)


@layer_norm.mistake("eps is added to the standard deviation, after the root. It belongs to the variance, before it.")
def eps_outside_the_root(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps) * weight + bias


@layer_norm.mistake(
    "Two slips in one: `std` divides by d_model - 1, and eps is added after the root. "
    "Take the plain mean of the squares, add eps, then the root."
)
def unbiased_std_plus_eps(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) * weight + bias


@layer_norm.mistake("eps is missing: a vector whose features are all equal is divided by 0.")
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
    "The mean is not taken off: the vector is divided by its spread, but keeps its offset. "
    "Only the variance has been computed around the mean."
)
def not_centred(x, weight, bias, eps):
    return scaled(x, 0.0, x.var(-1, correction=0, keepdim=True), weight, bias, eps)


@layer_norm.mistake(
    "The vector is divided by the root of its mean square, without the mean taken off. "
    "That is RMS normalisation, a relative that many later models use; here the mean goes first."
)
def root_mean_square(x, weight, bias, eps):
    return scaled(x, 0.0, x.square().mean(-1, keepdim=True), weight, bias, eps)


@layer_norm.mistake("The vector is divided by its variance. Divide by the root of it, the standard deviation.")
def divided_by_the_variance(x, weight, bias, eps):
    mean, variance = moments(x, -1)
    return (x - mean) / (variance + eps) * weight + bias


@layer_norm.mistake("The weight is applied before the normalisation, which takes most of it off again. It comes after.")
def weight_before_norm(x, weight, bias, eps):
    return scaled(x * weight, *moments(x * weight, -1), 1.0, bias, eps)


@layer_norm.mistake("The bias is added before the scale: weight · (normalised + bias). First scale, then shift.")
def bias_before_weight(x, weight, bias, eps):
    return (scaled(x, *moments(x, -1), 1.0, 0.0, eps) + bias) * weight


@layer_norm.mistake("The vector is divided by its length, not by its standard deviation: √d_model times too small.")
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


@exercise(
    lesson="04",
    returns=("output",),
    cases=(
        *block_cases("two simple functions", counting(1, 1, 3), plus_ten, doubled),
        *block_cases("a sub-layer that gives zeros", counting(1, 2, 3), zeros, standardised),
        *block_cases("one token", normal(1, 1, 5), bent, learned_norm),
        *block_cases("a batch", normal(2, 3, 5), bent, learned_norm),
        *block_cases("another sub-layer", normal(3, 2, 7), squared, standardised),
        *block_cases("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, squared, learned_norm),
    ),
    laws=(
        Law(
            "pre-norm hands x on untouched when its sub-layer gives zeros",
            lambda given, output: (
                given["sublayer"] is not zeros or not given["norm_first"] or torch.equal(output, given["x"])
            ),
        ),
    ),
    hints=(
        "`sublayer` and `norm` are functions that you call. Each of them is called once, in both kinds of block.",
        "Post-norm: go around the sub-layer, add, and normalise what comes out.",
        "Pre-norm: only the sub-layer sees the normalised vector; what goes around it stays as it came in.",
    ),
)
def residual_block(x, sublayer, norm, norm_first):
    """A sub-layer, the way around it, and a norm: after the sum (post-norm), or in front of the sub-layer (pre-norm).

    post-norm, if not norm_first:  LayerNorm(x + Sublayer(x))
    pre-norm, if norm_first:       x + Sublayer(LayerNorm(x))

    x is (B, T, d_model); `sublayer` and `norm` are functions that keep its shape.
    """
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


@residual_block.mistake(
    "The input is skipped: what comes out is the sub-layer's result alone. There is no way around it, and in a deep "
    "stack the gradient has to pass through every sub-layer."
)
def skips_the_input(x, sublayer, norm, norm_first):
    return sublayer(norm(x)) if norm_first else norm(sublayer(x))


@residual_block.mistake(
    "The sub-layer's result is added to *itself*. A sum is there, but x is not in it: add the result to the input."
)
def added_to_itself(x, sublayer, norm, norm_first):
    result = sublayer(norm(x)) if norm_first else sublayer(x)
    return result + result if norm_first else norm(result + result)


@residual_block.mistake("The norm comes after the sum in both cases: `norm_first` is never used.")
def always_post_norm(x, sublayer, norm, norm_first):
    return norm(x + sublayer(x))


@residual_block.mistake("The norm comes before the sub-layer in both cases: `norm_first` is never used.")
def always_pre_norm(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x))


@residual_block.mistake("The two kinds have changed places: `norm_first` means that the norm comes *before*.")
def kinds_exchanged(x, sublayer, norm, norm_first):
    return norm(x + sublayer(x)) if norm_first else x + sublayer(norm(x))


@residual_block.mistake(
    "In the pre-norm block the *normalised* x is added. Then nothing goes around the norm, "
    "and the input is lost at every layer. Add x as it came in."
)
def adds_the_normalised_input(x, sublayer, norm, norm_first):
    y = norm(x) if norm_first else x
    return y + sublayer(y) if norm_first else norm(y + sublayer(y))


@residual_block.mistake(
    "In the post-norm block only the sub-layer's result is normalised, and then added. The norm takes the *sum*."
)
def norm_inside_the_sum(x, sublayer, norm, norm_first):
    return x + (sublayer(norm(x)) if norm_first else norm(sublayer(x)))


@residual_block.mistake(
    "The norm stands behind the sub-layer, inside the sum, in both cases: x + norm(sublayer(x)). "
    "That is neither kind: post-norm takes the sum, pre-norm stands in front of the sub-layer."
)
def norm_behind_the_sublayer(x, sublayer, norm, norm_first):
    return x + norm(sublayer(x))


@residual_block.mistake("The pre-norm block is normalised a second time, after the sum. One norm is enough.")
def pre_norm_and_post_norm(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x) if norm_first else x))


@residual_block.mistake("The norm is used before and after, in both cases. Each kind has one norm only.")
def norm_twice(x, sublayer, norm, norm_first):
    return norm(x + sublayer(norm(x)))


@residual_block.mistake("There is no norm at all: `norm` is never called, and the sum grows from layer to layer.")
def no_norm(x, sublayer, norm, norm_first):
    return x + sublayer(x)


@residual_block.mistake("The sub-layer is called on its own result: every block has it once.")
def sublayer_twice(x, sublayer, norm, norm_first):
    return x + sublayer(sublayer(norm(x))) if norm_first else norm(x + sublayer(sublayer(x)))


@residual_block.mistake("The two terms are normalised one by one, and then added. Post-norm adds first.")
def each_term_normalised(x, sublayer, norm, norm_first):
    return x + sublayer(norm(x)) if norm_first else norm(x) + norm(sublayer(x))


@residual_block.mistake(
    "In the pre-norm block the norm is on the wrong branch: the sub-layer gets the raw x, and the way around it "
    "is normalised. It is the other way round."
)
def norm_on_the_way_around(x, sublayer, norm, norm_first):
    return norm(x) + sublayer(x) if norm_first else norm(x + sublayer(x))
