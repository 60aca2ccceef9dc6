"""The base of the views in Python: how numbers are packed, what comes with them, and the question first."""

import base64
import re
import zlib
from html import unescape

import numpy as np
import pytest
import torch

from tests.view_examples import make
from tests.view_outputs import html_of, state_of
from transformer_lab import widgets
from transformer_lab.widgets.shared.view import MANY_BYTES, packed

# ── packing ──


def test_many_numbers_are_deflated_and_not_one_is_lost():
    x = torch.cat([torch.randn(70, 64).softmax(-1).log(), torch.full((1, 64), -torch.inf)])
    sent = packed(x)
    assert sent["deflated"] is True
    assert sent["shape"] == [71, 64]
    planes = np.frombuffer(zlib.decompress(base64.b64decode(sent["f32"])), np.uint8).reshape(4, -1)
    assert torch.equal(torch.from_numpy(planes.T.copy().view("<f4").reshape(71, 64)), x)
    assert len(sent["f32"]) < 0.85 * len(base64.b64encode(x.numpy().tobytes()))


def test_few_numbers_are_as_they_are():
    assert "deflated" not in packed(torch.randn(MANY_BYTES // 4))
    assert "deflated" in packed(torch.randn(MANY_BYTES // 4 + 1))


@pytest.mark.parametrize(("n", "kilobytes"), [(12, 82), (64, 260)])
def test_outputs_of_eight_heads_are_as_small_as_was_promised(n, kilobytes):
    weights = (2 * torch.randn(8, n, n, generator=torch.Generator().manual_seed(0))).softmax(-1)
    tokens = [f"token{i}" for i in range(n)]
    for show in (widgets.attention, widgets.heads):
        assert len(html_of(show(weights, tokens, tokens)).encode()) <= 1000 * kilobytes


# ── predict first ──


def test_predict_puts_the_question_into_the_state():
    view = make("saturation").predict("How much?", ["<b>", "c"], "c", "it is 0.50")
    asked = {"question": "How much?", "choices": ["<b>", "c"], "answer": 1, "because": "it is 0.50"}
    assert state_of(view)["predict"] == asked
    assert unescape(re.search(r'<img alt="([^"]+)"', html_of(view))[1]) == repr(view) == repr(make("saturation"))


def test_where_no_script_runs_the_picture_is_folded_away_behind_the_question():
    view = make("saturation").predict("How much?", ["<b>", "a", "c"], "c", "it is 0.50")
    seen = html_of(view).split("<script")[0]
    question = "Predict first. How much? (<b>, a or c)"
    folded = re.search(r"<details [^>]*><summary>([^<]+)</summary><p>c: it is 0.50</p><img [^>]+></details>", seen)
    assert unescape(folded[1]) == f"{question} Then open the picture."
    assert "<img" not in seen.replace(folded[0], "")
    assert view._repr_mimebundle_()["text/plain"] == question
    assert "<details" not in html_of(make("saturation"))


def test_where_no_script_runs_a_picture_that_gives_nothing_away_is_shown_and_the_answer_is_folded():
    view = make("saturation").predict("How much?", ["a", "<c>"], "<c>", "it is 0.50", shown=True)
    seen = html_of(view).split("<script")[0]
    folded = re.search(r"<details><summary>[^<]+ Then open the answer.</summary><p>([^<]+)</p></details>", seen)
    assert unescape(folded[1]) == "<c>: it is 0.50"
    assert "<img" in seen.replace(folded[0], "")
    assert state_of(view)["predict"]["shown"] is True


def test_a_question_of_the_lessons_is_asked_by_its_name():
    sentence = torch.tensor([[0.0, 0.0], [4.5, 0.0], [1.0, 1.0]])
    words = ["the", "money", "bank"]
    asked = state_of(widgets.attention_steps(sentence, sentence, words, words).ask("01 cold"))["predict"]
    assert asked["choices"][asked["answer"]] == "all words alike"
    assert asked["because"] == "its largest weight is 0.33, and its smallest 0.33"


def test_the_answer_follows_from_what_the_view_holds():
    sentence = torch.tensor([[1.0, 0.0], [4.5, 0.0], [1.0, 1.0]])  # now `the` has a direction
    words = ["the", "money", "bank"]
    asked = state_of(widgets.attention_steps(sentence, sentence, words, words).ask("01 cold"))["predict"]
    assert asked["choices"][asked["answer"]] == "money"
    scores = torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    asked = state_of(widgets.mask_playground(scores, ["Je", "suis"]).ask("05 leak"))["predict"]
    assert asked["choices"][asked["answer"]] == "1"


def test_a_question_must_be_among_those_of_the_lessons():
    with pytest.raises(ValueError, match=r"there must be a question of that name \('02' is none of 01 cold, "):
        make("saturation").ask("02")


def test_the_answer_must_be_among_the_choices():
    with pytest.raises(ValueError, match=r"the answer must be one of the choices \['a', 'b'\] \(it is 'c'\)"):
        make("saturation").predict("Which?", ["a", "b"], "c", "")
