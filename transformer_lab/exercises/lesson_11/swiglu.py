"""Lesson 11: implement `swiglu` as gpt-oss has it."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise


def gate_case(label: str, x, d_ff: int) -> Case:
    d_model, like = x.size(-1), {"dtype": x.dtype}
    matrices = (normal(d_model, d_ff, **like), normal(d_ff, d_model, **like).mT + 0.5, normal(d_ff, d_model, **like))
    return Case(label, {"x": x, **dict(zip(("w_gate", "w_up", "w_down"), matrices, strict=True))})


def unit_case(label: str, x: float, gate: float, up: float) -> Case:
    """One feature, one hidden unit, and an output matrix of 1."""
    return Case(
        label, {"x": by_hand([x])[0]} | {"w_gate": by_hand([gate]), "w_up": by_hand([up]), "w_down": by_hand([1.0])}
    )


def by_hand(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, device="cpu")


@partial(
    Exercise,
    lesson="11",
    minutes=10,
    difficulty=2,
    statement="""
    The feed-forward network of OpenAI's gpt-oss, a SwiGLU with three changes
    (https://github.com/openai/gpt-oss/blob/main/gpt_oss/torch/model.py, without its biases).

    x is (…, d_model), `w_gate` and `w_up` are (d_model, d_ff), `w_down` is (d_ff, d_model); each is applied as `x @ w`.
    As in SwiGLU, one projection of x is the gate, the other one is what it lets pass, and `w_down` leads back.

    Three things differ. First, both projections are cut off before anything else is done with them: what is above 7
    becomes 7, and in the projection by `w_up` what is below -7 becomes -7, while the gate may be as far below 0 as
    it likes. Second, the sigmoid in silu is steeper: it is taken of 1.702 times the gate, and multiplied by the
    gate as before. Third, 1 is added to what the gate lets pass, so that a hidden unit whose `w_up` is 0 still
    passes on its gate.

    Return the output (…, d_model).
    """,
    returns=("output",),
    cases=(
        unit_case("one hidden unit: gate 2, and 6 to be let pass", 2.0, 1.0, 3.0),
        unit_case("the gate alone, since w_up is 0", 3.0, 0.5, 0.0),
        unit_case("a gate of 20", 4.0, 5.0, 0.5),
        unit_case("a gate of -20", 4.0, -5.0, 0.5),
        unit_case("-20 to be let pass", 4.0, 0.1, -5.0),
        unit_case("20 to be let pass", 4.0, 0.1, 5.0),
        gate_case("as many hidden units as features", normal(3, 4), 4),
        gate_case("a batch of sentences", normal(2, 5, 6), 9),
        gate_case("large numbers, of both signs, in float64", 6 * normal(4, 3, dtype=torch.float64), 7),
        gate_case("a square batch", normal(5, 5, 5), 5),
        gate_case("float64", normal(3, 2, 4, dtype=torch.float64), 6),
    ),
    hints=(
        "Begin with the SwiGLU of the lesson, and give its two projections names. In which order do the three changes "
        "come?",
        "`torch.clamp` takes a `min`, a `max`, or both. Which of the two projections has both?",
        "The steeper silu is gate · sigmoid(1.702 · gate): the factor is only inside the sigmoid.",
    ),
)
def swiglu(x, w_gate, w_up, w_down):
    """SwiGLU with projections that are cut off at 7, a steeper sigmoid, and 1 added to what the gate lets pass."""
    gate = (x @ w_gate).clamp(max=7)
    up = (x @ w_up).clamp(min=-7, max=7)
    return (gate * torch.sigmoid(1.702 * gate) * (up + 1)) @ w_down


def gated(gate, up, w_down):
    """With both projections cut off and 1 added already."""
    return (gate * torch.sigmoid(1.702 * gate) * up) @ w_down


@swiglu.mistake(
    "That is the SwiGLU of Llama. Here both projections are cut off, the sigmoid is steeper, and 1 is added."
)
def llama_s(x, w_gate, w_up, w_down):
    return (F.silu(x @ w_gate) * (x @ w_up)) @ w_down


@swiglu.mistake("Nothing is cut off as it should be: the gate may be 7 at most, the other projection from -7 to 7.")
def not_cut_off(x, w_gate, w_up, w_down):
    return gated(x @ w_gate, x @ w_up + 1, w_down)


@swiglu.mistake("The gate is cut off below as well. It may be as far below 0 as it likes, where it is shut.")
def gate_cut_off_below(x, w_gate, w_up, w_down):
    return gated((x @ w_gate).clamp(-7, 7), (x @ w_up).clamp(-7, 7) + 1, w_down)


@swiglu.mistake("A gate above 7 still counts in full. It must become 7.")
def gate_not_cut_off(x, w_gate, w_up, w_down):
    return gated(x @ w_gate, (x @ w_up).clamp(-7, 7) + 1, w_down)


@swiglu.mistake("The projection by `w_up` is cut off only above. Below -7 it becomes -7, too.")
def up_not_cut_off_below(x, w_gate, w_up, w_down):
    return gated((x @ w_gate).clamp(max=7), (x @ w_up).clamp(max=7) + 1, w_down)


@swiglu.mistake("The projection by `w_up` is not cut off: it must stay between -7 and 7.")
def up_not_cut_off(x, w_gate, w_up, w_down):
    return gated((x @ w_gate).clamp(max=7), x @ w_up + 1, w_down)


@swiglu.mistake("1 is added before the projection is cut off. First cut off at 7, then add: up to 8 may pass.")
def added_before(x, w_gate, w_up, w_down):
    return gated((x @ w_gate).clamp(max=7), (x @ w_up + 1).clamp(-7, 7), w_down)


@swiglu.mistake(
    "1 has to be added to the projection by `w_up`, and to nothing else: a hidden unit whose `w_up` is 0 must still "
    "pass on its gate."
)
def without_one(x, w_gate, w_up, w_down):
    return gated((x @ w_gate).clamp(max=7), (x @ w_up).clamp(-7, 7), w_down)


@swiglu.mistake("That makes the gate larger by 1. The 1 belongs to what the gate lets pass, the projection by `w_up`.")
def one_on_the_gate(x, w_gate, w_up, w_down):
    gate = (x @ w_gate).clamp(max=7)
    return ((gate * torch.sigmoid(1.702 * gate) + 1) * (x @ w_up).clamp(-7, 7)) @ w_down


@swiglu.mistake("That is the plain silu. Here the sigmoid is taken of 1.702 times the gate.")
def plain_silu(x, w_gate, w_up, w_down):
    return (F.silu((x @ w_gate).clamp(max=7)) * ((x @ w_up).clamp(-7, 7) + 1)) @ w_down


@swiglu.mistake("1.702 multiplies the gate on both sides of the sigmoid. It belongs only inside.")
def factor_on_both_sides(x, w_gate, w_up, w_down):
    return (F.silu(1.702 * (x @ w_gate).clamp(max=7)) * ((x @ w_up).clamp(-7, 7) + 1)) @ w_down


@swiglu.mistake(
    "The gate is a plain *sigmoid*. silu multiplies it by the gate once more, so that an open gate can also "
    "enlarge what passes."
)
def sigmoid_gate(x, w_gate, w_up, w_down):
    gate = (x @ w_gate).clamp(max=7)
    return (torch.sigmoid(1.702 * gate) * ((x @ w_up).clamp(-7, 7) + 1)) @ w_down


@swiglu.mistake("The two projections have changed places: silu belongs to the one by `w_gate`.")
def changed_places(x, w_gate, w_up, w_down):
    return gated((x @ w_up).clamp(max=7), (x @ w_gate).clamp(-7, 7) + 1, w_down)


@swiglu.mistake("The two projections are added. They are multiplied, number by number: that is what makes a gate.")
def added(x, w_gate, w_up, w_down):
    gate = (x @ w_gate).clamp(max=7)
    return (gate * torch.sigmoid(1.702 * gate) + (x @ w_up).clamp(-7, 7) + 1) @ w_down


@swiglu.mistake("`w_down` is never used: the hidden vector, (…, d_ff), has to come back to d_model.")
def without_down(x, w_gate, w_up, w_down):
    gate = (x @ w_gate).clamp(max=7)
    return gate * torch.sigmoid(1.702 * gate) * ((x @ w_up).clamp(-7, 7) + 1)


@swiglu.mistake("x is added at the end. The residual connection lies outside of this network.")
def with_a_residual(x, w_gate, w_up, w_down):
    return x + gated((x @ w_gate).clamp(max=7), (x @ w_up).clamp(-7, 7) + 1, w_down)


@swiglu.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (d_model, d_ff) = floats(generator), sizes(generator, 2, most=8)
    matrices = {"w_gate": normal(d_model, d_ff), "w_up": normal(d_model, d_ff), "w_down": normal(d_ff, d_model)}
    return {"x": 4 * normal(*leading(generator), d_model)} | matrices
