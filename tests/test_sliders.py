"""A slider moves the picture; without a kernel the picture at the start is still there."""

import json

import pytest

from transformer_lab import plots, widgets


def draw(height, width):
    return plots.plot_bars({"a": [height, width]}, ["one", "two"])


@pytest.fixture
def view():
    return widgets.slider_view(draw, alt="two bars", height=(0.0, 2.0, 1.0), width=(1.0, 5.0, 3.0))


def picture(height, width):
    return plots.show(draw(height, width), "two bars").png()


def test_the_picture_follows_each_slider(view):
    assert view.image.value == picture(1.0, 3.0)
    view.sliders["height"].value = 2.0
    assert view.image.value == picture(2.0, 3.0)
    view.sliders["width"].value = 1.0
    assert view.image.value == picture(2.0, 1.0)


def test_sliders_cannot_leave_their_range(view):
    view.sliders["height"].value = 99
    assert view.sliders["height"].value == 2.0
    assert view.image.value == picture(2.0, 3.0)


def test_an_output_holds_the_widget_and_the_picture_at_the_start(view):
    view.sliders["height"].value = 2.0
    data, metadata = view._repr_mimebundle_()
    assert data["text/plain"] == "two bars"
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == view.box.model_id
    assert 'alt="two bars"' in data["text/html"]
    assert data["image/png"] == view.start._repr_mimebundle_()[0]["image/png"]
    assert metadata["image/png"]["alt"] == "two bars"
    json.dumps(data)


@pytest.mark.parametrize("limits", [(0.0, 1.0, 2.0), (0.0, 1.0, -1.0), (1.0, 0.0, 0.5)])
def test_a_start_outside_the_range_is_refused(limits):
    with pytest.raises(ValueError, match=r"a slider's start must lie within its range \(height: .*, start "):
        widgets.slider_view(draw, alt="x", height=limits)


def test_a_view_without_alt_text_is_refused():
    with pytest.raises(ValueError, match="alt must say"):
        widgets.slider_view(draw, alt=" ", height=(0.0, 1.0, 0.5), width=(0.0, 1.0, 0.5))
