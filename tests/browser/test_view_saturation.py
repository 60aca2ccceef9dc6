"""Softmax saturation in a page: torch's numbers at each width, with the scale and without."""

from tests.browser.live import Live, near
from tests.view_examples.saturation import saturated


def test_saturation_follows_its_width_and_its_scale(views):
    view = views["saturation"]
    view.slider.focus()
    view.press("ArrowLeft", "ArrowLeft")
    near(view.values(), saturated(round(2**9.5)))
    view.labelled("÷ √d_k").check()
    near(view.values(), saturated(round(2**9.5), scaled=True))
    view.press("Home")
    near(view.values(), saturated(round(2**9.5), scaled=True))  # a checkbox has the focus
    view.slider.focus()
    view.press("Home")
    near(view.values(), saturated(1, scaled=True))
    assert view.says().startswith("d_k = 1, scores divided by √d_k: largest weight ")


def weights_of(view: Live) -> list[str]:
    return [f"{weight:.3f}" for weight in view.values()["weights"]]


def test_keys_and_mouse_read_the_weight_of_a_key(views):
    view = views["saturation"]
    weights = weights_of(view)
    view.canvas.focus()
    for key, i in (("ArrowLeft", 0), ("ArrowRight", 1), ("End", 7), ("ArrowRight", 7), ("ArrowLeft", 6), ("Home", 0)):
        view.press(key)
        assert view.says().endswith(f" Key {i + 1}: weight {weights[i]}."), key
    by_keys = view.picture()
    view.slider.focus()
    assert "Key" not in view.says()
    assert view.picture() != by_keys
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    x, y, wide = view.canvas.evaluate("canvas => [canvas.layout.x, canvas.layout.y, canvas.layout.width]")
    for i in (0, 7):
        view.page.mouse.move(box["x"] + x + wide * (i + 0.5) / 8, box["y"] + y + 20)
        assert view.says().endswith(f" Key {i + 1}: weight {weights[i]}.")
    view.page.mouse.move(box["x"] + x + wide + 60, box["y"] + y + 20)
    assert "Key" not in view.says()


def test_the_table_has_the_weights(views):
    view = views["saturation"]
    view.button("show as table").click()
    weights = weights_of(view)
    rows = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    assert rows == [["key", "weight"], *([str(i), weight] for i, weight in enumerate(weights, start=1))]
