"""The view of five designs in Python: what it carries, says and draws, and what is refused."""

import matplotlib.patches
import pytest

from tests.view_examples.designs import shown
from tests.view_outputs import state_of
from transformer_lab import widgets
from transformer_lab.analysis.designs import PUBLISHED, alike
from transformer_lab.widgets.views.designs.designs_picture import draw_designs


def test_the_view_carries_both_sets_and_where_it_begins():
    state = state_of(widgets.designs("all at one size", 100_000))
    assert [one["name"] for one in state["sets"]] == ["as published", "all at one size"]
    assert state["set"] == 1
    assert state["lengths"][state["at"]] == 92_682
    assert state["lengths"][0] == 1
    window = state["sets"][0]["designs"][3]["parts"][1]
    assert (window["n_layers"], window["numbers"], window["window"]) == (40, 2 * 8 * 256, 1024)


def test_the_summary_has_the_bytes():
    kept = shown()["bytes"]
    assert kept[1] == 2 * 2896 * 32 * 2 * 8 * 128
    assert repr(widgets.designs()) == (
        "Five caches after 2,896 tokens: "
        "multi-head 1.52 GB, grouped 380 MB, latent 204 MB, window 525 MB, state 109 MB."
    )


@pytest.mark.parametrize("designs", [PUBLISHED, alike()], ids=["published", "one size"])
@pytest.mark.parametrize("length", [40, 5000])
def test_areas_in_the_picture_are_bytes(designs, length):
    drawn = draw_designs(designs, length, 0.999, 0.5).axes[0]
    filled = [one for one in drawn.patches if one.get_fill()]
    assert all(isinstance(one, matplotlib.patches.Rectangle) for one in filled)
    area = sum(one.get_width() * one.get_height() for one in filled)
    first = sum(one.get_width() * one.get_height() for one in filled[:2])  # keys and values of the first design
    every = sum(design.n_numbers(length) for design in designs)
    assert area / first == pytest.approx(every / designs[0].n_numbers(length))


def test_designs_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match=r"sizes must be one of as published, all at one size \(got small\)"):
        widgets.designs("small")
    with pytest.raises(ValueError, match=r"length \(0\) must be at least 1 and at most 1048576"):
        widgets.designs(length=0)
