"""How fast the attention explorer answers in a real JupyterLab: from a key press or a drag to changed pixels.

    python tests/browser/view_speed.py

A key press counts from its event's time stamp to the frame after the first frame whose pixels differ: one frame, 17 ms,
more than was needed at most. A drag is 120 moves of the mouse, one a frame; what counts are the different frames drawn.
"""

import tempfile
from pathlib import Path
from statistics import median, quantiles

import nbformat
from lab import OpenNotebook, chromium, jupyter_lab, opened
from nbformat.v4 import new_code_cell, new_notebook

HEADS, LENGTHS, PRESSES, MOVES = 8, (12, 64, 128), 20, 120
SHOW = """import torch
from transformer_lab import widgets
n = {length}
tokens = [f"t{{i}}" for i in range(n)]
widgets.attention((2 * torch.randn({heads}, n, n)).softmax(-1), tokens, tokens)"""
WATCH = """() => {
    const canvas = document.querySelector('.tl-view canvas');
    const slider = document.querySelector('.tl-view input[type=range]');
    const probe = Object.assign(document.createElement('canvas'), {width: 96, height: 96});
    const small = probe.getContext('2d', {willReadFrequently: true});
    const seen = () => {
        small.drawImage(canvas, 0, 0, 96, 96);
        const pixels = new Uint32Array(small.getImageData(0, 0, 96, 96).data.buffer);
        return pixels.reduce((hash, x) => (hash * 31 + x) | 0, 7);
    };
    const watch = window.watch = {times: [], frames: 0, changed: 0};
    let pressed = null, answered = null, last = seen();
    slider.addEventListener('keydown', event => { pressed = event.timeStamp; }, true);
    requestAnimationFrame(function frame(now) {
        if (answered !== null) { watch.times.push(now - answered); answered = null; }
        const hash = seen();
        watch.frames += 1;
        if (hash !== last) {
            last = hash;
            watch.changed += 1;
            if (pressed !== null) { answered = pressed; pressed = null; }
        }
        requestAnimationFrame(frame);
    });
}"""


def key_presses(notebook: OpenNotebook) -> list[float]:
    """Milliseconds from a key press to pixels, there and back."""
    page = notebook.page
    page.locator(".tl-view input[type=range]").focus()
    for number, key in enumerate(["ArrowRight"] * PRESSES + ["ArrowLeft"] * PRESSES, start=1):
        page.keyboard.press(key)
        page.wait_for_function(f"() => watch.times.length >= {number}")
        page.wait_for_timeout(120)
    return page.evaluate("watch.times")


def drag(notebook: OpenNotebook) -> float:
    """The share of all frames, while the thumb is dragged there and back, that show something new."""
    page = notebook.page
    box = page.locator(".tl-view input[type=range]").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.evaluate("() => Object.assign(watch, {frames: 0, changed: 0})")
    for move in range(MOVES):
        share = 0.1 + 0.8 * abs(1 - 2 * move / MOVES)
        page.mouse.move(box["x"] + box["width"] * share, middle)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.mouse.up()
    return page.evaluate("watch.changed / watch.frames")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, jupyter_lab(Path(folder)) as address, chromium() as browser:
        for length in LENGTHS:
            cell = new_code_cell(SHOW.format(length=length, heads=HEADS))
            path = Path(folder) / "work" / "notebooks" / f"speed_{length}.ipynb"
            nbformat.write(
                new_notebook(cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}),
                path,
            )
            with opened(browser, address, path.name) as notebook:
                notebook.run_all()
                notebook.page.wait_for_selector(".tl-view canvas")
                notebook.page.evaluate(WATCH)
                times = key_presses(notebook)
                print(
                    f"{length:3} tokens × {HEADS} heads: key to pixels median {median(times):.0f} ms, "
                    f"95th percentile {quantiles(times, n=20)[-1]:.0f} ms; drag: {drag(notebook):.0%} of frames are new"
                )


if __name__ == "__main__":
    main()
