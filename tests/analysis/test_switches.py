"""Parts switched off and vectors swapped, against models computed without the part, step by step."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

import transformer_lab as lab
from transformer_lab import analysis
from transformer_lab.nn.masks import causal_mask
from transformer_lab.nn.transformer import embed

SRC, TGT = torch.tensor([[3, 4, 5, 6, 2]]), torch.tensor([[1, 7, 8]])
PARTS = [
    "src_embedding.positions",
    "tgt_embedding.positions",
    "encoder.layers.0.self_attention.head.1",
    "encoder.layers.1.residual_1.skip",
    "decoder.layers.0.residual_3.norm",
    "encoder.layers.0.feed_forward",
    "decoder.layers.0.self_attention.mask",
]


def translator(**kind) -> lab.Transformer:
    torch.manual_seed(0)
    model = lab.Transformer(lab.TransformerConfig(11, 12, 3, 10, n_layers=2, max_len=9, **kind)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.double()


@torch.no_grad()
def logits(model: nn.Module) -> Tensor:
    return model(SRC, TGT)


def without(model: lab.Transformer, *parts: str) -> Tensor:
    with analysis.switched_off(model, *parts):
        return logits(model)


@pytest.mark.parametrize("kind", [{}, {"norm_first": True}], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_does_nothing_within_the_block_alone(part, kind):
    model = translator(**kind)
    before = logits(model)
    assert (without(model, part) - before).abs().max() > 1e-3
    assert torch.equal(logits(model), before)


def test_without_the_encoding_the_order_of_the_source_does_not_matter():
    model = translator()
    with analysis.switched_off(model, "src_embedding.positions"), torch.no_grad():
        one, other = model(SRC, TGT), model(SRC.flip(1), TGT)
    torch.testing.assert_close(one, other)
    table = model.to_logits.weight
    with analysis.switched_off(model, "src_embedding.positions"), torch.no_grad():
        found = model.src_embedding(SRC)
    assert torch.equal(found, embed(SRC, table, torch.zeros(9, 12, dtype=torch.float64)))


def test_without_the_mask_a_position_sees_what_comes_later():
    model = translator()
    masks = [f"decoder.layers.{i}.self_attention.mask" for i in (0, 1)]
    with torch.no_grad():
        open_ = model.decode(TGT, model.encode(SRC), None, None)
        causal = model.decode(TGT, model.encode(SRC), causal_mask(3), None)
    assert torch.equal(without(model, *masks), open_)
    assert torch.equal(without(model), causal)


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_way_around_a_sublayer(norm_first):
    layer = translator(norm_first=norm_first).encoder.layers[0]
    x = torch.randn(1, 4, 12, dtype=torch.float64)
    read, norm = (layer.residual_2.norm(x), nn.Identity()) if norm_first else (x, layer.residual_2.norm)
    with torch.no_grad():
        expected = norm(layer.feed_forward(read))
        bare = layer.feed_forward(x) + x
        with analysis.switched_off(layer, "residual_2.skip"):
            assert torch.equal(layer.residual_2(x, layer.feed_forward), expected)
        with analysis.switched_off(layer, "residual_2.norm"):
            torch.testing.assert_close(layer.residual_2(x, layer.feed_forward), bare)


def test_a_feed_forward_network_that_writes_zeros():
    model, silent = translator(), translator()
    with torch.no_grad():
        silent.encoder.layers[1].feed_forward.w_2.weight.zero_()
        silent.encoder.layers[1].feed_forward.w_2.bias.zero_()
    torch.testing.assert_close(without(model, "encoder.layers.1.feed_forward"), logits(silent))


def test_parts_that_do_not_exist_are_refused_and_nothing_stays_behind():
    model = translator()
    before = logits(model)
    no_mask_there = "encoder.layers.0.feed_forward.mask"
    for wrong in ("nothing", "encoder", "encoder.layers.0.self_attention.norm", "src_embedding.skip", no_mask_there):
        with (
            pytest.raises(ValueError, match="a part must be one of those that can be switched off"),
            analysis.switched_off(model, PARTS[0], wrong),
        ):
            pass
    with (
        pytest.raises(ValueError, match="heads must be one or more of 0 to 2"),
        analysis.switched_off(model, "encoder.layers.0.self_attention.head.3"),
    ):
        pass
    assert torch.equal(logits(model), before)


# ── swaps ──


def test_a_swap_writes_a_vector_at_one_position():
    model, value = translator(), torch.arange(12.0)
    part = "encoder.layers.0.feed_forward"
    seen = []
    with model.get_submodule("encoder.layers.0.residual_2").register_forward_pre_hook(
        lambda module, args: seen.append(args[1](args[0]))
    ):
        with analysis.swapped(model, part, 2, value):
            changed = logits(model)
        before = logits(model)
    assert torch.equal(seen[0][0, 2], value.double())
    rest = [0, 1, 3, 4]
    assert torch.equal(seen[0][0, rest], seen[1][0, rest])
    assert (changed - before).abs().max() > 1e-3
    assert torch.equal(logits(model), before)


def test_a_swapped_head_is_one_whose_columns_of_w_o_read_the_value():
    model, value, part = translator(), torch.tensor([1.0, -2.0, 0.5, 3.0]).double(), "decoder.layers.1.cross_attention"
    with analysis.swapped(model, part, 1, value, head=2):
        changed = logits(model)
    other = deepcopy(model)
    w_o = other.get_submodule(part).w_o
    plain = w_o.forward

    def forward(x: Tensor) -> Tensor:
        y = plain(x)
        y[:, 1] += (value - x[:, 1, 8:]) @ w_o.weight[:, 8:].T
        return y

    w_o.forward = forward
    torch.testing.assert_close(changed, logits(other))


def test_a_swap_of_what_is_there_or_behind_the_end_changes_nothing():
    model = translator()
    before, kept = logits(model), []
    with model.tgt_embedding.register_forward_hook(lambda module, args, out: kept.append(out[0, 1])):
        logits(model)
    with analysis.swapped(model, "tgt_embedding", 1, kept[0]):
        assert torch.equal(logits(model), before)
    with analysis.swapped(model, "tgt_embedding", 3, kept[0]):
        assert torch.equal(logits(model), before)
    with (
        pytest.raises(ValueError, match=r"heads must be one or more of 0 to 2 \(got \[3\]\)"),
        analysis.swapped(model, "decoder.layers.0.self_attention", 0, torch.zeros(4), head=3),
    ):
        pass
