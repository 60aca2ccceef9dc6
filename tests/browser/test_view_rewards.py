"""The view of trainings by rewards in a page: each control shows what was recorded."""

import pytest
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.rewards import data, shown


def test_buttons_choose_a_reward_and_a_seed(views):
    view = views["rewards"]
    view.button("seed 4").click()
    near(view.values(), shown(2))
    expect(view.button("seed 4")).to_have_attribute("aria-pressed", "true")
    view.button("right").click()  # which has no seed 4
    near(view.values(), shown(0))
    expect(view.button("right")).to_be_focused()
    view.button("digit").click()
    near(view.values(), shown(1))


def test_the_slider_and_the_keys_go_from_step_to_step(views):
    view = views["rewards"]
    view.slider.fill("4")
    near(view.values(), shown(step=4))
    view.canvas.focus()
    view.press("ArrowLeft", "ArrowLeft")
    near(view.values(), shown(step=2))
    view.press("End", "ArrowRight")
    near(view.values(), shown(step=5))
    expect(view.canvas).to_be_focused()


def test_a_shorter_run_shows_its_last_step(views):
    view = views["rewards"]
    view.slider.fill("5")
    view.button("right").click()
    near(view.values(), shown(0, 4))


def test_a_press_in_the_curves_goes_to_that_step(views):
    view = views["rewards"]
    view.values()
    x, width = view.canvas.evaluate("canvas => [canvas.plot.x, canvas.plot.width]")
    view.canvas.click(position={"x": x + width * 0.8, "y": 120})
    near(view.values(), shown(step=4))


def test_the_readout_counts_and_says_since_when_a_hole_is_used(views):
    view = views["rewards"]
    one = data["reward_runs"][1]["steps"][2]
    said = view.says()
    assert said.startswith("Rewarded by “digit”, seed 0, step 3: of 6 answers to 00012 (right: 3) ")
    assert f"{sum(one['rewards'])} are rewarded and 2 right." in said
    first = next(i for i, step in enumerate(data["reward_runs"][1]["steps"]) if step["rewarded"] - step["right"] > 0.1)
    assert ("was the first in which more than a tenth" in said) == (first <= 2)
    view.slider.fill("5")
    assert f"Step {first + 1} was the first in which more than a tenth" in view.says()


def test_the_table_has_a_row_for_each_answer(views):
    view = views["rewards"]
    view.button("show as table").click()
    now = shown()
    view.values()
    rows = [row.locator("th, td").all_inner_texts() for row in view.root.locator("tr").all()]
    assert rows[0] == ["answer", "rewarded", "right", "advantage", "p before", "p after"]
    assert rows[3][0] == "99⏎<9"
    assert [float(row[3].replace("−", "-")) for row in rows[1:]] == pytest.approx(now["advantages"], abs=0.005)


def test_playing_goes_on(views):
    view = views["right alone"]
    view.button("▶ play").click()
    view.page.wait_for_function("root => root.values.step > 0", arg=view.root.element_handle())
    view.button("❚❚ pause").click()
