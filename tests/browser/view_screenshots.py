"""Save a picture of every view in a notebook, light and dark, wide and narrow, for people to look at.

    python -m tests.browser.view_screenshots OUT_DIR [NOTEBOOK]

NOTEBOOK is the gallery if none is given. Its stored outputs are shown in a page, where the views are live without a
kernel: attention-light-wide.png, attention-light-narrow.png, attention-dark-wide.png, ...
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from playwright.sync_api import Browser

from tests.browser.lab import chromium
from tests.browser.server import ROOT

WIDTHS = {"wide": 1100, "narrow": 420}
# Background and text of JupyterLab's themes.
THEMES = {"light": ("#fff", "rgba(0,0,0,.87)"), "dark": ("#111", "#fff")}
PAGE = """<!doctype html><body data-jp-theme-light="{light}" style="margin: 12px; background: {back}; color: {ink}">
{html}"""


def views(path: Path) -> Iterator[tuple[str, str]]:
    """The name and the HTML of each view that a notebook stores; two of one kind are told apart by a number."""
    seen: dict[str, int] = {}
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if html.startswith("<tl-"):
                name = re.findall(r"\bwidgets\.(\w+)\(", cell.source)[-1]
                seen[name] = seen.get(name, 0) + 1
                yield name if seen[name] == 1 else f"{name}-{seen[name]}", html


def picture(browser: Browser, html: str, theme: str, width: int, path: Path) -> None:
    """One picture of a view in a page of that theme and width; a question that covers it is answered first."""
    back, ink = THEMES[theme]
    page = browser.new_page(viewport={"width": width, "height": 100}, device_scale_factor=2, color_scheme=theme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(PAGE.format(light=str(theme == "light").lower(), back=back, ink=ink, html=html))
    page.locator(".tl-view").wait_for(state="attached")
    if (show := page.get_by_role("button", name="show me")).is_visible():
        show.click()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.screenshot(path=path, full_page=True)
    page.close()
    assert not errors, f"{path.stem}: {errors}"


def main() -> None:
    out = Path(sys.argv[1])
    notebook = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "notebooks" / "gallery.ipynb"
    out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name, html in views(notebook):
            for theme in THEMES:
                for size, width in WIDTHS.items():
                    picture(browser, html, theme, width, out / f"{name}-{theme}-{size}.png")
            print(name)


if __name__ == "__main__":
    main()
