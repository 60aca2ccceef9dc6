"""The view of trainings by rewards in Python: what it carries, says and draws, and what is refused."""

import copy
import math

import pytest

from tests.view_examples.rewards import data
from tests.view_outputs import state_of
from transformer_lab import widgets
from transformer_lab.widgets.views.rewards.rewards_picture import DOOR, FROM, THICKEST, draw_rewards

RUNS = data["reward_runs"]


def test_the_view_carries_all_runs_and_where_it_begins():
    state = state_of(widgets.rewards(RUNS, "digit", step=4))
    assert state["runs"] == RUNS
    assert (state["run"], state["step"]) == (2, 3)  # the last of the arm's seeds
    assert state_of(widgets.rewards(RUNS, "digit", 0, step=1))["run"] == 1


def test_the_summary_counts():
    one = RUNS[1]["steps"][2]
    assert repr(widgets.rewards(RUNS, "digit", 0, step=3)) == (
        "Rewarded by “digit”, seed 0, step 3 of 6: of 6 answers to 00012 (right: 3) "
        f"{sum(one['rewards'])} are rewarded and 2 right; of all answers 40 % are rewarded and "
        f"{100 * one['right']:.0f} % right."
    )


def test_the_threads_of_the_picture_are_as_thick_as_answers_are_probable():
    group, curves = draw_rewards(RUNS[1]["steps"], 2).axes
    one = RUNS[1]["steps"][2]
    assert len(group.collections) == len(one["texts"])
    for thread, before, after in zip(group.collections, one["before"], one["after"], strict=True):
        corners = thread.get_paths()[0].vertices
        for x, chance in ((FROM, before), (DOOR, after)):
            heights = corners[corners[:, 0] == x, 1]
            assert heights.max() - heights.min() == pytest.approx(THICKEST * math.exp(chance), rel=1e-6)
    assert list(curves.lines[0].get_ydata()) == [step["rewarded"] for step in RUNS[1]["steps"]]


def test_the_doors_of_the_picture_are_those_of_the_verifier():
    one = RUNS[1]["steps"][2]
    pairs = list(zip(one["rewards"], one["exact"], strict=True))
    doors = {"✓ right": (1, 1), "✗ side door": (1, 0)}
    written = {text.get_text() for text in draw_rewards(RUNS[1]["steps"], 2).axes[0].texts}
    assert {f"{name}\n{pairs.count(pair)} of 6" for name, pair in doors.items() if pair in pairs} <= written
    assert f"no reward\n{6 - sum(one['rewards'])} of 6" in written


def test_rewards_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match=r"a run of that arm and seed \(there is none of 'luck' and None\)"):
        widgets.rewards(RUNS, "luck")
    with pytest.raises(ValueError, match=r"step must be from 1 to 6 \(got 7\)"):
        widgets.rewards(RUNS, "digit", step=7)
    uneven = copy.deepcopy(RUNS)
    uneven[0]["steps"][1]["after"].pop()
    with pytest.raises(ValueError, match=r"must be equally long \(not so in 'right'\)"):
        widgets.rewards(uneven, "digit", step=1)
