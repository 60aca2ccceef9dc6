"""How fast views answer in a real JupyterLab: from a key or a move of the mouse to what the compositor presents.

    python -m tests.browser.view_speed

The browser's own trace says it: an EventLatency goes from the event to the presentation of the frame that it changed.
A drag is 120 moves of the mouse, 60 a second, there and back; what counts are the frames that were presented. Beside
them stand the milliseconds of processor time that the page's process takes for a press, which a busy machine does not
stretch. In the attention explorer the page computes; one's own sentence the kernel translates at each letter.
"""

import json
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import CDPSession
from websocket import create_connection

from tests.browser.lab import PANEL, OpenNotebook, chromium, ran
from tests.browser.server import free_port, jupyter_lab

HEADS, LENGTHS, PRESSES = 8, (12, 64, 128), 20
DRAGS, MOVES, MOVES_A_SECOND = 3, 120, 60
SHOW = """import torch
from transformer_lab import widgets
n = {length}
tokens = [f"t{{i}}" for i in range(n)]
widgets.attention((2 * torch.randn({heads}, n, n)).softmax(-1), tokens, tokens)"""
SENTENCE = """from pathlib import Path
from time import perf_counter
import torch
import transformer_lab
from transformer_lab import widgets
from transformer_lab.training import load_checkpoint
torch.set_num_threads(1)  # as lesson 07 does
checkpoint = Path(transformer_lab.__file__).with_name("checkpoints") / "en_de.safetensors"
view = widgets.own_sentence(*load_checkpoint(checkpoint)[:2], ["one"])
times, work = [], view.work
def timed(text):
    start = perf_counter()
    worked = work(text)
    times.append(perf_counter() - start)
    return worked
view.work = timed
view"""
BEGINNING = "three hundred and forty-five thousand, six hundred and seventy-"
MODEL_TIME = "from statistics import median\nprint(f'{1000 * median(times or [0]):.0f}')"
CATEGORIES = ["input", "input.scrolling", "latencyInfo", "benchmark", "cc,benchmark"]
LIMITS = {12: 33, 64: 33, 128: 40}  # milliseconds from a key to its presentation, 95 % of the time
FRAMES = 55  # a second that a drag should present


def latencies(trace: bytes, kind: str) -> list[tuple[float, float]]:
    """For each event of a kind, when it came and when what it changed was presented, in milliseconds."""
    begun: dict[str, float] = {}
    spans = []
    for event in json.loads(trace)["traceEvents"]:
        if event["name"] != "EventLatency":
            continue
        key = json.dumps([event["pid"], event.get("id2", event.get("id"))])
        if event["ph"] == "b" and event["args"]["event_latency"]["event_type"] == kind:
            begun[key] = event["ts"] / 1000
        elif event["ph"] == "e" and key in begun:
            spans.append((begun.pop(key), event["ts"] / 1000))
    return spans


def processor_time(session: CDPSession) -> float:
    """Milliseconds of processor time that the page's process has taken."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime")


def key_presses(notebook: OpenNotebook, control: str, keys: list[str]) -> tuple[str, float]:
    """Press keys on a control; says how long they take to be presented, and the 95th percentile of that."""
    page = notebook.page
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.locator(control).focus()
    page.wait_for_timeout(500)
    before = processor_time(session)
    page.context.browser.start_tracing(page=page, categories=CATEGORIES)
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(180)
    trace = page.context.browser.stop_tracing()
    each = (processor_time(session) - before) / len(keys)
    times = [end - start for start, end in latencies(trace, "KEY_PRESSED")]
    high = quantiles(times, n=20)[-1]
    said = f"key to presentation median {median(times):.0f} ms, 95th percentile {high:.0f} ms (n = {len(times)})"
    return f"{said}; {each:.0f} ms of processor time a press", high


def drag(notebook: OpenNotebook, port: int) -> tuple[str, float]:
    """Drag the thumb there and back; says how many frames a second were presented for it, and that number.

    A mouse does not wait until the page has dealt with its last move, so neither do the moves here: they bypass
    Playwright, which waits, and go to the browser's own port.
    """
    page = notebook.page
    box = page.locator(".tl-view input[type=range]").bounding_box()
    middle = box["y"] + box["height"] / 2
    left, right = (box["x"] + box["width"] * share for share in (0.1, 0.9))
    page.mouse.move(left, middle)
    page.mouse.down()
    page.wait_for_timeout(120)
    target = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["targetId"]
    mouse = create_connection(f"ws://127.0.0.1:{port}/devtools/page/{target}", suppress_origin=True)
    page.context.browser.start_tracing(page=page, categories=CATEGORIES)
    began = time.perf_counter()
    for number in range(1, MOVES + 1):
        there = 1 - abs(1 - 2 * number / MOVES)
        move = {"type": "mouseMoved", "x": left + there * (right - left), "y": middle, "button": "left", "buttons": 1}
        mouse.send(json.dumps({"id": number, "method": "Input.dispatchMouseEvent", "params": move}))
        time.sleep(max(0, began + number / MOVES_A_SECOND - time.perf_counter()))
    while json.loads(mouse.recv())["id"] != MOVES:
        pass
    mouse.close()
    page.wait_for_timeout(200)
    spans = latencies(page.context.browser.stop_tracing(), "MOUSE_DRAGGED")
    page.mouse.up()
    if not spans:
        return "no move was presented", 0.0
    shown = sorted({end for _, end in spans})
    rate = 1000 * (len(shown) - 1) / (shown[-1] - shown[0])
    return f"{rate:.0f} presented frames a second", rate


def own_sentence(notebook: OpenNotebook) -> str:
    """Type and delete the last word of a long number; says how long that takes, and how long the model alone does."""
    field = ".tl-view input[type=text]"
    notebook.page.locator(field).fill(BEGINNING)
    notebook.page.wait_for_timeout(3000)
    letters = ["s", "i", "x", "Backspace", "Backspace", "Backspace"] * (PRESSES // 3)
    said, _ = key_presses(notebook, field, letters)
    notebook.page.evaluate(f"() => {{ {PANEL}.content.activeCellIndex = 1; }}")
    notebook.page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
    notebook.page.wait_for_timeout(2000)
    model = notebook.cells("cell.outputArea.node.innerText")[-1].strip()
    return f"{said}, of which the model takes {model} ms"


def within(good: bool) -> str:
    return "✓" if good else "✗"


def main() -> None:
    slider, port = ".tl-view input[type=range]", free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        jupyter_lab(Path(folder)) as address,
        chromium(f"--remote-debugging-port={port}") as browser,
    ):
        for length in LENGTHS:
            with ran(browser, address, Path(folder), SHOW.format(length=length, heads=HEADS)) as notebook:
                keys = ["ArrowRight"] * PRESSES + ["ArrowLeft"] * PRESSES
                said, high = key_presses(notebook, slider, keys)
                print(f"{length:3} tokens × {HEADS} heads: {said} {within(high <= LIMITS[length])}", flush=True)
                for _ in range(DRAGS):
                    said, rate = drag(notebook, port)
                    print(f"    drag: {said} {within(rate >= FRAMES)}", flush=True)
        with ran(browser, address, Path(folder), SENTENCE, MODEL_TIME) as notebook:
            print(f"own sentence: {own_sentence(notebook)}")


if __name__ == "__main__":
    main()
