"""The logit lens in a page: torch's numbers for each cell, position and colour; the readout says what is seen."""

from tests.browser.live import near
from tests.view_examples.lens import SEEN, data, seen


def test_a_cell_that_is_pointed_at(views):
    view = views["lens"]
    view.hover(1, 5)
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


def test_keys_go_over_the_cells(views):
    view = views["lens"]
    view.canvas.focus()
    near(view.values(), seen(position=0, place=0))
    view.press("ArrowDown", "ArrowRight", "ArrowRight")
    near(view.values(), seen(position=2, place=1))
    view.press("End")
    near(view.values(), seen(position=7, place=1))
    assert view.says().endswith("Nothing follows it.")


def test_the_slider_leads_to_a_position(views):
    for name, last in (("lens", 7), ("lens of a long text", 63)):
        views[name].slider.focus()
        views[name].press("End", "ArrowLeft")
        near(views[name].values(), seen(name, position=last - 1))


def test_the_colour_of_the_true_next_token(views):
    for name in ("lens", "lens of a long text"):
        view = views[name]
        before = view.picture()[0]
        view.labelled("colour: the probability").select_option(label="of the true next token")
        near(view.values(), seen(name, shade="truth"))
        assert view.picture()[0] != before


def test_the_table_has_the_probabilities_that_are_coloured(views):
    view = views["lens"]
    view.button("show as table").click()
    view.values()
    cells = view.root.locator("table td").all_inner_texts()
    assert cells == [f"{p:.3f}" for row in seen()["shade"] for p in row]


def test_right_tokens_are_marked(views):
    """The corner of a cell is painted where the most probable token is the true one, and nowhere else."""
    view = views["lens"]
    corner = """(canvas, [i, t]) => {
        const {left, top, size} = canvas.layout, ratio = devicePixelRatio;
        const at = (dx, dy) => [...canvas.getContext('2d').getImageData(
            (left + t * size + dx) * ratio, (top + i * size + dy) * ratio, 1, 1).data].join();
        return at(2, size - 4) !== at(size - 4, 2);
    }"""
    tokens = [SEEN[i] for i in data["lens_tokens"].tolist()]
    shown = seen()["tokens"]
    for i in range(4):
        marked = [view.canvas.evaluate(corner, [i, t]) for t in range(8)]
        assert marked == [t < 7 and shown[i][t] == tokens[t + 1] for t in range(8)]
