"""Exercises of lesson 12: what becomes of a model's output, and how published weights become ours."""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.models import text_encoder
from transformer_lab.weights import gpt2


def pool_case(label: str, hidden: Tensor, lengths: list[int]) -> Case:
    """Texts of these lengths, with padding behind."""
    positions = torch.arange(hidden.size(1), device="cpu")
    return Case(label, {"hidden": hidden, "mask": positions < torch.tensor(lengths, device="cpu")[:, None]})


HOLES = torch.tensor([[True, False, True, True], [False, False, True, False]], device="cpu")
mean_pool = Exercise(
    text_encoder.mean_pool,
    lesson="12",
    minutes=10,
    difficulty=1,
    statement="""
    One vector for a text: the mean of its tokens' vectors.

    `hidden` (B, T, d) is what a model gives for B texts of up to T tokens. `mask` (B, T) is boolean: True for a token,
    False for padding. Return (B, d): for each text the mean over its own tokens. A text without any token gets zeros.
    """,
    returns=("pooled",),
    cases=(
        pool_case("two tokens", counting(1, 2, 3), [2]),
        pool_case("one token, one of padding", counting(1, 2, 3) + 1, [1]),
        pool_case("two texts of different lengths", counting(2, 3, 2) ** 2, [3, 1]),
        pool_case("a text without tokens", counting(2, 2, 2) + 5, [0, 2]),
        Case("padding in the middle", {"hidden": normal(2, 4, 3), "mask": HOLES}),
        pool_case("four texts", normal(4, 6, 5), [6, 2, 5, 1]),
        pool_case("as many texts as tokens and features", normal(3, 3, 3), [2, 3, 1]),
        pool_case("float64", normal(3, 5, 4, dtype=torch.float64), [4, 5, 0]),
    ),
    hints=(
        "What does padding add to a sum, if you multiply its vectors by 0 first?",
        "Each text has a number of tokens of its own. Which sum of the mask is that, and what shape must it have to "
        "divide (B, d)?",
        "And where that number is 0? The sum is 0 there as well: any divisor but 0 serves.",
    ),
)


@mean_pool.mistake(
    "You take the mean over all positions. What stands at padding means nothing, and pulls the vectors of short texts "
    "with it: the same text gets another vector in another batch."
)
def padding_counts(hidden, mask):
    return hidden.mean(1)


@mean_pool.mistake(
    "Padding is left out of the sum but not of the divisor: divide by the tokens of each text, not by T."
)
def divided_by_the_length(hidden, mask):
    return (hidden * mask[..., None]).mean(1)


@mean_pool.mistake("These are sums. A long text then has a long vector: divide by its number of tokens.")
def sums(hidden, mask):
    return (hidden * mask[..., None]).sum(1)


@mean_pool.mistake("All texts are divided by the tokens of the whole batch. Each has a number of its own.")
def divided_by_the_batch(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum().clamp(min=1)


@mean_pool.mistake("All texts are divided by the tokens of the longest. Each has a number of its own.")
def divided_by_the_longest(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum(1).max().clamp(min=1)


@mean_pool.mistake("The mask is upside down: you keep the padding. True stands for a token.")
def padding_kept(hidden, mask):
    kept = ~mask[..., None]
    return (hidden * kept).sum(1) / kept.sum(1).clamp(min=1)


@mean_pool.mistake("A text without tokens gets 0 / 0, which is NaN. It is to get zeros.")
def nan_for_nothing(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


@mean_pool.mistake(
    "You add 1 to every number of tokens, so that none is 0. It makes all means too short: take at least 1 instead."
)
def one_token_too_many(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / (mask.sum(1, keepdim=True) + 1)


@mean_pool.mistake(
    "You return the vector of the *first* token. Some models are trained so that it stands for the text; asked for is "
    "the mean of all."
)
def the_first_token(hidden, mask):
    return hidden[:, 0]


@mean_pool.mistake("You return the vector of the *last* position, which in a short text is padding. Take the mean.")
def the_last_position(hidden, mask):
    return hidden[:, -1]


@mean_pool.mistake("You take the largest of each feature. That is max pooling; asked for is the mean.")
def the_largest(hidden, mask):
    return hidden.masked_fill(~mask[..., None], float("-inf")).amax(1).clamp(min=torch.finfo(hidden.dtype).min)


@mean_pool.mistake("The vectors have been given length 1. That comes later, when they are compared: return the mean.")
def normalised(hidden, mask):
    kept = mask[..., None]
    return F.normalize((hidden * kept).sum(1) / kept.sum(1).clamp(min=1), dim=-1)


@mean_pool.mistake("The mean runs over the features of each token. It is to run over the tokens: axis 1.")
def over_the_features(hidden, mask):
    return hidden.mean(-1) * mask


@mean_pool.mistake("One vector for all texts: you average over the batch as well. The shape is (B, d).")
def over_the_batch(hidden, mask):
    return (hidden * mask[..., None]).sum((0, 1)) / mask.sum().clamp(min=1)


def fused_case(label: str, weight: Tensor, n_parts: int) -> Case:
    columns = weight.size(1)
    bias = 100 * torch.arange(1, columns + 1, dtype=weight.dtype, device="cpu")
    return Case(label, {"weight": weight, "bias": bias / 10, "n_parts": n_parts})


split_fused_projection = Exercise(
    gpt2.split_fused_projection,
    lesson="12",
    minutes=15,
    difficulty=2,
    statement="""
    GPT-2 computes queries, keys and values by one product: x @ weight + bias, with `weight` (d_in, n_parts · d_out) and
    `bias` (n_parts · d_out). The first d_out columns belong to the first part, the next d_out to the second.

    Return `(weights, biases)`, (n_parts, d_out, d_in) and (n_parts, d_out), such that an `nn.Linear` with weights[i]
    and biases[i] computes part i. Mind that an `nn.Linear` computes x @ weight.T + bias.
    """,
    returns=("weights", "biases"),
    cases=(
        fused_case("two parts of one column", counting(2, 2) + 1, 2),
        fused_case("two parts of two columns", counting(3, 4), 2),
        fused_case("one part", counting(2, 3), 1),
        fused_case("three parts, square when split", normal(4, 12), 3),
        fused_case("three parts, all sizes different", normal(5, 6), 3),
        fused_case("as many parts as rows and columns of each", normal(3, 9), 3),
        fused_case("four parts", normal(2, 20), 4),
        fused_case("float64", normal(6, 10, dtype=torch.float64), 5),
    ),
    hints=(
        "Write down the shapes: what has `weight`, what has its transpose, and on which axis of that do the parts lie?",
        "Whole blocks of neighbouring columns belong together. Which of reshape(n_parts, d_out) and reshape(d_out, "
        "n_parts) puts neighbours into one row?",
        "The bias is cut like the columns. `chunk`, `unflatten` and slices all serve; parts can be stacked.",
    ),
)


@split_fused_projection.mistake(
    "The parts are right, and not transposed. An `nn.Linear` holds (d_out, d_in). With square parts no shape will tell."
)
def not_transposed(weight, bias, n_parts):
    return torch.stack(weight.chunk(n_parts, 1)), bias.unflatten(0, (n_parts, -1))


@split_fused_projection.mistake(
    "You take every n-th column. The columns of a part lie next to one another: a block, not a comb."
)
def every_nth_column(weight, bias, n_parts):
    columns = [weight[:, i::n_parts].T for i in range(n_parts)]
    return torch.stack(columns), torch.stack([bias[i::n_parts] for i in range(n_parts)])


@split_fused_projection.mistake(
    "A reshape without a transpose: the shape is as asked for, and the numbers have been dealt out like cards."
)
def reshaped_only(weight, bias, n_parts):
    return weight.reshape(n_parts, -1, weight.size(0)), bias.unflatten(0, (n_parts, -1))


@split_fused_projection.mistake(
    "The weights are right, but of the bias you take every n-th number. Cut it into blocks."
)
def bias_like_a_comb(weight, bias, n_parts):
    return weight.T.unflatten(0, (n_parts, -1)), bias.unflatten(0, (-1, n_parts)).T


@split_fused_projection.mistake("The parts come in the opposite order: the first columns belong to the first part.")
def last_part_first(weight, bias, n_parts):
    return weight.T.unflatten(0, (n_parts, -1)).flip(0), bias.unflatten(0, (n_parts, -1)).flip(0)


@split_fused_projection.mistake("You always make three parts. That is right for attention; the number is given.")
def always_three(weight, bias, n_parts):
    return weight.T.unflatten(0, (3, -1)), bias.unflatten(0, (3, -1))


@split_fused_projection.mistake(
    "You cut the rows of `weight`, which belong to what goes *in*. The parts differ in what comes out: cut the columns."
)
def rows_are_cut(weight, bias, n_parts):
    return torch.stack(weight.tensor_split(n_parts, 0)).mT, bias.unflatten(0, (n_parts, -1))


@split_fused_projection.mistake("Every part has the whole bias. Each column has its own number: cut it as the columns.")
def whole_bias(weight, bias, n_parts):
    return weight.T.unflatten(0, (n_parts, -1)), bias.expand(n_parts, -1)


@split_fused_projection.mistake("Within each part the columns come in the opposite order.")
def columns_backwards(weight, bias, n_parts):
    return weight.T.unflatten(0, (n_parts, -1)).flip(1), bias.unflatten(0, (n_parts, -1)).flip(1)


@split_fused_projection.mistake("The weights and biases have changed places: the weights come first.")
def biases_first(weight, bias, n_parts):
    return bias.unflatten(0, (n_parts, -1)), weight.T.unflatten(0, (n_parts, -1))
