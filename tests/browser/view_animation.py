"""Draw the moving picture of the README: some views of the gallery while their sliders are moved.

    python -m tests.browser.view_animation [OUT]

OUT is img/views.webp if none is given.
"""

import io
import sys
from pathlib import Path

from PIL import Image

from tests.browser.lab import chromium
from tests.browser.server import ROOT
from tests.browser.view_screenshots import views

COLUMNS = (("own_sentence", "saturation"), ("shift", "attention_steps"), ("training_monitor",))
SLIDERS = {
    "own_sentence": "output token",
    "saturation": "d_k",
    "shift": "offset k",
    "attention_steps": "temperature",
    "training_monitor": "step",
}
FRAMES, MILLISECONDS = 21, 240
WIDTH, HEIGHT, SHOWN = 410, 1085, 960  # of a column and of the page, in CSS pixels; of the picture across
PAGE = """<!doctype html><body data-jp-theme-light="true" style="margin: 0; background: #fff; color: rgba(0,0,0,.87)">
<div style="display: flex; gap: 24px; padding: 10px">{columns}</div>"""
COLUMN = '<div style="width: {width}px; display: grid; gap: 16px; align-content: start">{views}</div>'
# Put a view's slider at a share of its way.
MOVE = """([tag, label, share]) => {
    const slider = document.querySelector(`[data-view=${tag}] input[type=range][aria-label="${label}"]`);
    slider.value = +slider.min + Math.round((slider.max - slider.min) * share / slider.step) * slider.step;
    slider.dispatchEvent(new Event('input'));
}"""


def share(frame: int) -> float:
    """There, a rest, and back, as a share of a slider's way."""
    return min(1.0, 1.4 * (1 - abs(1 - 2 * frame / (FRAMES - 1))))


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "img" / "views.webp"
    html = dict(views(ROOT / "notebooks" / "gallery.ipynb"))
    shown = [[f'<div data-view="{name}">{html[name]}</div>' for name in column] for column in COLUMNS]
    columns = "".join(COLUMN.format(width=WIDTH, views="".join(column)) for column in shown)
    frames = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 3 * WIDTH + 68, "height": HEIGHT}, color_scheme="light")
        page.set_content(PAGE.format(columns=columns))
        page.locator(".tl-view").last.wait_for()
        for frame in range(FRAMES):
            for name, label in SLIDERS.items():
                page.evaluate(MOVE, [name, label, share(frame)])
            page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            size = SHOWN, round(picture.height * SHOWN / picture.width)
            frames.append(picture.resize(size, Image.Resampling.LANCZOS))
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=MILLISECONDS, loop=0, quality=60, method=6)
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
