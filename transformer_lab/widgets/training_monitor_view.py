"""Training as it happens, and as it was: curves, sample translations, and the attention of a few moments."""

import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import numpy as np
import torch
from matplotlib.figure import Figure

from transformer_lab.model import Transformer
from transformer_lab.plots import figure, plot_lines
from transformer_lab.tokenizer import TokenizerLike
from transformer_lab.training.loop import Report
from transformer_lab.widgets.link import connect, running_kernel
from transformer_lab.widgets.snapshots import Snapshots
from transformer_lab.widgets.view import View, to_bytes

MESSAGES = 10  # a second, at most; the page draws each in two halves
MOST_POINTS = 1000  # so much of a long run is kept
ROW = 4  # of each report: step, loss, rate, exact match (NaN if not evaluated)


def training_monitor(
    reports: Iterable[Report],
    until: int,
    model: Transformer,
    tokenizer: TokenizerLike,
    samples: Sequence[tuple[str, str]] = (),
    *,
    floor: float | None = None,
) -> View:
    """Train, and show it: take the reports of a training until step `until`, or until an interrupt.

    `samples` are pairs of texts: at the first step, and at each that was evaluated, the monitor keeps the model's
    translation of each source, and its cross-attention where it is given the target (teacher forcing). `floor` is the
    least loss there can be, which with label smoothing is not 0; it is drawn as a line.

    An interrupt (■, or the view's own button) waits for the end of its step; the next cell runs, and the view has a
    button to resume. At the end the view holds all that it has recorded.
    """
    monitor = TrainingMonitor(until, Snapshots(model, tokenizer, samples), floor)
    monitor.watch(reports)
    return monitor


class TrainingMonitor(View):
    """The view of a run: what it shows is what has been recorded by now."""

    kind, colours = "training_monitor", 256

    def __init__(self, until: int, snapshots: Snapshots, floor: float | None = None):
        self.until, self.snapshots, self.floor = until, snapshots, floor
        self.numbers = array("f")  # the rows, one after the other
        self.running, self.finished = False, False
        self.link = connect(self.hear, now={}, snapshots={})
        self.shown_in = None  # the count of the cell that shows it

    # ── recording ──

    def watch(self, reports: Iterable[Report]) -> None:
        """Show the view, and go through the reports."""
        self.reports = iter(reports)
        if self.link:
            from IPython import get_ipython
            from IPython.display import display

            self.shown_in = get_ipython().execution_count
            self.display = display(self._repr_mimebundle_(), raw=True, display_id=True)
        self.go_on()

    def go_on(self) -> None:
        """Take reports until they end or an interrupt comes; whatever happens, the view then shows what it has."""
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
        exact = np.nan if report.exact_match is None else report.exact_match
        self.numbers.extend((report.step, report.loss, report.rate, exact))
        if len(self.numbers) > ROW * MOST_POINTS:
            self.numbers = array("f", thinned(self.history).tobytes())
        if self.snapshots.take(report):
            self.share_snapshots()
        if time.monotonic() - self.last_update >= 1 / MESSAGES:
            self.update()

    @property
    def history(self) -> np.ndarray:
        """A row for each report that is kept."""
        return np.frombuffer(self.numbers.tobytes(), dtype="f4").reshape(-1, ROW)

    def predict(self, *_: object, **__: object) -> View:
        """Refused: it would cover what is to be watched."""
        raise TypeError("a training monitor asks no question first: it is watched from the first step on")

    # ── the page ──

    def update(self, *, lasting: bool = False) -> None:
        """Tell the page how far the run is; only what lasts reaches pages that are opened later, and it costs more."""
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
        """The page asks to resume."""
        if not self.running and not self.finished:
            self.go_on()

    @property
    def state(self) -> dict:
        state = {"summary": self.summary, "until": self.until, "finished": self.finished, "depth": self.snapshots.depth}
        state["floor"] = self.floor
        state |= {"history": torch.from_numpy(self.history.copy()), "samples": self.snapshots.samples}
        state |= {"at": self.snapshots.at, "said": self.snapshots.said(), "weights": self.snapshots.weights()}
        return state | ({"kernel": self.link.key} if self.link else {})

    def fallback(self) -> Figure:
        return curves(self.history, self.floor)

    @property
    def summary(self) -> str:
        done = int(self.numbers[-ROW]) if self.numbers else 0
        kept = f"; {len(self.snapshots.at)} snapshots of sample translations" if self.snapshots.samples else ""
        return f"Training monitor: {done} of {self.until} steps{kept}."

    def _ipython_display_(self) -> None:
        """Show the view, unless it stands in the output of this cell already."""
        from IPython import get_ipython
        from IPython.display import display

        if running_kernel() is None or self.shown_in != get_ipython().execution_count:
            display(self._repr_mimebundle_(), raw=True)


def thinned(history: np.ndarray) -> np.ndarray:
    """Every second row, and those that were evaluated if they are few."""
    evaluated = ~np.isnan(history[:, 3])
    keep = np.arange(len(history))[::-1] % 2 == 0  # the last one among them
    return history[keep | evaluated] if evaluated.sum() < MOST_POINTS / 4 else history[keep]


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Within the block the first interrupt ends nothing: the function says that it came. The second is as usual."""
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


def curves(history: np.ndarray, floor: float | None = None) -> Figure:
    """The loss and the least that it can be, and the exact match where it was measured."""
    measured = history[~np.isnan(history[:, 3])]
    drawing, (left, right) = figure(width=7.5, height=2.8, columns=2)
    finite = history[np.isfinite(history[:, 1])]
    log = bool(len(finite) and finite[:, 1].min() > 0)
    losses = {"loss": finite[:, 1]} | ({"floor": np.full(len(finite), floor)} if floor else {})
    plot_lines(finite[:, 0], losses, ax=left, x_label="step", y_label="loss", log_y=log)
    plot_lines(measured[:, 0], {"exact match": measured[:, 3]}, ax=right, x_label="step", y_label="share")
    right.set_ylim(-0.03, 1.03)
    return drawing
