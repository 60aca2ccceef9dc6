"""The decoding explorer in Python: the table of beginnings, what its summary says, what it refuses."""

import math

import pytest
import torch

from tests.support import DEVICE
from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.views.decoding.decoding_picture import TRUNK, grown, tree
from transformer_lab.widgets.views.decoding.decoding_view import table_of

NAMES = ["bos", "eos", "a", "b"]
IDS = {"bos_id": 0, "eos_id": 1}


def chain(ids):
    """After bos: a 0.5, b 0.4, eos 0.1. After a: eos 0.4, a and b 0.3 each. After b: eos 1."""
    rows = {0: [0, 0.1, 0.5, 0.4], 2: [0, 0.4, 0.3, 0.3], 3: [0, 1, 0, 0]}
    return torch.tensor(rows[ids[-1]], device=DEVICE).log()


def test_the_table_by_hand():
    state = state_of(widgets.decoding(chain, NAMES, **IDS, depth=2, branching=3))
    assert numbers(state["ids"])[:, :3].tolist()[0] == [2, 3, 1]
    assert numbers(state["ids"])[1, 0] == 1  # after bos a: eos first
    assert numbers(state["ids"])[2, 0] == 1  # after bos b
    probabilities = numbers(state["log_probs"]).exp()
    expected = torch.tensor([[0.5, 0.4, 0.1], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]])
    assert torch.allclose(probabilities, expected, atol=1e-6)
    assert (state["tokens"], state["eos"], state["depth"]) == (NAMES, 1, 2)


def test_a_table_asks_for_every_beginning_once_shorter_ones_first():
    asked = []

    def next_logits(ids):
        asked.append(ids)
        return chain(ids)

    widgets.decoding(next_logits, NAMES, **IDS, depth=3, branching=3)
    twice = [[0, 2, 2], [0, 2, 3]]  # b is followed by eos for certain, and eos by nothing
    assert asked[:3] == [[0], [0, 2], [0, 3]]
    assert sorted(asked[3:]) == twice


def test_the_logits_may_have_any_offset_and_track_gradients():
    def shifted(ids):
        return (chain(ids) + 7.5).requires_grad_()

    one, other = (table_of(f, 4, 0, 1, 3, 4) for f in (chain, shifted))
    assert torch.equal(one[0], other[0])
    assert torch.allclose(one[1], other[1], atol=1e-6)


def test_the_summary_has_the_greedy_sentence():
    # a, then eos: log(0.5 · 0.4) = -1.61. Its probability is 0.2; b then eos has 0.4, and greedy misses it.
    view = widgets.decoding(chain, NAMES, **IDS, depth=3, branching=3)
    expected = "Decoding over a table of 5 beginnings: the greedy sentence is “a eos”, log probability −1.61."
    assert repr(view) == expected
    assert math.log(0.5 * 0.4) == pytest.approx(-1.61, abs=0.005)


def test_the_greedy_sentence_ends_with_the_table():
    logits = torch.tensor([0.0, 0.0, 2.0, 1.0])
    view = widgets.decoding(lambda ids: logits, NAMES, **IDS, depth=3)
    assert "is “a a a”, log" in repr(view)


# ── refusals ──


@pytest.mark.parametrize(
    ("next_logits", "more", "message"),
    [
        (chain, {"depth": 0}, r"depth \(0\) must be at least 1"),
        (chain, {"branching": 1}, r"branching \(1\) must be at least 2 and at most the vocabulary \(4\)"),
        (chain, {"branching": 5}, r"branching \(5\) must be at least 2 and at most the vocabulary \(4\)"),
        (
            lambda ids: torch.zeros(1, 4),
            {},
            r"next_logits must give one logit for each of the 4 tokens \(got \(1, 4\)\)",
        ),
        (lambda ids: torch.full((4,), torch.nan), {}, "logits must not be NaN"),
        (lambda ids: torch.zeros(4), {"depth": 9}, r"at most 12000 numbers \(at depth 8 with 4 tokens after each"),
    ],
)
def test_it_refuses(next_logits, more, message):
    with pytest.raises(ValueError, match=message):
        widgets.decoding(next_logits, NAMES, **IDS, **more)


def test_where_no_script_runs_the_tree_is_seen_as_far_as_the_view_opens_it():
    table = table_of(chain, len(NAMES), 0, 1, 2, 3)
    root = grown(*table, NAMES, 1)
    assert [(one.name, one.place) for one in root.children] == [("a", 0), ("b", 1), ("eos", 2)]
    assert [one.children for one in root.children] == [[], [], []], "the sentence ends at the next step"
    weights = {text.get_text(): text.get_weight() for text in tree(*table, NAMES, 1).texts}
    assert weights == {"a  0.50": "bold", "b  0.40": "normal", "eos  0.10": "normal"}


def test_a_branch_of_the_picture_is_as_wide_as_its_tokens_are_probable():
    table = table_of(lambda ids: chain([ids[0] if len(ids) < 3 else 2]), len(NAMES), 0, 1, 3, 3)
    ax = tree(*table, NAMES, 1)
    ends = [one.get_paths()[0].vertices for one in ax.collections]
    wide = {round(float(v[v[:, 0] == v[:, 0].max(), 1].max() - v[v[:, 0] == v[:, 0].max(), 1].min()), 3) for v in ends}
    assert wide == {round(TRUNK * p, 3) for p in (1.0, 0.5, 0.4, 0.1, 0.25, 0.2, 0.05)}


def test_of_a_large_tree_four_tokens_of_three_steps_are_drawn_and_greedy_choice_goes_on_first():
    logits = torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    node = grown(*table_of(lambda ids: logits[ids[-1]], 40, 0, 1, 4, 5), [f"t{i}" for i in range(40)], 1)
    for _ in range(3):
        first, *others = node.children
        assert len(others) == 3
        assert not any(one.children for one in others)
        assert first.total > max(one.total for one in others)
        node = first
    assert node.children == []
