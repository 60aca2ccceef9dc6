"""Parts that the models since Llama exchange: norms on queries and keys, windows, the places of norms, gates, caps."""

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, randn, refuses, scramble, tensor
from transformer_lab import (
    KVCache,
    OpenModel,
    OpenModelConfig,
    PreNormResidual,
    QKNorm,
    RMSNorm,
    SlidingWindowLayer,
    SwiGLU,
    qk_norm,
    record_attention,
    rms_norm,
    sliding_window_mask,
    soft_cap,
)
from transformer_lab.models.since_llama.feed_forwards import GeGLU
from transformer_lab.models.since_llama.layers import OpenAttention, OpenLayer
from transformer_lab.models.since_llama.qk_norm import WholeQKNorm
from transformer_lab.models.since_llama.residuals import SandwichResidual, SublayerNormResidual
from transformer_lab.nn.positions import RotaryPositions

D, H, G, D_HEAD, WINDOW = 12, 6, 2, 4, 3


def layer_parts() -> tuple[nn.Module, ...]:
    attention = OpenAttention(D, H, G, D_HEAD, RotaryPositions(9, D_HEAD, 50.0), QKNorm(D_HEAD))
    return attention, SwiGLU(D, 20), PreNormResidual(D), PreNormResidual(D)


def windowed(n_layers: int = 2) -> OpenModel:
    torch.manual_seed(0)
    config = OpenModelConfig(17, D, H, 20, n_layers, max_len=30, positions="rotary")
    layers = [SlidingWindowLayer(*layer_parts(), window=WINDOW) for _ in range(n_layers)]
    model = OpenModel(config, layers, RMSNorm(D)).to(DEVICE)
    scramble(model)
    return model.eval()


def some_tokens(length: int) -> torch.Tensor:
    return torch.randint(17, (2, length), generator=torch.Generator().manual_seed(0)).to(DEVICE)


# Numbers worked by hand


def test_a_window_counts_its_own_position():
    rows = ["1000", "1100", "0110", "0011"]
    assert sliding_window_mask(4, 2).int().tolist() == [[int(x) for x in row] for row in rows]
    assert sliding_window_mask(4, 1).int().tolist() == torch.eye(4).tolist()
    assert sliding_window_mask(4, 9).all(1).tolist() == [False, False, False, True]


def test_norms_of_queries_and_keys_of_each_head():
    query, key = tensor([[[[3.0, 4.0]], [[30.0, 40.0]]]]), tensor([[[[1.0, 1.0]]]])
    queries, keys = qk_norm(query, key, tensor([1.0, 2.0]), tensor([5.0, 5.0]), 0.0)
    length = 12.5**0.5  # root mean square of 3 and 4
    assert_close(queries, tensor([[[[3 / length, 8 / length]], [[3 / length, 8 / length]]]]))
    assert_close(keys, tensor([[[[5.0, 5.0]]]]))


def test_a_cap_is_an_upper_bound_and_small_numbers_pass():
    assert_close(soft_cap(tensor([0.0, 3.0, 1e6, -1e6, 1e-3]), 3.0), tensor([0.0, 3 * 0.7615942, 3.0, -3.0, 1e-3]))


# Properties


def test_no_score_of_normed_queries_and_keys_is_above_the_root_of_d_head():
    query, key, ones = 1e4 * randn(2, 3, 5, D_HEAD), 1e4 * randn(2, 3, 5, D_HEAD), torch.ones(D_HEAD, device=DEVICE)
    queries, keys = qk_norm(query, key, ones, ones, 1e-6)
    scores = queries @ keys.mT / D_HEAD**0.5
    assert D_HEAD**0.5 / 2 < scores.abs().max() <= D_HEAD**0.5 + 1e-5


def test_a_norm_over_all_heads_keeps_their_proportions():
    norm = WholeQKNorm(H, G, D_HEAD, 0.0).to(DEVICE)
    query, key = randn(2, H, 5, D_HEAD), randn(2, G, 5, D_HEAD)
    queries, keys = norm(query, key)
    assert_close(queries / queries[:, :1], query / query[:, :1], within=1e-4)
    assert_close(keys.square().mean((1, 3)), torch.ones(2, 5, device=DEVICE), within=1e-5)


def test_what_is_felt_reaches_one_window_further_in_each_layer():
    """L (window - 1) positions back, and not one more."""
    model, tokens = windowed(), some_tokens(9)
    changed = tokens.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 17
    felt = (model(changed) - model(tokens)).abs().amax((0, 2)) > 1e-6
    assert felt.nonzero().flatten().tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("chunks", [[1] * 9, [7, 1, 1], [2, 5, 2]], ids=str)
def test_a_window_holds_no_more_than_the_next_position_may_see(chunks):
    model, tokens, cache = windowed(), some_tokens(9), KVCache()
    parts = [model(part, cache) for part in tokens.split(chunks, dim=1)]
    assert_close(torch.cat(parts, 1), model(tokens), within=1e-5)
    assert [cache.layer(i).held for i in range(2)] == [WINDOW - 1] * 2
    assert cache.length == 9


def test_a_cache_that_has_let_go_of_positions_cannot_go_back():
    model, cache = windowed(), KVCache()
    model(some_tokens(2), cache)
    cache.keep(1)
    model(some_tokens(6), cache)
    cache.keep(7)
    with refuses("a cache must hold every position to forget the last ones (of 7 positions layer 0 holds 2)"):
        cache.keep(6)
    assert cache.length == 7


def test_weights_of_a_window_are_recorded():
    model = windowed()
    with record_attention(model) as maps:
        model(some_tokens(5))
    assert len(maps) == 2
    for weights in maps.values():
        assert_close((weights > 0).float().amax((0, 1)), sliding_window_mask(5, WINDOW, DEVICE).float())


def test_where_the_norms_stand():
    x, weight = randn(2, 5, D), randn(D)
    norm = lambda y, w: rms_norm(y, w, 1e-5)  # noqa: E731
    behind, sandwich = SublayerNormResidual(D), SandwichResidual(D)
    for residual in (behind, sandwich):
        residual.norm = RMSNorm(D)
        residual.to(DEVICE).norm.weight.data.copy_(weight)
    sandwich.norm_2 = RMSNorm(D).to(DEVICE)
    ones = torch.ones(D, device=DEVICE)
    assert_close(behind(x, torch.sin), x + norm(x.sin(), weight))
    assert_close(sandwich(x, torch.sin), x + norm(norm(x, weight).sin(), ones))


def test_the_gate_of_a_geglu_is_gelu():
    module, x = GeGLU(D, 20).to(DEVICE), randn(3, D)
    gate = module.w_gate(x)
    half = 0.5 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (gate + 0.044715 * gate**3)))
    assert_close(module(x), module.w_down(gate * half * module.w_up(x)), within=1e-5)


# Errors


def test_what_is_wrong_with_a_part_is_said():
    with refuses("window (0) must be at least 1"):
        sliding_window_mask(4, 0)
    with refuses("window (0) must be at least 1"):
        SlidingWindowLayer(*layer_parts(), window=0)
    with refuses("n_heads (6) must be divisible by n_kv_heads (4)"):
        OpenAttention(D, 6, 4, D_HEAD, RotaryPositions(9, D_HEAD))
    config = OpenModelConfig(17, D, H, 20, 2, positions="rotary")
    with refuses("a model must be handed its n_layers (2) layers (got 1)"):
        OpenModel(config, [OpenLayer(*layer_parts())], RMSNorm(D))
