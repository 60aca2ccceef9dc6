"""Decoding of one sentence from any model: greedy choice, beam search, top-k and top-p."""

from math import log

import pytest
import torch

from tests.support import DEVICE, assert_close, each_half, randn, refuses, tensor
from transformer_lab import beam_search, greedy_decode, top_k_filter, top_p_filter

BOS, EOS, A, B = 0, 1, 2, 3


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


# Numbers worked by hand


def garden_path(ids: list[int]) -> torch.Tensor:
    """Greedy takes A (0.6) and ends with 0.6 · 0.4 = 0.24; the way by B has 0.4 · 0.9 = 0.36."""
    after = {BOS: [0.0, 0.0, 0.6, 0.4], A: [0.0, 0.4, 0.3, 0.3], B: [0.0, 0.9, 0.05, 0.05]}
    return tensor(after[ids[-1]]).log()


def test_greedy_takes_the_most_probable_token_and_beam_search_the_more_probable_sentence():
    assert greedy_decode(garden_path, BOS, EOS, max_length=6) == [BOS, A, EOS]
    for beam_size, sentence, probability in ((1, [BOS, A, EOS], 0.24), (2, [BOS, B, EOS], 0.36)):
        ids, total = beam_search(garden_path, BOS, EOS, beam_size, max_length=6)
        assert ids == sentence
        assert total == pytest.approx(log(probability))


@pytest.mark.parametrize("max_length", [1, 2, 3, 7])
def test_max_length_counts_bos(max_length):
    def for_ever(ids):
        return tensor([0.1, 0.2, 0.7]).log()

    expected = [BOS, *(max_length - 1) * [A]]
    assert greedy_decode(for_ever, BOS, EOS, max_length) == expected
    ids, total = beam_search(for_ever, BOS, EOS, 1, max_length)
    assert (ids, total) == (expected, pytest.approx((max_length - 1) * log(0.7)))


def test_one_id_may_begin_and_end_a_sentence():
    def twice(ids):
        return tensor([0.0, 1.0]) if len(ids) < 3 else tensor([1.0, 0.0])

    assert greedy_decode(twice, 0, 0, max_length=9) == [0, 1, 1, 0]


def test_filters_worked_by_hand():
    logits = tensor([0.1, 0.5, 0.15, 0.25]).log()
    for k, kept in ((1, [1]), (2, [1, 3]), (3, [1, 2, 3]), (4, [0, 1, 2, 3]), (9, [0, 1, 2, 3])):
        assert (top_k_filter(logits, k) > -torch.inf).nonzero().flatten().tolist() == kept
    # in order: 0.5, 0.75, 0.9, 1: the set is as small as can be, and its last token carries it to p or beyond
    for p, kept in ((0.3, [1]), (0.49, [1]), (0.51, [1, 3]), (0.74, [1, 3]), (0.76, [1, 2, 3]), (1.0, [0, 1, 2, 3])):
        filtered = top_p_filter(logits, p)
        assert (filtered > -torch.inf).nonzero().flatten().tolist() == kept
        assert_close(filtered[kept], logits[kept], within=0)


def test_a_set_that_reaches_p_exactly_is_enough():
    logits = tensor([0.0, 0.0, float("-inf"), 0.0, 0.0])  # four quarters: exact in binary
    assert (top_p_filter(logits, 0.5) > -torch.inf).sum() == 2
    assert (top_p_filter(logits, 0.75) > -torch.inf).sum() == 3


# Properties of the filters


def test_filters_treat_each_row_alone():
    logits = randn(2, 3, 7)
    for keep in (lambda x: top_k_filter(x, 3), lambda x: top_p_filter(x, 0.6)):
        assert torch.equal(keep(logits), torch.stack([torch.stack([keep(row) for row in rows]) for rows in logits]))


def kept(filtered: torch.Tensor) -> list:
    return (filtered > -torch.inf).int().tolist()


def test_among_equals_the_first_are_kept_as_many_as_it_takes():
    assert kept(top_k_filter(torch.zeros(2, 7, device=DEVICE), 3)) == 2 * [[1, 1, 1, 0, 0, 0, 0]]
    assert kept(top_k_filter(tensor([1.0, 2.0, 1.0, 0.0, 1.0]), 3)) == [1, 1, 1, 0, 0]
    assert kept(top_p_filter(torch.zeros(2, 4, device=DEVICE), 0.5)) == 2 * [[1, 1, 0, 0]]
    many = top_k_filter(torch.zeros(5000, device=DEVICE), 1000)  # `topk` takes others of them
    assert kept(many) == 1000 * [1] + 4000 * [0]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 0.999])
def test_the_nucleus_reaches_p_and_would_not_without_its_least_token(p):
    logits = 3 * randn(50, 20)
    probabilities = logits.softmax(-1)
    kept = top_p_filter(logits, p) > -torch.inf
    reached = (probabilities * kept).sum(-1)
    least = probabilities.masked_fill(~kept, 2).amin(-1)
    assert (reached >= p - 1e-6).all()
    assert (reached - least < p).all()
    assert (probabilities.masked_fill(kept, 0).amax(-1) <= least).all()


@each_half
def test_half_precision_does_not_blur_a_large_nucleus(dtype):
    logits = torch.zeros(4096, dtype=dtype, device=DEVICE)  # a sum in bfloat16 would stand still long before 1
    filtered = top_p_filter(logits, 0.5)
    assert filtered.dtype == dtype
    assert (filtered > -torch.inf).sum() == 2048


def test_a_nucleus_of_1_is_every_token_however_improbable():
    logits = tensor([0.0, -20.0, -21.0, -200.0])  # in float32 the first has probability 1, and the last 0
    assert torch.equal(top_p_filter(logits, 1.0), logits)


@pytest.mark.parametrize("share", [1e-6, 1e-7, 1e-8])
def test_a_nucleus_that_leaves_next_to_nothing_out_leaves_out_no_more(share):
    # A thousand tokens hold 2 · share together, beside a sum of 1: half of them belong to the nucleus of 1 - share.
    few = torch.tensor(1000 * [2e-3 * share], dtype=torch.float64)
    logits = torch.cat([torch.tensor([1.0], dtype=torch.float64), few]).log().float().to(DEVICE)
    assert (top_p_filter(logits, 1 - share) > -torch.inf).sum().item() == pytest.approx(501, abs=2)


def test_the_most_probable_token_always_stays():
    assert kept(top_p_filter(tensor([1.0, 3.0, 2.0]), 1e-30)) == [0, 1, 0]


# Errors


def test_top_k_must_keep_something():
    with refuses("top_k (0) must be at least 1"):
        top_k_filter(randn(5), 0)


@pytest.mark.parametrize("p", [0.0, 1.01, -0.5, float("nan")])
def test_top_p_must_be_a_share(p):
    with refuses(f"top_p ({p}) must be above 0 and at most 1"):
        top_p_filter(randn(5), p)
