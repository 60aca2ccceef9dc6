"""How fast the machine answers: a letter typed into a text of 20 tokens, and drags over tokens and over its drawing.

    python -m tests.browser.machine_speed
    python -m tests.browser.machine_speed --keep BEFORE.html     and keep the page
    python -m tests.browser.machine_speed --beside BEFORE.html   and measure, in turn with it, a page that was kept

A letter counts from its key to the presentation of what it changes, by the browser's Event Timing. A drag is 120 moves
of the mouse, 60 a second, each to another token of the slider, or to another part of the drawing; what counts are the
frames that the compositor has presented, in its trace. Beside each stands what of it the page's main thread computes,
in processor time: on a machine that is busy with other things the time to the screen is longer, and this is not.
"""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, CDPSession, Page
from websocket import create_connection

import transformer_lab
from tests.browser.lab import chromium
from tests.browser.server import free_port
from transformer_lab import widgets
from transformer_lab.training import load_checkpoint

LONG = "nine hundred and eighty-seven thousand, six hundred and fifty-four, t-w-o"  # 20 tokens
ROUNDS, LETTERS, MOVES, MOVES_A_SECOND = 3, 25, 120, 60
PARTS = """canvas => canvas.layout.items.filter(({side}) => side === 'decoder')
    .map(({x, y, width, height}) => [x + width / 2, y + height / 2])"""
Places = list[tuple[float, float]]
LISTEN = """() => {
    window.spans = [];
    const keys = all => all.getEntries().filter(({name}) => name === 'keydown');
    const note = all => spans.push(...keys(all).map(({duration}) => duration));
    new PerformanceObserver(note).observe({type: 'event', durationThreshold: 16});
}"""


def machine_in(browser: Browser, path: Path) -> tuple[Page, CDPSession]:
    """A page with a machine in it that has been typed into for a while."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelector('.tl-view')?.values")
    page.evaluate(LISTEN)
    page.get_by_label("text to translate").fill(LONG)
    page.wait_for_timeout(200)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return page, session


def processor_time(session: CDPSession) -> float:
    """Milliseconds that the page's main thread has computed."""
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return 1000 * metrics["TaskDuration"]


def there_and_back(places: Places) -> Places:
    return [*islice(cycle([*places, *places[-2:0:-1]]), MOVES)]


def along_the_slider(page: Page) -> Places:
    """From one output token to the next."""
    slider = page.get_by_label("output token")
    box, last = slider.bounding_box(), int(slider.get_attribute("max"))
    width, middle = box["width"] - 16, box["y"] + box["height"] / 2  # the thumb is 16 pixels wide
    return there_and_back([(box["x"] + 8 + width * at / last, middle) for at in range(last + 1)])


def over_the_drawing(page: Page) -> Places:
    """From one part to the next, in the lower half of the decoder, on the map of all matrices."""
    page.get_by_role("button", name="every matrix").click()
    page.mouse.wheel(0, 10_000)
    page.wait_for_timeout(200)
    box = page.locator("canvas").first.bounding_box()
    places = page.locator("canvas").first.evaluate(PARTS)
    return there_and_back([(box["x"] + x, box["y"] + y) for x, y in places if 0 < box["y"] + y < 1000])


def typed(page: Page, session: CDPSession, presses: int) -> tuple[list[float], float]:
    """Milliseconds from each key to what it changes on the screen; processor time for each."""
    field = page.get_by_label("text to translate")
    field.press("End")
    page.evaluate("spans.length = 0")
    before = processor_time(session)
    for press in range(presses):
        page.keyboard.press("Backspace" if press % 2 else "o")
        page.wait_for_timeout(150)
    return page.evaluate("spans"), (processor_time(session) - before) / presses


def dragged(page: Page, session: CDPSession, port: int, path: Places, held: bool) -> tuple[int, float]:
    """Presented frames a second while the mouse goes along a path, 60 moves a second; processor time of each move."""
    page.mouse.move(*path[0])
    if held:
        page.mouse.down()
    page.wait_for_timeout(150)
    with traced(page.context.browser) as events:
        before, began = processor_time(session), time.perf_counter()
        send_moves(page, port, path, "left" if held else "none")
        took, spent = time.perf_counter() - began, processor_time(session) - before
    if held:
        page.mouse.up()
    return round(presented(events) / took), spent / len(path)


def send_moves(page: Page, port: int, path: Places, button: str) -> None:
    """A mouse does not wait until the page has dealt with its last move: these go to the browser's own port."""
    target = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["targetId"]
    mouse = create_connection(f"ws://127.0.0.1:{port}/devtools/page/{target}", suppress_origin=True)
    began = time.perf_counter()
    for number, (x, y) in enumerate(path, start=1):
        move = {"type": "mouseMoved", "x": x, "y": y, "button": button, "buttons": int(button == "left")}
        mouse.send(json.dumps({"id": number, "method": "Input.dispatchMouseEvent", "params": move}))
        time.sleep(max(0, began + number / MOVES_A_SECOND - time.perf_counter()))
    while json.loads(mouse.recv())["id"] != len(path):
        pass
    mouse.close()


@contextmanager
def traced(browser: Browser) -> Iterator[list[dict]]:
    """The events of the compositor's trace, once the block has ended."""
    events: list[dict] = []
    finished: list[bool] = []
    tracer = browser.new_browser_cdp_session()
    tracer.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    tracer.on("Tracing.tracingComplete", lambda _: finished.append(True))
    tracer.send("Tracing.start", {"traceConfig": {"includedCategories": ["cc,benchmark", "cc", "benchmark"]}})
    yield events
    tracer.send("Tracing.end")
    while not finished:
        tracer.send("Browser.getVersion")  # lets what has come be heard
    tracer.detach()


def presented(events: list[dict]) -> int:
    """How many frames with news of the page's main thread have been shown."""
    reports = [one.get("args", {}).get("frame_reporter") for one in events if one["name"] == "PipelineReporter"]
    return sum(bool(one) and one["state"] == "STATE_PRESENTED_ALL" for one in reports)


def summary(times: list[float]) -> str:
    return f"median {median(times):.0f} ms, 95th percentile {quantiles(times, n=20)[-1]:.0f} ms"


def measured(pages: dict[str, tuple[Page, CDPSession]], port: int) -> None:
    """Type into each page and drag in it, in turn, and print what is found."""
    spans: dict[str, list[float]] = {name: [] for name in pages}
    found: dict[str, list[str]] = {name: [] for name in pages}
    for _ in range(ROUNDS):
        for name, (page, session) in pages.items():
            page.bring_to_front()
            page.evaluate("scrollTo(0, 0)")
            times, letter = typed(page, session, LETTERS)
            spans[name] += times
            slider, of_slider = dragged(page, session, port, along_the_slider(page), held=True)
            parts, of_parts = dragged(page, session, port, over_the_drawing(page), held=False)
            page.get_by_role("button", name="back to the weave").click()
            found[name].append(
                f"letter {letter:.0f} ms; slider {slider} frames a second, {of_slider:.1f} ms a move; "
                f"drawing {parts} frames a second, {of_parts:.1f} ms a move"
            )
    for name in pages:
        print(f"{name}: {len(spans[name])} letters, to the screen {summary(spans[name])}")
        print(*(f"    processor time, and frames presented: {line}" for line in found[name]), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--beside", type=Path)
    asked, port = parser.parse_args(), free_port()
    path = Path(transformer_lab.__file__).parent / "checkpoints" / "en_de.safetensors"
    html = widgets.machine(*load_checkpoint(path)[:2]).html()
    with TemporaryDirectory() as folder, chromium(f"--remote-debugging-port={port}") as browser:
        kept = asked.keep or Path(folder) / "machine.html"
        kept.write_text(f"<!doctype html><meta charset=utf-8>{html}", "utf-8")
        print(f"{len(html.encode()):,} bytes")
        paths = {"now": kept} | ({"before": asked.beside} if asked.beside else {})
        pages = {name: machine_in(browser, path.resolve()) for name, path in paths.items()}
        measured(pages, port)


if __name__ == "__main__":
    main()
