"""The tiles in Python: what the view carries, what the summary counts, and what is refused."""

import pytest
import torch

from tests.support import DEVICE
from tests.view_outputs import numbers, state_of
from transformer_lab import widgets


def test_the_view_carries_scores_and_names():
    scores = torch.arange(6.0, device=DEVICE).reshape(2, 3)
    state = state_of(widgets.tiles(scores, ["a", "b"], ["x", "y", "z"], tile=1, d_head=5))
    assert numbers(state["scores"]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (state["rows"], state["columns"]) == (["a", "b"], ["x", "y", "z"])
    assert (state["tile"], state["d_head"], state["causal"]) == (1, 5, False)


def test_the_summary_counts_tiles_and_bytes():
    view = widgets.tiles(torch.zeros(6, 6), tile=2)
    expected = "9 tiles of 2 × 2 walk over 6 × 6 scores: 2,080 bytes in fast memory at a time, whatever the length of "
    assert repr(view) == f"{expected}the text."
    assert repr(widgets.tiles(torch.zeros(6, 6), tile=2, causal=True)).startswith(
        "6 tiles of 2 × 2 walk over 6 × 6 scores, those of the future left out: "
    )
    assert repr(widgets.tiles(torch.zeros(5, 7), tile=4)).startswith("4 tiles of 4 × 4 walk over 5 × 7 scores: ")


def test_tiles_refuse_what_they_cannot_show():
    scores = torch.zeros(4, 5)
    for wrong in (torch.zeros(17, 4), torch.zeros(1, 4), torch.zeros(4)):
        with pytest.raises(ValueError, match=r"scores must be \(T, S\) of 2 to 16 tokens \(their shape is "):
            widgets.tiles(wrong)
    with pytest.raises(ValueError, match="scores must be finite"):
        widgets.tiles(scores - torch.inf)
    with pytest.raises(ValueError, match=r"tile must be one of 1, 2, 3, 4, 6, 8 \(got 5\)"):
        widgets.tiles(scores, tile=5)
    with pytest.raises(ValueError, match=r"causal attention needs as many queries as keys \(got 4, 5\)"):
        widgets.tiles(scores, causal=True)
    with pytest.raises(ValueError, match="query_tokens"):
        widgets.tiles(scores, ["a"])
