"""How fast views answer in a real JupyterLab, from a key press or a drag to changed pixels, and what watching costs.

    python tests/browser/view_speed.py

A key press counts from its event's time stamp to the end of the first frame that draws other pixels, which is when the
next frame begins. A drag is 120 moves of the mouse, as fast as the page takes them; what counts are the frames that
draw something new, each second and for each position of the slider.
In the attention explorer the page computes; one's own sentence is translated by the kernel at each key.
A training is run watched and not, turn by turn; its cost is the processor time of the kernel, all threads together.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

import nbformat
from lab import NOTEBOOKS, PANEL, OpenNotebook, chromium, jupyter_lab, opened
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser

HEADS, LENGTHS, PRESSES, MOVES = 8, (12, 64, 128), 20, 120
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
TRAINING = """from statistics import median
from time import process_time
import torch
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.tasks import number_names
from transformer_lab.tokenizer import Tokenizer
from transformer_lab.training import Examples, Recipe, Training
pairs = number_names(n_train=500, n_test=10)
tokenizer = Tokenizer.train([text for pair in pairs.train for text in pair], 60)
examples = Examples.encode(pairs.train, tokenizer)
def seconds(watched, steps=120):
    model = Transformer(TransformerConfig(len(tokenizer), d_model=128, n_heads=4, d_ff=256, n_layers=2, max_len=128))
    reports, start = Training(model, examples, Recipe()).run(steps), process_time()
    if watched:
        widgets.training_monitor(reports, steps, model, tokenizer, pairs.test[:3])
    else:
        list(reports)
    return process_time() - start"""
PAIRED = """seconds(True), seconds(False)
ratios = [seconds(True) / seconds(False) for _ in range(4)]
print(f"{100 * (median(ratios) - 1):.1f}")"""
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
    const look = () => {
        const hash = seen();
        if (hash === last) return;
        last = hash;
        watch.changed += 1;
        if (pressed !== null) { answered = pressed; pressed = null; }
    };
    requestAnimationFrame(function frame(now) {
        if (answered !== null) { watch.times.push(now - answered); answered = null; }
        setTimeout(look);  // when all that belongs to this frame is drawn
        requestAnimationFrame(frame);
    });
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
    times = page.evaluate("watch.times")
    return f"key to pixels median {median(times):.0f} ms, 95th percentile {quantiles(times, n=20)[-1]:.0f} ms"


def drag(notebook: OpenNotebook) -> str:
    """Drag the thumb there and back; says how many new frames there are, each second and for each position."""
    page = notebook.page
    box = page.locator(".tl-view input[type=range]").bounding_box()
    middle = box["y"] + box["height"] / 2
    left, right = (box["x"] + box["width"] * share for share in (0.1, 0.9))
    page.mouse.move(left, middle)
    page.mouse.down()
    page.wait_for_timeout(120)
    start = page.evaluate("() => Object.assign(watch, {positions: 0, changed: 0}) && performance.now()")
    page.mouse.move(right, middle, steps=MOVES // 2)
    page.mouse.move(left, middle, steps=MOVES // 2)
    changed, positions, end = page.evaluate("[watch.changed, watch.positions, performance.now()]")
    page.mouse.up()
    return f"{1000 * changed / (end - start):.0f} new frames a second, for {changed / positions:.0%} of the positions"


@contextmanager
def ran(browser: Browser, address: str, folder: Path, *sources: str) -> Iterator[OpenNotebook]:
    """A notebook of these cells, run."""
    path = folder / "work" / "notebooks" / "speed.ipynb"
    cells = [new_code_cell(source) for source in sources]
    metadata = nbformat.read(NOTEBOOKS[0], as_version=4).metadata  # the kernel of a lesson
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)
    with opened(browser, address, path.name) as notebook:
        notebook.run_all()
        yield notebook


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
    slider = ".tl-view input[type=range]"
    with tempfile.TemporaryDirectory() as folder, jupyter_lab(Path(folder)) as address, chromium() as browser:
        for length in LENGTHS:
            with ran(browser, address, Path(folder), SHOW.format(length=length, heads=HEADS)) as notebook:
                keys = ["ArrowRight"] * PRESSES + ["ArrowLeft"] * PRESSES
                said = key_presses(notebook, slider, keys)
                print(f"{length:3} tokens × {HEADS} heads: {said}; drag: {drag(notebook)}", flush=True)
        with ran(browser, address, Path(folder), SENTENCE, MODEL_TIME) as notebook:
            print(f"own sentence: {own_sentence(notebook)}")
        with ran(browser, address, Path(folder), TRAINING, PAIRED) as notebook:
            more = notebook.cells("cell.outputArea.node.innerText")[-1].strip()
            print(f"training monitor: {more} % more processor time")


if __name__ == "__main__":
    main()
