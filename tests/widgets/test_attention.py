"""The attention explorer in Python: what it carries, what its summary says, what it refuses."""

import pytest
import torch

from tests.support import DEVICE
from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.nn import masks
from transformer_lab.nn.attention import scaled_dot_product_attention
from transformer_lab.plots import plot_attention
from transformer_lab.widgets.shared.view import View

QUERIES, KEYS = ["Je", "suis", "là"], ["I", "am", "here", "now", "."]


def weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).softmax(-1).to(DEVICE)


def test_attention_steps_carries_the_raw_scores():
    query, key = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])
    state = state_of(widgets.attention_steps(query.to(DEVICE), key.to(DEVICE), ["q"], ["a", "b"]))
    assert numbers(state["logits"]).tolist() == [[[[11.0, 17.0]]]]
    assert (state["queries"], state["keys"], state["d_k"], state["causal"]) == (["q"], ["a", "b"], 2, False)


def test_the_summary_says_where_each_query_looks():
    given = torch.tensor([[0.1, 0.1, 0.6, 0.1, 0.1], [0.2] * 5, [0.0, 0.0, 0.0, 0.0, 1.0]])
    expected = "Attention of 3 queries to 5 keys: Je at here, suis evenly, là at .."
    assert repr(widgets.attention(given, QUERIES, KEYS)) == expected
    assert "keys: 2 × 3 heads; in the first Je at" in repr(widgets.attention(weights(2, 3, 3, 5), QUERIES, KEYS))


def test_weights_travel_as_logarithms_and_nothing_to_see_stays_nothing():
    given = torch.tensor([[0.25, 0.75], [0.0, 1.0], [0.0, 0.0]])
    scores = numbers(state_of(widgets.attention(given, QUERIES, ["a", "b"]))["logits"])
    assert torch.allclose(scores.exp()[0, 0], given)
    assert scores[0, 0, 2].tolist() == [float("-inf")] * 2


def test_a_long_summary_is_cut():
    tokens = [f"t{i}" for i in range(20)]
    assert repr(widgets.attention(torch.eye(20), tokens, tokens)).endswith("t7 at t7 and 12 more.")


def test_the_picture_of_a_causal_view_is_masked():
    x, words = torch.eye(3), ["a", "b", "c"]
    plain, causal = (widgets.attention_steps(x, x, words, words, causal=on) for on in (False, True))
    assert "a at a, b at b, c at c" in repr(causal)
    assert plain.picture.png != causal.picture.png
    mask = masks.causal_mask(3)
    _, right = scaled_dot_product_attention(x, x, x, mask)
    drawn = View("attention", {}, "A map.", lambda: plot_attention(right, words, words, mask=mask), colours=40)
    assert causal.picture.png == drawn.picture.png


def test_inputs_are_not_changed_and_may_track_gradients():
    query, key = torch.randn(3, 2, requires_grad=True), torch.randn(5, 2)
    before = query.detach().clone()
    widgets.attention_steps(query, key, QUERIES, KEYS)
    assert torch.equal(query, before)


# ── refusals ──


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (weights(5, 3).softmax(-1), r"must have shape .* = \(3, 5\) \(it has \(5, 3\): that is the transpose\)"),
        (weights(3, 5) * 1.1, r"each row of weights must sum to 1 \(row 0 sums to 1.1; dropout"),
        (weights(3, 5) - 0.5, "weights must be at least 0 and finite"),
        (weights(5), r"weights must have 2 to 4 axes: layers, heads, rows, columns \(its shape is \(5,\)\)"),
        (
            torch.stack([weights(3, 5), weights(3, 5) * 2]),
            "each row of weights must sum to 1",
        ),  # not only the first head
    ],
)
def test_attention_refuses_what_would_lie(given, message):
    with pytest.raises(ValueError, match=message):
        widgets.attention(given, QUERIES, KEYS)


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ((3, 2), (5, 4), r"query and key must have the same width d_k \(2, 4\)"),
        ((2, 3, 4), (3, 5, 4), r"as many layers and heads as each other, or 1 \(\(1, 2\), \(1, 3\)\)"),
        ((3, 4), (4, 5), r"query and key must have the same width d_k \(4, 5\)"),
        ((3, 4), (6, 4), r"must have shape .* = \(3, 5\) \(it has \(3, 6\)\)"),
    ],
)
def test_attention_steps_refuses_what_does_not_fit(query, key, message):
    with pytest.raises(ValueError, match=message):
        widgets.attention_steps(torch.ones(query), torch.ones(key), QUERIES, KEYS)


def test_one_head_of_keys_may_serve_all_queries():
    query, key = torch.randn(4, 3, 2), torch.randn(1, 5, 2)
    scores = numbers(state_of(widgets.attention_steps(query, key, QUERIES, KEYS))["logits"])
    assert torch.equal(scores[0], query @ key.mT)


def test_the_values_of_all_heads_may_be_the_same():
    query, value = torch.randn(2, 3, 4), torch.randn(3, 2)
    view = widgets.attention_steps(query, query, QUERIES, QUERIES, value=value, features=["x", "y"])
    assert torch.equal(numbers(state_of(view)["value"]), value.expand(1, 2, 3, 2))


@pytest.mark.parametrize(
    ("shape", "features", "message"),
    [
        ((5, 2), "xy", r"value must have a row for each of the 3 keys \(its shape is \(1, 1, 5, 2\)\)"),
        ((2, 3, 2), "xy", r"value must have a row for each of the 3 keys \(its shape is \(1, 2, 3, 2\)\)"),
        ((3, 2), "x", r"a name for each feature of value, 6 at most \(got 1 for 2\)"),
        ((3, 7), "abcdefg", r"a name for each feature of value, 6 at most \(got 7 for 7\)"),
    ],
)
def test_attention_steps_refuses_values_that_do_not_fit(shape, features, message):
    x = torch.ones(3, 2)
    with pytest.raises(ValueError, match=message):
        widgets.attention_steps(x, x, QUERIES, QUERIES, value=torch.ones(shape), features=list(features))


def test_a_causal_mask_needs_as_many_queries_as_keys():
    with pytest.raises(ValueError, match=r"a causal mask needs as many queries as keys \(3, 5\)"):
        widgets.attention_steps(torch.eye(3), torch.ones(5, 3), QUERIES, KEYS, causal=True)
