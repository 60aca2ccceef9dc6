"""Swaps side by side: the Python of the view, and what it counts against models that are built."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.support import DEVICE, refuses
from tests.view_examples import make
from tests.view_outputs import state_of
from transformer_lab import KVCache, LanguageModel, analysis, record_attention, widgets
from transformer_lab.training.experiments.swaps import SWAPS, combinations, config
from transformer_lab.widgets.views.swaps.swaps_view import NAMES, PARTS, in_binary

LOSSES = {names: [2.0] for names in combinations()}


@pytest.mark.parametrize("names", [(), ("SwiGLU", "grouped queries"), tuple(SWAPS)])
def test_torch_counts_the_same_cost(names):
    model, length = LanguageModel(config(names)).to(DEVICE).eval(), 9
    tokens, cache = torch.ones(1, length, dtype=torch.int64, device=DEVICE), KVCache()
    cost = analysis.cost_of_a_token(model.config, length)
    with torch.no_grad(), record_attention(model):
        model(tokens[:, :-1], cache)
        with FlopCounterMode(display=False) as counter:
            model(tokens[:, -1:], cache)
    assert cost.flops == counter.get_total_flops()
    assert cost.parameters == sum(p.numel() for p in model.parameters())
    assert cost.cache == sum(tensor.numel() for tensor in cache.tensors.values())


def test_it_carries_each_combination_by_its_number():
    assert len({*in_binary()}) == 64
    assert (in_binary()[0], in_binary()[9], in_binary()[63]) == ((), (NAMES[0], NAMES[3]), NAMES)
    state = state_of(make("two swaps"))
    assert state["losses"][0] == [2.0, 2.01, 2.02]
    assert state["losses"][63][0] == pytest.approx(1.4)
    assert state["chosen"] == [name in ("RoPE", "no biases") for name in NAMES]
    assert state["lengths"][state["at"]] == 1024
    assert PARTS.keys() == SWAPS.keys()


def test_the_summary_says_what_is_compared():
    assert repr(widgets.swaps(LOSSES, ["RoPE", "pre-norm"])) == (
        "The block of 2017 beside one with pre-norm, RoPE: parts, parameters, FLOPs, cache, and the measured loss."
    )
    assert "beside one with no swap:" in repr(widgets.swaps(LOSSES, ()))


def test_it_refuses_what_it_cannot_show():
    with refuses("swaps must be among pre-norm, RMSNorm, SwiGLU, RoPE, grouped queries, no biases (got 'ALiBi')"):
        widgets.swaps(LOSSES, ["ALiBi"])
    with refuses("there must be a loss for each combination of swaps (there is none for ['RoPE'])"):
        widgets.swaps({names: losses for names, losses in LOSSES.items() if names != ("RoPE",)})
    with refuses("length (0) must be at least 1 and at most 131072"):
        widgets.swaps(LOSSES, length=0)
