"""Models of attention alone: against sums worked out part by part."""

import pytest
import torch

from transformer_lab import AttentionOnly, analysis, causal_mask
from transformer_lab.nn.positions import LearnedPositions


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_the_logits_are_a_sum_of_what_each_part_wrote(positions: str):
    torch.manual_seed(0)
    model, tokens = AttentionOnly(11, 12, 3, 2, positions, max_len=9), torch.randint(11, (2, 7))
    for layer in model.layers:
        torch.nn.init.normal_(layer.self_attention.w_o.bias)
    with torch.no_grad(), analysis.record_heads(model) as written:
        logits = model(tokens)
        stream = model.tokens(tokens)
        if positions == "learned":
            stream = stream + model.positions.encoding[:7]
        for name, outputs in written.items():
            w_o = model.get_submodule(name).w_o
            blocks = w_o.weight.T.unflatten(0, (3, 4))  # (h, d_head, d_model)
            stream = stream + (outputs @ blocks).sum(1) + w_o.bias
        assert torch.allclose(stream @ model.to_logits.weight.T, logits, atol=1e-5)


def test_no_position_sees_a_later_token():
    model, tokens = AttentionOnly(11, 12, 3, 2), torch.randint(11, (1, 7))
    other = tokens.clone()
    other[0, 5] = (tokens[0, 5] + 1) % 11
    with torch.no_grad():
        differs = (model(tokens) - model(other)).abs().amax(-1)[0] > 1e-6
    assert differs.tolist() == [False] * 5 + [True] * 2


def test_it_knows_the_order_of_the_tokens_before():
    torch.manual_seed(0)
    for positions in ("rotary", "learned"):
        model = AttentionOnly(11, 12, 3, 1, positions)
        one, two = model(torch.tensor([[1, 2, 3]])), model(torch.tensor([[2, 1, 3]]))
        assert (one[0, -1] - two[0, -1]).abs().max() > 1e-3


def test_its_parts():
    model = AttentionOnly(11, 12, 3, 2, "learned", max_len=9)
    assert isinstance(model.positions, LearnedPositions)
    attention = 4 * (12 * 12 + 12)
    assert sum(p.numel() for p in model.parameters()) == 11 * 12 + 9 * 12 + 2 * attention + 11 * 12
    assert AttentionOnly(11, 12, 3, 2).positions is None


def test_its_layer_adds_to_its_input():
    torch.manual_seed(0)
    layer, x = AttentionOnly(11, 12, 3, 1).layers[0], torch.randn(2, 7, 12)
    torch.nn.init.zeros_(layer.self_attention.w_o.weight)
    assert torch.equal(layer(x, causal_mask(7)), x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 12, 3, 2), r"vocab_size \(0\) must be at least 1"),
        ((11, 12, 3, 0), r"n_layers \(0\) must be at least 1"),
        ((11, 12, 5, 2), r"d_model \(12\) must be divisible by n_heads \(5\)"),
        ((11, 12, 3, 2, "sinusoidal"), r"positions must be one of learned, rotary \(got 'sinusoidal'\)"),
    ],
)
def test_sizes_that_do_not_go_together(arguments: tuple, message: str):
    with pytest.raises(ValueError, match=message):
        AttentionOnly(*arguments)


def test_texts_that_it_cannot_read():
    model = AttentionOnly(11, 12, 3, 1, "learned", max_len=9)
    with pytest.raises(ValueError, match="token ids must be from 0 to 10"):
        model(torch.tensor([[11]]))
    with pytest.raises(ValueError, match=r"at most max_len \(9\) positions \(got 10\)"):
        model(torch.zeros(1, 10, dtype=torch.long))
