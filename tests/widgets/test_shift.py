"""A shift as a rotation in Python: what it carries, what it says, and what it refuses."""

import math

import pytest
import torch

from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.views.shift.shift_view import score


def test_query_and_key_travel_and_the_summary_states_both_facts():
    query, key = torch.randn(6), torch.randn(6, requires_grad=True)
    state = state_of(widgets.shift(query, key, tab="RoPE"))
    assert torch.equal(numbers(state["query"]), query.cpu())
    assert torch.equal(numbers(state["key"]), key.detach().cpu())
    assert (state["tab"], state["position"], state["offset"]) == ("RoPE", 3, 5)
    assert repr(widgets.shift(query, key)) == (
        "Shift as a rotation of 3 arrows: M_5 PE(3) = PE(8): True. "
        "RoPE: the same score 5 positions apart from 0 and from 100: True."
    )


def test_a_score_by_hand():
    # One pair turns by 1 rad a position, so that the score of two equal unit vectors is the cosine of the distance.
    one = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert score(one, one, offset=2, start=9) == pytest.approx(math.cos(2))


@pytest.mark.parametrize(
    ("query", "key", "tab", "message"),
    [
        (
            torch.ones(2, 4),
            torch.ones(2, 4),
            "shift",
            r"same length \(their shapes are \(2, 4\) and \(2, 4\)\)",
        ),
        (torch.ones(4), torch.ones(6), "shift", r"same length \(their shapes are \(4,\) and \(6,\)\)"),
        (torch.ones(3), torch.ones(3), "shift", r"an even number of features, 2 to 16 \(they have 3\)"),
        (torch.ones(18), torch.ones(18), "shift", r"an even number of features, 2 to 16 \(they have 18\)"),
        (torch.ones(2), torch.tensor([1.0, math.inf]), "shift", "query and key must be finite"),
        (torch.ones(2), torch.ones(2), "turn", r"tab must be one of shift, RoPE \(got turn\)"),
    ],
)
def test_it_refuses_what_it_cannot_show(query, key, tab, message):
    with pytest.raises(ValueError, match=message):
        widgets.shift(query, key, tab)
