"""Swaps side by side in a page: each control shows what Python counts."""

from playwright.sync_api import expect

from tests.browser.live import Live, near
from tests.view_examples.swaps import shown
from transformer_lab.training.experiments.swaps import SWAPS

ALL = tuple(SWAPS)


def test_each_button_makes_a_swap_or_takes_it_back(views):
    view = views["swaps"]
    for name in ALL:
        view.button(name).click()
        near(view.values(), shown(tuple(other for other in ALL if other != name), 64))
        expect(view.button(name)).to_have_attribute("aria-pressed", "false")
        view.button(name).click()
        near(view.values(), shown(ALL, 64))


def test_both_ends_and_reset(views):
    view = views["swaps"]
    view.button("2017").click()
    near(view.values(), shown((), 64))
    assert view.says().startswith("No swap: ")
    view.button("all six").click()
    near(view.values(), shown(ALL, 64))
    view.button("2017").click()
    view.button("reset").click()
    near(view.values(), shown(ALL, 64))


def test_sizes_and_length_count_for_another_model(views):
    view = views["two swaps"]
    view.labelled("counted for").select_option(label="d_model 4608, 32 layers")
    near(view.values(), shown(("RoPE", "no biases"), 1024, 4608, 32))
    view.labelled("tokens").focus()
    view.press("ArrowRight")
    near(view.values(), shown(("RoPE", "no biases"), 2048, 4608, 32))


def test_the_readout_has_both_blocks(views):
    view = views["swaps"]
    assert "60,240 parameters (2017: 61,248)" in view.says()
    assert "the cache holds 12.3 kB in float16 (2017: 24.6 kB)" in view.says()
    assert "Measured loss 1.410 nats a character (3 seeds: 1.400, 1.410, 1.420); 2017: 2.010." in view.says()


def test_the_table_has_each_swap_undone(views):
    view = views["swaps"]
    view.button("show as table").click()
    view.values()
    rows = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    assert rows[0] == ["block", "parameters", "next token", "cache", "measured loss"]
    assert [row[0] for row in rows[1:]] == ["2017", "yours", *(f"{name}, undone" for name in ALL)]
    assert [row[-1] for row in rows[1:]] == ["2.010", "1.410", *["1.510"] * 6]


def carried(view: Live, name: str, onto: str) -> None:
    """Carry a part by the mouse, from its card to the middle of the block or onto another card."""
    view.root.scroll_into_view_if_needed()
    boxes = [view.button(name).bounding_box(), (view.canvas if onto == "block" else view.button(onto)).bounding_box()]
    (x, y), to = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
    view.page.mouse.move(x, y)
    view.page.mouse.down()
    view.page.mouse.move(*to, steps=4)
    view.page.mouse.up()


def test_a_part_is_dragged_into_the_block_from_either_side(views):
    view = views["swaps"]
    carried(view, "LayerNorm", "block")
    others = tuple(name for name in ALL if name != "RMSNorm")
    near(view.values(), shown(others, 64))
    expect(view.button("RMSNorm")).to_have_attribute("aria-pressed", "false")
    expect(view.button("LayerNorm")).to_have_attribute("aria-pressed", "true")
    carried(view, "RMSNorm", "block")
    near(view.values(), shown(ALL, 64))


def test_a_part_that_is_let_go_elsewhere_or_is_there_already_changes_nothing(views):
    view = views["swaps"]
    carried(view, "LayerNorm", "biases")
    near(view.values(), shown(ALL, 64))
    carried(view, "SwiGLU", "block")
    near(view.values(), shown(ALL, 64))
    expect(view.button("LayerNorm")).to_have_css("translate", "none")


def test_keys_press_a_card_as_well(views):
    view = views["swaps"]
    carried(view, "SwiGLU", "block")
    view.button("SwiGLU").focus()
    view.press("Enter")
    near(view.values(), shown(tuple(name for name in ALL if name != "SwiGLU"), 64))
    expect(view.button("SwiGLU")).to_be_focused()
    view.button("ReLU, two matrices").focus()
    view.press("Space")
    near(view.values(), shown(ALL, 64))
