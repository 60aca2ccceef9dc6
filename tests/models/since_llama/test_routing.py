"""Routers and experts since Mixtral: by hand, and what a bias and groups may change."""

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, gradients, randn, refuses, scramble, tensor
from transformer_lab import SigmoidExperts, sigmoid_route
from transformer_lab.models.since_llama.feed_forwards import ClampedSwiGLU
from transformer_lab.models.since_llama.routing import ClampedExperts, GatedNetwork

D, D_FF, EXPERTS = 6, 5, 8


def logits_of(*scores: float) -> torch.Tensor:
    return torch.logit(tensor([scores]))


# Numbers worked by hand


def test_a_bias_chooses_and_has_no_say_in_how_much():
    """Without the bias experts 0 and 1 are picked; with it 0 and 3, in proportion to their scores 0.6 and 0.2."""
    scores, bias = logits_of(0.6, 0.4, 0.3, 0.2), tensor([0.0, 0.0, 0.0, 0.5])
    assert_close(sigmoid_route(scores, 0 * bias, 2), tensor([[0.6, 0.4, 0.0, 0.0]]))
    assert_close(sigmoid_route(scores, bias, 2), tensor([[0.75, 0.0, 0.0, 0.25]]))


def test_only_the_group_with_the_best_two_is_open():
    """The best single expert is in the first group, the best pair in the second."""
    scores = logits_of(0.9, 0.1, 0.1, 0.6, 0.5, 0.2)
    weights = sigmoid_route(scores, torch.zeros(6, device=DEVICE), 2, n_groups=2, top_groups=1)
    assert_close(weights, tensor([[0.0, 0.0, 0.0, 6 / 11, 5 / 11, 0.0]]))


def test_a_clamped_gate():
    """g = min(9, 2) = 2, u = max(-9, -2) = -2: 2 sigmoid(1.702 · 2) · (-2 + 1)."""
    module = ClampedSwiGLU(1, 1, limit=2.0).to(DEVICE)
    with torch.no_grad():
        for linear, weight, bias in ((module.w_gate, 8.0, 1.0), (module.w_up, -8.0, -1.0), (module.w_down, 1.0, 0.5)):
            linear.weight.fill_(weight)
            linear.bias.fill_(bias)
    assert_close(module(tensor([[1.0]])), 0.5 - 2 * torch.sigmoid(tensor([[3.404]])))


# Properties


@pytest.mark.parametrize(("groups", "top"), [(1, 1), (4, 2), (2, 1)])
def test_every_position_takes_one_in_all_from_so_many_experts(groups, top):
    weights = sigmoid_route(randn(2, 7, EXPERTS), randn(EXPERTS), 3, groups, top)
    assert (weights > 0).sum(-1).eq(3).all()
    assert_close(weights.sum(-1), torch.ones(2, 7, device=DEVICE))
    assert ((weights > 0).unflatten(-1, (groups, -1)).any(-1).sum(-1) <= top).all()


def test_what_is_picked_counts_beside_what_all_use():
    torch.manual_seed(0)
    module, x = SigmoidExperts(D, D_FF, EXPERTS, 3, nn.Linear(D, D), 2.5, 4, 2).to(DEVICE), randn(2, 7, D)
    scramble(module)
    weights = sigmoid_route(module.router(x), module.balance, 3, 4, 2)
    every = torch.stack([expert(x) for expert in module.experts], -1)  # (B, T, d_model, n_experts)
    assert_close(module(x), module.shared(x) + 2.5 * (every * weights[:, :, None]).sum(-1), within=1e-5)
    assert not module.balance.requires_grad
    assert gradients(module(x), module.router.weight)[0].abs().max() > 0


def test_a_position_decides_how_much_it_takes():
    module, x = GatedNetwork(D, nn.Linear(D, D)).to(DEVICE), randn(3, D)
    assert_close(module(x), torch.sigmoid(x @ module.gate.weight.T) * module.network(x))


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3, 1), "each of n_groups (3) must have equally many experts, 2 or more (of 8)"),
        ((3, 8, 1), "each of n_groups (8) must have equally many experts, 2 or more (of 8)"),
        ((3, 4, 5), "top_groups (5) must be at most n_groups (4)"),
        ((3, 4, 1), "top_k must be from 1 to the number of experts, 2 (got 3)"),
        ((0, 1, 1), "top_k must be from 1 to the number of experts, 8 (got 0)"),
        ((3, 0, 1), "n_groups (0) must be at least 1"),
    ],
)
def test_what_cannot_be_routed_is_said(arguments, message):
    with refuses(message):
        sigmoid_route(randn(2, EXPERTS), randn(EXPERTS), *arguments)
    with refuses(message):
        SigmoidExperts(D, D_FF, EXPERTS, arguments[0], nn.Identity(), 1.0, *arguments[1:])


def test_clamped_experts_are_picked_as_others_are():
    with refuses("top_k must be from 1 to the number of experts, 4 (got 5)"):
        ClampedExperts(D, D_FF, 4, 5)
