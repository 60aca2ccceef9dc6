"""n-gram tables: by hand, properties, error texts."""

import math
from collections import Counter

import pytest
import torch

from tests.support import assert_close, refuses
from transformer_lab.data.ngrams import NGrams, discounts_of

TEXT = torch.tensor([0, 1, 0, 1, 0, 2, 0, 1])  # a b a b a c a b


def random_text(n: int = 4000, vocab: int = 6) -> torch.Tensor:
    """Each token is near the one before it."""
    steps = torch.randint(-1, 2, (n,), generator=torch.Generator().manual_seed(0))
    return steps.cumsum(0) % vocab


def test_a_bigram_table_worked_by_hand():
    """After a stand three b and one c. In a text this short each discount is a half, of bigrams and of single tokens.

    Before a stand two tokens, b and c; before b one, and before c one: continuation counts 2, 1, 1 of 4.
    """
    table = NGrams(TEXT, vocab_size=3, order=2)
    left_over = 1.5 / 4 / 3  # of single tokens, for each of the three
    a, b, c = (2 - 0.5) / 4 + left_over, (1 - 0.5) / 4 + left_over, (1 - 0.5) / 4 + left_over
    expected = [(0.5 + 0.5) / 4 * a, 2.5 / 4 + 1 / 4 * b, 0.5 / 4 + 1 / 4 * c]
    assert_close(table.next_probabilities(torch.tensor([2, 1, 0])), expected)
    assert_close(table.token_log_probs(torch.tensor([0, 1])), [math.log(expected[1])])
    assert len(table) == 4 + 3


def test_a_context_never_seen_says_what_a_shorter_one_says():
    table = NGrams(TEXT, 3, order=3)
    assert_close(table.next_probabilities(torch.tensor([2, 1])), table.next_probabilities(torch.tensor([1])))
    after_a_b, after_b = (table.next_probabilities(torch.tensor(context)) for context in ([0, 1], [1]))
    assert (after_a_b - after_b).abs().max() > 0.05


def test_discounts_worked_by_hand():
    """n_1 to n_4 are 8, 4, 2, 1: Y = 8 / 16, and D = 1 - 2 · ½ · 4/8, 2 - 3 · ½ · 2/4, 3 - 4 · ½ · 1/2."""
    counts = torch.tensor([1] * 8 + [2] * 4 + [3] * 2 + [4, 9]).numpy()
    assert discounts_of(counts).tolist() == pytest.approx([0, 0.5, 1.25, 2.0])


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_sum_to_one_and_are_those_of_the_text(order):
    table, text = NGrams(random_text(), 6, order), random_text()[:40]
    each = torch.stack([table.next_probabilities(text[:t]) for t in range(1, len(text))])  # (39, 6)
    assert_close(each.sum(-1), torch.ones(39))
    assert (each > 0).all()
    assert_close(table.token_log_probs(text), each.gather(1, text[1:, None])[:, 0].log(), within=1e-5)


def test_a_longer_context_helps_where_it_says_more():
    text = random_text(20_000)
    train, test = text[:15_000], text[15_000:]
    losses = [-NGrams(train, 6, order).token_log_probs(test).mean().item() for order in (1, 2, 3)]
    assert losses[0] == pytest.approx(math.log(6), abs=0.02)
    assert losses[1] == pytest.approx(math.log(3), abs=0.02)  # one of three
    assert losses[2] < losses[1] + 0.02  # more context than it takes costs little


def test_without_smoothing_the_counts_would_be_the_shares():
    """Where all is frequent, the discounts hardly matter."""
    text = random_text(30_000)
    counts = Counter(zip(text.tolist(), text[1:].tolist(), strict=False))
    share = counts[2, 3] / sum(n for (first, _), n in counts.items() if first == 2)
    assert NGrams(text, 6, 2).next_probabilities(torch.tensor([2]))[3].item() == pytest.approx(share, abs=1e-3)


def test_what_is_no_table_is_refused():
    with refuses("vocab_size^order must be below 2^63 (got 98^10)"):
        NGrams(TEXT, 98, 10)
    with refuses("a text must have at least as many tokens as the order (got 8, 9)"):
        NGrams(TEXT, 3, 9)
    with refuses("order (0) must be at least 1"):
        NGrams(TEXT, 3, 0)
