"""The fast twins of scaled dot-product attention compute what it computes."""

import pytest
import torch

from tests.support import DEVICE, assert_close, each_dtype, each_half, randn, random_mask, refuses
from transformer_lab import causal_mask, scaled_dot_product_attention
from transformer_lab.nn.attention.fused import attention_with_weights, fused_attention

B, H, T, S, D_K, D_V = 2, 3, 5, 7, 4, 6
MASKS = {
    "none": None,
    "causal": causal_mask(T).new_ones(T, S).tril(),
    "some queries see nothing": torch.tensor([True, False, True, True, False])[:, None].expand(T, S),
    "all hidden": torch.zeros(S, dtype=torch.bool),
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def inputs(dtype=torch.float32):
    return [randn(B, H, length, width).to(dtype) for length, width in ((T, D_K), (S, D_K), (S, D_V))]


def on_device(mask):
    return None if mask is None else mask.to(DEVICE)


@each_mask
def test_with_weights_it_is_scaled_dot_product_attention(mask):
    given = inputs()
    output, weights = attention_with_weights(*given, on_device(mask))
    expected, right = scaled_dot_product_attention(*given, on_device(mask))
    assert_close(output, expected, within=1e-6)
    assert_close(weights, right, within=1e-6)


@each_mask
def test_without_weights_it_is_too(mask):
    given = inputs()
    assert_close(
        fused_attention(*given, on_device(mask)), scaled_dot_product_attention(*given, on_device(mask))[0], within=1e-6
    )


@each_mask
def test_gradients_are_the_same(mask):
    given = [x.requires_grad_() for x in inputs()]
    pulled = [
        torch.autograd.grad(function(*given, on_device(mask))[0].square().sum(), given)
        for function in (attention_with_weights, scaled_dot_product_attention)
    ]
    for one, other in zip(*pulled, strict=True):
        assert_close(one, other, within=1e-5)


def test_a_mask_for_each_head():
    given, mask = inputs(), random_mask(B, H, T, S)
    assert_close(attention_with_weights(*given, mask)[1], scaled_dot_product_attention(*given, mask)[1], within=1e-6)


@each_dtype
def test_a_query_that_sees_nothing_gets_zeros_and_no_nan_flows_back(dtype):
    given = [x.requires_grad_() for x in inputs(dtype)]
    output, weights = attention_with_weights(*given, on_device(MASKS["all hidden"]))
    output.sum().backward()
    assert not output.any()
    assert not weights.any()
    assert all(x.grad.isfinite().all() for x in given)


@each_half
def test_large_scores_stay_finite_in_half_precision(dtype):
    query = torch.full((1, 1, 3, 64), 100.0, dtype=dtype, device=DEVICE)
    value = randn(1, 1, 3, 2).to(dtype)
    _, weights = attention_with_weights(query, query, value, causal_mask(3, DEVICE))
    expected = causal_mask(3, DEVICE).to(dtype) / torch.arange(1, 4, device=DEVICE)[:, None].to(dtype)
    assert_close(weights[0, 0], expected.to(dtype), within=1e-2)


def transformed(attend, given, mask) -> dict[str, torch.Tensor]:
    """What torch.func makes of attention: batches, masks of their own, gradients for each sample, tangents."""
    query, key, value = given  # (B, h, …), and B is the axis that vmap takes

    def output(query, key, value, mask):
        return attend(query[None], key[None], value[None], mask)[0][0]

    def loss(*arguments):
        return output(*arguments).square().sum()

    vmap, grad, one = torch.func.vmap, torch.func.grad, (query[0], key[0], value[0])
    return {
        "vmap": vmap(output, (0, 0, 0, None))(query, key, value, mask[0]),
        "another axis": vmap(output, (1, 1, 1, None))(query, key, value, mask[0]),
        "a mask for each": vmap(output, (0, 0, 0, 0))(query, key, value, mask),
        "masks alone": vmap(output, (None, None, None, 0))(*one, mask),
        "gradients of samples": vmap(grad(loss), (0, 0, 0, 0))(query, key, value, mask),
        "gradients by mask": vmap(grad(loss), (None, None, None, 0))(*one, mask),
        "jvp": torch.func.jvp(lambda q, k: output(q, k, value[0], mask[0]), one[:2], (query[1], key[1]))[1],
        "Hessian": torch.func.hessian(lambda q: loss(q, *one[1:], mask[0]))(query[0]),
    }


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is:DeprecationWarning")  # torch's own, for its jvp
def test_it_can_be_transformed_by_torch_func():
    given, mask = inputs(), random_mask(B, T, S)
    mask[:, 1] = False
    found = transformed(attention_with_weights, given, mask)
    expected = transformed(scaled_dot_product_attention, given, mask)
    for name, one in found.items():
        assert_close(one, expected[name], within=1e-5)


def test_the_inputs_are_not_overwritten():
    given = inputs()
    before = [x.clone() for x in given]
    attention_with_weights(*given, random_mask(B, H, T, S))
    assert all(map(torch.equal, given, before))


def test_a_mask_that_is_not_boolean_is_refused():
    for function in (attention_with_weights, fused_attention):
        with refuses("a mask must be torch.bool, True = may attend"):
            function(*inputs(), torch.ones(T, S, device=DEVICE))
