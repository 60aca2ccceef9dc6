"""The cache of five designs in a page: each control shows what Python counts."""

import pytest
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.designs import shown


def test_the_other_set_changes_nothing_but_the_design(views):
    view = views["designs"]
    view.button("all at one size").click()
    near(view.values(), shown("all at one size"))
    expect(view.button("all at one size")).to_have_attribute("aria-pressed", "true")
    view.button("as published").click()
    near(view.values(), shown())


def test_tokens_decay_and_what_is_written(views):
    view = views["designs"]
    view.slider.focus()
    view.press("ArrowRight", "ArrowRight")
    near(view.values(), shown(length=4096))
    view.labelled("decay a token").fill("6")
    near(view.values(), shown(length=4096, decay=0.99))
    view.labelled("written, β").fill("1")
    near(view.values(), shown(length=4096, decay=0.99, beta=1.0))
    view.button("reset").click()
    near(view.values(), shown())


def test_a_key_or_a_pointer_asks_for_another_token(views):
    view = views["designs"]
    view.canvas.focus()
    view.press("End")
    near(view.values(), shown(place=40))
    view.press("ArrowLeft")
    near(view.values(), shown(place=39))
    expect(view.canvas).to_be_focused()
    for column in (0, 3):
        strip = view.canvas.evaluate(f"canvas => canvas.layout.columns[{column}].strip")
        view.canvas.hover(position={"x": strip["x"] + strip["width"] * 0.25, "y": 90})
        near(view.values(), shown(place=10))
    assert f"Known of token {shown(place=10)['token'] + 1:,}: " in view.says()
    view.page.mouse.move(0, 0)
    near(view.values(), shown())


def test_the_readout_has_bytes_and_what_is_known(views):
    view = views["designs"]
    assert view.says().startswith("After 2,896 tokens: multi-head 1.52 GB, grouped 380 MB, ")
    assert "latent: everything, in 1/71 of the numbers" in view.says()
    assert "window: 8 layers everything, 40 layers at second hand" in view.says()
    share = shown()["known"][-1]
    assert f"state: 12 layers everything, 36 layers {100 * share:.1f} %." in view.says()


def test_the_table_has_a_row_for_each_design(views):
    view = views["designs"]
    view.button("show as table").click()
    view.values()
    rows = [row.locator("th, td").all_inner_texts() for row in view.root.locator("tr").all()]
    assert rows[0] == ["design", "cache", "a token adds at first", "knows of token 1"]
    assert rows[2] == ["grouped, Llama 3 8B", "380 MB", "131 kB", "everything"]
    assert len(rows) == 6


@pytest.mark.parametrize("name", ["designs", "designs of one size"])
def test_playing_adds_tokens(views, name):
    view = views[name]
    before = view.values()["length"]
    view.button("▶ play").click()
    view.page.wait_for_function(
        "([root, before]) => root.values.length > before", arg=[view.root.element_handle(), before]
    )
    view.button("❚❚ pause").click()
