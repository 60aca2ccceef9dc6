"""The site on a file server of this machine, and how soon its front page answers."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.live import Live

NUMBERS = "() => JSON.stringify(document.querySelector('.opening .tl-view').values)"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *message) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on a file server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def seconds_to_answer(browser: Browser, site: str) -> tuple[float, float]:
    """From asking for the front page, with an empty cache, until a key has moved its view.

    By the clock, and of the processor, by the page's main thread.
    """
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page, start = context.new_page(), time.monotonic()
        session = context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(f"{site}index.html", wait_until="commit")
        page.wait_for_function("() => document.querySelector('.opening .tl-view input[type=range]')")
        view = Live(page, page.locator(".opening .tl-view"))
        before = page.evaluate(NUMBERS)
        view.slider.focus()
        page.keyboard.press("ArrowLeft" if view.slider.evaluate("one => one.value === one.max") else "ArrowRight")
        page.wait_for_function(f"before => ({NUMBERS})() !== before", arg=before)
        metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        return time.monotonic() - start, metrics["TaskDuration"]
