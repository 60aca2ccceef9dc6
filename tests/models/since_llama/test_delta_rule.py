"""The delta rule: by hand, as a product of matrices, what it remembers; its layer with a cache; and gated attention."""

import pytest
import torch
from torch import Tensor

from tests.support import DEVICE, assert_close, gradients, randn, refuses, scramble, tensor
from transformer_lab import GatedAttention, GatedDeltaNet, KVCache, causal_mask, delta_rule
from transformer_lab.models.since_llama.delta_rule import ShortConvolution, delta_steps
from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.nn.positions import RotaryPositions

B, T, D_K, D_V, D, HEADS, VALUE_HEADS = 2, 7, 3, 5, 12, 2, 4


def arguments() -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    rows = randn(B, T, D_K, requires_grad=True), randn(B, T, D_K), randn(B, T, D_V)
    return (*rows, torch.rand(B, T, device=DEVICE), torch.rand(B, T, device=DEVICE))


def net() -> GatedDeltaNet:
    torch.manual_seed(0)
    module = GatedDeltaNet(D, HEADS, VALUE_HEADS, D_K, D_V, width=3).to(DEVICE)
    scramble(module)
    return module


def shares(*values: float) -> Tensor:
    return tensor([[*values]], dtype=torch.float32)


# Numbers worked by hand


def test_a_value_takes_the_place_of_the_one_before_it():
    """A key (1, 0) is taught 10, then 20: the answer is 20, and not 30; a beta of 1/2 goes half-way."""
    key = tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    query, value = tensor([[[1.0, 0.0]] * 3]), tensor([[[10.0], [20.0], [99.0]]])
    assert delta_rule(query, key, value, shares(1, 1, 1), shares(1, 1, 1)).flatten().tolist() == [10, 20, 20]
    assert delta_rule(query, key, value, shares(1, 0.5, 1), shares(1, 1, 1)).flatten().tolist() == [10, 15, 15]
    assert delta_rule(query, key, value, shares(1, 0, 0), shares(1, 0.5, 0.5)).flatten().tolist() == [10, 5, 2.5]


def test_a_short_convolution_sees_the_last_inputs_only():
    module = ShortConvolution(1, 2).to(DEVICE)
    with torch.no_grad():
        module.weight.copy_(tensor([[10.0, 1.0]]))
    out, last = module(tensor([[[1.0], [2.0], [3.0]]]))
    sums = tensor([[[1.0], [12.0], [23.0]]])
    assert_close(out, sums * torch.sigmoid(sums))
    assert last.tolist() == [[[3.0]]]


# Properties


def test_each_step_is_a_product_with_a_matrix():
    """S_t = decay (1 - beta k kᵀ) S_(t-1) + beta k vᵀ, the other way to write it."""
    query, key, value, beta, decay = arguments()
    state, outputs = torch.zeros(B, D_K, D_V, device=DEVICE), []
    for t in range(T):
        k, b = key[:, t, :, None], beta[:, t, None, None]
        state = decay[:, t, None, None] * (torch.eye(D_K, device=DEVICE) - b * k @ k.mT) @ state
        state = state + b * k @ value[:, t, None]
        outputs.append((query[:, t, None] @ state)[:, 0])
    mine, other = delta_rule(query, key, value, beta, decay), torch.stack(outputs, 1)
    assert_close(mine, other, within=1e-5)
    assert_close(gradients(mine, query), gradients(other, query), within=1e-5)


def test_as_many_pairs_as_a_key_has_features_are_all_recalled():
    """Keys at right angles are kept apart; one more, and something must give."""
    keys, values = torch.eye(4, device=DEVICE)[None], randn(1, 4, D_V)
    whole = torch.ones(1, 4, device=DEVICE)
    _, state = delta_steps(torch.zeros(1, 4, D_V, device=DEVICE), keys, keys, values, whole, whole)
    assert_close(keys @ state, values)
    fifth = torch.full((1, 1, 4), 0.5, device=DEVICE)
    _, state = delta_steps(state, fifth, fifth, randn(1, 1, D_V), whole[:, :1], whole[:, :1])
    assert ((keys @ state - values).abs().amax(-1) > 1e-3).all()


def test_what_is_read_in_parts_goes_on_from_the_state():
    query, key, value, beta, decay = arguments()
    first, state = delta_steps(torch.zeros(B, D_K, D_V, device=DEVICE), *(x[:, :3] for x in arguments()))
    second, _ = delta_steps(state, *(x[:, 3:] for x in arguments()))
    assert_close(torch.cat([first, second], 1), delta_rule(query, key, value, beta, decay))
    nothing, same = delta_steps(state, *(x[:, :0] for x in arguments()))
    assert nothing.shape == (B, 0, D_V)
    assert_close(same, state)


@pytest.mark.parametrize("chunks", [[1] * T, [1, 4, 2]], ids=str)
def test_a_cache_is_as_large_after_the_last_position_as_after_the_first(chunks):
    module, x, cache, sizes = net(), randn(B, T, D), KVCache(), []
    parts = []
    for part in x.split(chunks, dim=1):
        parts.append(module(part, part, part, cache=cache.layer(0))[0])
        sizes.append(sum(kept.numel() for kept in cache.tensors.values()))
    assert_close(torch.cat(parts, 1), module(x, x, x)[0], within=1e-5)
    assert {*sizes} == {B * (VALUE_HEADS * D_K * D_V + 2 * (2 * HEADS * D_K + VALUE_HEADS * D_V))}
    assert cache.length == T
    cache.select(torch.tensor([1], device=DEVICE))
    one = x[1:, :1]
    again = torch.cat([x, x[:, :1]], 1)
    expected = module(again, again, again)[0][1:, T:]
    assert_close(module(one, one, one, cache=cache.layer(0))[0], expected, within=1e-5)


def test_no_position_of_a_delta_net_sees_a_later_one():
    module, x = net(), randn(B, T, D)
    changed = x.clone()
    changed[:, 4] += 1
    difference = (module(changed, changed, changed)[0] - module(x, x, x)[0]).abs().amax((0, 2))
    assert (difference > 1e-5).tolist() == [False] * 4 + [True] * 3


def test_a_gate_that_is_half_open_lets_half_of_all_pass():
    gated = GatedAttention(D, HEADS, 1, 4, RotaryPositions(9, 4)).to(DEVICE)
    plain = OpenAttention(D, HEADS, 1, 4, RotaryPositions(9, 4)).to(DEVICE)
    plain.load_state_dict({name: x for name, x in gated.state_dict().items() if "w_gate" not in name})
    with torch.no_grad():
        gated.w_gate.weight.zero_()
    x, mask = randn(B, T, D), causal_mask(T, DEVICE)
    assert_close(gated(x, x, x, mask)[0], plain(x, x, x, mask)[0] / 2, within=1e-5)


# Errors


def test_what_a_delta_net_refuses():
    module, x, cache = net(), randn(B, T, D), KVCache()
    with refuses("query, key and value of a delta rule must be the same vectors (got others)"):
        module(x, x.clone(), x)
    with refuses("an attention must have weights to hand them out, and a delta rule has none"):
        module(x, x, x, need_weights=True)
    with refuses("an attention must be handed its layer's part of a cache: cache.layer(0) (got a KVCache)"):
        module(x, x, x, cache=cache)
    module(x, x, x, cache=cache.layer(0))
    one = x[:1]
    with refuses("a cache must go on with its own batch, which is 2 (got 1)"):
        module(one, one, one, cache=cache.layer(0))
    with refuses("a cache must hold every position to forget the last ones (of 7 positions layer 0 holds 0)"):
        cache.keep(6)
    with refuses("n_value_heads (3) must be a multiple of n_heads (2)"):
        GatedDeltaNet(D, 2, 3, D_K, D_V)
    with refuses("width (0) must be at least 1"):
        ShortConvolution(D, 0)
