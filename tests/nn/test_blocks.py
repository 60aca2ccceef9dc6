"""Feed-forward, layer normalisation, and the two residual connections."""

from math import sqrt

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support import (
    DEVICE,
    assert_close,
    assert_each_differs,
    each_half,
    gradients,
    randn,
    scramble,
    tensor,
)
from transformer_lab import (
    FeedForward,
    LayerNorm,
    PreNormResidual,
    Residual,
    RMSNorm,
    SwiGLU,
    layer_norm,
    residual_block,
    rms_norm,
    swiglu,
)

EITHER = pytest.mark.parametrize("kind", [Residual, PreNormResidual])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def feed_forward(activation=F.relu) -> FeedForward:
    module = FeedForward(d_model=5, d_ff=11, activation=activation)
    scramble(module)
    return module.to(DEVICE)


# Numbers worked by hand


def test_layer_norm_worked_by_hand():
    x = tensor([1.0, 2, 3, 6])  # mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5, √(3.5 + 0.5) = 2
    weight, bias = tensor([1.0, 2, 3, 4]), tensor([0.0, 0, 1, 1])
    assert_close(layer_norm(x, weight, bias, eps=0.5), [-1, -1, 1, 7])


def test_layer_norm_of_equal_features_is_the_bias():
    assert_close(layer_norm(tensor([[7.0, 7, 7]]), tensor([1.0, 2, 3]), tensor([4.0, 5, 6]), 1e-5), [[4, 5, 6]])


@pytest.mark.parametrize(("activation", "of_minus_1"), [(F.relu, 0.0), (F.gelu, -0.158655)])
def test_feed_forward_worked_by_hand(activation, of_minus_1):
    module = FeedForward(d_model=2, d_ff=3, activation=activation).to(DEVICE)
    with torch.no_grad():
        module.w_1.weight.copy_(tensor([[1.0, 0], [0, 1], [1, 1]]))
        module.w_1.bias.copy_(tensor([0.0, 0, 7]))
        module.w_2.weight.copy_(tensor([[1.0, 0, 1], [0, 100, 0]]))
        module.w_2.bias.copy_(tensor([3.0, 4]))
    # x = [2, -1] -> [2, -1, 8] -> activation: [2, f(-1), 8] (gelu(2) = 1.954500, gelu(8) = 8)
    of_2 = 2.0 if activation is F.relu else 1.954500
    assert_close(module(tensor([[2.0, -1]])), [[of_2 + 8 + 3, 100 * of_minus_1 + 4]], within=5e-5)


def ten_times(y):
    return 10 * y


def test_post_norm_worked_by_hand():
    x = tensor([[[2.0, 2, 0, 0]]])  # x + 10 x = [22, 22, 0, 0], and its norm is
    assert_close(Residual(d_model=4).to(DEVICE)(x, ten_times), [[[1, 1, -1, -1]]])


def test_pre_norm_worked_by_hand():
    x = tensor([[[2.0, 2, 0, 0]]])  # its norm is [1, 1, -1, -1]; ten times that, plus x
    assert_close(PreNormResidual(d_model=4).to(DEVICE)(x, ten_times), [[[12, 12, -10, -10]]], within=1e-4)


@pytest.mark.parametrize(("norm_first", "expected"), [(False, 7.0), (True, 62.0)])
def test_a_residual_block_worked_by_hand(norm_first, expected):
    x = tensor([[[2.0]]])  # (2 + 10 · 2) halved and lessened by 4; 2 + 10 · 6
    norm = {False: lambda y: y / 2 - 4, True: lambda y: y + 4}[norm_first]
    assert residual_block(x, ten_times, norm, norm_first).item() == expected


def test_rms_norm_worked_by_hand():
    """The mean of the squares 9 and 16 is 12.5; the mean stays where it is."""
    normed = rms_norm(tensor([[3.0, 4.0]]), tensor([1.0, 10.0]), 0.0)
    assert_close(normed, [[3 / 12.5**0.5, 40 / 12.5**0.5]], within=1e-6)


def test_swiglu_worked_by_hand():
    """One feature of x, two hidden ones: silu(1) = 0.73106, silu(-1) = -0.26894."""
    x, w_gate = tensor([[1.0]]), tensor([[1.0, -1.0]])
    w_up, w_down = tensor([[2.0, 10.0]]), tensor([[1.0], [1.0]])
    assert_close(swiglu(x, w_gate, w_up, w_down), [[2 * 0.731059 - 10 * 0.268941]], within=1e-5)


# Properties


def test_layer_norm_gives_each_vector_mean_0_and_variance_1():
    y = layer_norm(100 + 7 * randn(2, 3, 5), torch.ones(5, device=DEVICE), torch.zeros(5, device=DEVICE), eps=0.0)
    assert_close(y.mean(dim=-1), torch.zeros(2, 3, device=DEVICE), within=1e-5)
    assert_close(y.var(dim=-1, correction=0), torch.ones(2, 3, device=DEVICE), within=1e-5)


def test_layer_norm_starts_without_scale_and_shift():
    norm = LayerNorm(5)
    assert_close(norm.weight, torch.ones(5), within=0)
    assert_close(norm.bias, torch.zeros(5), within=0)


def test_feed_forward_treats_each_position_alone():
    module, x = feed_forward(), randn(2, 3, 5)
    changed = x.clone()
    changed[:, 1] = randn(2, 5)
    before, after = module(x), module(changed)
    assert_close(after[:, [0, 2]], before[:, [0, 2]])
    assert_each_differs(after[:, 1], before[:, 1])


def test_feed_forward_starts_xavier_uniform_with_zero_biases():
    module = FeedForward(d_model=64, d_ff=256)
    for linear in (module.w_1, module.w_2):
        bound = sqrt(6 / (64 + 256))
        assert 0.98 * bound < linear.weight.abs().max() <= bound
        assert (linear.bias == 0).all()


@EITHER
def test_a_residual_hands_each_sublayer_x_or_its_norm(kind):
    residual, x, seen = kind(d_model=5).to(DEVICE), randn(2, 3, 5), []
    scramble(residual)
    residual(x, lambda y: seen.append(y) or y)
    assert_close(seen[0], x if kind is Residual else residual.norm(x), within=0)


def test_pre_norm_leaves_a_way_past_the_sublayer_that_nothing_touches():
    x, residual = randn(2, 3, 5, requires_grad=True), PreNormResidual(d_model=5).to(DEVICE)
    output = x
    for _ in range(24):
        output = residual(output, lambda y: 0 * y)
    assert_close(output, x, within=0)
    (gradient,) = gradients(output, x)
    (of_identity,) = gradients(x * 1, x)
    assert_close(gradient, of_identity, within=0)


def test_post_norm_normalises_the_way_past_the_sublayer_too():
    x, residual = 7 * randn(2, 3, 5), Residual(d_model=5).to(DEVICE)
    assert_close(residual(x, lambda y: 0 * y), residual.norm(x), within=0)


@EITHER
def test_dropout_acts_on_the_sublayer_and_never_on_the_way_past_it(kind):
    x, residual = randn(2, 3, 5), kind(d_model=5, dropout=1.0).to(DEVICE).train()  # drops all that it may
    assert_close(residual(x, ten_times), residual.norm(x) if kind is Residual else x, within=0)


@EITHER
def test_dropout_acts_in_training_only(kind):
    x, without, residual = randn(2, 3, 5), kind(d_model=5).to(DEVICE), kind(d_model=5, dropout=0.5).to(DEVICE)
    assert_close(residual.eval()(x, ten_times), without(x, ten_times), within=0)
    assert_each_differs(residual.train()(x, ten_times).flatten(), without(x, ten_times).flatten())


def test_what_dropout_leaves_grows_to_keep_the_mean():
    x, residual = randn(2, 3, 5), PreNormResidual(d_model=5, dropout=0.75).to(DEVICE).train()
    added = residual(x, torch.ones_like) - x
    assert added.round().unique().tolist() == [0, 4]


@EITHER
def test_a_residual_leaves_its_input_alone(kind):
    x = randn(2, 3, 5)
    before = x.clone()
    kind(d_model=5, dropout=0.5).to(DEVICE)(x, ten_times)
    assert x.equal(before)


@each_half
def test_blocks_run_in_half_precision(dtype):
    x, module, norm = randn(2, 3, 5, dtype=dtype), feed_forward(F.gelu).to(dtype), LayerNorm(5).to(DEVICE, dtype)
    assert_close(module(x).float(), module.float()(x.float()), within=0.05)
    assert_close(norm(x).float(), norm.float()(x.float()), within=0.05)


def test_layer_norm_in_float16_survives_a_variance_that_it_cannot_hold():
    x = 300 * randn(2, 3, 5)  # 300² = 90 000, and float16 ends at 65 504
    weight, bias = torch.ones(5, device=DEVICE), torch.zeros(5, device=DEVICE)
    output = layer_norm(x.half(), weight.half(), bias.half(), eps=1e-5)
    assert output.dtype == torch.float16
    assert_close(output.float(), layer_norm(x, weight, bias, eps=1e-5), within=0.01)


# Parity with torch


@each_half
def test_layer_norm_of_large_means_is_as_exact_in_half_precision_as_torchs(dtype):
    x, weight, bias = (part.to(dtype) for part in (randn(200, 64) + 30, randn(64).abs() + 0.5, randn(64)))
    exact = F.layer_norm(x.double(), (64,), weight.double(), bias.double())
    ours, theirs = layer_norm(x, weight, bias, eps=1e-5), F.layer_norm(x, (64,), weight, bias)
    assert ours.dtype == dtype
    assert (ours - exact).abs().max() <= 1.01 * (theirs - exact).abs().max()


def test_layer_norm_equals_torchs_module_and_function_with_its_gradients():
    x, theirs, ours = randn(2, 3, 5, requires_grad=True), nn.LayerNorm(5, eps=1e-3), LayerNorm(5, eps=1e-3)
    scramble(theirs)
    ours.load_state_dict(theirs.state_dict())
    ours, theirs = ours.to(DEVICE), theirs.to(DEVICE)
    expected = theirs(x)
    expected_gradients = gradients(expected, x, theirs.weight, theirs.bias)
    for output in (
        ours(x),
        layer_norm(x, ours.weight, ours.bias, eps=1e-3),
        F.layer_norm(x, (5,), ours.weight, ours.bias, eps=1e-3),
    ):
        assert_close(output, expected)
        assert_close(gradients(output, x, ours.weight, ours.bias), expected_gradients, within=2e-6)


def test_layer_norm_has_torchs_default_epsilon():
    assert LayerNorm(5).eps == nn.LayerNorm(5).eps == 1e-5


@pytest.mark.parametrize("activation", [F.relu, F.gelu])
def test_feed_forward_is_two_convolutions_of_width_1(activation):
    module, x = feed_forward(activation), randn(2, 3, 5)
    first, second = nn.Conv1d(5, 11, 1, device=DEVICE), nn.Conv1d(11, 5, 1, device=DEVICE)
    for convolution, linear in ((first, module.w_1), (second, module.w_2)):
        convolution.weight.data.copy_(linear.weight[:, :, None])
        convolution.bias.data.copy_(linear.bias)
    expected = second(activation(first(x.transpose(1, 2)))).transpose(1, 2)
    assert_close(module(x), expected)


def test_rms_norm_equals_torchs_with_its_gradients():
    x, ours = randn(2, 3, 5, requires_grad=True), RMSNorm(5, eps=1e-3).to(DEVICE)
    scramble(ours)
    expected = F.rms_norm(x, (5,), ours.weight, eps=1e-3)
    expected_gradients = gradients(expected, x, ours.weight)
    for output in (ours(x), rms_norm(x, ours.weight, eps=1e-3)):
        assert_close(output, expected)
        assert_close(gradients(output, x, ours.weight), expected_gradients, within=2e-6)


@each_half
def test_rms_norm_survives_squares_that_half_precision_cannot_hold(dtype):
    x, weight = 300 * randn(2, 3, 5), torch.ones(5, device=DEVICE)
    output = rms_norm(x.to(dtype), weight.to(dtype), eps=1e-5)
    assert output.dtype == dtype
    assert_close(output.float(), rms_norm(x, weight, eps=1e-5), within=0.02)


def test_swiglu_as_a_function_of_matrices_is_the_module_without_biases():
    x, module = randn(2, 3, 5), SwiGLU(5, 7).to(DEVICE)

    def difference() -> float:
        matrices = [linear.weight.T for linear in (module.w_gate, module.w_up, module.w_down)]
        return (swiglu(x, *matrices) - module(x)).abs().max().item()

    assert difference() < 1e-6  # biases start at 0
    scramble(module)
    assert difference() > 0.01


def test_a_swiglu_of_two_thirds_has_as_many_weights():
    count = [sum(p.numel() for p in m.parameters() if p.ndim == 2) for m in (SwiGLU(6, 16), FeedForward(6, 24))]
    assert count[0] == count[1]
