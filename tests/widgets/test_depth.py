"""Residual flow in Python: how norms are measured, what is carried, and what is refused."""

import pytest
import torch

from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.analysis import norms_by_layer


def chain(*factors: float) -> tuple[list[torch.Tensor], torch.Tensor]:
    """States of a chain of layers that each multiply by a factor."""
    states = [torch.randn(3, 5, requires_grad=True)]
    for factor in factors:
        states.append(factor * states[-1])
    return states, states[-1]


def test_norms_of_a_chain_by_hand():
    up, down = norms_by_layer(*chain(0.5, 4.0, 0.1))
    assert up.tolist() == pytest.approx([1, 0.5, 2, 0.2], rel=1e-5)
    assert down.tolist() == pytest.approx([0.2, 0.4, 0.1, 1], rel=1e-5)  # products of the factors still ahead


def test_the_gradient_enters_at_the_output():
    states, last = chain(3.0, 7.0)
    _, down = norms_by_layer(states, (last * 100).relu())
    assert down.tolist() == pytest.approx([21, 7, 1], rel=1e-5)  # relative to the last state


def norms(*depths: int) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    return {depth: (1 + torch.rand(depth + 1), 1 + torch.rand(depth + 1)) for depth in depths}


def test_what_was_measured_is_what_is_shown():
    sweep = {"alone": norms(1, 4), "pre-norm": norms(1, 4)}
    sweep["alone"][4][1][0] = 1e-9
    view = widgets.depth(sweep)
    state = state_of(view)
    assert (state["depths"], state["kinds"]) == ([1, 4], ["alone", "pre-norm"])
    for by_depth, carried in zip(sweep.values(), state["norms"], strict=True):
        for measured, shown in zip(by_depth.values(), carried, strict=True):
            assert all(torch.equal(numbers(b), a.cpu()) for a, b in zip(measured, shown, strict=True))
    assert repr(view) == (
        "Norms by layer in stacks of 1 to 4 layers: through all 4, the share of the gradient that arrives is "
        "below 0.01 in alone, above 0.01 in pre-norm."
    )


def one(down: list[float]) -> dict:
    return {"a": {2: (torch.ones(3), torch.tensor(down))}}


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({}, r"1 to 6 kinds of stacks \(got 0\)"),
        ({str(i): norms(1) for i in range(7)}, r"1 to 6 kinds of stacks \(got 7\)"),
        ({"a": norms(2, 3), "b": norms(2, 4)}, r"the same depths \('b' has \[2, 4\], the first has \[2, 3\]\)"),
        ({"a": {}}, r"the depths must rise, from 1 layer on \(they are \[\]\)"),
        ({"a": norms(3, 2)}, r"the depths must rise, from 1 layer on \(they are \[3, 2\]\)"),
        ({"a": norms(0, 3)}, r"the depths must rise, from 1 layer on \(they are \[0, 3\]\)"),
        (one([1.0, 1.0]), r"2 layers must have two times 3 norms \('a' has shapes \(3,\) and \(2,\)\)"),
        (one([1.0, torch.nan, 1.0]), r"norms must be finite \('a' has one that is not\)"),
        (one([1.0, 0.0, 1.0]), r"logarithmic axis needs values above 0 \('a' has 0\)"),
    ],
)
def test_it_refuses_what_it_cannot_show(sweep, message):
    with pytest.raises(ValueError, match=message):
        widgets.depth(sweep)
