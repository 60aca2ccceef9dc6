"""Weights copied between our modules and torch's land where they mean the same. Equal outputs: test_model.py."""

import pytest
import torch
from torch import nn

from tests.support import assert_close, refuses, scramble, share_weights
from transformer_lab import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    GroupedQueryAttention,
    MultiHeadAttention,
    TransformerConfig,
)
from transformer_lab.models.language_model import RotaryAttention
from transformer_lab.nn.positions import RotaryPositions
from transformer_lab.weights.torch_nn import COUNTERPARTS, copy_from_torch, copy_to_torch

D_MODEL, H, D_FF, LAYERS = 12, 3, 11, 2


def config(norm_first: bool) -> TransformerConfig:
    return TransformerConfig(d_model=D_MODEL, n_heads=H, d_ff=D_FF, n_layers=LAYERS, norm_first=norm_first)


def torchs_layer(kind: type, **more) -> nn.Module:
    return kind(D_MODEL, H, D_FF, batch_first=True, **more)


def torchs_stack(kind: type, layer: type, norm_first: bool, n_layers: int = LAYERS) -> nn.Module:
    no_nesting = {"enable_nested_tensor": False} if kind is nn.TransformerEncoder else {}
    return kind(
        torchs_layer(layer, norm_first=norm_first),
        n_layers,
        norm=nn.LayerNorm(D_MODEL) if norm_first else None,
        **no_nesting,
    )


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
each_kind = pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])


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


@pytest.mark.parametrize("n_heads", [1, 2, 6])
def test_the_number_of_heads_must_agree(n_heads):
    message = f"both modules must have the same number of heads to be copied (3, {n_heads})"
    refuses_both_ways(MultiHeadAttention(D_MODEL, H), nn.MultiheadAttention(D_MODEL, n_heads), message)
    theirs = torchs_layer(nn.TransformerDecoderLayer)
    theirs.multihead_attn.num_heads = n_heads
    refuses_both_ways(DecoderLayer(config(norm_first=False)), theirs, message)


def test_the_number_of_layers_must_agree():
    for n_layers in (1, 3):
        theirs = torchs_stack(nn.TransformerEncoder, nn.TransformerEncoderLayer, False, n_layers)
        message = f"both modules must have the same number of layers to be copied (2, {n_layers})"
        refuses_both_ways(Encoder(config(norm_first=False)), theirs, message)


@each_kind
@pytest.mark.parametrize("norm_first", [False, True])
def test_the_place_of_the_norms_must_agree(kind, norm_first):
    ours, theirs = kind(config(norm_first)), torchs_layer(COUNTERPARTS[kind], norm_first=not norm_first)
    message = f"both modules must have the same norm_first to be copied ({norm_first}, {not norm_first})"
    refuses_both_ways(ours, theirs, message)


@each_kind
def test_the_activation_must_agree(kind):
    for activation, name in (("gelu", "gelu"), (nn.SiLU(), "SiLU()"), (nn.GELU("tanh"), "GELU(approximate='tanh')")):
        theirs = torchs_layer(COUNTERPARTS[kind], activation=activation)
        message = f"both modules must have the same activation to be copied (relu, {name})"
        refuses_both_ways(kind(config(norm_first=False)), theirs, message)


@pytest.mark.parametrize(
    "activation", ["relu", torch.relu, nn.ReLU(), nn.ReLU(inplace=True)], ids=["name", "function", "module", "in place"]
)
def test_an_activation_may_be_written_in_many_ways(activation):
    theirs = torchs_layer(nn.TransformerEncoderLayer, activation=activation)
    ours, x = EncoderLayer(config(norm_first=False)).eval(), torch.randn(2, 5, D_MODEL)
    copy_to_torch(ours, theirs)
    assert_close(theirs.eval()(x), ours(x), within=1e-5)


@each_kind
def test_the_eps_of_the_norms_must_agree(kind):
    theirs = torchs_layer(COUNTERPARTS[kind], layer_norm_eps=1e-6)
    message = "both modules must have the same eps to be copied (1e-05, 1e-06)"
    refuses_both_ways(kind(config(norm_first=False)), theirs, message)
    theirs = torchs_layer(COUNTERPARTS[kind])
    theirs.norm2.eps = 1e-12  # any one of them
    refuses_both_ways(kind(config(norm_first=False)), theirs, "the same eps to be copied (1e-05, 1e-12)")


def test_both_stacks_or_neither_must_end_in_a_norm():
    rule = "both modules must have layer norms in the same places to be copied"
    theirs = torchs_stack(nn.TransformerEncoder, nn.TransformerEncoderLayer, norm_first=True)
    theirs.norm = None
    refuses_both_ways(Encoder(config(norm_first=True)), theirs, f"{rule} (LayerNorm, NoneType)")
    theirs = torchs_stack(nn.TransformerDecoder, nn.TransformerDecoderLayer, norm_first=False)
    theirs.norm = nn.LayerNorm(D_MODEL)
    refuses_both_ways(Decoder(config(norm_first=False)), theirs, f"{rule} (Identity, LayerNorm)")


def test_norms_of_another_kind_are_refused():
    theirs = torchs_layer(nn.TransformerEncoderLayer)
    theirs.norm1 = nn.BatchNorm1d(D_MODEL)  # it has a weight and a bias of the same shapes
    message = "both modules must have layer norms in the same places to be copied (LayerNorm, BatchNorm1d)"
    refuses_both_ways(EncoderLayer(config(norm_first=False)), theirs, message)
    theirs.norm1 = nn.LayerNorm(D_MODEL, bias=False)
    message = "both modules must have the same parameters (['bias', 'weight'], ['weight'])"
    refuses_both_ways(EncoderLayer(config(norm_first=False)), theirs, message)


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "counterpart"),
    [
        ("encoder layer", "decoder layer", "EncoderLayer", "TransformerEncoderLayer"),
        ("decoder layer", "encoder layer", "DecoderLayer", "TransformerDecoderLayer"),
        ("post-norm encoder", "post-norm decoder", "Encoder", "TransformerEncoder"),
        ("attention", "encoder layer", "MultiHeadAttention", "MultiheadAttention"),
    ],
)
def test_each_module_has_one_counterpart(ours, theirs, kind, counterpart):
    one, other = pairs()[ours][0], pairs()[theirs][1]
    message = f"the counterpart of {kind} must be torch.nn's {counterpart} (got {type(other).__name__})"
    refuses_both_ways(one, other, message)


def test_a_module_without_a_counterpart_is_refused():
    message = "torch.nn must have a counterpart of the module to copy (got Linear)"
    refuses_both_ways(nn.Linear(2, 3), nn.Linear(2, 3), message)


@pytest.mark.parametrize("more", [{"bias": False}, {"kdim": 7, "vdim": 5}])
def test_an_attention_of_another_kind_is_refused(more):
    message = "torch's attention must have biases, and keys and values as wide as queries, to be copied"
    refuses_both_ways(MultiHeadAttention(D_MODEL, H), nn.MultiheadAttention(D_MODEL, H, **more), message)


@pytest.mark.parametrize(
    ("more", "fact"), [("add_bias_kv", "True, add_zero_attn: False"), ("add_zero_attn", "False, add_zero_attn: True")]
)
def test_an_attention_that_adds_keys_is_refused(more, fact):
    message = f"torch's attention must add no keys and values of its own to be copied (bias_k: {fact})"
    refuses_both_ways(MultiHeadAttention(D_MODEL, H), nn.MultiheadAttention(D_MODEL, H, **{more: True}), message)


def test_a_module_without_numbers_is_refused():
    ours, theirs = pairs()["attention"]
    rule = "both modules must lie on devices that hold numbers, which meta does not"
    with refuses(f"{rule} (cpu, meta)"):
        copy_to_torch(ours, theirs.to("meta"))
    with refuses(f"{rule} (meta, cpu)"):
        copy_to_torch(ours.to("meta"), pairs()["attention"][1])


def test_an_attention_that_torch_has_not_is_refused():
    """With its weights torch would compute something else: shared keys, or no rotation."""
    message = "both modules must have the same kind of attention to be copied ({}, MultiHeadAttention)"
    rotary = RotaryAttention(D_MODEL, H, H, RotaryPositions(7, D_MODEL // H))
    for ours in (GroupedQueryAttention(D_MODEL, H, H), rotary):
        theirs = nn.MultiheadAttention(D_MODEL, H, batch_first=True)
        refuses_both_ways(ours, theirs, message.format(type(ours).__name__))
