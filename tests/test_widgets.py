"""The Python half of the views: what an output holds, and what a view refuses to show."""

import base64
import json
import re
from html import unescape

import numpy as np
import pytest
import torch

from tests.support import DEVICE
from transformer_lab import masks, widgets
from transformer_lab.attention import scaled_dot_product_attention
from transformer_lab.widgets.kit import View, bundle
from transformer_lab.widgets.saturation import WIDTHS, jacobian_norm

QUERIES, KEYS = ["Je", "suis", "là"], ["I", "am", "here", "now", "."]


def weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).softmax(-1).to(DEVICE)


def html_of(view: View) -> str:
    return view._repr_mimebundle_()["text/html"]


def state_of(view: View) -> dict:
    """The state that an output carries to its script."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html_of(view), re.DOTALL)[1])


def numbers(packed: dict) -> torch.Tensor:
    array = np.frombuffer(base64.b64decode(packed["f32"]), dtype="<f4")
    return torch.from_numpy(array.copy()).reshape(packed["shape"])


VIEWS = {
    "attention": lambda: widgets.attention(weights(2, 3, 3, 5), QUERIES, KEYS),
    "attention_steps": lambda: widgets.attention_steps(torch.eye(3), torch.ones(5, 3), QUERIES, KEYS),
    "saturation": lambda: widgets.saturation(torch.ones(2, 1024), torch.ones(3, 1024)),
}
every_view = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())


def test_every_view_is_tested():
    assert set(VIEWS) == {name for name in widgets.__all__ if name != "View"}


# ── by hand ──


def test_the_numbers_travel_exactly_as_float32():
    scores = torch.tensor([[1.0, -2.5], [1e-30, 3e30]])
    view = View("attention", {"scores": scores, "words": ["a"], "d_k": 2}, VIEWS["saturation"]().picture)
    state = state_of(view)
    assert torch.equal(numbers(state["scores"]), scores)
    assert (state["words"], state["d_k"], state["summary"]) == (["a"], 2, view.picture.alt)


def test_attention_steps_carries_the_raw_scores():
    query, key = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])
    state = state_of(widgets.attention_steps(query.to(DEVICE), key.to(DEVICE), ["q"], ["a", "b"]))
    assert numbers(state["scores"]).tolist() == [[[[11.0, 17.0]]]]
    assert (state["queries"], state["keys"], state["d_k"], state["causal"]) == (["q"], ["a", "b"], 2, False)


def test_the_summary_says_where_each_query_looks():
    given = torch.tensor([[0.1, 0.1, 0.6, 0.1, 0.1], [0.2] * 5, [0.0, 0.0, 0.0, 0.0, 1.0]])
    expected = "Attention of 3 queries to 5 keys: Je at here, suis evenly, là at .."
    assert repr(widgets.attention(given, QUERIES, KEYS)) == expected
    assert "keys: 2 × 3 heads; in the first Je at" in repr(VIEWS["attention"]())


def test_weights_travel_as_logarithms_and_nothing_to_see_stays_nothing():
    given = torch.tensor([[0.25, 0.75], [0.0, 1.0], [0.0, 0.0]])
    scores = numbers(state_of(widgets.attention(given, QUERIES, ["a", "b"]))["scores"])
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
    _, right = scaled_dot_product_attention(x, x, x, masks.causal_mask(3))
    assert causal.picture.png == widgets.attention(right, words, words).picture.png


def test_saturation_carries_scores_and_medians_at_every_width():
    query, key = torch.randn(5, 1024), torch.randn(3, 1024)
    state = state_of(widgets.saturation(query, key))
    assert state["widths"] == WIDTHS
    assert {4, 16, 64, 256, 1024} <= set(WIDTHS)
    i = WIDTHS.index(64)
    scores = query[:, :64].double() @ key[:, :64].double().T
    widest = (query.double() @ key.double().T).softmax(-1)
    typical = norms_of_jacobians(widest).argsort()[2]  # the third of five
    assert torch.allclose(numbers(state["scores"])[i].double(), scores[typical], atol=1e-4)
    for curve, s in zip(state["norms"], (scores, scores / 8), strict=True):
        expected = norms_of_jacobians(s.softmax(-1)).median().item()
        assert numbers(curve)[i].item() == pytest.approx(expected, abs=1e-6)


def norms_of_jacobians(p):
    return (torch.diag_embed(p) - p[:, :, None] * p[:, None, :]).flatten(1).norm(dim=1)


def test_the_norm_of_the_jacobian_by_hand():
    p = torch.tensor([[0.5, 0.5], [1.0, 0.0]], dtype=torch.float64)  # J = [[.25, -.25], [-.25, .25]], and zeros
    assert jacobian_norm(p).tolist() == pytest.approx([0.5, 0.0])


# ── properties ──


@every_view
def test_an_output_is_whole_in_itself(make):
    view = make()
    html = html_of(view)
    assert not re.search(r"https?://|\bid=|\bimport\b|^export\b", html, re.MULTILINE)
    assert unescape(re.search(r'<img alt="([^"]+)"', html)[1]) == view.picture.alt == repr(view)
    tag = re.match(rf"<(tl-{view.module}-[0-9a-f]{{8}})>", html)[1]
    assert f'define("{tag}", view)' in html
    assert set(view._repr_mimebundle_()) == {"text/plain", "text/html"}


@every_view
def test_equal_views_give_equal_outputs(make):
    torch.manual_seed(0)
    first = html_of(make())
    torch.manual_seed(0)
    assert html_of(make()) == first


def test_no_token_can_end_the_script_or_leave_the_alt_text():
    tokens = ["</script><b>", '"><img>', "&amp;"]
    view = widgets.attention(torch.eye(3), tokens, tokens)
    assert html_of(view).count("</script>") == 2
    assert state_of(view)["queries"] == tokens
    assert unescape(re.search(r'<img alt="([^"]*)"', html_of(view))[1]) == repr(view)


def test_inputs_are_not_changed_and_may_track_gradients():
    query, key = torch.randn(3, 2, requires_grad=True), torch.randn(5, 2)
    before = query.detach().clone()
    widgets.attention_steps(query, key, QUERIES, KEYS)
    assert torch.equal(query, before)


def test_a_small_output_is_small():
    tokens = [f"token{i}" for i in range(12)]
    assert len(html_of(widgets.attention(weights(8, 12, 12), tokens, tokens))) <= 45_000


def test_the_tag_changes_with_the_script(monkeypatch):
    before = re.match("<[^>]*>", html_of(VIEWS["saturation"]()))[0]
    monkeypatch.setattr("transformer_lab.widgets.kit.bundle", lambda module: bundle(module) + " ")
    assert re.match("<[^>]*>", html_of(VIEWS["saturation"]()))[0] != before


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


def test_a_causal_mask_needs_as_many_queries_as_keys():
    with pytest.raises(ValueError, match=r"a causal mask needs as many queries as keys \(3, 5\)"):
        widgets.attention_steps(torch.eye(3), torch.ones(5, 3), QUERIES, KEYS, causal=True)


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (torch.ones(1024), torch.ones(3, 1024), r"query must have the shape \(rows, 1024\) \(its shape is \(1024,\)\)"),
        (
            torch.ones(2, 1024),
            torch.ones(3, 512),
            r"key must have the shape \(rows, 1024\) \(its shape is \(3, 512\)\)",
        ),
        (torch.ones(2, 1024), torch.ones(17, 1024), r"there may be at most 16 keys \(got 17\)"),
    ],
)
def test_saturation_refuses_other_shapes(query, key, message):
    with pytest.raises(ValueError, match=message):
        widgets.saturation(query, key)
