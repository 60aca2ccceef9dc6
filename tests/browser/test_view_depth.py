"""Residual flow in a page: the measured norms at each depth, for the kinds that are chosen."""

from tests.browser.live import near
from tests.view_examples.depth import flowing


def test_the_slider_chooses_the_depth(views):
    view = views["depth"]
    view.slider.focus()
    view.press("ArrowLeft")
    near(view.values(), flowing(at=1))
    # 0.1⁵ and 1.1⁵ = 1.61
    assert view.says() == (
        "5 layers. Gradient at the first layer, relative to the last: alone 1e-5, around 1.6. "
        "Activations at the end, relative to the start: alone 1e-5, around 1.6."
    )


def test_a_kind_can_be_hidden(views):
    view = views["depth"]
    view.labelled("alone").uncheck()
    near(view.values(), flowing(kinds=("around",)))
    view.labelled("around").uncheck()
    assert view.says() == "Choose at least one kind of stack."
    view.labelled("alone").check()
    near(view.values(), flowing(kinds=("alone",)))


def test_keys_and_mouse_read_a_layer(views):
    view = views["depth"]
    view.canvas.focus()
    assert view.says().startswith(
        "12 layers, before the first. Activations: alone 1, around 1. Gradient: alone 1e-12, around 3.1."
    )
    view.press("End", "ArrowLeft")
    read = "12 layers, after layer 11. Activations: alone 1e-11, around 2.9. Gradient: alone 0.1, around 1.1."
    assert view.says() == read
    view.slider.focus()
    assert "after layer" not in view.says()
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    for panel in view.canvas.evaluate("canvas => canvas.layout.panels"):
        x, ground = box["x"] + panel["x"] + panel["width"] / 2, box["y"] + panel["ground"]
        view.page.mouse.move(x, ground - 11 * panel["storey"])
        assert view.says() == read
        view.page.mouse.move(x, ground - 8 * panel["storey"])
        assert view.says() != read


def test_the_layer_stays_within_a_shallower_stack(views):
    view = views["depth"]
    view.canvas.hover()
    view.slider.focus()
    view.press("Home")
    near(view.values(), flowing(at=0))
    assert view.says().startswith("2 layers")


def test_the_table_has_every_layer(views):
    view = views["depth"]
    view.button("show as table").click()
    view.values()
    rows = view.root.locator("tr").all_inner_texts()
    top = ["layer", "activations, alone", "activations, around", "gradient, alone", "gradient, around"]
    assert rows[0].split("\t") == top
    assert rows[2].split("\t") == ["1", "0.1", "1.1", "1e-11", "2.9"]
    assert len(rows) == 14
