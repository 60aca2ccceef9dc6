"""A view as a widget; what it shows in a page: tests/browser/test_view_hosted.py."""

import numpy as np
import pytest

from tests.view_examples import make
from transformer_lab.widgets import kit


def test_a_widget_has_the_state_of_its_view_with_numbers_as_bytes_and_then_that_of_the_next():
    view = make("saturation")
    widget = view.as_widget()
    scores = np.frombuffer(widget.state["scores"]["f32"], dtype="<f4").reshape(widget.state["scores"]["shape"])
    assert np.array_equal(scores, view.state["scores"].numpy())
    assert widget.state["norms"][0]["f32"] == view.state["norms"][0].numpy().astype("<f4").tobytes()
    assert widget.state["widths"] == view.state["widths"]
    widget.show(make("saturation").predict("How much?", ["a", "b"], "b", ""))
    assert widget.state["predict"]["choices"] == ["a", "b"]


def test_a_widget_draws_no_picture_for_a_page_that_is_live_anyway(monkeypatch):
    monkeypatch.setattr(kit, "show", None)
    widget = make("saturation").as_widget()
    widget.show(make("saturation"))
    with pytest.raises(TypeError, match="not callable"):
        make("saturation").html()


def test_a_widget_takes_no_view_of_another_kind():
    widget = make("saturation").as_widget()
    with pytest.raises(ValueError, match=r"views of one kind, saturation \(this one is heads\)"):
        widget.show(make("heads"))
    assert "widths" in widget.state
