"""The logit lens in a page: torch's numbers for each cell, position and colour; the readout says what is seen."""

from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.lens import SEEN, data, seen


def hover(view, place: int, position: int) -> None:
    """Put the mouse on a guess: the places stand one above the other."""
    view.canvas.scroll_into_view_if_needed()
    at = """({layout: {left, top, size, tall, n}}, [i, t]) => [left + (t + .5) * size, top + (n - i - .5) * tall]"""
    x, y = view.canvas.evaluate(at, [place, position])
    box = view.canvas.bounding_box()
    view.page.mouse.move(box["x"] + x, box["y"] + y)


def test_a_guess_that_is_pointed_at(views):
    view = views["lens"]
    hover(view, 1, 5)
    near(view.values(), seen(position=5, place=1))
    shown = seen(position=5, place=1)
    read, then = (SEEN[int(data["lens_tokens"][t])] for t in (5, 6))
    five = ", ".join(f"“{name}” {p:.3f}" for name, p in zip(shown["best"], shown["probabilities"], strict=True))
    p = shown["truth"][1]
    better = (data["lens_logits"][1, 5] > data["lens_logits"][1, 5, data["lens_tokens"][6]]).sum().item()
    assert view.says() == (
        f"layer 0, after “{read}” (position 5): {five}. "
        f"The true next token is “{then}”: probability {p:.3f}, rank {better + 1}."
    )
    view.page.mouse.move(0, 0)
    near(view.values(), seen(position=5, place=1))  # it stays, so that a finger may leave


def test_keys_go_over_the_guesses(views):
    view = views["lens"]
    view.canvas.focus()
    near(view.values(), seen(position=0, place=0))
    view.press("ArrowUp", "ArrowRight", "ArrowRight")
    near(view.values(), seen(position=2, place=1))
    view.press("End")
    near(view.values(), seen(position=7, place=1))
    assert view.says().endswith("Nothing follows it.")


def test_the_slider_leads_to_a_position(views):
    for name, last in (("lens", 7), ("lens of a long text", 63)):
        views[name].slider.focus()
        views[name].press("End", "ArrowLeft")
        near(views[name].values(), seen(name, position=last - 1))


def test_the_width_of_the_true_next_token(views):
    for name in ("lens", "lens of a long text"):
        view = views[name]
        before = view.picture()[0]
        view.labelled("width: the probability").select_option(label="of the true next token")
        near(view.values(), seen(name, shade="truth"))
        assert view.picture()[0] != before


def test_the_table_has_the_probabilities_that_are_coloured(views):
    view = views["lens"]
    view.button("show as table").click()
    view.values()
    cells = view.root.locator("table td").all_inner_texts()
    assert cells == [f"{p:.3f}" for row in seen()["shade"] for p in row]


# Whether the colour of a pixel (dx, dy) from the middle of a guess is that of the text; and of which colour it is.
PIXEL = """(canvas, [i, t, dx, dy]) => {
    const {left, top, size, tall, n} = canvas.layout, ratio = devicePixelRatio;
    const x = left + (t + .5) * size + dx, y = top + (n - i - .5) * tall + dy;
    return [...canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3);
}"""


def test_right_tokens_are_underlined(views):
    """There is a line below a guess where it is the true next token, and nowhere else."""
    view = views["lens"]
    tokens = [SEEN[i] for i in data["lens_tokens"].tolist()]
    shown = seen()["tokens"]
    for i in range(4):
        marked = [sum(view.canvas.evaluate(PIXEL, [i, t, 4, 12])) < 150 for t in range(8)]
        assert marked == [t < 7 and shown[i][t] == tokens[t + 1] for t in range(8)]


def test_a_thread_is_amber_from_where_the_guess_is_locked(views):
    view, shown = views["lens"], seen()["tokens"]
    for t in range(8):
        lock = max((i + 1 for i in range(4) if shown[i][t] != shown[3][t]), default=0)
        reds = [view.canvas.evaluate(PIXEL, [i, t, 0, -13]) for i in range(4)]
        amber = [red - blue > 60 for red, _, blue in reds]
        assert amber == [i >= lock for i in range(4)], t


def test_the_guesses_rise_layer_by_layer(views):
    view = views["lens"]
    view.button("▶ play").click()
    expect(view.button("❚❚ pause")).to_be_visible()
    view.button("❚❚ pause").click()
    view.canvas.focus()
    view.press("Home")
    near(view.values(), seen(position=0, place=int(view.values()["place"])))
