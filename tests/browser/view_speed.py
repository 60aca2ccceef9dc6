"""How fast views answer in a real JupyterLab, from a key press or a drag to changed pixels.

    python tests/browser/view_speed.py

A key press counts from its event's time stamp to the frame after the first one that finds other pixels; a loop looks at
the beginning of each frame. "On screen" is another way to see it: the frames that the compositor gives to a screencast.
A drag is 120 moves of the mouse, 60 a second, there and back. What counts are the frames that find other pixels, each
second and for each position of the slider.
In the attention explorer the page computes; one's own sentence the kernel translates at each letter.
"""

import json
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from lab import PANEL, OpenNotebook, chromium, ran
from server import free_port, jupyter_lab
from websocket import create_connection

HEADS, LENGTHS, PRESSES, PICTURES = 8, (12, 64, 128), 20, 16
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
WATCH = """name => {
    const slider = document.querySelector(name);
    const probe = Object.assign(document.createElement('canvas'), {width: 96, height: 96});
    const small = probe.getContext('2d', {willReadFrequently: true});
    const seen = () => {
        small.clearRect(0, 0, 96, 96);
        small.drawImage(document.querySelector('.tl-view canvas'), 0, 0, 96, 96);
        const pixels = new Uint32Array(small.getImageData(0, 0, 96, 96).data.buffer);
        return pixels.reduce((hash, x) => (hash * 31 + x) | 0, 7);
    };
    const watch = window.watch = {times: [], positions: 0, changed: 0};
    let pressed = null, answered = null, last = seen();
    slider.addEventListener('keydown', event => { pressed = event.timeStamp; }, true);
    slider.addEventListener('input', () => { watch.positions += 1; });
    requestAnimationFrame(function frame(now) {
        if (answered !== null) { watch.times.push(now - answered); answered = null; }
        const hash = seen();
        if (hash !== last) {
            last = hash;
            watch.changed += 1;
            if (pressed !== null) { answered = pressed; pressed = null; }
        }
        requestAnimationFrame(frame);
    });
}"""
LISTEN = """name => {
    const note = event => { window.pressedAt = (performance.timeOrigin + event.timeStamp) / 1000; };
    document.querySelector(name).addEventListener('keydown', note, true);
}"""


def key_presses(notebook: OpenNotebook, control: str, keys: list[str]) -> str:
    """Press keys on a control, each after the answer to the one before; says how long that takes."""
    page = notebook.page
    page.evaluate(WATCH, control)
    page.locator(control).focus()
    for number, key in enumerate(keys, start=1):
        page.keyboard.press(key)
        page.wait_for_function(f"() => watch.times.length >= {number}")
        page.wait_for_timeout(120)
    return f"key to pixels {summary(page.evaluate('watch.times'))}"


def summary(times: list[float]) -> str:
    return f"median {median(times):.0f} ms, 95th percentile {quantiles(times, n=20)[-1]:.0f} ms"


def on_screen(notebook: OpenNotebook, control: str) -> str:
    """Press keys on a control; says after how long the compositor has a frame that differs from the one before."""
    page, frames, times = notebook.page, [], []
    page.evaluate(LISTEN, control)
    page.locator(control).focus()
    session = page.context.new_cdp_session(page)

    def keep(frame: dict) -> None:
        frames.append((frame["metadata"]["timestamp"], frame["data"]))
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", keep)
    session.send("Page.startScreencast", {"format": "png"})
    page.wait_for_timeout(500)
    for number in range(PICTURES):
        before = len(frames)
        page.keyboard.press(["ArrowRight", "ArrowLeft"][number % 2])
        page.wait_for_timeout(400)
        first = next(at for at, picture in frames[before:] if picture != frames[before - 1][1])
        times.append(1000 * (first - page.evaluate("pressedAt")))
    session.detach()
    return f"on screen {summary(times)}"


def drag(notebook: OpenNotebook, port: int) -> str:
    """Drag the thumb there and back; says how many new frames there are, each second and for each position.

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
    start = page.evaluate("() => Object.assign(watch, {positions: 0, changed: 0}) && performance.now()")
    began = time.perf_counter()
    for number in range(1, MOVES + 1):
        there = 1 - abs(1 - 2 * number / MOVES)
        move = {"type": "mouseMoved", "x": left + there * (right - left), "y": middle, "button": "left", "buttons": 1}
        mouse.send(json.dumps({"id": number, "method": "Input.dispatchMouseEvent", "params": move}))
        time.sleep(max(0, began + number / MOVES_A_SECOND - time.perf_counter()))
    while json.loads(mouse.recv())["id"] != MOVES:
        pass
    mouse.close()
    changed, positions, end = page.evaluate("[watch.changed, watch.positions, performance.now()]")
    page.mouse.up()
    return f"{1000 * changed / (end - start):.0f} new frames a second, for {changed / positions:.0%} of the positions"


def own_sentence(notebook: OpenNotebook) -> str:
    """Type and delete the last word of a long number; says how long that takes, and how long the model alone does."""
    field = ".tl-view input[type=text]"
    notebook.page.locator(field).fill(BEGINNING)
    notebook.page.wait_for_timeout(3000)
    said = key_presses(notebook, field, ["s", "i", "x", "Backspace", "Backspace", "Backspace"] * (PRESSES // 3))
    notebook.page.evaluate(f"() => {{ {PANEL}.content.activeCellIndex = 1; }}")
    notebook.page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
    notebook.page.wait_for_timeout(2000)
    model = notebook.cells("cell.outputArea.node.innerText")[-1].strip()
    return f"{said}, of which the model takes {model} ms"


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
                print(f"{length:3} tokens × {HEADS} heads: {key_presses(notebook, slider, keys)}", flush=True)
                for _ in range(DRAGS):
                    print(f"    drag: {drag(notebook, port)}", flush=True)
                print(f"    {on_screen(notebook, slider)}", flush=True)
        with ran(browser, address, Path(folder), SENTENCE, MODEL_TIME) as notebook:
            print(f"own sentence: {own_sentence(notebook)}")


if __name__ == "__main__":
    main()
