"""What parts of a model do: each number against the same one worked out the long way."""

import pytest
import torch
from torch import Tensor

from transformer_lab import MultiHeadAttention, analysis, split_heads
from transformer_lab.models.language_model import RotaryAttention
from transformer_lab.nn import blocks
from transformer_lab.nn.positions import RotaryPositions


def test_induction_score_of_weights_written_by_hand():
    weights = torch.zeros(2, 4, 4)
    weights[0, 2, 1], weights[0, 3, 2] = 1.0, 0.5  # period 2: position 2 should look at 1, position 3 at 2
    weights[1, 2, 0] = weights[1, 3, 1] = 1.0  # at the same token, not at the one after it
    assert analysis.induction_score(weights, 2).tolist() == [0.75, 0.0]


def test_induction_score_is_the_mean_of_what_its_docstring_says():
    weights = torch.rand(3, 10, 10).softmax(-1)
    by_hand = torch.stack([weights[:, t, t - 5 + 1] for t in range(5, 10)]).mean(0)
    assert torch.allclose(analysis.induction_score(weights, 5), by_hand)


@pytest.mark.parametrize("period", [0, 3, 4])
def test_induction_score_refuses_another_period(period: int):
    with pytest.raises(ValueError, match=rf"those of 2 · period = {2 * period} positions \(got 10\)"):
        analysis.induction_score(torch.rand(3, 10, 10), period)


def test_logit_lens_of_the_last_state_is_the_model_s_answer():
    hidden, norm, output = torch.randn(2, 3, 8), blocks.LayerNorm(8), torch.nn.Linear(8, 5, bias=False)
    assert torch.allclose(analysis.logit_lens(hidden, norm, output.weight), output(norm(hidden)))


def heads_of(layer: MultiHeadAttention, x: Tensor) -> Tensor:
    values = split_heads(layer.w_v(x), layer.n_heads)
    _, weights = layer(x, x, x, need_weights=True)
    return weights @ values  # (B, h, T, d_head)


def test_a_head_taken_away_takes_its_contribution_and_no_other():
    layer, x = MultiHeadAttention(12, 3).eval(), torch.randn(2, 4, 12)
    parts = analysis.head_contributions(layer, x, x, x)  # (B, h, T, d_model)
    w_o = layer.w_o.weight.T
    for head in range(3):
        without = analysis.ablate_head(heads_of(layer, x), w_o, head)
        others = [parts[:, other] for other in range(3) if other != head]
        assert torch.allclose(without, sum(others, torch.zeros(())), atol=1e-6)


@pytest.mark.parametrize("head", [-1, 3])
def test_no_head_is_taken_away_that_is_not_there(head: int):
    with pytest.raises(ValueError, match=rf"head must be one of 0 to 2 \(got {head}\)"):
        analysis.ablate_head(torch.randn(1, 3, 2, 4), torch.randn(12, 12), head)


def test_contributions_add_up_where_heads_share_keys_and_turn_by_their_positions():
    layer, x = RotaryAttention(12, 6, 2, RotaryPositions(4, 2)).eval(), torch.randn(2, 4, 12)
    parts = analysis.head_contributions(layer, x, x, x)
    assert torch.allclose(parts.sum(1) + layer.w_o.bias, layer(x, x, x)[0], atol=1e-6)
