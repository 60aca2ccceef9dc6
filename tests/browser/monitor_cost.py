"""What it costs to watch a training, in a real JupyterLab with the view on the page.

    python tests/browser/monitor_cost.py

One training goes on by turns watched and alone, a block of steps each. Watched, the monitor hears of each step, and
updates the page at most 20 times a second. The ratio of two neighbouring blocks is what updates cost, once in processor
time of the kernel, all threads together, and once by the clock. Of the ratios the median is given, with an interval
that has the true one in it in 19 of 20 cases. All batches are as long. The pictures at both ends are no updates: their
time stands on its own.
"""

import json
import tempfile
from pathlib import Path
from statistics import median

from lab import chromium, ran
from server import jupyter_lab

PAIRS, BLOCK = 400, 10
BATCH = 14  # a step then takes 17 ms here: three of them, and 20 updates a second
TRAINING = f"""import json
from itertools import islice
from time import perf_counter, process_time
import torch
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.tasks import number_names
from transformer_lab.tokenizer import Tokenizer
from transformer_lab.training import Examples, Recipe, Training
from transformer_lab.widgets.training_monitor import TrainingMonitor
torch.set_num_threads(1)  # idle threads that wait for work would count as work
pairs = number_names(n_train=500, n_test=10)
tokenizer = Tokenizer.train([text for pair in pairs.train for text in pair], 60)
examples = Examples.encode({BATCH} * pairs.train[:1], tokenizer)
model = Transformer(TransformerConfig(len(tokenizer), d_model=128, n_heads=4, d_ff=256, n_layers=2, max_len=128))
seconds, updates, update = {{True: [], False: []}}, [], TrainingMonitor.update

def counted(monitor, **how):
    updates.append(1)
    update(monitor, **how)

TrainingMonitor.update = counted

def by_turns(reports):
    for number in range(2 * {PAIRS}):
        watched = number % 4 in (1, 2)  # alone, watched, watched, alone: what grows with time favours neither
        start = process_time(), perf_counter()
        for report in islice(reports, {BLOCK}):
            if watched:
                yield report
        seconds[watched].append((process_time() - start[0], perf_counter() - start[1]))
"""
WATCHED = f"""steps = 2 * {PAIRS} * {BLOCK}
reports = Training(model, examples, Recipe(batch_size={BATCH})).run(steps)
monitor = widgets.training_monitor(by_turns(reports), steps, model, tokenizer, pairs.test[:3])"""
PICTURE = """start = perf_counter()
monitor._repr_mimebundle_()
picture = perf_counter() - start"""
TELL = """told = {'alone': seconds[False], 'watched': seconds[True], 'picture': picture, 'updates': len(updates)}
print(json.dumps(told))"""


def interval(ratios: list[float]) -> tuple[float, float]:
    """Bounds for the median that both hold with probability 95 %, whatever the distribution."""
    ordered, n = sorted(ratios), len(ratios)
    skipped = int(n / 2 - 0.98 * n**0.5)
    return ordered[skipped - 1], ordered[n - skipped]


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        jupyter_lab(Path(folder)) as address,
        chromium() as browser,
        ran(browser, address, Path(folder), TRAINING, WATCHED, PICTURE, TELL) as notebook,
    ):
        told = json.loads(notebook.cells("cell.outputArea.node.innerText")[-1])
    for which, name in enumerate(("processor time of the kernel", "time by the clock")):
        ratios = [watched[which] / alone[which] for watched, alone in zip(told["watched"], told["alone"], strict=True)]
        middle, low, high = (100 * (ratio - 1) for ratio in (median(ratios), *interval(ratios)))
        print(f"{name}: {middle:+.1f} % ({low:+.1f} to {high:+.1f} %; {PAIRS} pairs of {BLOCK} steps)")
    watched = sum(clock for _, clock in told["watched"])
    steps, updates = PAIRS * BLOCK / watched, told["updates"] / watched
    print(f"while it is watched, {steps:.1f} steps and {updates:.1f} updates a second")
    print(f"each picture at the ends takes {told['picture']:.2f} s")


if __name__ == "__main__":
    main()
