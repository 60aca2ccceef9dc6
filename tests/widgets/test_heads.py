"""Heads side by side in Python: what the view carries, and what each head adds to the output of a layer."""

import math

import pytest
import torch
from torch.testing import assert_close

from tests.support import DEVICE
from tests.view_outputs import numbers, state_of
from transformer_lab import MultiHeadAttention, widgets
from transformer_lab.analysis import entropy, head_contributions
from transformer_lab.nn import masks

QUERIES, KEYS = ["Je", "suis", "là"], ["I", "am", "here", "now", "."]


def weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).softmax(-1).to(DEVICE)


# ── by hand ──


def test_what_each_head_adds_by_hand():
    layer = MultiHeadAttention(2, 2).to(DEVICE)
    with torch.no_grad():
        for linear in (layer.w_q, layer.w_k):
            linear.weight.zero_()  # every query looks evenly
        layer.w_v.weight.copy_(torch.eye(2))
        layer.w_o.weight.copy_(torch.tensor([[1.0, 10.0], [2.0, 20.0]]))  # y0 = x0 + 10 x1, y1 = 2 x0 + 20 x1
        x = torch.tensor([[[1.0, 0.0], [3.0, 2.0]]], device=DEVICE)  # mean: 2 and 1
        parts = head_contributions(layer, x, x, x)
    assert parts.tolist() == [[[[2.0, 4.0]] * 2, [[10.0, 20.0]] * 2]]


def test_what_is_lost_by_hand():
    parts = torch.tensor([[[3.0, 4.0]], [[0.0, -4.0]]])  # lengths 5 and 4; together (3, 0)
    state = state_of(widgets.heads(weights(2, 1, 5), ["q"], KEYS, contributions=parts.to(DEVICE)))
    assert numbers(state["lost"]).tolist() == [[[5.0], [4.0]]]
    assert numbers(state["whole"]).tolist() == [[3.0]]


def test_the_mean_entropy_by_hand():
    rows = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 0.0]])
    expected = (1 + 0 + 2 * 0.25 - 0.75 * math.log2(0.75) + 0) / 4
    assert entropy(rows).mean().item() == pytest.approx(expected)


def test_the_summary_names_the_sharpest_and_the_most_even_head():
    even, sharp = torch.full((3, 4), 0.25), torch.eye(3, 4)
    view = widgets.heads(torch.stack([even, sharp]), QUERIES, KEYS[:4])
    assert repr(view).endswith("the mean entropy of a row is 0.00 bits in head 1 and 2.00 bits in head 0.")
    view = widgets.heads(torch.stack([even, sharp])[:, None], QUERIES, KEYS[:4])
    assert repr(view).endswith("is 0.00 bits in head 1.0 and 2.00 bits in head 0.0.")


# ── properties ──


@pytest.mark.parametrize("masked", [False, True])
def test_the_contributions_and_the_bias_are_the_output(masked):
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3).to(DEVICE)
    torch.nn.init.normal_(layer.w_o.bias)
    x, memory = torch.randn(2, 5, 12, device=DEVICE), torch.randn(2, 7, 12, device=DEVICE)
    key, mask = (x, masks.causal_mask(5, DEVICE)) if masked else (memory, None)
    output, _ = layer(x, key, key, mask, need_weights=True)
    parts = head_contributions(layer, x, key, key, mask)
    assert_close(parts.sum(dim=1) + layer.w_o.bias, output)


def test_leaving_a_head_out_of_w_o_takes_its_contribution():
    torch.manual_seed(1)
    layer = MultiHeadAttention(12, 3).to(DEVICE)
    x = torch.randn(2, 5, 12, device=DEVICE)
    whole, part = layer(x, x, x)[0], head_contributions(layer, x, x, x)[:, 1]
    with torch.no_grad():
        layer.w_o.weight[:, 4:8] = 0.0  # its columns read the features of head 1
    assert_close(whole - layer(x, x, x)[0], part, atol=1e-6, rtol=1e-5)


def test_layers_keep_their_own_wholes():
    parts = torch.randn(2, 3, 3, 7)
    state = state_of(widgets.heads(weights(2, 3, 3, 5), QUERIES, KEYS, contributions=parts))
    assert_close(numbers(state["whole"]), parts.sum(1).norm(dim=-1))


# ── refusals ──


def test_heads_refuses_what_would_lie():
    with pytest.raises(ValueError, match=r"must have shape .* = \(3, 5\) \(it has \(5, 3\): that is the transpose\)"):
        widgets.heads(weights(2, 5, 3), QUERIES, KEYS)
    with pytest.raises(ValueError, match="each row of weights must sum to 1"):
        widgets.heads(torch.stack([weights(3, 5), weights(3, 5) * 2]), QUERIES, KEYS)
    message = r"contributions must have the shape \(heads, T, d_model\), here \(2, 3\) and d_model .* is \(3, 2, 4\)"
    with pytest.raises(ValueError, match=message):
        widgets.heads(weights(2, 3, 5), QUERIES, KEYS, contributions=torch.ones(3, 2, 4))
