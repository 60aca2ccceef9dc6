"""Sequences that repeat themselves: what is the same, what is different, and what can be known."""

from itertools import pairwise

import pytest
import torch

from transformer_lab.data import tasks


def test_each_repeats_its_beginning_and_no_symbol_twice_in_it():
    tokens, periods = tasks.repeated(200, 30, periods=(3, 9), n_symbols=11, seed=4)
    assert tokens.shape == (200, 30)
    assert sorted(set(periods.tolist())) == [3, 4, 5, 6, 7, 8, 9]
    for row, period in zip(tokens.tolist(), periods.tolist(), strict=True):
        assert len({*row[:period]}) == period
        assert row[period:] == row[:-period]
    assert tokens.unique().tolist() == [*range(11)]


def test_what_can_be_known_is_what_stood_there_before():
    sequences = tasks.repeated(50, 20, periods=(3, 9), n_symbols=11)
    for row, known in zip(sequences.tokens.tolist(), sequences.known.tolist(), strict=True):
        for t, can in enumerate(known):
            before = {(a, b) for a, b in pairwise(row[: t + 1])}
            assert can == ((row[t], row[t + 1]) in before)


def test_the_seed_decides_and_beginnings_differ():
    one, two = tasks.repeated(20, seed=1), tasks.repeated(20, seed=2)
    assert torch.equal(one.tokens, tasks.repeated(20, seed=1).tokens)
    assert not torch.equal(one.tokens, two.tokens)
    assert len({tuple(row) for row in one.tokens.tolist()}) == 20


def test_one_period_for_all():
    assert tasks.repeated(5, 24, periods=(12, 12)).periods.tolist() == [12] * 5


@pytest.mark.parametrize("periods", [(5, 4), (5, 12)])
def test_periods_out_of_order_or_too_long(periods: tuple[int, int]):
    with pytest.raises(
        ValueError, match=rf"in order, at most n_symbols \(11\).*\(got \({periods[0]}, {periods[1]}\)\)"
    ):
        tasks.repeated(2, periods=periods, n_symbols=11)


@pytest.mark.parametrize(
    ("choice", "message"), [({"periods": (0, 3)}, r"period \(0\)"), ({"length": 0}, r"length \(0\)"), ({"n": -1}, "n ")]
)
def test_numbers_too_small(choice: dict, message: str):
    with pytest.raises(ValueError, match=message):
        tasks.repeated(**{"n": 2, **choice})
