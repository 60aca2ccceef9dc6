"""A view that is live in a page: what it shows and says, and hands to move it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch.testing import assert_close

from transformer_lab.widgets.kit import View

FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Counts what listens to the page and not to a view alone.
COUNT = """
window.listening = new Set();
const count = ({prototype}, counts) => {
    const {observe, disconnect} = prototype;
    prototype.observe = function (...all) { if (counts(...all)) listening.add(this); return observe.apply(this, all); };
    prototype.disconnect = function () { listening.delete(this); return disconnect.call(this); };
};
count(ResizeObserver, () => true);
count(MutationObserver, (_, {attributeFilter}) => attributeFilter);  // the others are Playwright's
const {addEventListener, removeEventListener} = MediaQueryList.prototype;
MediaQueryList.prototype.addEventListener = function (name, act) {
    listening.add(act);
    addEventListener.call(this, name, act);
};
MediaQueryList.prototype.removeEventListener = function (name, act) {
    listening.delete(act);
    removeEventListener.call(this, name, act);
};
"""
# Back to the start, without a table.
RESET = """() => {
    for (const button of document.querySelectorAll('.tl-view button')) {
        const tableIsShown = button.textContent === 'show as table' && button.ariaPressed === 'true';
        if (button.textContent === 'reset' || tableIsShown) button.click();
    }
}"""


@dataclass
class Live:
    """A live view in a page: `root` is what the script has drawn."""

    page: Page
    root: Locator

    def after_a_frame(self, javascript: str):
        """The value of an expression of `root` once the next frame is drawn."""
        return self.root.evaluate(f"async root => {{ await {FRAMES}; return {javascript}; }}")

    def values(self):
        return self.after_a_frame("root.values")

    def picture(self) -> list[str]:
        """The pixels of every canvas."""
        return self.after_a_frame("[...root.querySelectorAll('canvas')].map(canvas => canvas.toDataURL())")

    def says(self) -> str:
        return self.after_a_frame("root.querySelector('.tl-says').textContent")

    def controls(self) -> list:
        """What each control says of itself."""
        return self.root.locator("input, select, button, output").evaluate_all(
            "all => all.map(control => [control.value, control.checked, control.ariaPressed, control.ariaValueText])"
        )

    @property
    def canvas(self) -> Locator:
        return self.root.locator("canvas").first

    @property
    def slider(self) -> Locator:
        return self.root.locator("input[type=range]").first

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def labelled(self, name: str) -> Locator:
        return self.root.get_by_label(name, exact=True)

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def hover(self, t: int, s: int) -> None:
        """Put the mouse in the middle of a cell of the first map."""
        self.canvas.scroll_into_view_if_needed()
        left, top, size = self.canvas.evaluate("canvas => [canvas.layout.left, canvas.layout.top, canvas.layout.size]")
        box = self.canvas.bounding_box()
        self.page.mouse.move(box["x"] + left + (s + 0.5) * size, box["y"] + top + (t + 0.5) * size)

    def move_the_slider(self) -> None:
        """To its least value, or, if it is there, to its greatest."""
        self.slider.focus()
        before = self.slider.input_value()
        self.press("Home")
        if self.slider.input_value() == before:
            self.press("End")


def near(actual, expected) -> None:
    """Equal to 1e-6, texts exactly; the sign for masked, NaN, must stand in the same places."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name, value in expected.items():
            near(actual[name], value)
    elif expected is None or isinstance(expected, str):
        assert actual == expected
    elif isinstance(expected, list) and expected and not is_number(expected):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            near(one, other)
    else:
        both = (torch.tensor(x, dtype=torch.float64) for x in (actual, expected))
        assert_close(*both, atol=1e-6, rtol=0, equal_nan=True)


def is_number(x) -> bool:
    """Whether a list, or a list of lists, holds nothing but numbers."""
    return all(is_number(part) for part in x) if isinstance(x, list) else isinstance(x, int | float)


@contextmanager
def in_a_page(browser: Browser, view: View, style: str = "body { color: black }") -> Iterator[tuple[Page, Live]]:
    """A page of a browser with a view and nothing else; no script may fail in it."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(COUNT)
    page.goto("about:blank")
    page.set_content(f"<!doctype html><style>{style}</style><body>{view.html()}</body>")
    root = page.locator(".tl-view")
    expect(root).to_have_count(1)
    page.evaluate(FRAMES)
    yield page, Live(page, root)
    page.close()
    assert errors == []
