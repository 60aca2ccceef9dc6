"""Latent attention: absorbed is not absorbed, by hand and by torch; what the cache holds; and attention with sinks."""

import pytest
import torch
import torch.nn.functional as F

from tests.support import DEVICE, assert_close, gradients, randn, random_mask, refuses, tensor
from transformer_lab import (
    KVCache,
    LatentAttention,
    SinkAttention,
    causal_mask,
    latent_attention,
    scaled_dot_product_attention,
    sink_attention,
)
from transformer_lab.models.since_llama.latent_attention import LowRankLinear
from transformer_lab.nn.positions import RotaryPositions

B, H, T, S, NOPE, ROPE, LATENT, V, D = 2, 3, 5, 7, 6, 4, 10, 8, 12


def arguments(n_queries: int = T) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    queries = randn(B, H, n_queries, NOPE, requires_grad=True), randn(B, H, n_queries, ROPE)
    return (*queries, randn(B, S, LATENT), randn(B, S, ROPE), randn(H, LATENT, NOPE), randn(H, LATENT, V))


def expanded(nope, rope, latent, key_rope, w_uk, w_uv, mask=None) -> torch.Tensor:
    """With every key and every value made, by torch's kernel: what is absorbed changes nothing."""
    keys = torch.einsum("bsl,hld->bhsd", latent, w_uk)
    keys = torch.cat([keys, key_rope[:, None].expand(-1, H, -1, -1)], -1)
    values = torch.einsum("bsl,hlv->bhsv", latent, w_uv)
    return F.scaled_dot_product_attention(torch.cat([nope, rope], -1), keys, values, attn_mask=mask)


def module() -> LatentAttention:
    torch.manual_seed(0)
    return LatentAttention(D, H, NOPE, LATENT, V, RotaryPositions(9, ROPE), LowRankLinear(D, 5, H * 10)).to(DEVICE)


# Numbers worked by hand


def test_one_head_of_single_features():
    """Keys 2 c for c = 1 and 0, and a query of ln 3 / √2: scores ln 3 and 0, so weights 3 : 1 of the values 10 c."""
    ln3 = torch.tensor(3.0).log().item() / 2**0.5
    nope, rope, latent = tensor([[[[ln3]]]]), tensor([[[[0.0]]]]), tensor([[[1.0], [0.0]]])
    out = latent_attention(nope, rope, latent, tensor([[[5.0], [6.0]]]), tensor([[[2.0]]]), tensor([[[10.0]]]))
    assert_close(out, tensor([[[[7.5]]]]))


def test_half_of_the_weight_goes_to_the_sink():
    """Scores 0, 0 and a sink of ln 2: weights 1/4 each; a row that may see nothing gives all to the sink."""
    query, key, value = tensor([[[[0.0], [0.0]]]]), tensor([[[[1.0], [2.0]]]]), tensor([[[[4.0], [8.0]]]])
    mask = tensor([[True, True], [False, False]])
    out, weights = sink_attention(query, key, value, torch.tensor([2.0], device=DEVICE).log(), mask)
    assert_close(weights, tensor([[[[0.25, 0.25], [0.0, 0.0]]]]))
    assert_close(out, tensor([[[[3.0], [0.0]]]]))


# Properties and parity


@pytest.mark.parametrize("masked", [False, True])
def test_absorbing_the_matrices_changes_neither_outputs_nor_gradients(masked):
    given, mask = arguments(), random_mask(T, S) if masked else None
    mine, other = latent_attention(*given, mask), expanded(*given, mask)
    assert_close(mine, other, within=1e-5)
    assert_close(gradients(mine, given[0]), gradients(other, given[0]), within=1e-5)


def test_a_position_costs_the_cache_one_short_vector_for_all_heads():
    attention, cache, x = module(), KVCache(), randn(B, T, D)
    whole, weights = attention(x, x, x, causal_mask(T, DEVICE), need_weights=True)
    parts = [attention(y, y, y, cache=cache.layer(0))[0] for y in x.split(1, dim=1)]
    assert_close(torch.cat(parts, 1), whole, within=1e-5)
    assert [tuple(kept.shape) for kept in cache.tensors.values()] == [(1, B, 1, T, LATENT + ROPE)]
    assert_close(weights.sum(-1), torch.ones(B, H, T, device=DEVICE), within=1e-5)
    cache.keep(2)
    third = x[:, 2:3]
    assert_close(attention(third, third, third, cache=cache.layer(0))[0], whole[:, 2:3], within=1e-5)


def test_a_sink_of_minus_infinity_is_none_and_a_large_one_takes_all():
    query, key, value, mask = randn(B, H, T, D), randn(B, H, S, D), randn(B, H, S, V), random_mask(B, 1, T, S)
    none = torch.full((H,), -1e9, device=DEVICE)
    assert_close(sink_attention(query, key, value, none, mask), scaled_dot_product_attention(query, key, value, mask))
    assert sink_attention(query, key, value, -none, mask)[0].abs().max() == 0


def test_the_sinks_of_an_attention_learn():
    attention, x = SinkAttention(D, H, 1, 4, RotaryPositions(9, 4)).to(DEVICE), randn(B, T, D)
    out, weights = attention(x, x, x, causal_mask(T, DEVICE), need_weights=True)
    assert (weights.sum(-1) < 1).all()
    assert (gradients(out, attention.sinks)[0].abs() > 0).all()


# Errors


def test_what_latent_attention_refuses():
    attention, x = module(), randn(B, T, D)
    with refuses("keys and values of latent attention must come from the same vectors (got two)"):
        attention(x, x, x.clone())
    with refuses("an attention must be handed its layer's part of a cache: cache.layer(0) (got a KVCache)"):
        attention(x, x, x, cache=KVCache())
    with refuses("query must be floating-point numbers of shape (B, T, 12)"):
        attention(x[0], x[0], x[0])
    with refuses("a mask must be torch.bool, True = may attend"):
        latent_attention(*arguments(), torch.ones(T, S, device=DEVICE))
    with refuses("rank (0) must be at least 1"):
        LowRankLinear(D, 0, D)
    with refuses("a mask must broadcast to the scores (2, 3, 5, 7) (got (7, 5))"):
        sink_attention(randn(B, H, T, D), randn(B, H, S, D), randn(B, H, S, V), randn(H), random_mask(7, 5))
