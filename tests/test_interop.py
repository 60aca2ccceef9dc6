"""Weights copied between our modules and torch's land where they mean the same. Equal outputs: test_model.py."""

import pytest
import torch
from torch import nn

from tests.support import assert_close, refuses, scramble, share_weights
from transformer_lab import Decoder, DecoderLayer, Encoder, EncoderLayer, MultiHeadAttention, TransformerConfig
from transformer_lab.interop import copy_from_torch, copy_to_torch

D_MODEL, H, D_FF, LAYERS = 12, 3, 11, 2


def config(norm_first: bool) -> TransformerConfig:
    return TransformerConfig(d_model=D_MODEL, n_heads=H, d_ff=D_FF, n_layers=LAYERS, norm_first=norm_first)


def torchs_layer(kind: type) -> nn.Module:
    return kind(D_MODEL, H, D_FF, batch_first=True)


def torchs_stack(kind: type, layer: type, norm_first: bool, n_layers: int = LAYERS) -> nn.Module:
    no_nesting = {"enable_nested_tensor": False} if kind is nn.TransformerEncoder else {}
    return kind(torchs_layer(layer), n_layers, norm=nn.LayerNorm(D_MODEL) if norm_first else None, **no_nesting)


def pairs() -> dict[str, tuple[nn.Module, nn.Module]]:
    """Every pair of counterparts."""
    found = {
        "attention": (MultiHeadAttention(D_MODEL, H), nn.MultiheadAttention(D_MODEL, H, batch_first=True)),
        "encoder layer": (EncoderLayer(config(False)), torchs_layer(nn.TransformerEncoderLayer)),
        "decoder layer": (DecoderLayer(config(False)), torchs_layer(nn.TransformerDecoderLayer)),
    }
    for norm_first, name in ((False, "post-norm"), (True, "pre-norm")):
        encoder = torchs_stack(nn.TransformerEncoder, nn.TransformerEncoderLayer, norm_first)
        decoder = torchs_stack(nn.TransformerDecoder, nn.TransformerDecoderLayer, norm_first)
        found[f"{name} encoder"] = (Encoder(config(norm_first)), encoder)
        found[f"{name} decoder"] = (Decoder(config(norm_first)), decoder)
    return found


each_pair = pytest.mark.parametrize("pair", pairs())


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def parameters(module: nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


# By hand


def test_torch_stacks_the_projections_of_queries_keys_and_values():
    ours, theirs = pairs()["attention"]
    for i, projection in enumerate((ours.w_q, ours.w_k, ours.w_v, ours.w_o), start=1):
        nn.init.constant_(projection.weight, i)
        nn.init.constant_(projection.bias, 10 * i)
    copy_to_torch(ours, theirs)
    assert theirs.in_proj_weight[:, 0].tolist() == [1.0] * 12 + [2.0] * 12 + [3.0] * 12
    assert theirs.in_proj_bias.tolist() == [10.0] * 12 + [20.0] * 12 + [30.0] * 12
    assert theirs.out_proj.weight.unique().item() == 4
    assert theirs.out_proj.bias.unique().item() == 40


# Properties


@each_pair
def test_there_and_back_gives_the_same_weights(pair):
    ours, theirs = pairs()[pair]
    scramble(ours)
    before = parameters(ours)
    copy_to_torch(ours, theirs)
    scramble(ours)
    copy_from_torch(theirs, ours)
    assert_close(tuple(parameters(ours)), tuple(before), within=0)


@each_pair
@pytest.mark.parametrize("to_torch", [True, False], ids=["ours to torch", "torch to ours"])
def test_every_weight_is_copied_once_and_the_source_stays_as_it_was(pair, to_torch):
    ours, theirs = pairs()[pair]
    source, target = (ours, theirs) if to_torch else (theirs, ours)
    scramble(source)
    before = parameters(source)
    share = copy_to_torch if to_torch else copy_from_torch
    share(source, target)
    assert_close(tuple(parameters(source)), tuple(before), within=0)
    all_numbers = [
        torch.cat([weight.flatten() for weight in parameters(side)]).sort().values for side in (source, target)
    ]
    assert_close(all_numbers[1], all_numbers[0], within=0)


@each_pair
def test_copies_keep_training_apart(pair):
    ours, theirs = pairs()[pair]
    share_weights(ours, theirs, to_torch=True)
    before = parameters(theirs)
    scramble(ours)
    assert_close(tuple(parameters(theirs)), tuple(before), within=0)
    assert all(parameter.requires_grad for parameter in theirs.parameters())


# Errors: nothing is copied then


def refuses_both_ways(ours: nn.Module, theirs: nn.Module, message: str) -> None:
    before = (*parameters(ours), *parameters(theirs))
    with refuses(message):
        copy_to_torch(ours, theirs)
    with refuses(message):
        copy_from_torch(theirs, ours)
    assert_close((*parameters(ours), *parameters(theirs)), before, within=0)


def test_the_sizes_must_agree():
    rule = "weights must have equal shapes to be copied"
    wider = nn.TransformerEncoderLayer(D_MODEL, H, 13, batch_first=True)
    refuses_both_ways(EncoderLayer(config(norm_first=False)), wider, rule)
    ours, narrower = MultiHeadAttention(D_MODEL, H), nn.MultiheadAttention(6, H)
    refuses_both_ways(ours, narrower, rule)
    with refuses(f"{rule} ((12, 12), (6, 6))"):  # the source first
        copy_to_torch(ours, narrower)


def test_the_number_of_layers_must_agree():
    for n_layers in (1, 3):
        theirs = torchs_stack(nn.TransformerEncoder, nn.TransformerEncoderLayer, False, n_layers)
        message = f"both stacks must have the same number of layers (2, {n_layers})"
        refuses_both_ways(Encoder(config(norm_first=False)), theirs, message)


def test_both_stacks_or_neither_must_end_in_a_norm():
    message = "both modules must have the same parameters (['bias', 'weight'], [])"
    theirs = torchs_stack(nn.TransformerEncoder, nn.TransformerEncoderLayer, norm_first=False)
    refuses_both_ways(Encoder(config(norm_first=True)), theirs, message)
    message = "both modules must have the same parameters ([], ['bias', 'weight'])"
    theirs = torchs_stack(nn.TransformerDecoder, nn.TransformerDecoderLayer, norm_first=True)
    refuses_both_ways(Decoder(config(norm_first=False)), theirs, message)


def test_a_module_without_a_counterpart_is_refused():
    message = "torch.nn must have a counterpart of the module to copy (got Linear)"
    refuses_both_ways(nn.Linear(2, 3), nn.Linear(2, 3), message)


@pytest.mark.parametrize("more", [{"bias": False}, {"kdim": 7, "vdim": 5}])
def test_an_attention_of_another_kind_is_refused(more):
    message = "torch's attention must have biases, and keys and values as wide as queries, to be copied"
    refuses_both_ways(MultiHeadAttention(D_MODEL, H), nn.MultiheadAttention(D_MODEL, H, **more), message)
