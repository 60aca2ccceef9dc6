"""The figures of the site, the views and the machine, printed by one command; wants a machine with nothing else to do.

    python -m tests.browser.figures

The site: what a browser loads with a page, and how soon the front page answers. Then what `view_speed.py` and
`machine_speed.py` print: from a key to the screen, frames of a drag, the bytes of an output. About four minutes.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser import machine_speed, view_speed
from tests.browser.lab import chromium
from tests.browser.served_site import seconds_to_answer, served
from tests.built_site import PageOfTheSite, built_site


def main() -> None:
    with TemporaryDirectory() as folder, chromium() as browser:
        out = built_site(Path(folder) / "out")
        lessons = {path.stem: PageOfTheSite(path).weight() for path in sorted((out / "lessons").glob("*.html"))}
        largest = max(lessons, key=lambda name: lessons[name])
        print(f"front page: {PageOfTheSite(out / 'index.html').weight():.2f} MB (at most 1.5)", end=", ")
        with served(out) as site:
            clock, computed = map(min, zip(*(seconds_to_answer(browser, site) for _ in range(3)), strict=True))
            print(f"answers a key after {clock:.2f} s (at most 2), {computed:.2f} s of the processor")
        print(f"largest lesson: {largest}, {lessons[largest]:.2f} MB (at most 2.5)", flush=True)
    view_speed.main()
    machine_speed.main()


if __name__ == "__main__":
    main()
