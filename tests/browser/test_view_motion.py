"""Motion that explains: one step becomes the next before the reader's eyes, unless the reader wants no motion."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.live import COUNT, FRAME_BY_FRAME, SEEN, WATCH, Live, in_a_page, near
from tests.view_examples import html
from tests.view_examples.attention import steps_map

Opened = Callable[[str, str], AbstractContextManager[Live]]


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Opened:
    """A view of a name in a page whose reader wants motion ("no-preference"), or none ("reduce")."""

    @contextmanager
    def open_page(name: str, motion: str) -> Iterator[Live]:
        page = browser.new_page(viewport={"width": 1000, "height": 900}, reduced_motion=motion)
        page.add_init_script(COUNT)
        page.add_init_script(FRAME_BY_FRAME)
        with in_a_page(page, html(name)) as (_, view):
            yield view
        page.close()

    return open_page


@pytest.mark.parametrize(("motion", "least", "most"), [("no-preference", 6, 100), ("reduce", 2, 2)])
def test_scores_become_weights_cell_by_cell(opened: Opened, motion, least, most):
    with opened("causal", motion) as view:
        view.root.evaluate(WATCH)
        view.button("masked").click()
        assert least <= view.page.evaluate(SEEN) <= most
        near(view.values(), steps_map("causal", "masked", causal=True))


@pytest.mark.parametrize(("motion", "least", "most"), [("no-preference", 6, 100), ("reduce", 2, 2)])
def test_beams_grow_and_what_is_cut_pales(opened: Opened, motion, least, most):
    with opened("decoding", motion) as view:
        view.button("beam").click()
        view.slider.focus()
        view.press("Home")
        view.values()  # the next frame is drawn
        view.root.evaluate(WATCH)
        view.button("one step forth").click()
        assert least <= view.page.evaluate(SEEN) <= most
        assert view.values()["step"] == 2


def test_the_steps_play_to_the_last_and_numbers_are_true_at_once(opened: Opened):
    with opened("causal", "no-preference") as view:
        view.button("▶ play").click()
        near(view.values(), steps_map("causal", "scores", causal=True))
        expect(view.button("❚❚ pause")).to_be_visible()
        view.button("scores").click()
        expect(view.button("▶ play")).to_be_visible()
