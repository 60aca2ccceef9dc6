"""What it costs to watch a training, in a real JupyterLab with the view on the page.

    python -m tests.browser.monitor_cost

One training goes on by turns watched and alone, a block of steps each. Watched, the monitor hears of each step, and
sends the page at most 10 messages a second, each of which is drawn in two halves. The ratio of two neighbouring blocks
is what this costs, once in processor time of the kernel, all threads together, and once by the clock. Of the ratios the
median is given, with an interval that has the true one in it in 19 of 20 cases. All batches are as long. What is drawn
is counted in the page. The time of the pictures at both ends stands on its own.
"""

import json
import tempfile
from pathlib import Path
from statistics import median

from tests.browser.lab import chromium, made
from tests.browser.server import jupyter_lab

PAIRS, BLOCK = 400, 10
BATCH = 4  # so short a step that its end does not keep a message waiting for long
TRAINING = f"""import json
from itertools import islice
from time import perf_counter, process_time
import torch
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.data.tasks import number_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.training import Examples, Recipe, Training
from transformer_lab.widgets.views.training_monitor.training_monitor_view import TrainingMonitor
torch.set_num_threads(1)  # idle threads that wait for work would count as work
pairs = number_names(n_train=500, n_test=10)
tokenizer = Tokenizer.train([text for pair in pairs.train for text in pair], 60)
examples = Examples.from_pairs({BATCH} * pairs.train[:1], tokenizer)
model = Transformer(TransformerConfig(len(tokenizer), d_model=128, n_heads=4, d_ff=256, n_layers=2, max_len=128))
seconds, sent, update = {{True: [], False: []}}, [], TrainingMonitor.update

def counted(monitor, **how):
    sent.append(1)
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
COUNT = """() => {
    window.drawn = 0;
    const search = setInterval(() => {
        const says = document.querySelector('.tl-says');
        if (!says) return;
        clearInterval(search);
        new MutationObserver(() => { window.drawn += 1; }).observe(says, { childList: true });
    }, 100);
}"""
TELL = """told = {'alone': seconds[False], 'watched': seconds[True], 'picture': picture, 'sent': len(sent)}
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
        made(browser, address, Path(folder), TRAINING, WATCHED, PICTURE, TELL) as notebook,
    ):
        notebook.page.evaluate(COUNT)
        notebook.run_all()
        drawn = notebook.page.evaluate("() => window.drawn")
        told = json.loads(notebook.cells("cell.outputArea.node.innerText")[-1])
    for which, name in enumerate(("processor time of the kernel", "time by the clock")):
        ratios = [watched[which] / alone[which] for watched, alone in zip(told["watched"], told["alone"], strict=True)]
        middle, low, high = (100 * (ratio - 1) for ratio in (median(ratios), *interval(ratios)))
        print(f"{name}: {middle:+.1f} % ({low:+.1f} to {high:+.1f} %; {PAIRS} pairs of {BLOCK} steps)")
    watched = sum(clock for _, clock in told["watched"])
    rates = (count / watched for count in (PAIRS * BLOCK, told["sent"], drawn))
    print("while it is watched, {:.1f} steps, {:.1f} messages and {:.1f} pictures a second".format(*rates))
    print(f"each picture at the ends takes {told['picture']:.2f} s")


if __name__ == "__main__":
    main()
