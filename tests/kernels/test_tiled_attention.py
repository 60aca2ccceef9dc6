"""Attention in tiles, and what it is made of: equal to the plain one, in memory that grows with T alone."""

from math import exp, log, sqrt

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from tests.support import DEVICE, assert_close, each_half, gradients, no_float64, randn, random_mask, refuses, tensor
from transformer_lab import (
    attention_backward,
    causal_mask,
    merge_partial,
    online_softmax,
    scaled_dot_product_attention,
    tiled_attention,
)
from transformer_lab.analysis import peak_bytes, tile_bytes

T, S, D_K, D_V = 13, 11, 5, 7
each_tile = pytest.mark.parametrize("tile", [1, 3, 4, 11, 13, 100])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def exact(*shape: int) -> torch.Tensor:
    return randn(*shape, dtype=torch.float64, requires_grad=True)


def inputs(*axes: int) -> tuple[torch.Tensor, ...]:
    return exact(*axes, T, D_K), exact(*axes, S, D_K), exact(*axes, S, D_V)


# ── softmax in chunks ──


def test_scores_in_chunks_by_hand():
    chunks = [tensor([1.0, 3.0]), tensor([2.0]), tensor([4.0, 0.0, 4.0])]
    maximum, total = online_softmax(chunks)
    assert maximum.item() == 4
    assert total.item() == pytest.approx(exp(-3) + exp(-1) + exp(-2) + 1 + exp(-4) + 1)


def test_each_chunk_is_seen_once():
    maximum, total = online_softmax(iter(randn(20, 6, 9)))  # an iterator is gone when it has been read
    assert maximum.shape == total.shape == (6,)


@no_float64
@pytest.mark.parametrize("sizes", [[20], [1] * 20, [7, 1, 12]])
def test_chunks_of_any_size_make_one_softmax(sizes):
    scores = 30 * exact(3, 2, 20)
    maximum, total = online_softmax(iter(scores.split(sizes, -1)))
    assert_close((maximum + total.log(), maximum), (scores.logsumexp(-1), scores.amax(-1)), 1e-12)
    assert_close(torch.exp(scores - maximum[..., None]) / total[..., None], scores.softmax(-1), 1e-12)


def test_large_scores_do_not_overflow():
    maximum, total = online_softmax([tensor([1000.0]), tensor([-1000.0, 1001.0])])
    assert maximum.item() == 1001
    assert total.item() == pytest.approx(1 + exp(-1))


def test_no_chunk_is_refused():
    with refuses("there must be at least one chunk of scores (got none)"):
        online_softmax([])


# ── two partial results ──


def test_a_merge_by_hand():
    output, lse = merge_partial(tensor([[4.0, 0.0]]), tensor([log(3.0)]), tensor([[0.0, 8.0]]), tensor([0.0]))
    assert_close(output, [[3.0, 2.0]])  # three quarters of the one, a quarter of the other
    assert_close(lse, [log(4.0)])


@no_float64
def test_parts_in_any_order_make_the_whole():
    query, key, value = inputs(2, 3)

    def part(cols):
        scores = query @ key[..., cols, :].mT / sqrt(D_K)
        return scores.softmax(-1) @ value[..., cols, :], scores.logsumexp(-1)

    a, b, c = part(slice(0, 2)), part(slice(2, 8)), part(slice(8, S))
    whole = part(slice(0, S))
    assert_close(merge_partial(*merge_partial(*a, *b), *c), whole, 1e-12)
    assert_close(merge_partial(*b, *merge_partial(*c, *a)), whole, 1e-12)
    assert_close(whole[0], scaled_dot_product_attention(query, key, value)[0], 1e-12)


def test_a_merge_of_large_scores_does_not_overflow():
    output, lse = merge_partial(tensor([1.0]), tensor(900.0), tensor([5.0]), tensor(900.0))
    assert_close(output, [3.0])
    assert lse.item() == pytest.approx(900 + log(2))


# ── backward by hand ──


def test_a_gradient_by_hand():
    """Two keys with equal scores: p = (½, ½), so dS = ½ (dP - mean)."""
    zeros, value = torch.zeros(1, 1, device=DEVICE), tensor([[1.0], [5.0]])
    grad_query, grad_key, grad_value = attention_backward(zeros + 2, tensor([[3.0], [3.0]]), value, zeros + 1)
    assert_close(grad_value, [[0.5], [0.5]])
    assert_close(grad_key, [[-2.0], [2.0]])  # dP = (1, 5), mean 3: dS = (-1, 1), times the query
    assert_close(grad_query, [[0.0]])  # the keys are equal, and the query can change nothing


@no_float64
@pytest.mark.parametrize("axes", [(), (2,), (2, 3)])
def test_the_gradients_are_those_of_autograd(axes):
    given, upstream = inputs(*axes), exact(*axes, T, D_V).detach()
    output, _ = scaled_dot_product_attention(*given)
    expected = torch.autograd.grad(output, given, upstream)
    with torch.no_grad():
        assert_close(attention_backward(*given, upstream), expected, 1e-12)


# ── tiles ──


@no_float64
@each_tile
@pytest.mark.parametrize("mask", [None, (T, S), (2, 1, 1, S), (2, 3, T, S), (1,)], ids=str)
def test_tiles_equal_the_plain_one_forward_and_backward(tile, mask):
    given = inputs(2, 3)
    allowed = mask and random_mask(*mask)
    ours = tiled_attention(*given, allowed, tile=tile)
    plain, _ = scaled_dot_product_attention(*given, allowed)
    assert_close(ours, plain, 1e-12)
    assert_close(gradients(ours, *given), gradients(plain, *given), 1e-12)


@no_float64
@each_tile
def test_causal_tiles_equal_a_causal_mask(tile):
    query, key, value = exact(2, 3, T, D_K), exact(2, 3, T, D_K), exact(2, 3, T, D_V)
    ours = tiled_attention(query, key, value, causal=True, tile=tile)
    plain, _ = scaled_dot_product_attention(query, key, value, causal_mask(T, DEVICE))
    fused = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert_close(ours, plain, 1e-12)
    assert_close(ours, fused, 1e-12)
    assert_close(gradients(ours, query, key, value), gradients(plain, query, key, value), 1e-12)


@no_float64
def test_derivatives_are_those_of_small_differences():
    query, key, value = exact(2, 4, 3), exact(2, 5, 3), exact(2, 5, 2)
    assert gradcheck(lambda *given: tiled_attention(*given, tile=2), (query, key, value))
    mask = random_mask(4, 5)
    assert gradcheck(lambda *given: tiled_attention(*given, mask, tile=3), (query, key, value))
    assert gradcheck(lambda k, v: tiled_attention(k, k, v, causal=True, tile=2), (key, value))


def test_inputs_broadcast_as_in_the_plain_one():
    query, key, value = randn(2, 3, T, D_K), randn(2, 1, S, D_K), randn(S, D_V)
    for x in (query, key, value):
        x.requires_grad_()
    ours, (plain, _) = tiled_attention(query, key, value, tile=4), scaled_dot_product_attention(query, key, value)
    assert_close(ours, plain)
    assert_close(gradients(ours, query, key, value), gradients(plain, query, key, value), 1e-5)


@each_tile
def test_a_query_that_sees_nothing_gets_zeros_and_zero_gradients(tile):
    query, key, value = randn(T, D_K), randn(S, D_K), randn(S, D_V)
    for x in (query, key, value):
        x.requires_grad_()
    mask = random_mask(T, S)
    mask[4] = False
    output = tiled_attention(query, key, value, mask, tile=tile)
    grad_query, grad_key, grad_value = gradients(output, query, key, value)
    assert output[4].tolist() == [0] * D_V
    assert grad_query[4].tolist() == [0] * D_K
    assert all(x.isfinite().all() for x in (output, grad_query, grad_key, grad_value))


def test_scores_of_a_thousand_do_not_overflow():
    query, key, value = 40 * randn(T, D_K), 40 * randn(S, D_K), randn(S, D_V)
    plain, _ = scaled_dot_product_attention(query, key, value)
    assert (query @ key.T).abs().max() > 1000
    assert_close(tiled_attention(query, key, value, tile=3), plain, 1e-5)


@each_half
def test_half_precision_adds_up_in_float32(dtype):
    query, key, value = (randn(2, n, 8).to(dtype).requires_grad_() for n in (T, S, S))
    output = tiled_attention(query, key, value, tile=2)
    wide = [x.detach().float().requires_grad_() for x in (query, key, value)]
    expected, _ = scaled_dot_product_attention(*wide)
    assert output.dtype == dtype
    assert_close(output, expected.to(dtype), torch.finfo(dtype).eps)
    assert all(x.dtype == dtype for x in gradients(output, query, key, value))


def peak_of(attend, length: int) -> int:
    query, key, value = (randn(1, length, 16, requires_grad=True) for _ in range(3))
    return peak_bytes(lambda: attend(query, key, value).sum().backward())


def test_memory_grows_with_the_length_and_not_with_its_square():
    tiled = [peak_of(lambda *given: tiled_attention(*given, tile=1024), length) for length in (2048, 4096, 8192)]
    plain = [peak_of(lambda *given: scaled_dot_product_attention(*given)[0], length) for length in (512, 1024, 2048)]
    assert tiled[1] - tiled[0] == pytest.approx((tiled[2] - tiled[1]) / 2, rel=0.01)  # a line
    assert plain[1] / plain[0] == pytest.approx(4, rel=0.05)
    assert plain[2] / plain[1] == pytest.approx(4, rel=0.05)
    assert tiled[2] < 8192 * 8192 * 4 / 8  # one matrix of weights


def test_causal_leaves_out_the_tiles_of_the_future():
    keys_read = []

    class Counting(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is torch.ops.aten.exp.default:
                keys_read.append(args[0].shape)
            return function(*args, **(kwargs or {}))

    x = randn(64, 4)
    for causal in (False, True):
        keys_read.clear()
        with Counting():
            tiled_attention(x, x, x, causal=causal, tile=8)
        assert sum(shape == (8, 8) for shape in keys_read) == (8 * 9 // 2 if causal else 64)


def test_what_does_not_fit_is_refused():
    query, key, value = randn(T, D_K), randn(S, D_K), randn(S, D_V)
    with refuses("causal attention needs as many queries as keys (got 13, 11)"):
        tiled_attention(query, key, value, causal=True)
    with refuses("tile (0) must be at least 1"):
        tiled_attention(query, key, value, tile=0)
    with refuses("a mask must be torch.bool, True = may attend (got torch.float32 of shape (13, 11))"):
        tiled_attention(query, key, value, randn(T, S))
    with refuses("a mask must broadcast to the scores (13, 11) (got (11, 13))"):
        tiled_attention(query, key, value, random_mask(S, T))
    with refuses("key must be floating-point numbers of 2 axes or more (got torch.int64 of shape (11, 5))"):
        tiled_attention(query, key.long(), value)


# ── counting memory ──


def test_the_peak_of_memory_by_hand():
    x = randn(1000, 8)
    assert peak_bytes(lambda: x @ x.T) == 4_000_000
    assert peak_bytes(lambda: (x @ x.T).exp()) == 8_000_000
    assert peak_bytes(lambda: (x @ x.T).exp_()) == 4_000_000
    assert peak_bytes(lambda: [(x @ x.T).sum() for _ in range(5)]) == 4_000_000 + 4 * 5  # each is freed in turn
    assert peak_bytes(lambda: x.T.view(8, 10, 100)) == 0


def test_the_bytes_of_a_tile_by_hand():
    """Two queries, keys, values and outputs of three features; four scores; two maxima and two sums."""
    assert tile_bytes(2, 3) == 4 * (4 * 6 + 4 + 4)
    assert tile_bytes(2, 3, bytes_per_number=2) == tile_bytes(2, 3) // 2
