"""Save pictures of every notebook after Run All, in both themes, for people to look at.

    python -m tests.browser.screenshots OUT_DIR [01 02 ...]

A long notebook is cut into pieces: 01_attention-light-01.png, 01_attention-light-02.png, ...
"""

import sys
import tempfile
from pathlib import Path

from tests.browser.lab import DARK, LIGHT, NOTEBOOKS, PANEL, OpenNotebook, chromium, opened
from tests.browser.server import jupyter_lab

WIDTH, HEIGHT = 1100, 1600
SCROLL = f"y => {{ const s = {PANEL}.content.outerNode; s.scrollTop = y; return [s.scrollHeight, s.clientHeight]; }}"


def save_pieces(notebook: OpenNotebook, stem: Path) -> None:
    """One picture for each window-high piece of the notebook."""
    top, piece = 0, 1
    total, window = notebook.page.evaluate(SCROLL, 0)
    while top < total:
        notebook.page.evaluate(SCROLL, top)
        notebook.page.wait_for_timeout(200)
        notebook.page.screenshot(path=f"{stem}-{piece:02}.png")
        top, piece = top + window, piece + 1


def main() -> None:
    out, prefixes = Path(sys.argv[1]), tuple(sys.argv[2:])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, jupyter_lab(Path(folder)) as address, chromium() as browser:
        for path in NOTEBOOKS:
            if path.stem.startswith(prefixes or ""):
                with opened(browser, address, path.name) as notebook:
                    notebook.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
                    notebook.page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
                    notebook.run_all()
                    for name, theme in (("light", LIGHT), ("dark", DARK)):
                        notebook.use_theme(theme)
                        save_pieces(notebook, out / f"{path.stem}-{name}")
                print(path.stem)


if __name__ == "__main__":
    main()
