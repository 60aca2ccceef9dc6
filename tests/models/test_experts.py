"""A mixture of experts: routing worked by hand, equality with all experts computed, and the loss that balances them."""

import pytest
import torch

from tests.support import DEVICE, assert_close, gradients, randn, refuses, scramble, tensor
from transformer_lab import LanguageModel, LanguageModelConfig, MixtureOfExperts, SwiGLU, balance_loss, route
from transformer_lab.models.experts import record_routing

D, D_FF, EXPERTS = 6, 5, 4


def mixture(top_k: int = 2) -> MixtureOfExperts:
    torch.manual_seed(0)
    module = MixtureOfExperts(D, D_FF, EXPERTS, top_k).to(DEVICE)
    scramble(module)
    return module


# Numbers worked by hand


def test_weights_are_a_softmax_over_the_largest_alone():
    """e^(ln 3) : e^0 is 3 : 1; the two others get nothing."""
    weights = route(tensor([[0.0, 3.0, -9.0, -1.0]]) * torch.tensor(3.0).log().item() / 3, top_k=2)
    assert_close(weights, tensor([[0.25, 0.75, 0.0, 0.0]]), within=1e-6)


def test_balance_loss_of_an_even_and_of_an_uneven_router():
    even = 20 * torch.eye(4)
    assert balance_loss(tensor(even.tolist()), top_k=1).item() == pytest.approx(1)
    uneven = tensor([[20.0, 0, 0, 0]] * 5)
    assert balance_loss(uneven, top_k=1).item() == pytest.approx(4, abs=1e-4)
    assert balance_loss(tensor([[20.0, 20, 0, 0]] * 5), top_k=2).item() == pytest.approx(2, abs=1e-4)


# Properties


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_only_the_experts_that_were_picked_count(top_k):
    module, x = mixture(top_k), randn(2, 7, D)
    weights = route(module.router(x), top_k)
    every = torch.stack([expert(x) for expert in module.experts], -1)  # (B, T, d_model, n_experts)
    assert_close(module(x), (every * weights[:, :, None]).sum(-1), within=1e-6)
    assert (weights > 0).sum(-1).eq(top_k).all()
    assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), within=1e-6)


def test_an_expert_that_nobody_picked_has_no_gradient():
    module, x = mixture(top_k=1), randn(3, D)
    with torch.no_grad():
        module.router.weight.zero_()
        module.router.weight[2] = x.mean(0) * 100
    chosen = route(module.router(x), 1).argmax(-1).unique().tolist()
    grads = gradients(module(x), *(expert.w_up.weight for expert in module.experts))
    assert [i for i, grad in enumerate(grads) if grad.abs().max() > 0] == chosen
    assert len(chosen) < EXPERTS


def test_the_balance_loss_spreads_what_falls_on_one_expert():
    logits = tensor([[2.0, 0.0, 0.0, 0.0]] * 9).requires_grad_()
    (slope,) = torch.autograd.grad(balance_loss(logits, top_k=1), logits)
    assert (slope[:, 0] > 0).all()  # a step against it takes probability away from the first
    assert (slope[:, 1:] < 0).all()


def test_routers_of_a_model_are_recorded_with_gradients():
    sizes = {"vocab_size": 9, "d_model": D, "n_heads": 1, "d_ff": D_FF, "n_layers": 2, "max_len": 8}
    model = LanguageModel(LanguageModelConfig(**sizes, positions="rotary", dropout=0.0, attention_dropout=0.0))
    model = model.to(DEVICE)
    for layer in model.layers:
        layer.feed_forward = mixture()
    with record_routing(model) as said:
        model(tensor([[1, 2, 3], [4, 5, 6]]))
    assert [tuple(logits.shape) for logits in said] == [(6, EXPERTS)] * 2
    assert all(logits.requires_grad for logits in said)


def test_one_expert_is_a_plain_network():
    module = MixtureOfExperts(D, D_FF, 1, top_k=1).to(DEVICE)
    (expert,), x = module.experts, randn(4, D)
    assert isinstance(expert, SwiGLU)
    assert_close(module(x), expert(x), within=1e-6)


# Errors


@pytest.mark.parametrize("top_k", [0, 5])
def test_so_many_experts_cannot_be_picked(top_k):
    with refuses(f"top_k must be from 1 to the number of experts, 4 (got {top_k})"):
        MixtureOfExperts(D, D_FF, EXPERTS, top_k)
    with refuses(f"top_k must be from 1 to the number of experts, 4 (got {top_k})"):
        route(randn(2, EXPERTS), top_k)


def test_a_model_without_a_router_is_refused():
    with (
        refuses("a router of the Linear must be called in the block (none was recorded)"),
        record_routing(torch.nn.Linear(2, 2)),
    ):
        pass
