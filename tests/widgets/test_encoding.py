"""The encoding explorer in Python: what it carries, what it says, and what it refuses."""

import math

import pytest
import torch

from tests.view_outputs import numbers, state_of
from transformer_lab import LearnedPositions, sinusoidal_encoding, widgets
from transformer_lab.widgets.views.encoding.encoding_view import wavelengths


def test_the_size_alone_stands_for_the_encoding_of_the_paper():
    view = widgets.encoding((30, 8))
    assert {name: state_of(view)[name] for name in ("shape", "waves", "table")} == {
        "shape": [30, 8],
        "waves": True,
        "table": None,  # the page computes it
    }
    # 0 with 1: the sum of cos(10000^(-i/4)) = 0.54 + 0.995 + 0.99995 + 1.0; wavelengths from 2π to 2π · 1000
    start = "Sinusoidal encoding of 30 positions in 8 features: waves from 6.3 to 6,283.2 positions long; "
    assert repr(view).startswith(start + "the dot product of position 0 with 1 is 3.54, with 29 it is ")


def test_a_table_of_ones_own_travels_as_it_is():
    table = LearnedPositions(max_len=7, d_model=4).encoding
    view = widgets.encoding(table)
    assert torch.equal(numbers(state_of(view)["table"]), table.detach().cpu())
    assert state_of(view)["waves"] is False
    assert repr(view).startswith("Encoding of 7 positions in 4 features of its own: ")


def test_a_table_is_known_as_the_one_of_the_paper():
    table = sinusoidal_encoding(7, 4)
    assert state_of(widgets.encoding(table))["waves"] is True
    assert state_of(widgets.encoding(table.roll(1, dims=0)))["waves"] is False


def test_wavelengths_by_hand():
    # d_model = 4: 10000^0 = 1 and 10000^(2/4) = 100
    assert wavelengths(4).tolist() == pytest.approx([2 * math.pi, 200 * math.pi])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (torch.ones(4), r"must have the shape \(length, d_model\) \(its shape is \(4,\)\)"),
        (torch.ones(2, 3, 4), r"must have the shape \(length, d_model\) \(its shape is \(2, 3, 4\)\)"),
        (torch.ones(6, 5), r"d_model \(5\) must be even"),
        ((6, 5), r"d_model \(5\) must be even"),
        (torch.ones(1, 4), r"2 to 256 positions and 2 to 128 features \(its shape is \(1, 4\)\)"),
        ((300, 64), r"its shape is \(300, 64\)\); show a part, as in table\[:256, :128\]"),
        (torch.tensor([[1.0, 2.0], [3.0, math.nan]]), r"must be finite \(position 1, feature 1 is nan\)"),
    ],
)
def test_it_refuses_what_it_cannot_show(table, message):
    with pytest.raises(ValueError, match=message):
        widgets.encoding(table)
