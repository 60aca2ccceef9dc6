"""Monitoring a training run, live or afterwards: curves, the model's outputs on samples, and where it looks."""

import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

import numpy as np
import torch
from matplotlib.figure import Figure

from transformer_lab.checks import check_least
from transformer_lab.data.texts import Characters
from transformer_lab.data.tokenizer import TokenizerLike
from transformer_lab.models.language_model import LanguageModel
from transformer_lab.nn.transformer import Transformer
from transformer_lab.training.loop import Report
from transformer_lab.widgets.shared.link import connect, running_kernel
from transformer_lab.widgets.shared.view import View, to_bytes
from transformer_lab.widgets.views.training_monitor.history import MOST_POINTS, ROW, Measures, thinned
from transformer_lab.widgets.views.training_monitor.snapshots import Continuations, Snapshots, Translations
from transformer_lab.widgets.views.training_monitor.training_picture import draw_training

MESSAGES = 10  # a second, at most; the page draws each in two halves


def training_monitor(
    reports: Iterable[Report],
    until: int,
    model: Transformer,
    tokenizer: TokenizerLike,
    samples: Sequence[tuple[str, str]] = (),
    *,
    floor: float | None = None,
) -> View:
    """Train and show the progress: take the reports of a training run until step `until`, or until an interrupt.

    `samples` are pairs of texts: at the first step, and at each that was evaluated, the monitor keeps the model's
    translation of each source, and its cross-attention where it is given the target (teacher forcing). `floor` is the
    least loss there can be, which with label smoothing is not 0; it is drawn as a line.

    An interrupt (■, or the view's own button) waits for the end of its step; the next cell runs, and the view has a
    button to resume. At the end the view holds all that it has recorded.
    """
    measures = Measures("exact match", "share", {"least possible": floor} if floor else {})
    monitor = TrainingMonitor(until, Translations(model, tokenizer, samples), measures)
    monitor.watch(reports)
    return monitor


def text_training_monitor(
    reports: Iterable[Report],
    until: int,
    model: LanguageModel,
    characters: Characters,
    prompts: Sequence[str] = (),
    *,
    n_tokens: int = 100,
    levels: Mapping[str, float] | None = None,
) -> View:
    """Train a language model and show the progress, as `training_monitor` does for a translator.

    At the first step, and at each that was evaluated, the monitor keeps how the model goes on with each of the
    `prompts`, by `n_tokens` tokens. What is evaluated must be a loss: it stands in one chart with that of the training.
    `levels` are losses to compare with, by name, each of which is drawn as a line.

    Raises:
        ValueError: n_tokens is below 1, or a prompt is empty.
    """
    check_least(1, n_tokens=n_tokens)
    if not all(prompts):
        raise ValueError("a prompt must have at least one character: a language model goes on from what it has read")
    measures = Measures("validation", "loss", dict(levels or {}))
    monitor = TrainingMonitor(until, Continuations(model, characters, prompts, n_tokens), measures)
    monitor.watch(reports)
    return monitor


class TrainingMonitor(View):
    """The view of a run, which shows what has been recorded so far."""

    kind, colours = "training_monitor", 256

    def __init__(self, until: int, snapshots: Snapshots, measures: Measures):
        self.until, self.snapshots, self.measures = until, snapshots, measures
        self.numbers = array("f")  # the rows, one after the other
        self.running, self.finished = False, False
        self.link = connect(self.hear, now={}, snapshots={})
        self.shown_in = None  # the count of the cell that shows it

    # ── recording ──

    def watch(self, reports: Iterable[Report]) -> None:
        """Show the view, and process the reports."""
        self.reports = iter(reports)
        if self.link:
            from IPython import get_ipython
            from IPython.display import display

            self.shown_in = get_ipython().execution_count
            self.display = display(self._repr_mimebundle_(), raw=True, display_id=True)
        self.go_on()

    def go_on(self) -> None:
        """Take reports until they end or an interrupt comes; in any case, the view then shows what was recorded."""
        self.running, self.start, self.last_update = True, (time.monotonic(), len(self.numbers) // ROW), 0.0
        try:
            with interrupts() as interrupted:
                for report in self.reports:
                    self.record(report)
                    if interrupted():
                        break
                else:
                    self.finished = True
        finally:
            self.running = False
            self.update(lasting=True)
            if self.link:
                self.display.update(self._repr_mimebundle_(), raw=True)

    def record(self, report: Report) -> None:
        score = np.nan if report.score is None else report.score
        self.numbers.extend((report.step, report.loss, report.rate, score))
        if len(self.numbers) > ROW * MOST_POINTS:
            self.numbers = array("f", thinned(self.history).tobytes())
        if self.snapshots.take(report):
            self.share_snapshots()
        if time.monotonic() - self.last_update >= 1 / MESSAGES:
            self.update()

    @property
    def history(self) -> np.ndarray:
        """The kept reports, one per row."""
        return np.frombuffer(self.numbers.tobytes(), dtype="f4").reshape(-1, ROW)

    def predict(self, *_: object, **__: object) -> View:
        """Raise a TypeError, because a question would cover what is to be watched."""
        raise TypeError("a training monitor asks no question first: it is watched from the first step on")

    # ── the page ──

    def update(self, *, lasting: bool = False) -> None:
        """Tell the page how far the run is; only a lasting update reaches pages opened later, and it costs more."""
        if not self.link:
            return
        began, first = self.start
        self.last_update = time.monotonic()
        seconds, history = self.last_update - began, self.numbers.tobytes()
        status = {"running": self.running, "finished": self.finished, "seconds": seconds, "first": first}
        if lasting:
            self.link.now = status | {"history": history}
        else:
            self.link.send(status, [history])

    def share_snapshots(self) -> None:
        if self.link:
            weights = [to_bytes(w) for w in self.snapshots.weights()]
            self.link.snapshots = {"at": self.snapshots.at, "said": self.snapshots.said(), "weights": weights}

    def hear(self, message: dict) -> None:
        """Resume the run when the page asks for it."""
        if not self.running and not self.finished:
            self.go_on()

    @property
    def state(self) -> dict:
        state = {"summary": self.summary, "until": self.until, "finished": self.finished, "depth": self.snapshots.depth}
        state["score"] = {"name": self.measures.score, "unit": self.measures.unit}
        state["levels"] = [{"name": name, "value": value} for name, value in self.measures.levels.items()]
        state |= {"history": torch.from_numpy(self.history.copy()), "samples": self.snapshots.samples}
        state |= {"at": self.snapshots.at, "said": self.snapshots.said(), "weights": self.snapshots.weights()}
        return state | ({"kernel": self.link.key} if self.link else {})

    def fallback(self) -> Figure:
        return draw_training(self.history, self.measures, self.until, self.snapshots)

    @property
    def summary(self) -> str:
        done = int(self.numbers[-ROW]) if self.numbers else 0
        kept = f"; {len(self.snapshots.at)} snapshots of {self.snapshots.words}" if self.snapshots.samples else ""
        return f"Training monitor: {done} of {self.until} steps{kept}."

    def _ipython_display_(self) -> None:
        """Show the view, unless it is already in the output of this cell."""
        from IPython import get_ipython
        from IPython.display import display

        if running_kernel() is None or self.shown_in != get_ipython().execution_count:
            display(self._repr_mimebundle_(), raw=True)


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Within the block, the first interrupt is only recorded, and the function reports it. The second acts as usual."""
    came: list[bool] = []
    if threading.current_thread() is not threading.main_thread():  # only that one hears signals
        yield lambda: False
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(True)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)
