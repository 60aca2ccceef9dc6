"""torch.export with a length that is left open, and torch.compile: the numbers are those of the model itself."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from tests.compiled_models import SIZES
from tests.support import DEVICE, assert_close, scramble
from transformer_lab import LanguageModel, LanguageModelConfig, Transformer, TransformerConfig, rotate
from transformer_lab.models.attention_only import AttentionOnly

ROOT = Path(__file__).parents[1]
CONFIG = LanguageModelConfig(**SIZES)
each_kind = pytest.mark.parametrize("positions", ["learned", "rotary", "sinusoidal"])


def model_of(positions: str) -> LanguageModel:
    torch.manual_seed(0)
    model = LanguageModel(replace(CONFIG, positions=positions))
    scramble(model)
    return model.to(DEVICE).eval()


def some_tokens(length: int, batch: int = 2) -> Tensor:
    return torch.randint(13, (batch, length), generator=torch.Generator().manual_seed(length)).to(DEVICE)


def agrees(model: nn.Module, longest: int) -> None:
    """An exported model reads texts of other lengths and batches than the one it was exported with."""
    shape = {0: Dim("batch", max=9), 1: Dim("length", max=longest)}
    exported = export(model, (some_tokens(7),), dynamic_shapes=(shape,)).module()
    for length, batch in ((7, 2), (2, 1), (longest, 5)):
        tokens = some_tokens(length, batch)
        assert_close(exported(tokens), model(tokens), within=1e-5)


@each_kind
def test_a_language_model_is_exported_with_an_open_length(positions):
    agrees(model_of(positions), longest=24)


def test_a_model_of_attention_alone_is_exported_with_an_open_length():
    agrees(AttentionOnly(13, 12, 3, n_layers=2, max_len=24).to(DEVICE), longest=24)


def test_a_model_that_came_without_memory_is_exported_and_then_still_its_own():
    """What was made on the way belongs to the export alone."""
    with torch.device("meta"):
        model = LanguageModel(replace(CONFIG, positions="rotary")).eval()
    original = model_of("rotary")
    model.load_state_dict(original.state_dict(), assign=True)
    agrees(model, longest=24)
    assert_close(model(some_tokens(9)), original(some_tokens(9)), within=0)


def test_a_transformer_is_exported_with_open_lengths():
    torch.manual_seed(0)
    model, src, tgt = Transformer(TransformerConfig(**SIZES)).to(DEVICE).eval(), some_tokens(5), some_tokens(7)
    shapes = ({1: Dim("source", max=24)}, {1: Dim("target", max=24)})
    exported = export(model, (src, tgt), dynamic_shapes=shapes).module()
    src, tgt = some_tokens(11), some_tokens(3)
    assert_close(exported(src, tgt), model(src, tgt), within=1e-5)


def test_rotate_is_exported_with_an_open_length():
    class Rotation(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return rotate(x)

    exported = export(Rotation(), (torch.randn(7, 4),), dynamic_shapes=({0: Dim("length")},)).module()
    x = torch.randn(11, 4)
    assert_close(exported(x), rotate(x), within=1e-6)


def test_compiled_models_read_the_same_with_a_cache_and_look_their_angles_up():
    """No angle is worked out, nor copied to the device, at each call."""
    command = [sys.executable, "-m", "tests.compiled_models"]
    found = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert len(found) == 5
    for kind, model in found.items():
        assert model["differs"] < (0.02 if "bfloat16" in kind else 1e-5), kind
        assert {"cos", "sin", "polar", "pow"}.isdisjoint(model["called"]), kind
        assert {"linear", "scaled_dot_product_attention"}.issubset(model["called"]), kind
