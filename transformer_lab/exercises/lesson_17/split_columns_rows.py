"""Lesson 17: implement `split_columns_rows`."""

import torch
from torch import Generator

from transformer_lab.distributed import tensor_parallel
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise


def network(label: str, d_model: int, d_ff: int, n: int, dtype: torch.dtype = torch.float32) -> Case:
    return Case(
        label, {"w_up": normal(d_model, d_ff, dtype=dtype), "w_down": normal(d_ff, d_model, dtype=dtype), "n": n}
    )


def adds_up(given: dict, ups: torch.Tensor, downs: torch.Tensor) -> bool:
    """Whether the parts are the network, for some inputs."""
    x = normal(5, given["w_up"].size(0), dtype=given["w_up"].dtype)
    whole = torch.relu(x @ given["w_up"]) @ given["w_down"]
    return torch.allclose((torch.relu(x @ ups) @ downs).sum(0), whole, atol=1e-4)


split_columns_rows = Exercise(
    tensor_parallel.split_columns_rows,
    lesson="17",
    minutes=10,
    difficulty=2,
    statement="""
    Cut a feed-forward network for `n` ranks, so that they need one sum.

    The network is relu(x @ w_up) @ w_down, with w_up (d_model, d_ff) and w_down (d_ff, d_model). Rank r will compute
    relu(x @ ups[r]) @ downs[r] for all of x, and the sum over the ranks must be the network's output. Each rank holds
    an n-th of each matrix, and nothing that another rank holds, too. n divides d_ff; rank 0 gets the first features, in
    their order, and rank n - 1 the last.

    Return `(ups, downs)`, tensors whose first axis counts the ranks.
    """,
    returns=("ups", "downs"),
    cases=(
        Case("two features for two ranks", {"w_up": counting(1, 2), "w_down": counting(2, 1) + 5, "n": 2}),
        Case("four features for two ranks", {"w_up": counting(2, 4), "w_down": counting(4, 2) + 10, "n": 2}),
        network("as many features as d_model", 4, 4, 2),
        network("three ranks", 5, 6, 3),
        network("one rank", 3, 4, 1),
        network("a rank for each feature", 4, 6, 6),
        network("float64", 6, 12, 4, torch.float64),
    ),
    properties=(Property("the parts of all ranks add up to the network's output", adds_up),),
    hints=(
        "relu acts on each feature alone. Which part of x @ w_up can a rank make whole, without any other rank?",
        "A column of w_up makes one feature. Which part of w_down reads that feature?",
        "`unflatten` makes two axes of one: (d_model, d_ff) becomes (d_model, n, d_ff / n). Which of them must come "
        "first?",
    ),
)


@split_columns_rows.mistake(
    "Your parts have the right shape, but were made by `view` or `reshape` alone: that deals out the *rows* of w_up, "
    "piece by piece. The columns must come apart before the axis of the ranks moves to the front."
)
def viewed(w_up, w_down, n):
    return w_up.reshape(n, w_up.size(0), -1), w_down.reshape(n, -1, w_down.size(1))


@split_columns_rows.mistake(
    "The features of w_up are dealt out by turns, and the rows of w_down in blocks: a rank then multiplies its "
    "features by the rows of others."
)
def different_features(w_up, w_down, n):
    return torch.stack([w_up[:, r::n] for r in range(n)]), w_down.unflatten(0, (n, -1))


@split_columns_rows.mistake(
    "You cut w_up by rows. Then no rank has a whole feature: each has a term of a sum of which the relu must be taken, "
    "and relu(a) + relu(b) is not relu(a + b)."
)
def rows_of_the_first(w_up, w_down, n):
    return w_up.unflatten(0, (n, -1)), w_down.unflatten(0, (n, -1))


@split_columns_rows.mistake(
    "You cut w_down by columns. Then a rank needs *all* features, but it has made an n-th of them."
)
def columns_of_the_second(w_up, w_down, n):
    return w_up.unflatten(1, (n, -1)).transpose(0, 1), w_down.unflatten(1, (n, -1)).transpose(0, 1)


@split_columns_rows.mistake(
    "Rank r gets every n-th feature. The sum would be right, but blocks are asked for: rank 0 has the first features."
)
def dealt_out(w_up, w_down, n):
    return torch.stack([w_up[:, r::n] for r in range(n)]), torch.stack([w_down[r::n] for r in range(n)])


@split_columns_rows.mistake("Each rank has all of both matrices, so the sum is n times the network's output.")
def everything_everywhere(w_up, w_down, n):
    return torch.stack([w_up] * n), torch.stack([w_down] * n)


@split_columns_rows.mistake("The axes of a part are exchanged: `x @ ups[r]` needs (d_model, d_ff / n).")
def transposed(w_up, w_down, n):
    return w_up.T.unflatten(0, (n, -1)), w_down.T.unflatten(1, (n, -1)).transpose(0, 1)


@split_columns_rows.mistake(
    "`split` takes the *size* of a part, and you hand it the number of ranks. `chunk` takes the number of parts."
)
def split_by_the_number(w_up, w_down, n):
    return torch.stack(w_up.split(n, 1)), torch.stack(w_down.split(n, 0))


@split_columns_rows.mistake("Each rank has all of w_up: it makes features that its rows of w_down do not read.")
def all_of_the_first(w_up, w_down, n):
    return torch.stack([w_up] * n), w_down.unflatten(0, (n, -1))


@split_columns_rows.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, n, d_model = floats(generator), number(generator, 1, 5), number(generator, 1, 6)
    d_ff = n * number(generator, 1, 4)
    return {"w_up": normal(d_model, d_ff), "w_down": normal(d_ff, d_model), "n": n}
