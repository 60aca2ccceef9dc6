"""Llama as a config of LanguageModel: parity with Hugging Face's by copying weights, both layouts of RoPE, refusals."""

from dataclasses import replace

import pytest
import torch

from tests.support import DEVICE, assert_close, each_direction, gradients, hugging_face, randn, refuses, scramble
from transformer_lab import KVCache, LanguageModel, LanguageModelConfig, complete
from transformer_lab.weights.families import halves
from transformer_lab.weights.modules import copy_from_huggingface, copy_to_huggingface

VOCAB, D, H, D_FF, LAYERS, LENGTH = 13, 24, 6, 20, 2, 17
CONFIG = LanguageModelConfig(
    **{"vocab_size": VOCAB, "d_model": D, "n_heads": H, "d_ff": D_FF, "n_layers": LAYERS, "max_len": LENGTH},
    **{"dropout": 0.0, "attention_dropout": 0.0, "positions": "rotary", "norm": "rms_norm", "norm_eps": 1e-6},
    **{"feed_forward": "swiglu", "activation": "silu", "n_kv_heads": 2, "bias": False, "tie_weights": False},
)


def small(**changes) -> LanguageModel:
    torch.manual_seed(0)
    model = LanguageModel(replace(CONFIG, **changes)).to(DEVICE)
    scramble(model)
    return model.eval()


def huggingface(**changes) -> torch.nn.Module:
    sizes = {"vocab_size": VOCAB, "hidden_size": D, "intermediate_size": D_FF, "num_hidden_layers": LAYERS}
    heads = {"num_attention_heads": H, "num_key_value_heads": 2, "max_position_embeddings": LENGTH}
    rest = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None, "tie_word_embeddings": False}
    torch.manual_seed(1)
    model = hugging_face("LlamaForCausalLM")(hugging_face("LlamaConfig")(**{**sizes, **heads, **rest, **changes})).to(
        DEVICE
    )
    scramble(model)
    return model.eval()


def some_tokens(batch: int = 3, length: int = 7) -> torch.Tensor:
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(0)).to(DEVICE)


# Properties


def test_the_config_of_llama_2_7b_has_its_parameters():
    """Touvron et al., 2023, arXiv:2307.09288: 6 738 415 616 in the published files."""
    sizes = {"vocab_size": 32000, "d_model": 4096, "n_heads": 32, "d_ff": 11008, "n_layers": 32, "max_len": 4096}
    with torch.device("meta"):
        model = LanguageModel(replace(CONFIG, **sizes, n_kv_heads=32))
    assert sum(parameter.numel() for parameter in model.parameters()) == 6_738_415_616


@pytest.mark.parametrize("chunks", [[1] * 7, [3, 4], [5, 1, 1]])
def test_cached_logits_are_the_uncached_ones(chunks):
    model, tokens, cache = small(), some_tokens(), KVCache()
    parts = [model(part, cache) for part in tokens.split(chunks, dim=1)]
    assert_close(torch.cat(parts, dim=1), model(tokens), within=1e-5)
    assert [tuple(tensor.shape) for tensor in cache.tensors.values()] == [(2, 3, 2, 7, D // H)] * LAYERS


def test_no_position_sees_a_later_one():
    model, tokens = small(), some_tokens()
    changed = tokens.clone()
    changed[:, 4] = (changed[:, 4] + 1) % VOCAB
    before, after = model(tokens), model(changed)
    assert_close(after[:, :4], before[:, :4], within=0)
    assert ((after - before)[:, 4:].abs().amax(-1) > 1e-4).all()


def test_row_2i_plus_j_of_a_head_here_is_row_i_plus_j_half_heads_there():
    rows = torch.arange(12.0)[:, None]  # two heads of six features
    assert halves(rows, 2).flatten().tolist() == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]


# Parity with Hugging Face


@each_direction
@pytest.mark.parametrize(("groups", "tied"), [(1, False), (2, True), (6, False)])
def test_logits_and_gradients_are_those_of_huggingfaces_llama(to_torch, groups, tied):
    ours = small(n_kv_heads=groups, tie_weights=tied)
    theirs, tokens = huggingface(num_key_value_heads=groups, tie_word_embeddings=tied), some_tokens()
    share = (lambda: copy_to_huggingface(ours, theirs)) if to_torch else (lambda: copy_from_huggingface(theirs, ours))
    assert (ours(tokens) - theirs(tokens).logits).abs().max() > 1e-2
    share()
    logits, expected = ours(tokens), theirs(tokens).logits
    assert_close(logits, expected, within=1e-5)
    pair = (ours.tokens.weight, theirs.get_parameter("model.embed_tokens.weight"))
    assert_close(gradients(logits, pair[0])[0], gradients(expected, pair[1])[0], within=5e-5)


def test_another_base_of_the_angles_is_followed():
    ours, tokens = small(rotary_base=500_000.0), some_tokens()
    theirs = huggingface(rope_theta=500_000.0)
    copy_to_huggingface(ours, theirs)
    assert_close(ours(tokens), theirs(tokens).logits, within=1e-5)
    assert (small()(tokens) - ours(tokens)).abs().max() > 1e-3


def test_generation_with_a_cache_agrees_token_for_token():
    ours, theirs, tokens = small(), huggingface(), some_tokens(3, 5)
    copy_to_huggingface(ours, theirs)
    mine = complete(ours, tokens, 12, top_k=1)
    every = torch.ones_like(tokens)
    other = theirs.generate(tokens, attention_mask=every, max_new_tokens=12, do_sample=False)
    assert mine.tolist() == other.tolist()


def test_there_and_back_gives_the_same_weights():
    ours, theirs, other = small(), huggingface(), small()
    scramble(other)
    copy_to_huggingface(ours, theirs)
    copy_from_huggingface(theirs, other)
    assert_close(tuple(other.parameters()), tuple(ours.parameters()), within=0)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ({"n_layers": 3}, {}, "both modules must have the same n_layers to be copied (3, 2)"),
        ({"tie_weights": True}, {}, "both modules must have the same tie_weights to be copied (True, False)"),
        ({"positions": "learned"}, {}, "both modules must have the same positions to be copied (learned, rotary)"),
        ({"norm": "layer_norm"}, {}, "both modules must have the same norm to be copied (layer_norm, rms_norm)"),
        (
            {"feed_forward": "two_layers"},
            {},
            "the same feed_forward to be copied (two_layers, swiglu)",
        ),
        ({"bias": True}, {}, "both modules must have the same bias to be copied (True, False)"),
        ({"norm_first": False}, {}, "both modules must have the same norm_first to be copied (False, True)"),
        ({"n_kv_heads": 3}, {}, "both modules must have the same n_kv_heads to be copied (3, 2)"),
        ({}, {"num_attention_heads": 4}, "both modules must have the same n_heads to be copied (6, 4)"),
        ({}, {"attention_bias": True}, "attention_bias of a checkpoint must be False to be loaded (got True)"),
        ({}, {"intermediate_size": 24}, "both modules must have the same d_ff to be copied (20, 24)"),
        ({}, {"hidden_act": "gelu"}, "hidden_act of a checkpoint must be 'silu' to be loaded (got 'gelu')"),
        ({}, {"rms_norm_eps": 1e-5}, "both modules must have the same norm_eps to be copied (1e-06, 1e-05)"),
        ({"rotary_base": 5e5}, {}, "both modules must have the same rotary_base to be copied (500000.0, 10000.0)"),
        (
            {},
            {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}},
            "rope_type of a checkpoint must be 'default' to be loaded (got 'linear')",
        ),
    ],
)
def test_a_llama_that_would_compute_something_else_is_refused(ours, theirs, message):
    mine = small(**ours)
    before = [parameter.clone() for parameter in mine.parameters()]
    with refuses(message):
        copy_from_huggingface(huggingface(**theirs), mine)
    assert_close(tuple(mine.parameters()), tuple(before), within=0)


# Errors


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm": "batch_norm"}, "norm must be one of layer_norm, rms_norm (got 'batch_norm')"),
        ({"feed_forward": "moe"}, "feed_forward must be one of two_layers, swiglu (got 'moe')"),
        ({"activation": "gelu"}, "the activation of swiglu must be silu (got 'gelu')"),
        ({"n_kv_heads": 4}, "n_heads (6) must be divisible by n_kv_heads (4)"),
        ({"n_kv_heads": -1}, "n_heads (6) must be divisible by n_kv_heads (-1)"),
    ],
)
def test_the_config_says_what_is_wrong(changes, message):
    with refuses(message):
        replace(CONFIG, **changes)


def test_groups_without_rotation_share_keys_and_values_too():
    model = small(positions="learned")
    assert model.get_submodule("layers.0.self_attention").w_k.weight.shape == (8, D)
    x = randn(2, 5, D)
    assert model.get_submodule("layers.0.self_attention")(x, x, x)[0].shape == (2, 5, D)
