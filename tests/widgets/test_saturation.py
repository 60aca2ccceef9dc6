"""Softmax saturation in Python: the scores and medians that it carries, and what it refuses."""

import pytest
import torch

from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.views.saturation.saturation_view import WIDTHS, jacobian_norm


def test_saturation_carries_scores_and_medians_at_every_width():
    query, key = torch.randn(5, 1024), torch.randn(3, 1024)
    state = state_of(widgets.saturation(query, key))
    assert state["widths"] == WIDTHS
    assert {4, 16, 64, 256, 1024} <= set(WIDTHS)
    i = WIDTHS.index(64)
    scores = query[:, :64].double() @ key[:, :64].double().T
    widest = (query.double() @ key.double().T).softmax(-1)
    typical = norms_of_jacobians(widest).argsort()[2]  # the third of five
    assert torch.allclose(numbers(state["scores"])[i].double(), scores[typical], atol=1e-4)
    for curve, s in zip(state["norms"], (scores, scores / 8), strict=True):
        expected = norms_of_jacobians(s.softmax(-1)).median().item()
        assert numbers(curve)[i].item() == pytest.approx(expected, abs=1e-6)


def norms_of_jacobians(p):
    return (torch.diag_embed(p) - p[:, :, None] * p[:, None, :]).flatten(1).norm(dim=1)


def test_the_norm_of_the_jacobian_by_hand():
    p = torch.tensor([[0.5, 0.5], [1.0, 0.0]], dtype=torch.float64)  # J = [[.25, -.25], [-.25, .25]], and zeros
    assert jacobian_norm(p).tolist() == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (torch.ones(1024), torch.ones(3, 1024), r"query must have the shape \(rows, 1024\) \(its shape is \(1024,\)\)"),
        (
            torch.ones(2, 1024),
            torch.ones(3, 512),
            r"key must have the shape \(rows, 1024\) \(its shape is \(3, 512\)\)",
        ),
        (torch.ones(2, 1024), torch.full((3, 1024), torch.nan), "key must be finite"),
        (torch.ones(2, 1024), torch.ones(17, 1024), r"at least 1 query, and 1 to 16 keys \(got 2 and 17\)"),
    ],
)
def test_saturation_refuses_other_shapes(query, key, message):
    with pytest.raises(ValueError, match=message):
        widgets.saturation(query, key)
