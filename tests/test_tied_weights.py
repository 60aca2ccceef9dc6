"""Tied weights are one parameter wherever a model goes, and whatever is loaded into it."""

import pickle
from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, refuses
from transformer_lab import LanguageModel, LanguageModelConfig, TextEncoder, Transformer, TransformerConfig
from transformer_lab.models.text_encoder import TextEncoderConfig
from transformer_lab.storage import StoredModel, load_parameters

SIZES = {"vocab_size": 50, "d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 1, "max_len": 11}
PARTS = ("src_embedding.tokens.weight", "tgt_embedding.tokens.weight", "to_logits.weight")
MAKERS: dict[str, Callable[[], StoredModel]] = {
    "Transformer": lambda: Transformer(TransformerConfig(**SIZES)),
    "LanguageModel": lambda: LanguageModel(LanguageModelConfig(**SIZES)),
    "TextEncoder": lambda: TextEncoder(TextEncoderConfig(**SIZES)),  # ties nothing
    "apart": lambda: Transformer(TransformerConfig(**SIZES, tie_weights=False)),
}
each_model = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def without_memory(make: Callable[[], StoredModel]) -> StoredModel:
    with torch.device("meta"):
        return make()


def names(model: nn.Module) -> list[str]:
    return [name for name, _ in model.named_parameters()]


def loaded_whole(make: Callable[[], StoredModel], state: dict) -> StoredModel:
    """Inside another module, whose `load_state_dict` does not call the model's own."""
    around = nn.Sequential(without_memory(make))
    around.load_state_dict({f"0.{name}": tensor for name, tensor in state.items()}, assign=True)
    return around[0]


def loaded_as_stored(make: Callable[[], StoredModel], state: dict) -> StoredModel:
    model = without_memory(make)
    kept = names(model)  # as a checkpoint has them: what is shared stands there once
    model.load_state_dict({name: state[name] for name in kept}, assign=True, strict=False)
    return model


def emptied(make: Callable[[], StoredModel], state: dict) -> StoredModel:
    model = nn.Sequential(without_memory(make)).to_empty(device=DEVICE)[0]
    load_parameters(model, {name: state[name] for name in names(without_memory(make))})
    return model


def moved(make: Callable[[], StoredModel], state: dict) -> StoredModel:
    model = make()
    model.load_state_dict(state)
    return pickle.loads(pickle.dumps(deepcopy(model.double().to(DEVICE).float())))


@each_model
@pytest.mark.parametrize("arrive", [loaded_whole, loaded_as_stored, emptied, moved])
def test_a_model_arrives_with_its_weights_and_what_is_tied_is_one(make, arrive):
    original = make().to(DEVICE)
    model = arrive(make, original.state_dict())
    assert names(model) == names(original)
    assert_close(tuple(model.parameters()), tuple(original.parameters()), within=0)


def test_an_update_reaches_all_parts_after_a_load():
    make = MAKERS["Transformer"]
    model = loaded_whole(make, make().state_dict())
    sum(model.get_parameter(name)[7, 0] for name in PARTS).backward()
    assert model.to_logits.weight.grad[7, 0] == 3


def test_weights_that_were_parted_by_hand_stay_apart_where_the_model_goes():
    model = MAKERS["LanguageModel"]()
    model.to_logits.weight = nn.Parameter(torch.randn(50, 12))
    before = model.to_logits.weight.detach().clone()
    model.double().to(DEVICE).float()
    assert_close(model.to_logits.weight.cpu(), before, within=0)


@pytest.mark.parametrize("name", PARTS)
def test_different_numbers_for_what_is_tied_are_refused(name):
    model = MAKERS["Transformer"]()
    state = model.state_dict()
    state[name] = state[name] + 1
    with refuses("weights that the config ties must be equal (got others: set tie_weights=False for these)"):
        model.load_state_dict(state, assign=True)
