"""The tiles in a page: buttons, keys and slider step, and each step shows torch's numbers."""

from tests.browser.live import near
from tests.view_examples.tiles import data, shown, walk


def test_buttons_step_and_stop_at_the_ends(views):
    view, scores = views["tiles"], data["tile_scores"]
    view.button("◀ back").click()
    near(view.values(), shown(scores, 2, 0))
    for step in range(1, 9):
        view.button("forward ▶").click()
        near(view.values(), shown(scores, 2, step))
    view.button("forward ▶").click()
    near(view.values(), shown(scores, 2, 8))
    view.button("◀ back").click()
    near(view.values(), shown(scores, 2, 7))


def test_the_letters_n_and_p_step(views):
    view, scores = views["tiles"], data["tile_scores"]
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


def test_tiles_of_the_future_are_left_out(views):
    view, scores = views["tiles"], data["tile_scores"]
    view.labelled("causal").check()
    view.slider.focus()
    for step in range(6):
        near(view.values(), shown(scores, 2, step, causal=True))
        view.press("ArrowRight")


def test_the_readout(views):
    view = views["tiles"]
    assert view.says().startswith(
        "Tile 1 of 9: queries the to <b>cat</b>, keys the to <b>cat</b>. In fast memory: 2,080 "
    )
    view.hover(0, 1)
    score = f"{data['tile_scores'][0, 1].item():.2f}".replace("-", "−")
    assert view.says() == f"query the, key <b>cat</b>: score {score}."
    view.hover(4, 4)
    assert view.says() == "query a, key a: not in memory now."
