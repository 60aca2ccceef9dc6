"""Speculation in Python: what the view carries, what its summary says, and what is refused."""

import pytest
import torch

from tests.view_examples.speculation import data
from tests.view_outputs import state_of
from transformer_lab import Speculation, widgets

LETTERS = data["few_letters"]


def test_the_view_carries_the_run():
    written = data["speculated"]
    state = state_of(widgets.speculation(written, LETTERS))
    assert state["prompt"] == ["a", "<b>", "d"]
    text = [
        name
        for drafted, n, own in zip(state["drafted"], state["accepted"], state["written"], strict=True)
        for name in [*drafted[:n], own]
    ]
    assert text == [LETTERS[i] for i in written.tokens[3:].tolist()]
    first = written.rounds[0]
    assert state["q"][0] == [first.q[i, token].item() for i, token in enumerate(first.drafted)]
    assert state["p"][0] == [first.p[i, token].item() for i, token in enumerate(first.drafted)]


def test_the_summary_names_the_prompt():
    view = widgets.speculation(data["speculated"], LETTERS)
    assert repr(view) == ("What a draft proposed after “a<b>d”, up to 4 tokens a round, and what the model kept of it.")


def test_speculation_refuses_what_it_cannot_show():
    written = data["speculated"]
    with pytest.raises(ValueError, match=r"there must be 1 to 200 rounds \(got 0\)"):
        widgets.speculation(Speculation(torch.tensor([1]), []), LETTERS)
    with pytest.raises(ValueError, match=r"a name for each of the 5 tokens \(got 2\)"):
        widgets.speculation(written, LETTERS[:2])
    with pytest.raises(ValueError, match=r"must draft 1 to 12 tokens \(got 0\)"):
        widgets.speculation(Speculation(written.tokens, written.rounds[-1:]), LETTERS)
