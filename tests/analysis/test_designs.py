"""Five designs of a cache: by hand, against the package's own caches, and against published configurations."""

import pytest
import torch
from torch import nn
from transformers import DeepseekV3Config, LlamaConfig, Qwen3NextConfig

import transformer_lab as lab
from transformer_lab.analysis.designs import (
    NAMES,
    PUBLISHED,
    Kept,
    alike,
    keys_and_values,
    latent,
    state,
)
from transformer_lab.models.since_llama.delta_rule import delta_steps
from transformer_lab.nn.positions import RotaryPositions

BY_NAME = dict(zip(NAMES, PUBLISHED, strict=True))


def kept_by(layer, length):
    """The numbers in the cache of a layer after a text, but for a convolution's."""
    cache = lab.KVCache()
    x = torch.randn(1, length, 128)
    with torch.no_grad():
        layer(x, x, x, lab.causal_mask(length), cache=cache.layer(0))
    return sum(tensor.numel() for name, tensor in cache.tensors.items() if "inputs" not in name)


@pytest.mark.parametrize("length", [1, 5, 40])
def test_numbers_are_those_of_the_packages_caches(length):
    grouped = lab.GroupedQueryAttention(128, 8, 2)
    assert kept_by(grouped, length) == keys_and_values(1, 2, 16).n_numbers(length)
    rotary = RotaryPositions(64, 8)
    made = lab.LatentAttention(128, 8, 16, 24, 16, rotary, nn.Linear(128, 8 * 24))
    assert kept_by(made, length) == latent(1, 8, 16, 24, 8).n_numbers(length)
    assert kept_by(lab.GatedDeltaNet(128, 8, 8, 16, 16), length) == state(1, 8, 16, 16).n_numbers(length)


def test_by_hand():
    window, matrix = keys_and_values(3, 2, 5, window=4), state(3, 2, 5, 7)
    assert [window.n_numbers(n) for n in (1, 4, 9)] == [3 * 20, 3 * 80, 3 * 80]
    assert [matrix.n_numbers(n) for n in (1, 4, 9)] == [3 * 70] * 3
    assert [window.known(age) for age in (0, 3, 4)] == [1, 1, 0]
    assert window.reach == 9
    assert matrix.known(2, decay=0.5, beta=0.5) == pytest.approx((0.9 * 0.5) ** 2)


@pytest.mark.parametrize(("decay", "beta"), [(1.0, 1.0), (0.98, 0.5)])
def test_what_a_state_still_answers_is_what_the_package_computes_on_average(decay, beta):
    n, d, length = 4000, 8, 12
    torch.manual_seed(0)
    key = nn.functional.normalize(torch.randn(n, length, d), dim=-1)
    value = torch.zeros(n, length, 1)
    value[:, 0] = 1
    rates, decays = torch.full((n, length), beta), torch.full((n, length), decay)
    rates[:, 0] = 1
    _, kept = delta_steps(torch.zeros(n, d, 1), key, key, value, rates, decays)
    answer = (key[:, :1] @ kept).mean().item()
    expected = state(1, 1, d, 1).known(length - 1, decay, beta)
    assert answer == pytest.approx(expected, abs=0.015)


def test_presets_are_the_published_configurations():
    llama, deepseek, qwen = LlamaConfig(), DeepseekV3Config(), Qwen3NextConfig()
    assert BY_NAME["multi-head"].parts == (
        keys_and_values(llama.num_hidden_layers, llama.num_key_value_heads, llama.head_dim),
    )
    made = BY_NAME["latent"].parts[0]
    assert (made.n_layers, made.numbers) == (
        deepseek.num_hidden_layers,
        deepseek.kv_lora_rank + deepseek.qk_rope_head_dim,
    )
    heads, nope = deepseek.num_attention_heads, deepseek.qk_nope_head_dim
    assert made.whole == heads * (nope + deepseek.qk_rope_head_dim + deepseek.v_head_dim)
    full, fading = BY_NAME["state"].parts
    assert full == keys_and_values(qwen.layer_types.count("full_attention"), qwen.num_key_value_heads, qwen.head_dim)
    assert fading.n_layers == qwen.layer_types.count("linear_attention") == 3 * full.n_layers
    each = qwen.linear_num_value_heads * qwen.linear_key_head_dim * qwen.linear_value_head_dim
    assert (fading.state, fading.d_key) == (each, qwen.linear_key_head_dim)


def test_published_bytes_of_a_token():
    assert 2 * BY_NAME["grouped"].n_numbers(1) == 131_072
    assert 2 * BY_NAME["latent"].n_numbers(1) == 70_272  # arXiv:2405.04434 counts a latent and a turned key a layer
    assert BY_NAME["window"].n_numbers(10**6) - BY_NAME["window"].n_numbers(10**6 - 1) == 8 * 2 * 8 * 256


def test_at_one_size_only_the_design_differs():
    numbers = [design.n_numbers(1024) for design in alike()]
    assert numbers[0] == 4 * numbers[1] == 4 * numbers[3]
    assert numbers[2] / numbers[0] == 576 / 8192
    assert numbers[4] == 32 * 32 * 128 * 128
    assert [design.known(5000) for design in alike()][:4] == [1, 1, 1, 0]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"numbers for each token or a state \(got 0 and 0\)"):
        Kept(3)
    with pytest.raises(ValueError, match=r"length \(0\) must be at least 1"):
        PUBLISHED[0].n_numbers(0)
