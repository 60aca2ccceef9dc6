"""Swaps side by side in a page: each control shows what Python counts."""

from playwright.sync_api import expect

from tests.browser.live import near
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
    assert [row[0] for row in rows[1:]] == ["2017", "chosen", *(f"without {name}" for name in ALL)]
    assert [row[-1] for row in rows[1:]] == ["2.010", "1.410", *["1.510"] * 6]
