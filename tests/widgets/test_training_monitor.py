"""The training monitor in Python: what it records, how it stops and goes on, what it shares with the page."""

import signal
from itertools import count

import numpy as np
import pytest
import torch

from tests.support import refuses
from tests.view_examples.training_monitor import data, recorded, recorded_of_text
from tests.view_outputs import numbers, state_of
from transformer_lab import widgets
from transformer_lab.training import Report as Step
from transformer_lab.widgets.views.training_monitor.history import MOST_POINTS, Measures, thinned
from transformer_lab.widgets.views.training_monitor.snapshots import MOST_SNAPSHOTS, Translations
from transformer_lab.widgets.views.training_monitor.training_monitor_view import TrainingMonitor

EXACT = Measures("exact match", "share")


def untrained() -> tuple:
    _, _, model, letters, samples = data["toy_training"]()
    return model, letters, samples


def test_it_carries_every_report_and_the_snapshots_of_the_steps_that_were_evaluated():
    state = state_of(widgets.training_monitor(*data["toy_training"]()))
    reports, snapshots = recorded()
    expected = [[r.step, r.loss, r.rate, np.nan if r.score is None else r.score] for r in reports]
    torch.testing.assert_close(numbers(state["history"]), torch.tensor(expected), equal_nan=True)
    assert state["at"] == [step for step, *_ in snapshots] == [1, 10, 20, 30]
    assert state["said"] == [text for _, said, _ in snapshots for text in said]
    for i, packed in enumerate(state["weights"]):
        torch.testing.assert_close(numbers(packed), torch.stack([weights[i] for *_, weights in snapshots]))
    assert state["samples"][1] == {
        "source": "l m n",
        "target": "l m n",
        "columns": ["l", "m", "n", "end"],
        "rows": ["l", "m", "n", "end"],
    }
    assert (state["until"], state["finished"]) == (30, True)
    assert "kernel" not in state


def test_the_summary_says_how_far_it_came_and_no_number_that_may_differ():
    view = widgets.training_monitor(*data["toy_training"]())
    assert repr(view) == "Training monitor: 30 of 30 steps; 4 snapshots of sample translations."
    model, letters, _ = untrained()
    assert repr(widgets.training_monitor([], 5, model, letters)) == "Training monitor: 0 of 5 steps."


def test_an_output_draws_its_picture_once(monkeypatch):
    view, drawn = widgets.training_monitor(*data["toy_training"]()), []
    picture = view.picture
    monkeypatch.setattr(TrainingMonitor, "picture", property(lambda _: drawn.append(1) or picture))
    view._repr_mimebundle_()
    assert drawn == [1]


def test_an_interrupt_ends_no_step_and_what_is_left_can_be_taken_later():
    model, letters, _ = untrained()
    done = []

    def reports():
        for step in range(1, 7):
            if step == 3:
                signal.raise_signal(signal.SIGINT)
            done.append(step)
            yield Step(step, 1.0, 0.1)

    before = signal.getsignal(signal.SIGINT)
    view = widgets.training_monitor(reports(), 6, model, letters)
    assert done == [1, 2, 3]
    assert (view.finished, view.history[:, 0].tolist()) == (False, [1, 2, 3])
    assert signal.getsignal(signal.SIGINT) is before
    view.hear({"resume": True})
    assert done == [1, 2, 3, 4, 5, 6]
    assert (view.finished, view.history[:, 0].tolist()) == (True, [1, 2, 3, 4, 5, 6])
    view.hear({"resume": True})  # there is nothing left
    assert len(done) == 6


def test_a_second_interrupt_ends_the_step():
    model, letters, _ = untrained()

    def reports():
        yield Step(1, 1.0, 0.1)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monitor = TrainingMonitor(2, Translations(model, letters, ()), EXACT)
    with pytest.raises(KeyboardInterrupt):
        monitor.watch(reports())
    assert (monitor.running, len(monitor.history)) == (False, 1)


def test_a_loss_that_is_no_number_any_more_is_shown_as_far_as_it_goes():
    model, letters, _ = untrained()
    reports = [Step(1, 2.0, 0.1), Step(2, float("nan"), 0.1), Step(3, 0.0, 0.1)]
    view = widgets.training_monitor(reports, 3, model, letters)
    assert numbers(state_of(view)["history"])[:, 1].isnan().tolist() == [False, True, False]
    assert len(view.picture.png) > 1000


def test_of_a_long_run_every_second_point_is_kept_and_all_that_were_evaluated():
    history = np.full((MOST_POINTS + 1, 4), np.nan, dtype="<f4")
    history[:, 0] = np.arange(MOST_POINTS + 1)
    history[7, 3] = 0.5
    kept = thinned(history)[:, 0].tolist()
    assert kept == sorted([7, *range(0, MOST_POINTS + 1, 2)])


def test_a_long_run_keeps_as_many_points_as_can_be_seen_and_its_last():
    model, letters, _ = untrained()
    steps = MOST_POINTS + 100
    view = widgets.training_monitor((Step(step, 1.0, 0.1) for step in range(1, steps + 1)), steps, model, letters)
    kept = view.history[:, 0].tolist()
    assert kept == [*range(1, MOST_POINTS + 2, 2), *range(MOST_POINTS + 2, steps + 1)]
    assert view.summary == f"Training monitor: {steps} of {steps} steps."


def test_of_many_snapshots_the_last_and_every_second_one_before_it_are_kept():
    model, letters, samples = untrained()
    snapshots = Translations(model, letters, samples)
    for step in range(1, MOST_SNAPSHOTS + 2):
        assert snapshots.take(Step(step, 1.0, 0.1, 0.0))
    assert snapshots.at == [*range(1, MOST_SNAPSHOTS + 1, 2), MOST_SNAPSHOTS + 1]
    assert not snapshots.take(Step(99, 1.0, 0.1))


class Shared:
    """What is shared with the page."""

    key = "the key"

    def __init__(self):
        object.__setattr__(self, "seen", [])

    def __setattr__(self, name, value):
        self.seen.append((name, value))

    def send(self, content, buffers):
        self.seen.append(("message", content | {"history": buffers[0]}))


def test_the_page_gets_at_most_ten_messages_a_second_and_the_numbers_as_bytes(monkeypatch):
    model, letters, samples = untrained()
    clock = count()  # every look at it takes 10 ms
    monkeypatch.setattr("time.monotonic", lambda: next(clock) / 100)
    monitor = TrainingMonitor(40, Translations(model, letters, samples), EXACT)
    monitor.link = Shared()
    monitor.display = type("Display", (), {"update": lambda self, bundle, raw: None})()
    monitor.reports = iter([Step(step, 1 / step, 0.1, 0.0 if step == 40 else None) for step in range(1, 41)])
    monitor.go_on()
    ways = [name for name, _ in monitor.link.seen if name != "snapshots"]
    assert ways == ["message"] * (len(ways) - 1) + ["now"], "what lasts costs more"
    updates = [value for name, value in monitor.link.seen if name != "snapshots"]
    assert [update["running"] for update in updates] == [True] * (len(updates) - 1) + [False]
    gaps = np.diff([update["seconds"] for update in updates[:-1]])
    assert gaps.min() >= 0.1 - 1e-9
    assert len(gaps) >= 2
    last = np.frombuffer(updates[-1]["history"], dtype="<f4").reshape(-1, 4)
    assert last[:, 0].tolist() == list(range(1, 41))
    snapshots = [value for name, value in monitor.link.seen if name == "snapshots"]
    assert [snapshot["at"] for snapshot in snapshots] == [[1], [1, 40]]
    assert [len(part) for part in snapshots[-1]["weights"]] == [2 * 2 * 2 * 3 * 3 * 4, 2 * 2 * 2 * 4 * 4 * 4]


def test_a_monitor_takes_no_question():
    model, letters, samples = untrained()
    monitor = TrainingMonitor(40, Translations(model, letters, samples), EXACT)
    with pytest.raises(TypeError, match="a training monitor asks no question first: it is watched from the first step"):
        monitor.predict("How low?", ["1", "2"], "1", "it is 1")


# ── a language model ──


def test_of_a_training_on_text_it_keeps_losses_levels_and_what_the_model_writes():
    view = widgets.text_training_monitor(*data["toy_text_training"](), n_tokens=8, levels={"bigram": 1.2})
    reports, written = recorded_of_text()
    state = state_of(view)
    expected = [[r.step, r.loss, r.rate, np.nan if r.score is None else r.score] for r in reports]
    torch.testing.assert_close(numbers(state["history"]), torch.tensor(expected), equal_nan=True)
    assert (state["at"], state["weights"]) == ([1, 10, 20, 30], [])
    assert state["said"] == [text for texts in written.values() for text in texts]
    assert state["samples"] == [{"source": "a b"}, {"source": "<"}]
    assert state["levels"] == [{"name": "bigram", "value": 1.2}]
    assert state["score"] == {"name": "validation", "unit": "loss"}
    assert repr(view) == "Training monitor: 30 of 30 steps; 4 snapshots of sample texts."


def test_the_picture_of_a_training_on_text_has_a_curve_for_each_loss_and_a_line_for_each_level():
    monitor = widgets.text_training_monitor(*data["toy_text_training"](), levels={"bigram": 1.2, "gzip": 0.9})
    axes, rate, *_ = monitor.fallback().axes
    assert (axes.get_title("left"), rate.get_title("left")) == ("loss", "learning rate")
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    reports, _ = recorded_of_text()
    assert lines["loss"] == pytest.approx([report.loss for report in reports])
    assert lines["validation"] == pytest.approx([report.score for report in reports if report.score is not None])
    assert [lines["bigram"], lines["gzip"]] == [[1.2] * 2, [0.9] * 2]


def test_the_picture_has_what_the_page_shows_first():
    picture = widgets.training_monitor(*data["toy_training"]()).fallback()
    titles = [axes.get_title("left") for axes in picture.axes if axes.get_title("left")]
    assert titles == ["loss", "exact match", "learning rate"]
    written = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert written[1] == "translation at step 30"
    assert written[-4:] == ["1", "10", "20", "30"]  # the frames of the film
    _, snapshots = recorded()
    frames = [image for axes in picture.axes for image in axes.get_images()]
    for frame, (_, _, (weights, *_)) in zip(frames, snapshots, strict=True):
        assert frame.get_array().tolist() == pytest.approx(weights[-1].mean(0).numpy())
    empty, letters, _ = untrained()
    assert len(widgets.training_monitor([], 5, empty, letters).fallback().axes) == 3


def test_a_prompt_of_a_language_model_has_at_least_one_character():
    reports, until, model, characters, _ = data["toy_text_training"]()
    with refuses("a prompt must have at least one character"):
        widgets.text_training_monitor(reports, until, model, characters, [""])
    with refuses("n_tokens (0) must be at least 1"):
        widgets.text_training_monitor(reports, until, model, characters, ["a"], n_tokens=0)
