"""Draw the README's picture of the machine at work: a number is typed, parts are cut, and one is opened.

    python -m tests.browser.machine_animation [OUT]

OUT is img/machine.webp if none is given. The view is the gallery's.
"""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from tests.browser.lab import chromium
from tests.browser.server import ROOT
from tests.browser.view_screenshots import views

WIDTH, HEIGHT, SHOWN = 1180, 900, 860  # of the page, in CSS pixels; of the picture across
PAGE = """<!doctype html><body data-jp-theme-light="true" style="margin: 12px; background: #fff; color: #222">
{html}"""


def button(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def scenes(page: Page) -> Iterator[int]:
    """Do the next thing, and say for how many milliseconds it shall be seen."""
    text = page.get_by_label("text to translate")
    for typed in ("seven", "seven hundred", "seven hundred and twenty-one"):
        text.fill(typed)
        yield 900
    for _ in range(3):
        page.get_by_label("output token").press("ArrowRight")
        yield 900
    text.fill("thirty-four thousand and twenty-one")
    yield 900
    for cut in ("the input’s positions", "the causal masks"):
        button(page, f"cut {cut}")
        yield 2200
        button(page, f"cut {cut}")
    page.locator(".tl-weave").press("Enter")
    yield 2600


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "img" / "machine.webp"
    html = dict(views(ROOT / "notebooks" / "gallery.ipynb"))["machine"]
    frames, lasting = [], []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_content(PAGE.format(html=html))
        page.locator(".tl-view").wait_for()
        for milliseconds in scenes(page):
            page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            size = SHOWN, round(picture.height * SHOWN / picture.width)
            frames.append(picture.resize(size, Image.Resampling.LANCZOS))
            lasting.append(milliseconds)
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=lasting, loop=0, quality=60, method=6)
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
