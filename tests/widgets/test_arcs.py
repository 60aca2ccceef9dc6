"""The arcs in Python: what they carry, that the drawing of lesson 01 has the same numbers, and what they refuse."""

import math
import re

import pytest
import torch

from tests.notebook_rules import ROOT
from tests.support import DEVICE
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import widgets

MEANINGS = {"money": [4.5, 0.0], "river": [0.0, 4.5], "bank": [1.0, 1.0], "took": [1.0, 0.0]}
SENTENCES = "I took my money to the bank", "We sat on the bank of the river"
FIRST, SECOND = (sentence.split() for sentence in SENTENCES)


def looked_up(words):
    return torch.tensor([MEANINGS.get(word, [0.0, 0.0]) for word in words], device=DEVICE)


def weights_of(x):
    return (x @ x.T / math.sqrt(2)).softmax(-1)


def lesson(word="bank", **more):
    tables = [looked_up(words) for words in (FIRST, SECOND)]
    given = {"values": tables, "features": ["money", "water"], "word": word} | more
    return widgets.arcs([FIRST, SECOND], [weights_of(x) for x in tables], **given)


def test_they_carry_weights_values_and_the_word_of_each_sentence():
    state = state_of(lesson())
    assert torch.equal(numbers(state["weights"][1]), weights_of(looked_up(SECOND)).cpu())
    assert torch.equal(numbers(state["values"][0]), looked_up(FIRST).cpu())
    assert (state["sentences"], state["chosen"], state["names"]) == ([FIRST, SECOND], [6, 4], None)


def test_the_summary_says_where_the_words_look():
    assert repr(lesson()) == (
        "Arcs from a word to those it looks at: bank looks most at money (0.70) in “I took my money to the bank”, "
        "bank looks most at river (0.70) in “We sat on the bank of the river”."
    )
    assert "the looks evenly in " in repr(lesson("the"))


def test_the_drawing_of_lesson_01_shows_the_same_weights():
    """`img/lesson_01.py` computes them anew, without the package."""
    drawing = (ROOT / "img" / "01_bank.svg").read_text("utf-8")
    drawn = [float(number) for number in re.findall(r">(\.\d\d)</text>", drawing)]
    state = state_of(lesson())
    rows = [numbers(w)[at] for w, at in zip(state["weights"], state["chosen"], strict=True)]
    assert drawn == [round(weight, 2) for row in rows for weight in row.tolist()]


def test_the_picture_shows_the_word_and_what_it_becomes():
    pictures = [lesson().picture.png, lesson("the").picture.png, lesson(values=None, features=()).picture.png]
    pictures.append(lesson(names=["a", "b"]).picture.png)
    assert len(set(pictures)) == 4


def test_tokens_may_be_of_any_kind_and_length():
    output = html_of(widgets.arcs([["</script>", 7, "$", "x" * 5000]], [torch.eye(4)]))
    assert output.count("</script>") == 2
    assert len(output) < 90_000


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"values": [torch.zeros(7, 2)]}, r"values must have one entry for each of the 2 sentences \(it has 1\)"),
        ({"names": ["a"]}, r"names must have one entry for each of the 2 sentences \(it has 1\)"),
        ({"values": [torch.zeros(7, 2), torch.zeros(7, 2)]}, r"\(tokens, features\) = \(8, 2\) \(it has \(7, 2\)\)"),
        ({"values": [looked_up(FIRST) / 0, looked_up(SECOND)]}, "values must be finite"),
        ({"features": ()}, r"values and the names of their features go together \(got 0 names\)"),
        ({"word": "river"}, r"the word must be in each sentence \('river' is not in 'I took my money to the bank'\)"),
        ({"features": list("abcdefg")}, r"at most 6 features \(got 7\)"),
    ],
)
def test_arcs_refuse_what_does_not_fit(more, message):
    with pytest.raises(ValueError, match=message):
        lesson(**more)


def test_arcs_refuse_weights_that_would_lie():
    with pytest.raises(ValueError, match=r"each row of weights must sum to 1"):
        widgets.arcs([FIRST], [torch.ones(7, 7)])
    with pytest.raises(ValueError, match=r"must have shape .* = \(7, 7\) \(it has \(7, 8\)\)"):
        widgets.arcs([FIRST], [torch.ones(7, 8) / 8])
    with pytest.raises(ValueError, match=r"a sentence must have 1 to 24 tokens \(got 25\)"):
        widgets.arcs([["a"] * 25], [torch.eye(25)])
    with pytest.raises(ValueError, match=r"there must be 1 to 4 sentences \(got 0\)"):
        widgets.arcs([], [])
