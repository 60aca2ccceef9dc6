"""The training monitor in a page: torch's numbers at each step, by slider and by mouse; samples, layers and heads.

How it stops and resumes: test_live_views.py.
"""

import re
from functools import cache

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.live import FRAMES, in_a_page, near
from tests.view_examples import make
from tests.view_examples.training_monitor import seen_at, seen_of_text
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.training_monitor.training_monitor_view import TrainingMonitor


def test_the_slider_goes_back_to_any_step(views):
    view = views["training"]
    view.slider.focus()
    for keys, step in ((["Home"], 1), (["ArrowRight"] * 8, 9), (["ArrowRight"], 10), (["End"], 30)):
        view.press(*keys)
        near(view.values(), seen_at(step))
        assert view.says().startswith(f"Step {step}: loss ")


def test_each_sample_layer_and_head_shows_the_weights_of_torch(views):
    view = views["training"]
    view.labelled("sample").select_option("1")
    near(view.values(), seen_at(10, sample=1))
    view.labelled("layer").select_option("0")
    near(view.values(), seen_at(10, sample=1, layer=0))
    view.labelled("head").select_option("2")
    near(view.values(), seen_at(10, sample=1, layer=0, head=1))


def test_the_samples_are_marked_right_or_wrong(views):
    view = views["training"]
    view.slider.focus()
    view.press("Home")
    seen = seen_at(1)
    rows = view.root.locator(".tl-samples tr").all()[1:]
    for row, said, target in zip(rows, seen["said"], ("k l", "l m n"), strict=True):
        expect(row.locator("td").first).to_have_text(said or "(it wrote nothing)")
        expect(row.locator("td").last).to_have_text("✓ right" if said == target else f"✗ {target}")


def test_what_is_wrong_in_a_translation_is_struck_out(views):
    view = views["training"]
    view.slider.focus()
    view.press("Home")
    view.values()  # the next frame is drawn
    struck = [cell.locator("s").all_text_contents() for cell in view.root.locator(".tl-samples td:first-of-type").all()]
    for parts, said, target in zip(struck, seen_at(1)["said"], ("k l", "l m n"), strict=True):
        left = iter(target)
        assert bool(parts) != all(letter in left for letter in said), "what is in it, in this order, may stand"


def test_a_frame_of_the_film_leads_to_its_step(views):
    view = views["training"]
    film = view.root.locator(".tl-film canvas")
    film.scroll_into_view_if_needed()
    for x, step in film.evaluate("canvas => canvas.frames.map(({x, step}) => [x, step])"):
        film.click(position={"x": x + 10, "y": 30})
        near(view.values(), seen_at(int(step)))


# Play, and pause at the third step that is drawn: all in the page, whose clock no other process can overtake.
PLAYED = """async view => {
    const press = name => [...view.querySelectorAll("button")].find(one => one.textContent.includes(name)).click();
    const [steps, end] = [[], view.values.step];
    press("play");
    while (steps.length < 3) {
        if (view.values.step !== (steps.at(-1) ?? end)) steps.push(view.values.step);
        await new Promise(done => setTimeout(done, 5));
    }
    press("pause");
    return steps;
}"""


def test_the_training_plays_from_its_first_step(views):
    view = views["training"]
    view.slider.focus()
    view.press("End")
    near(view.values(), seen_at(30))
    first, second, third = view.root.evaluate(PLAYED)
    assert first == 1 < second < third < 30
    near(view.values(), seen_at(int(third)))
    expect(view.button("▶ play")).to_be_visible()


def test_the_mouse_points_at_a_step_and_the_scale_of_the_loss_can_be_changed(views):
    view = views["training"]
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    view.page.mouse.move(box["x"] + 20, box["y"] + 100)
    view.page.mouse.move(box["x"] + 60, box["y"] + 100)
    step = view.values()["step"]
    assert 1 < step < 10
    near(view.values(), seen_at(int(step)))
    before = view.picture()[0]
    view.labelled("loss on a log scale").uncheck()
    assert view.picture()[0] != before
    expect(view.root.locator(".tl-status")).to_have_text("30 of 30 steps")
    expect(view.button("stop")).to_be_hidden()


def test_a_replay_has_one_progress_which_is_that_of_its_slider(blank):
    with in_a_page(blank, in_training(9).html()) as (page, live):
        page.evaluate(KERNEL)
        page.evaluate("history => kernel.tells(history)", numbers(19))
        expect(live.root.locator("progress")).to_be_visible()
    with in_a_page(blank, trained().html()) as (_, live):
        expect(live.slider).to_be_visible()
        expect(live.root.locator("progress")).to_be_hidden()


def test_on_a_phone_what_is_written_stands_between_the_play_button_and_the_charts(blank):
    blank.set_viewport_size({"width": 390, "height": 844})
    with in_a_page(blank, make("training on text").html()) as (_, live):
        parts = live.button("▶ play"), live.root.locator(".tl-texts"), live.canvas
        tops = [part.bounding_box()["y"] for part in parts]
        assert tops == sorted(tops)
        live.slider.focus()
        heights = set()
        for key in ("Home", *["ArrowRight"] * 12, "End"):
            live.press(key)
            live.values()
            heights.add(live.canvas.bounding_box()["y"])
        assert len(heights) == 1, "the charts stay where they are, however much is written"


def test_a_choice_by_keys_keeps_the_focus(views):
    view = views["training"]
    choice = view.labelled("sample")
    choice.focus()
    view.press("ArrowDown")
    near(view.values(), seen_at(10, sample=1))
    expect(choice).to_be_focused()


def test_a_training_on_text_shows_what_the_model_wrote_at_any_step(views):
    view = views["training on text"]
    view.slider.focus()
    for keys, step in ((["Home"], 1), (["ArrowRight"] * 10, 11), (["End"], 30)):
        view.press(*keys)
        near(view.values(), seen_of_text(step))
        cells = view.root.locator(".tl-texts tr td").all_text_contents()
        assert cells == seen_of_text(step)["said"]
    assert re.search(r"validation \d\.\d+ when last measured\.$", view.says())
    expect(view.labelled("head")).to_be_hidden()


# ── what the kernel tells while it trains ──

# A model as link.js registers it: what the kernel shares, and what it sends.
KERNEL = """
const [shared, acts] = [{ now: {}, snapshots: {} }, {}];
const fire = (event, ...details) => acts[event]?.forEach((act) => act(...details));
const bytes = (numbers) => new DataView(Float32Array.from(numbers).buffer);
const model = { get: (name) => shared[name], on: (event, act) => (acts[event] ??= []).push(act) };
const home = window[Symbol.for("transformer_lab.links")];
home.models.set("here", model);
home.dispatchEvent(new Event("here"));
window.kernel = {
    tells: (history) => fire("msg:custom", { running: true, finished: false, seconds: 1, first: 0 }, [bytes(history)]),
    ends: (history) => {
        shared.now = { running: false, finished: false, seconds: 1, first: 0, history: bytes(history) };
        fire("change:now");
    },
    leaves: () => {
        home.models.delete("here");
        home.dispatchEvent(new Event("here"));
    },
    shares: (snapshots) => {
        shared.snapshots = { ...snapshots, weights: snapshots.weights.map(bytes) };
        fire("change:snapshots");
    },
};
"""


@cache
def trained() -> TrainingMonitor:
    return make("training")


def recorded(until: int) -> dict:
    """What the example has recorded up to a step."""
    monitor = trained()
    at = [step for step in monitor.snapshots.at if step <= until]
    said = monitor.snapshots.said()[: len(at) * len(monitor.snapshots.samples)]
    weights = [of_sample[: len(at)] for of_sample in monitor.snapshots.weights()]
    return {"history": torch.tensor(monitor.history[:until]), "at": at, "said": said, "weights": weights}


def in_training(until: int) -> View:
    """The example at a step, with a kernel behind it."""
    state = trained().state | recorded(until) | {"kernel": "here"}
    return View("training_monitor", state, "It trains.", make("saturation").fallback)


def numbers(until: int) -> list[float]:
    return recorded(until)["history"].flatten().tolist()


# The steps that are drawn at once, and a tenth of a second later.
DRAWN = """async ([history, last]) => {
    const [view, steps] = [document.querySelector(".tl-view"), []];
    kernel.tells(history);
    if (last) kernel.ends(last);
    for (const wait of [0, 100]) {
        await new Promise((done) => wait ? setTimeout(done, wait) : queueMicrotask(done));
        steps.push(view.values.step);
    }
    return steps;
}"""


def test_the_steps_of_a_message_are_drawn_in_two_halves(blank):
    with in_a_page(blank, in_training(9).html()) as (page, live):
        page.evaluate(KERNEL)
        assert page.evaluate(DRAWN, [numbers(19), None]) == [14, 19]
        expect(live.root.locator(".tl-status")).to_contain_text("step 19 of 30")


def test_the_end_is_drawn_at_once_and_no_half_comes_after_it(blank):
    with in_a_page(blank, in_training(9).html()) as (page, live):
        page.evaluate(KERNEL)
        assert page.evaluate(DRAWN, [numbers(19), numbers(20)])[1] == 20
        expect(live.root.locator(".tl-status")).to_contain_text("stopped after step 20")


def test_a_kernel_that_goes_between_two_halves_trains_no_more(blank):
    with in_a_page(blank, in_training(9).html()) as (page, live):
        page.evaluate(KERNEL)
        page.evaluate("history => { kernel.tells(history); kernel.leaves(); }", numbers(19))
        page.wait_for_timeout(100)
        expect(live.root.locator(".tl-status")).to_contain_text("step 14 of 30; the kernel is gone")


def test_who_has_trained_sees_the_end_and_who_opens_the_notebook_later_the_way(blank):
    state = trained().state | {"kernel": "here"}
    with in_a_page(blank, View("training_monitor", state, "It trained.", make("saturation").fallback).html()) as opened:
        page, live = opened
        near(live.values(), seen_at(10))
        page.evaluate(KERNEL)
        page.evaluate(FRAMES)
        near(live.values(), seen_at(30))


@pytest.mark.parametrize("order", ["tells shares", "shares tells"])
def test_a_snapshot_is_seen_whether_the_page_gets_it_before_its_step_or_after(blank, order):
    after = recorded(20)
    shares = after | {"history": None, "weights": [w.flatten().tolist() for w in after["weights"]]}
    with in_a_page(blank, in_training(19).html()) as (page, live):
        page.evaluate(KERNEL)
        page.evaluate("history => kernel.tells(history)", numbers(19))
        near(live.values(), seen_at(19))
        for act in order.split():
            page.evaluate(f"x => kernel.{act}(x)", {"tells": numbers(20), "shares": shares}[act])
            page.evaluate(FRAMES)
        near(live.values(), seen_at(20))
        expect(live.root.locator(".tl-samples tr").first).to_contain_text("translation at step 20")
        rows = live.root.locator(".tl-samples tr td:first-of-type")
        assert rows.all_text_contents() == seen_at(20)["said"]
