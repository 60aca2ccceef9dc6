"""Lesson 12: implement `split_fused_projection`."""

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.weights import families


def fused_case(label: str, weight: Tensor, n_parts: int) -> Case:
    columns = weight.size(1)
    bias = 100 * torch.arange(1, columns + 1, dtype=weight.dtype, device="cpu")
    return Case(label, {"weight": weight, "bias": bias / 10, "n_parts": n_parts})


split_fused_projection = Exercise(
    families.split_fused_projection,
    lesson="12",
    minutes=15,
    difficulty=2,
    statement="""
    GPT-2 computes queries, keys and values by one product: x @ weight + bias, with `weight` (d_in, n_parts · d_out) and
    `bias` (n_parts · d_out). The first d_out columns belong to the first part, the next d_out to the second.

    Return `(weights, biases)`, (n_parts, d_out, d_in) and (n_parts, d_out), such that an `nn.Linear` with weights[i]
    and biases[i] computes part i. Note that an `nn.Linear` computes x @ weight.T + bias.
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
        "Write down the shapes of `weight` and of its transpose. On which axis of the transpose do the parts lie?",
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
    "A reshape without a transpose: the shape is as asked for, but the numbers were read row by row, and most of "
    "them stand in the wrong place."
)
def reshaped_only(weight, bias, n_parts):
    return weight.reshape(n_parts, -1, weight.size(0)), bias.unflatten(0, (n_parts, -1))


@split_fused_projection.mistake(
    "You take every n-th number of the bias. Cut it into blocks, as you cut the columns of `weight`."
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


@split_fused_projection.mistake(
    "Every part has the whole bias. Each column has its own number: cut it like the columns."
)
def whole_bias(weight, bias, n_parts):
    return weight.T.unflatten(0, (n_parts, -1)), bias.expand(n_parts, -1)


@split_fused_projection.mistake("Within each part the columns come in the opposite order.")
def columns_backwards(weight, bias, n_parts):
    return weight.T.unflatten(0, (n_parts, -1)).flip(1), bias.unflatten(0, (n_parts, -1)).flip(1)


@split_fused_projection.mistake("The weights and biases have changed places: the weights come first.")
def biases_first(weight, bias, n_parts):
    return bias.unflatten(0, (n_parts, -1)), weight.T.unflatten(0, (n_parts, -1))


@split_fused_projection.mistake(
    "`split` takes the *size* of a part, and you hand it the number of parts. `chunk` takes their number."
)
def split_by_the_number(weight, bias, n_parts):
    return torch.stack(weight.split(n_parts, 1)).mT, torch.stack(bias.split(n_parts))


@split_fused_projection.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, n_parts = floats(generator), number(generator, 2, 7)
    d_in, d_out = sizes(generator, 2, most=9)
    return {"weight": normal(d_in, n_parts * d_out), "bias": normal(n_parts * d_out), "n_parts": n_parts}
