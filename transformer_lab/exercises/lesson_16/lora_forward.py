"""Lesson 16: implement `lora_forward`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.training.after_pretraining import lora


def lora_case(label: str, x, sizes: tuple[int, int, int], alpha: float, **like) -> Case:
    """A case with random matrices; the sizes are d_in, d_out, r."""
    d_in, d_out, rank = sizes
    weight, a, b = normal(d_out, d_in, **like), normal(rank, d_in, **like) + 0.5, normal(d_out, rank, **like) - 0.5
    return Case(label, {"x": x, "weight": weight, "a": a, "b": b, "alpha": alpha})


def equals_the_merged(given, output) -> bool:
    """As one linear layer with the changed matrix."""
    weight = given["weight"].double() + given["alpha"] / len(given["a"]) * given["b"].double() @ given["a"].double()
    return (output.double() - given["x"].double() @ weight.T).abs().max() < 1e-3


lora_forward = Exercise(
    lora.lora_forward,
    lesson="16",
    minutes=10,
    difficulty=1,
    statement="""
    A linear layer with LoRA: its matrix W, and beside it a change of rank r.

    x Wᵀ + α/r · x Aᵀ Bᵀ

    x is (…, d_in), weight (d_out, d_in), as in nn.Linear, a (r, d_in), b (d_out, r); alpha is a number. There is no
    bias. Detach nothing: which of the matrices learn is said elsewhere.
    """,
    returns=("output",),
    cases=(
        Case(
            "rank 1, numbers to follow",
            {
                "x": torch.tensor([[1.0, 2.0]], device="cpu"),
                "weight": counting(3, 2),
                "a": torch.tensor([[1.0, -1.0]], device="cpu"),
                "b": torch.tensor([[1.0], [0.0], [2.0]], device="cpu"),
                "alpha": 3.0,
            },
        ),
        lora_case("rank 2", normal(2, 3), (3, 4, 2), 2.0),
        lora_case("alpha is not the rank", normal(2, 4), (4, 3, 2), 5.0),
        lora_case("one vector", normal(5), (5, 3, 2), 1.0),
        lora_case("a square matrix", normal(3, 4), (4, 4, 3), 1.5),
        lora_case("all sizes alike", normal(3, 3), (3, 3, 3), 2.0),
        lora_case("a batch of sentences", normal(2, 5, 7), (7, 4, 3), 16.0),
        lora_case("float64", normal(2, 3, 6, dtype=torch.float64), (6, 5, 2), 4.0, dtype=torch.float64),
    ),
    properties=(Property("it is one linear layer whose matrix is W + α/r · B A", equals_the_merged),),
    hints=(
        "Two ways lead from x to the output, side by side. The first is a linear layer without bias.",
        "The second way goes through r features: first down to them, then up again. Which of A and B comes first?",
        "How many rows has A? That number divides alpha.",
    ),
)


@lora_forward.mistake("α/r is missing: the change counts as it is, whatever alpha says.")
def no_scale(x, weight, a, b, alpha):
    return x @ weight.T + x @ a.T @ b.T


@lora_forward.mistake("You multiply by alpha without dividing by the rank r.")
def not_divided_by_the_rank(x, weight, a, b, alpha):
    return x @ weight.T + alpha * (x @ a.T @ b.T)


@lora_forward.mistake("You divide by the width d_in, the *columns* of a. The rank is the number of its rows.")
def divided_by_the_width(x, weight, a, b, alpha):
    return x @ weight.T + alpha / a.size(1) * (x @ a.T @ b.T)


@lora_forward.mistake("The whole sum is scaled by α/r. W stays as it is; only the change is scaled.")
def base_scaled(x, weight, a, b, alpha):
    return alpha / a.size(0) * (x @ weight.T + x @ a.T @ b.T)


@lora_forward.mistake("You divide by √r. That is rsLoRA, a later proposal (arXiv:2312.03732); here α/r is asked for.")
def divided_by_the_root(x, weight, a, b, alpha):
    return x @ weight.T + alpha / a.size(0) ** 0.5 * (x @ a.T @ b.T)


@lora_forward.mistake("The scale is the wrong way round, r/α.")
def scale_inverted(x, weight, a, b, alpha):
    return x @ weight.T + a.size(0) / alpha * (x @ a.T @ b.T)


@lora_forward.mistake("The matrix itself is missing: you return the change alone.")
def change_alone(x, weight, a, b, alpha):
    return alpha / a.size(0) * (x @ a.T @ b.T)


@lora_forward.mistake("a and b are never used: that is the layer before it learns anything.")
def without_the_change(x, weight, a, b, alpha):
    return x @ weight.T


@lora_forward.mistake("The change is subtracted. It is added to what the matrix gives.")
def subtracted(x, weight, a, b, alpha):
    return x @ weight.T - alpha / a.size(0) * (x @ a.T @ b.T)


@lora_forward.mistake("The change reads what W has made of x. Both read x itself, side by side.")
def one_after_the_other(x, weight, a, b, alpha):
    out = x @ weight.T
    return out + alpha / a.size(0) * (out @ a.T @ b.T)


@lora_forward.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (d_in, d_out, rank) = floats(generator), [number(generator, low, 8) for low in (2, 2, 1)]
    matrices = {"weight": normal(d_out, d_in), "a": normal(rank, d_in), "b": normal(d_out, rank)}
    return {"x": normal(*leading(generator), d_in)} | matrices | {"alpha": pick(generator, 0.5, 3.0, 16.0)}
