"""The planted circuit: what it does, where its heads look, and which of them it needs."""

from itertools import permutations

import pytest
import torch

from transformer_lab import analysis, record_attention
from transformer_lab.data import tasks

FIRST, SECOND = "layers.0.self_attention", "layers.1.self_attention"


@pytest.fixture(scope="module")
def planted():
    return analysis.planted_induction(24, 32)


def share_right(model, sequences):
    with torch.no_grad():
        guesses = model(sequences.tokens)[:, :-1].argmax(-1)
    return (guesses == sequences.tokens[:, 1:])[sequences.known].float().mean().item()


@pytest.mark.parametrize(("n_symbols", "length"), [(3, 6), (4, 9), (5, 40)])
def test_it_continues_every_short_sequence(n_symbols: int, length: int):
    model = analysis.planted_induction(n_symbols, length)
    for period in range(1, n_symbols + 1):
        for beginning in permutations(range(n_symbols), period):
            tokens = torch.tensor([(beginning * length)[:length]])
            with torch.no_grad():
                guesses = model(tokens)[0, :-1].argmax(-1)
            assert torch.equal(guesses[period:], tokens[0, period + 1 :])


def test_its_heads_look_where_it_says(planted):
    tokens = tasks.repeated(20, 24, periods=(12, 12)).tokens
    with torch.no_grad(), record_attention(planted) as maps:
        planted(tokens)
    for weights, offsets in ((maps[FIRST], (-1, -11)), (maps[SECOND], (-11, -11))):
        for head, offset in enumerate(offsets):
            looked = weights[:, head].diagonal(offset, -2, -1)[:, 1:]  # the second half, at least
            assert looked[:, -12:].min() > 0.99


@pytest.mark.parametrize(("period", "scores"), [(12, [0.0, 1.0, 1.0, 1.0]), (10, [0.0, 0.0, 1.0, 1.0])])
def test_the_induction_score_is_fooled_at_one_period(planted, period: int, scores: list[float]):
    tokens = tasks.repeated(50, 2 * period, periods=(period, period)).tokens
    with torch.no_grad(), record_attention(planted) as maps:
        planted(tokens)
    found = torch.cat([analysis.induction_score(maps[name].mean(0), period) for name in (FIRST, SECOND)])
    assert torch.allclose(found, torch.tensor(scores), atol=0.06)


def test_it_needs_two_of_its_heads(planted):
    sequences = tasks.repeated(50)
    assert share_right(planted, sequences) == 1
    for layer in (FIRST, SECOND):
        with analysis.ablate(planted, layer, 0):
            assert share_right(planted, sequences) < 0.2
        with analysis.ablate(planted, layer, 1):
            assert share_right(planted, sequences) == 1


def test_sizes_too_small():
    with pytest.raises(ValueError, match=r"n_symbols \(0\) must be at least 1"):
        analysis.planted_induction(0, 5)
