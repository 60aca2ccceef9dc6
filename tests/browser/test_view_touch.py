"""A finger reads what a mouse reads: what has been tapped is said, and stays to be read."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.live import COUNT, FRAMES, Live, in_a_page
from tests.view_examples import html

# Examples, and which places of the first canvas hold something to read, as shares of its width and height.
READ = {
    "given": [(0.5, 0.5), (0.7, 0.8)],
    "training": [(0.3, 0.4)],
    "heads": [(0.8, 0.75)],
    "induction": [(0.1, 0.2)],
    "lens": [(0.5, 0.5), (0.8, 0.7)],
    "masks": [(0.3, 0.6)],
    "tiles": [(0.3, 0.5)],
    "depth": [(0.7, 0.3)],
    "decoding": [(0.18, 0.13)],
    "arcs": [(0.02, 0.36), (0.5, 0.85)],
}


@pytest.fixture(scope="module")
def touched(browser) -> Iterator[Page]:
    """A page on a screen that is touched."""
    context = browser.new_context(viewport={"width": 1000, "height": 900}, has_touch=True)
    page = context.new_page()
    page.add_init_script(COUNT)
    yield page
    context.close()


def at(view: Live, place: tuple[float, float]) -> tuple[float, float]:
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    return box["x"] + place[0] * box["width"], box["y"] + place[1] * box["height"]


@pytest.mark.parametrize("name", READ)
def test_a_tap_is_read_like_the_mouse_and_stays(blank, touched, name):
    for place in READ[name]:
        with in_a_page(blank, html(name)) as (page, view):
            before = view.says()
            page.mouse.click(*at(view, place))
            by_mouse = view.says()
        assert by_mouse != before
        with in_a_page(touched, html(name)) as (page, view):
            page.touchscreen.tap(*at(view, place))
            page.evaluate(FRAMES)
            assert view.says() == by_mouse
