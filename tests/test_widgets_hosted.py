"""A view as a widget; what it shows in a page: tests/browser/test_view_hosted.py."""

import pytest

from tests.view_examples import make


def test_a_widget_has_the_state_of_its_view_and_then_that_of_the_next():
    widget = make("saturation").as_widget()
    assert widget.state == make("saturation").state
    other = make("saturation").predict("How much?", ["a", "b"], "b", "")
    widget.show(other)
    assert widget.state == other.state


def test_a_widget_takes_no_view_of_another_kind():
    widget = make("saturation").as_widget()
    with pytest.raises(ValueError, match=r"views of one kind, saturation \(this one is heads\)"):
        widget.show(make("heads"))
    assert widget.state == make("saturation").state
