"""Shift as a rotation in a page: torch's arrows at each position and offset, and rotary scores."""

import pytest
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.shift import broken, rotated, shifted


def test_the_sliders_move_position_and_offset(views):
    view = views["shift"]
    view.labelled("position p").fill("40")
    near(view.values(), shifted(position=40))
    view.labelled("offset k").fill("-17")
    near(view.values(), shifted(position=40, offset=-17))
    assert view.values()["residual"] < 1e-12
    assert view.says().startswith("M₋₁₇ PE(40) = PE(23): the residual, ")


def test_there_is_no_position_below_zero(views):
    view = views["shift"]
    view.labelled("offset k").fill("-20")
    near(view.values(), shifted(position=3, offset=-3))
    assert view.labelled("offset k").input_value() == "-3"


def test_two_speeds_in_a_pair_leave_a_residual(views):
    view = views["shift"]
    view.labelled("break it: two speeds in a pair").check()
    near(view.values(), broken())
    assert view.values()["residual"] > 0.1
    assert view.says().startswith("M₅ PE(3) ≠ PE(8): the residual, the largest difference of a feature, is ")


def test_the_score_stays_when_both_move(views):
    view = views["rope"]
    score = view.values()["score"]
    view.labelled("both +").fill("88")
    near(view.values(), rotated(query=100, key=93))
    assert view.values()["score"] == pytest.approx(score, abs=1e-9)
    view.labelled("key at").fill("30")
    near(view.values(), rotated(query=100, key=118))
    assert view.says().startswith("Query at 100, key at 118, −18 apart: ")


def test_the_tabs_change_what_is_shown(views):
    view = views["shift"]
    view.button("RoPE").click()
    near(view.values(), rotated())
    view.labelled("query at").fill("20")
    near(view.values(), rotated(query=20))
    view.button("shift of an encoding").click()
    near(view.values(), shifted())


def test_keys_and_mouse_read_the_numbers_of_a_pair(views):
    view = views["shift"]
    view.canvas.focus()
    view.press("ArrowRight")
    # pair 1 turns by 0.1 a position: sin 0.3, cos 0.3, and sin 0.8, cos 0.8
    read = " Pair 1: (0.296, 0.955) is turned to (0.717, 0.697); PE(8) has (0.717, 0.697)."
    assert view.says().endswith(read)
    view.button("show as table").focus()
    assert "Pair" not in view.says()
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    cell = view.canvas.evaluate("canvas => canvas.layout.cells[1]")
    view.page.mouse.move(box["x"] + cell["x"] + cell["width"] / 2, box["y"] + cell["y"] + cell["height"] / 2)
    assert view.says().endswith(read)


def test_the_table_has_every_feature(views):
    view = views["shift"]
    view.button("show as table").click()
    view.values()
    rows = view.root.locator("tr").all_inner_texts()
    assert rows[0].split("\t") == ["feature", "PE(3)", "M₅ PE(3)", "PE(8)"]
    assert rows[3].split("\t") == ["2", "0.295520", "0.717356", "0.717356"]
    assert len(rows) == 9


def at(view, x: float, y: float) -> tuple[float, float]:
    """Where a point of the picture is in the page; x is a position on the strips, or on the ruler."""
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    last = 80 if view.values()["tab"] == "shift" else 160
    return box["x"] + 14 + x * (box["width"] - 28) / last, box["y"] + y


UPPER, LOWER, LINE = 80, 240, 62  # heights within the two strips, and that of the ruler


def test_the_strip_follows_the_hand_and_snaps_to_the_next_place(views):
    view, mouse = views["shift"], views["shift"].page.mouse
    mouse.move(*at(view, 20, LOWER))
    mouse.down()
    mouse.move(*at(view, 23.4, LOWER), steps=3)
    near(view.values(), shifted(offset=8))
    between = view.picture()
    mouse.up()
    near(view.values(), shifted(offset=8))
    assert view.picture() != between, "it lay between two places"
    expect(view.labelled("offset k")).to_have_value("8")


def test_a_strip_stops_where_its_position_would_be_below_zero(views):
    view, mouse = views["shift"], views["shift"].page.mouse
    mouse.move(*at(view, 40, LOWER))
    mouse.down()
    mouse.move(*at(view, 10, LOWER), steps=3)
    mouse.up()
    near(view.values(), shifted(position=3, offset=-3))


def test_a_press_on_the_upper_strip_chooses_a_position(views):
    view, mouse = views["shift"], views["shift"].page.mouse
    mouse.move(*at(view, 30.2, UPPER))
    mouse.down()
    mouse.up()
    near(view.values(), shifted(position=30))
    mouse.move(*at(view, 50, UPPER))
    near(view.values(), shifted(position=30))


@pytest.mark.parametrize(("place", "moved"), [(12, {"query": 22}), (5, {"key": 15}), (80, {"query": 22, "key": 15})])
def test_query_and_key_are_dragged_along_the_ruler_or_both(views, place, moved):
    view, mouse = views["rope"], views["rope"].page.mouse
    mouse.move(*at(view, place, LINE))
    mouse.down()
    mouse.move(*at(view, place + 10, LINE), steps=3)
    mouse.up()
    near(view.values(), rotated(**moved))
