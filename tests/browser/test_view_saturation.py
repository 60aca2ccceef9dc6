"""Softmax saturation in a page: torch's numbers at each width, with the scale and without."""

from live import near

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
