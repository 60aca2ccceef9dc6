"""The tiles in a page: buttons, keys and slider step, and each step shows torch's numbers."""

import pytest
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.tiles import data, shown, walk


@pytest.fixture
def at_first(views):
    """The view at its first tile."""
    view = views["tiles"]
    view.slider.fill("0")
    return view


def test_buttons_step_and_stop_at_the_ends(at_first):
    view, scores = at_first, data["tile_scores"]
    view.button("◀ back").click()
    near(view.values(), shown(scores, 2, 0))
    for step in range(1, 9):
        view.button("forward ▶").click()
        near(view.values(), shown(scores, 2, step))
    view.button("forward ▶").click()
    near(view.values(), shown(scores, 2, 8))
    view.button("◀ back").click()
    near(view.values(), shown(scores, 2, 7))


def test_the_letters_n_and_p_step(at_first):
    view, scores = at_first, data["tile_scores"]
    view.canvas.focus()
    view.press("n", "n", "n", "p")
    near(view.values(), shown(scores, 2, 2))


def test_the_slider_leads_to_a_tile(views):
    view = views["causal tiles"]
    view.slider.focus()
    view.press("End")
    last = len(walk(7, 7, 3, True)) - 1
    near(view.values(), shown(data["more_scores"], 3, last, causal=True, d_head=8))


def test_another_size_begins_anew(views):
    view, scores = views["tiles"], data["tile_scores"]
    view.button("forward ▶").click()
    view.labelled("size of a tile").select_option(label="4 × 4")
    near(view.values(), shown(scores, 4, 0))
    view.slider.focus()
    view.press("End")
    near(view.values(), shown(scores, 4, 3))
    view.button("reset").click()
    near(view.values(), shown(scores, 2, 4))


def test_tiles_of_the_future_are_left_out(views):
    view, scores = views["tiles"], data["tile_scores"]
    view.labelled("causal").check()
    view.slider.focus()
    for step in range(6):
        near(view.values(), shown(scores, 2, step, causal=True))
        view.press("ArrowRight")


def test_the_readout(at_first):
    view = at_first
    assert view.says().startswith(
        "Tile 1 of 9: queries the to <b>cat</b>, keys the to <b>cat</b>. In fast memory: 2,080 "
    )
    view.hover(0, 1)
    score = f"{data['tile_scores'][0, 1].item():.2f}".replace("-", "−")
    assert view.says() == f"query the, key <b>cat</b>: score {score}."
    view.hover(4, 4)
    assert view.says() == "query a, key a: not in memory now."


def test_the_desk_stays_and_the_sheet_grows_with_the_text(views):
    view, scores = views["tiles"], data["tile_scores"]
    near(view.values(), shown(scores, 2, 4))
    for length in (16, 2048, 65536):  # the desk is the larger one of the first
        view.labelled("text").fill(str(length.bit_length() - 1))
        near(view.values(), shown(scores, 2, 4, length=length))
        assert f"All scores of {length:,} tokens would be {4 * length**2:,} bytes" in view.says()


def test_the_tiles_play_to_the_last(views):
    view, scores = views["tiles"], data["tile_scores"]
    view.slider.fill("7")
    view.button("▶ play").click()
    expect(view.button("❚❚ pause")).to_be_visible()
    expect(view.slider).to_have_value("8")
    expect(view.button("▶ play")).to_be_visible()
    near(view.values(), shown(scores, 2, 8))


def test_the_sheet_is_lit_where_it_is_read_and_a_ghost_elsewhere(at_first):
    """How far each score on the sheet is from the paper, before its tile is read, meanwhile and afterwards."""
    view = at_first
    strength = """canvas => {
        const {left, top, size} = canvas.layout, ratio = devicePixelRatio;
        const at = (x, y) => [...canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3)];
        const paper = [251, 250, 246];
        return [0, 1].map(s => Math.hypot(...at(left + s * size + 6, top + 6).map((c, i) => c - paper[i])));
    }"""
    view.button("forward ▶").click()
    view.values()  # the next frame is drawn
    read = view.canvas.evaluate(strength)
    view.button("◀ back").click()
    view.values()
    here = view.canvas.evaluate(strength)
    assert all(0 < pale < lit for pale, lit in zip(read, here, strict=True))


def test_a_phone_shows_the_sheet_and_the_desk_at_once(views):
    view = views["tiles"]
    view.page.set_viewport_size({"width": 390, "height": 844})
    try:
        desk = view.root.locator("canvas").nth(1)
        expect(desk).to_be_visible()
        top, below = view.button("▶ play").bounding_box(), desk.bounding_box()
        assert below["y"] + below["height"] - top["y"] < 730
    finally:
        view.page.set_viewport_size({"width": 1280, "height": 1000})


def test_the_desk_stands_below_the_sheet_where_it_is_narrow(views):
    view = views["tiles"]
    desk = view.root.locator("canvas").nth(1)
    expect(desk).to_be_hidden()
    view.page.set_viewport_size({"width": 390, "height": 900})
    try:
        expect(desk).to_be_visible()
        near(view.values(), shown(data["tile_scores"], 2, 4))
    finally:
        view.page.set_viewport_size({"width": 1280, "height": 1000})
        expect(desk).to_be_hidden()
