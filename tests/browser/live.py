"""A view that is live in a page: what it shows and says, and hands to move it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from playwright.sync_api import Locator, Page, expect
from torch.testing import assert_close

from tests.view_examples import start

FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# The sizes of a view's canvases, and a hash of the pixels of each: to write PNGs takes ten times as long. Of a drawing
# in SVG its text, and the colour of the view, from which its style follows.
PICTURE = """(root => ['canvas', 'svg.tl-picture'].flatMap(kind => [...root.querySelectorAll(kind)]).map(canvas => {
    if (canvas.localName === 'svg') return getComputedStyle(root).color + canvas.outerHTML;
    const {width, height} = canvas;
    if (!width || !height || canvas.closest('.tl-zoom[hidden]')) return 'nothing';
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
    let hash = 0;
    for (let i = 0; i < pixels.length; i += 1) hash = Math.imul(hash ^ pixels[i], 16777619) ^ (hash >>> 15);
    return `${width} × ${height}: ${hash}`;
}))"""
# Each frame takes a sixtieth of a second, however long this machine takes for it: what moves is seen on its way.
FRAME_BY_FRAME = """{
    const request = window.requestAnimationFrame;
    let now = 0, last = null;
    window.requestAnimationFrame = act => request(time => {
        if (time !== last) [now, last] = [now + 1000 / 60, time];
        act(now);
    });
}"""
# Notes the picture of each frame from now on; and how many different ones there were a hundred frames later.
WATCH = f"""root => {{
    const note = () => {{ seen.add({PICTURE}(root).join()); requestAnimationFrame(note); }};
    window.seen = new Set();
    note();
}}"""
SEEN = """async () => {
    for (let frame = 0; frame < 100; frame += 1) await new Promise(requestAnimationFrame);
    return seen.size;
}"""
# Text and background as JupyterLab's themes have them.
PAGE = """<!doctype html>
<style>
  body { margin: 12px; background: #fff; color: rgba(0, 0, 0, .87) }
  body[data-jp-theme-light=false] { background: #111; color: #fff }
</style>
<body data-jp-theme-light="true">"""
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
# Back to the start, without a table; but no view that nothing has happened to since.
RESET = """() => {
    if (!window.touched) {
        window.touched = new Set(document.querySelectorAll('.tl-view'));
        const note = ({target}) => { if (target.closest?.('.tl-view')) touched.add(target.closest('.tl-view')); };
        for (const kind of ['input', 'change', 'click', 'keydown', 'pointermove', 'pointerdown', 'focusin']) {
            window.addEventListener(kind, note, true);
        }
    }
    for (const view of touched) {
        for (const button of view.querySelectorAll('button')) {
            const tableIsShown = button.textContent === 'show as table' && button.ariaPressed === 'true';
            if (button.textContent === 'reset' || tableIsShown) button.click();
        }
    }
    touched.clear();
}"""


# The colour of the page's text, how many pixels of the view's canvases have it or the ink of the view's own pictures,
# at most 20, and what is behind it.
INK = """root => {
    const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
    const ink = rgb(getComputedStyle(root).color);
    const own = getComputedStyle(root).getPropertyValue('--tl-ink').match(/[0-9a-f]{2}/gi)?.map(x => parseInt(x, 16));
    const isNear = (pixels, i, one) => [0, 1, 2].every(c => Math.abs(pixels[i + c] - one[c]) <= 24);
    let found = 0;
    const close = fill => [0, 1, 2].every(c => Math.abs(rgb(fill)[c] - ink[c]) <= 48);
    const words = [...root.querySelectorAll('svg.tl-picture text')].map(word => getComputedStyle(word).fill);
    found += 4 * words.filter(close).length; // a word has more than four pixels
    for (const canvas of root.querySelectorAll('canvas')) {
        if (!canvas.width) continue;
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        for (let i = 0; i < pixels.length && found < 20; i += 4)
            if (pixels[i + 3] > 200 && [ink, own ?? ink].some(one => isNear(pixels, i, one))) found += 1;
    }
    let behind = root;
    while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    return [ink.slice(0, 3), found, rgb(getComputedStyle(behind).backgroundColor).slice(0, 3)];
}"""

# Browsers give the focus to what scrolls.
FOCUSABLE = "button, input, select, textarea, a, [tabindex], .tl-scroll"
CARELESS = "all => all.filter(e => !e.dataset.lmSuppressShortcuts).map(e => e.outerHTML.slice(0, 100))"
# The outer HTML of the nth element that takes the focus, once it has it; null of one that is not seen or takes none.
TAKES_FOCUS = f"""(root, n) => {{
    const element = root.querySelectorAll("{FOCUSABLE}")[n];
    if (!element.checkVisibility({{visibilityProperty: true}})) return null;
    element.focus();
    return element === document.activeElement ? element.outerHTML.slice(0, 100) : null;
}}"""
# In command mode they would cut, delete and add cells.
KEYS = ("x", "d", "d", "a", "b", "z", "Enter", "m", "Shift+Enter")


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

    def picture(self, part: str = "") -> list[str]:
        """What tells the picture on each canvas, of the view or of a part of it, from any other."""
        return self.after_a_frame(f"{PICTURE}(root.querySelector('{part}'))" if part else f"{PICTURE}(root)")

    def says(self) -> str:
        return self.after_a_frame("root.querySelector('.tl-says').textContent")

    def controls(self) -> list:
        """What each control says of itself."""
        # The answers of the machine's riddle come by themselves, when there is nothing else to do.
        return self.root.locator("input, select, button:not(.tl-chip, .tl-spelled), output").evaluate_all(
            "all => all.map(control => [control.value, control.checked, control.ariaPressed, control.ariaValueText])"
        )

    @property
    def canvas(self) -> Locator:
        return self.root.locator("canvas:not([aria-hidden])").first  # and not what only decorates

    @property
    def drawing(self) -> Locator:
        """The first that is seen, on a canvas or in SVG."""
        return self.root.locator("canvas:visible, svg.tl-picture:visible").first

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
def in_a_page(page: Page, html: str, style: str = "body { color: black }") -> Iterator[tuple[Page, Live]]:
    """In a page, as if it were new, the output of a view and nothing else; no script may fail in it."""
    errors: list[str] = []

    def note(error) -> None:
        errors.append(str(error))

    page.goto("about:blank")  # a new document: nothing is defined in it but what COUNT counts
    assert page.evaluate("window.listening.size + document.body.children.length") == 0
    page.on("pageerror", note)
    page.set_content(f"<!doctype html><style>{style}</style><body>{html}</body>")
    root = page.locator(".tl-view")
    expect(root).to_have_count(1)
    page.evaluate(FRAMES)
    yield page, Live(page, root)
    page.evaluate(FRAMES)
    page.remove_listener("pageerror", note)
    assert errors == []


def all_seen(views: dict[str, Live], first: str = "") -> dict[str, tuple]:
    """The values and the picture of each view, after one frame for all of them: in a notebook a frame takes its time.

    Something may be done `first` with each root, in JavaScript.
    """
    code = f"""async roots => {{
        for (const root of roots) {{ {first} }}
        await {FRAMES};
        return roots.map(root => [root.values, {PICTURE}(root)]);
    }}"""
    page, roots = next(iter(views.values())).page, [view.root.element_handle() for view in views.values()]
    return dict(zip(views, map(tuple, page.evaluate(code, roots)), strict=True))


# To its least value, or, if it is there, to its greatest.
MOVE_THE_SLIDER = """
    const slider = root.querySelector('input[type=range]');
    slider.value = slider.value === slider.min ? slider.max : slider.min;
    slider.dispatchEvent(new Event('input', {bubbles: true}));"""


def answers(views: dict[str, Live]) -> None:
    """Each view shows where it starts, and follows its slider."""
    before = all_seen(views)
    for name, (values, _) in before.items():
        near(values, start(name))
    after = all_seen(views, first=MOVE_THE_SLIDER)
    assert [name for name in views if after[name][1] == before[name][1]] == [], "these did not follow"


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
