"""Lesson 11: implement `swiglu`."""

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import blocks


def gate_case(label: str, x, d_ff: int) -> Case:
    d_model, like = x.size(-1), {"dtype": x.dtype}
    matrices = (normal(d_model, d_ff, **like), normal(d_ff, d_model, **like).mT + 0.5, normal(d_ff, d_model, **like))
    return Case(label, {"x": x, **dict(zip(("w_gate", "w_up", "w_down"), matrices, strict=True))})


def by_hand(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, device="cpu")


swiglu = Exercise(
    blocks.swiglu,
    lesson="11",
    minutes=5,
    difficulty=1,
    statement="""
    The feed-forward network of Llama: one projection of x decides how much of another one passes.

    SwiGLU(x) = (silu(x W_gate) ⊙ x W_up) W_down,  silu(z) = z · sigmoid(z)

    x is (…, d_model), `w_gate` and `w_up` are (d_model, d_ff), `w_down` is (d_ff, d_model). Each is applied as `x @ w`,
    and ⊙ multiplies number by number.
    """,
    returns=("output",),
    cases=(
        Case(
            "one feature, one hidden unit: silu(2) · 6",
            {"x": by_hand([2.0])[0], "w_gate": by_hand([1.0]), "w_up": by_hand([3.0]), "w_down": by_hand([1.0])},
        ),
        Case(
            "two hidden units",
            {
                "x": by_hand([1.0, -1.0]),
                "w_gate": by_hand([0.0, 2.0], [0.0, 1.0]),
                "w_up": by_hand([5.0, 3.0], [0.0, 1.0]),
                "w_down": by_hand([1.0, 0.0], [0.0, 10.0]),
            },
        ),
        gate_case("as many hidden units as features", normal(3, 4), 4),
        gate_case("a batch of sentences", normal(2, 5, 6), 9),
        gate_case("large numbers, of both signs", 6 * normal(4, 3), 7),
        gate_case("a square batch", normal(5, 5, 5), 5),
        gate_case("float64", normal(3, 2, 4, dtype=torch.float64), 6),
    ),
    hints=(
        "Two projections of the same x stand side by side. To which of them is the non-linearity applied?",
        "silu(z) is z times the sigmoid of z; torch has both, `torch.sigmoid` and `F.silu`.",
        "Multiply the two hidden vectors number by number, (…, d_ff) each. Only then comes w_down.",
    ),
)


@swiglu.mistake("The non-linearity is on the wrong projection: silu belongs to the gate, and `w_up` stays linear.")
def silu_of_up(x, w_gate, w_up, w_down):
    return ((x @ w_gate) * F.silu(x @ w_up)) @ w_down


@swiglu.mistake(
    "That is the gate of 2016, a plain *sigmoid* (GLU). Swish, here called silu, is z · sigmoid(z): one factor more."
)
def sigmoid_gate(x, w_gate, w_up, w_down):
    return (torch.sigmoid(x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("That is ReGLU: the gate is a ReLU. SwiGLU's is silu, which lets a little pass below 0.")
def relu_gate(x, w_gate, w_up, w_down):
    return (F.relu(x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("That is GEGLU: the gate is a GELU. SwiGLU's is silu(z) = z · sigmoid(z), a similar curve.")
def gelu_gate(x, w_gate, w_up, w_down):
    return (F.gelu(x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("There is no non-linearity: a product of two linear projections. silu is missing on the gate.")
def bilinear(x, w_gate, w_up, w_down):
    return ((x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("The two projections are added. They are multiplied, number by number: that is what makes a gate.")
def added(x, w_gate, w_up, w_down):
    return (F.silu(x @ w_gate) + x @ w_up) @ w_down


@swiglu.mistake("`w_up` is never used: that is the two-layer network of 2017 with another activation.")
def without_up(x, w_gate, w_up, w_down):
    return F.silu(x @ w_gate) @ w_down


@swiglu.mistake("silu is applied to the product. It belongs to the gate alone, before the two are multiplied.")
def silu_of_the_product(x, w_gate, w_up, w_down):
    return F.silu((x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("Both projections go through silu. The one by `w_up` stays linear.")
def silu_of_both(x, w_gate, w_up, w_down):
    return (F.silu(x @ w_gate) * F.silu(x @ w_up)) @ w_down


@swiglu.mistake("`w_down` is never used: the hidden vector, (…, d_ff), has to come back to d_model.")
def without_down(x, w_gate, w_up, w_down):
    return F.silu(x @ w_gate) * (x @ w_up)


@swiglu.mistake("x is added at the end. The residual connection lies outside of this network.")
def with_a_residual(x, w_gate, w_up, w_down):
    return x + (F.silu(x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("silu is applied to x, before the projection. Project by `w_gate` first, then bend what comes out.")
def bent_before_the_gate(x, w_gate, w_up, w_down):
    return (F.silu(x) @ w_gate * (x @ w_up)) @ w_down


@swiglu.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (d_model, d_ff) = floats(generator), sizes(generator, 2, most=8)
    matrices = {"w_gate": normal(d_model, d_ff), "w_up": normal(d_model, d_ff), "w_down": normal(d_ff, d_model)}
    return {"x": 2 * normal(*leading(generator), d_model)} | matrices
