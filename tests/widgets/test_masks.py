"""The mask playground in Python: what it carries, its patterns, what its summary says, what it refuses."""

import pytest
import torch

from tests.support import DEVICE
from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.views.masks.masks_view import PATTERNS, mask_of

TOKENS = ["a", "b", "c", "pad"]


def test_it_carries_the_scores_and_what_is_padding():
    scores = torch.randn(4, 4, device=DEVICE)
    state = state_of(widgets.mask_playground(scores, TOKENS, "prefix"))
    assert torch.equal(numbers(state["scores"]), scores.cpu())
    assert (state["tokens"], state["pattern"]) == (TOKENS, "prefix")
    assert state["padding"] == [False, False, False, True]
    other = state_of(widgets.mask_playground(scores, TOKENS, pad_token="b"))
    assert other["padding"] == [False, True, False, False]


def test_the_patterns_by_hand():
    tables = {pattern: mask_of(pattern, 4, window=2, prefix=3).int().tolist() for pattern in PATTERNS}
    assert tables == {
        "everything": [[1, 1, 1, 1]] * 4,
        "causal": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
        "sliding window": [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]],
        "prefix": [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
    }


def test_the_widest_window_and_no_prefix_are_causal():
    causal = mask_of("causal", 5)
    assert torch.equal(mask_of("sliding window", 5, window=5), causal)
    assert torch.equal(mask_of("prefix", 5, prefix=0), causal)
    assert torch.equal(mask_of("prefix", 5, prefix=5), mask_of("everything", 5))


def test_the_summary_counts_pairs_and_names_blind_queries():
    scores = torch.zeros(4, 4)
    start = "Mask playground over 4 tokens (causal, 1 of padding hidden): "
    assert repr(widgets.mask_playground(scores, TOKENS)) == f"{start}9 of 16 pairs of query and key may attend."
    left = repr(widgets.mask_playground(scores, ["pad", "pad", "a", "b"]))
    assert left.endswith("3 of 16 pairs of query and key may attend; 2 of the queries may see nothing.")


def sparks(ax) -> list[tuple[int, int]]:
    """The cells, as query and key, with a spark in them."""
    return [(round(y), round(x)) for line in ax.get_lines() for x, y in zip(*line.get_data(), strict=True)]


def test_the_picture_has_a_spark_in_each_leak_and_a_shutter_over_the_rest():
    scores = torch.randn(3, 3)
    names = ("everything", "causal", "prefix")
    shown = {name: widgets.mask_playground(scores, TOKENS[:3], name).fallback() for name in names}
    assert sparks(shown["everything"]) == [(0, 1), (0, 2), (1, 2)]
    assert sparks(shown["causal"]) == sparks(shown["prefix"]) == []
    weights = scores.double().softmax(-1).flatten().tolist()
    assert [text.get_text() for text in shown["everything"].texts] == [f"{weight:.2f}" for weight in weights]
    slats = [len(ax.collections) for ax in shown.values()]
    assert slats == [0, 2, 2]  # in two rows each: one shutter over what is masked side by side


# ── refusals ──


@pytest.mark.parametrize(
    ("scores", "tokens", "pattern", "message"),
    [
        (torch.zeros(3, 4), TOKENS, "causal", r"scores must have shape \(len\(tokens\), len\(tokens\)\) = \(4, 4\)"),
        (torch.zeros(1, 1), ["a"], "causal", r"there must be 2 to 16 tokens \(got 1\)"),
        (torch.zeros(17, 17), ["a"] * 17, "causal", r"there must be 2 to 16 tokens \(got 17\)"),
        (torch.full((4, 4), -torch.inf), TOKENS, "causal", "scores must be finite: the mask is painted here"),
        (torch.zeros(4, 4), TOKENS, "random", "pattern must be one of everything, causal, .* prefix .got random"),
    ],
)
def test_it_refuses(scores, tokens, pattern, message):
    with pytest.raises(ValueError, match=message):
        widgets.mask_playground(scores, tokens, pattern)
