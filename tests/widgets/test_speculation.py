"""Speculation in Python: what the view carries, what its summary says, and what is refused."""

import pytest
import torch

from tests.view_examples.speculation import data
from tests.view_outputs import numbers, state_of
from transformer_lab import Speculation, widgets

LETTERS = data["few_letters"]


def test_the_view_carries_the_run():
    written = data["speculated"]
    state = state_of(widgets.speculation(written, LETTERS))
    assert state["names"] == LETTERS
    assert numbers(state["prompt"]).tolist() == [0, 1, 4]
    tables = [numbers(state[name]) for name in ("drafted", "accepted", "written", "p", "q")]
    assert tables[0].shape == (24, 4)  # a row for each new token, though fewer rounds were needed
    text = []
    for row, one in enumerate(written.rounds):
        drafted, accepted, own, p, q = (table[row] for table in tables)
        n = len(one.drafted)
        text += [*drafted[: int(accepted)].int().tolist(), int(own)]
        assert drafted[n:].tolist() == [-1] * (4 - n)
        assert q[:n].tolist() == [one.q[i, token].item() for i, token in enumerate(one.drafted)]
        assert p[:n].tolist() == [one.p[i, token].item() for i, token in enumerate(one.drafted)]
    assert text == written.tokens[3:].tolist()
    assert tables[1][len(written.rounds) :].tolist() == [-1] * (24 - len(written.rounds))


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
