"""The view of ranks in a page: each control shows what Python counts."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.ranks import LARGE, SMALL, shown
from transformer_lab.distributed.costs import WAYS, Cluster


def test_each_button_chooses_a_way(views):
    view = views["ranks"]
    for way in WAYS:
        view.button(way).click()
        near(view.values(), shown(way))
        expect(view.button(way)).to_have_attribute("aria-pressed", "true")
        expect(view.button(way)).to_be_focused()
    view.button("reset").click()
    near(view.values(), shown())


def test_ranks_link_tokens_and_a_slow_rank(views):
    view = views["ranks"]
    view.button("3 ranks").click()
    step = replace(LARGE, n=3)
    near(view.values(), shown("data", step))
    view.labelled("link").fill("3")
    step = replace(step, cluster=Cluster(989e12, 12.5e9))
    near(view.values(), shown("data", step))
    view.labelled("tokens a step").fill("1")
    step = replace(step, stack=replace(step.stack, n_tokens=2 * 8192))
    near(view.values(), shown("data", step))
    view.labelled("last rank").fill("2")
    near(view.values(), shown("data", replace(step, slow=2)))
    assert "Rank 0 computes" in view.says()
    view.labelled("send while computing").check()
    near(view.values(), shown("data", replace(step, slow=2, overlap=True)))


def test_micro_batches_are_asked_of_a_pipeline_alone(views):
    view = views["three ranks in a pipeline"]
    view.labelled("micro-batches").fill("4")
    near(view.values(), shown("pipeline", replace(SMALL, n_micro=16)))
    view.button("data").click()
    view.values()
    expect(view.labelled("micro-batches")).to_be_hidden()


def test_keys_go_through_the_step_and_choose_ways(views):
    view = views["ranks"]
    view.canvas.focus()
    view.press("Home", "ArrowRight", "ArrowRight", "3")
    near(view.values(), shown("tensor", LARGE, 2))
    view.press("End")
    near(view.values(), shown("tensor", LARGE, 200))
    expect(view.canvas).to_be_focused()


def test_a_press_in_the_picture_goes_there(views):
    view = views["ranks"]
    view.canvas.scroll_into_view_if_needed()
    left, width = view.canvas.evaluate("canvas => [canvas.layout.left, canvas.layout.width]")
    box = view.canvas.bounding_box()
    view.page.mouse.move(box["x"] + left + width * 0.75, box["y"] + 100)
    view.page.mouse.down()
    view.page.mouse.up()
    assert view.values()["moment"] == pytest.approx(0.75 * shown()["seconds"], rel=0.01)


def test_a_press_on_a_bar_chooses_its_way(views):
    view = views["ranks"]
    bars = view.root.locator("canvas").nth(1)
    bars.click(position={"x": 120, "y": 26 + 30 * 4 + 15})
    near(view.values(), shown("pipeline"))


def test_the_readout_says_how_fast_and_who_waits(views):
    view = views["ranks"]
    now = shown()
    assert view.says().startswith(f"data, 4 ranks: a step takes {1000 * now['seconds']:.0f} ms, ")
    assert "Each rank computes 83 % of it, sends 17 % and waits 0 %." in view.says()
    assert "in 4 calls" in view.says()
    note = view.root.locator(".tl-moment")
    expect(note).to_contain_text("ranks 0, 1, 2, 3 compute layer 3 backward.")


def test_the_table_has_each_rank_and_each_way(views):
    view = views["ranks"]
    view.button("show as table").click()
    view.values()
    rows = [row.locator("th, td").all_inner_texts() for row in view.root.locator("tr").all()]
    assert rows[0] == ["", "computes", "sends", "waits", "all send"]
    assert [row[0] for row in rows[1:]] == [*(f"rank {i}" for i in range(4)), *WAYS]
    assert rows[1][1:4] == ["233 ms", "48.3 ms", "0 ms"]


def test_playing_goes_on_until_it_is_stopped(views):
    view = views["ranks"]
    before = view.values()["moment"]
    view.button("▶ play").click()
    view.page.wait_for_function(
        "([root, before]) => root.values.moment > before", arg=[view.root.element_handle(), before]
    )
    view.button("❚❚ pause").click()
    stopped = view.values()["moment"]
    assert view.values()["moment"] == stopped
