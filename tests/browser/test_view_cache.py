"""The cost of a cache in a page: every control shows Python's numbers."""

from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.cache import SMALL, cost


def test_each_control_changes_what_it_names(views):
    view = views["cache"]
    for name, key, changed in [
        ("KV heads", "ArrowLeft", {"kv": 6}),
        ("layers", "ArrowRight", {"kv": 6, "layers": 13}),
        ("d_head", "ArrowLeft", {"kv": 6, "layers": 13, "d_head": 32}),
        ("batch", "ArrowRight", {"kv": 6, "layers": 13, "d_head": 32, "batch": 2}),
    ]:
        view.labelled(name).focus()
        view.press(key)
        near(view.values(), cost(512, **SMALL | changed))
    expect(view.labelled("model").locator("option:checked")).to_have_text("own sizes")
    view.labelled("numbers").select_option(label="float32")
    near(view.values(), cost(512, **SMALL | changed | {"each": 4}))


def test_more_heads_keep_their_own_keys_and_values_unless_they_are_shared(views):
    view = views["cache"]
    view.labelled("heads").focus()
    view.press("ArrowRight")
    near(view.values(), cost(512, **SMALL | {"heads": 16, "kv": 16}))
    view.labelled("KV heads").focus()
    view.press("Home")
    near(view.values(), cost(512, **SMALL | {"heads": 16, "kv": 1}))
    view.labelled("heads").focus()
    view.press("ArrowRight")
    near(view.values(), cost(512, **SMALL | {"heads": 20, "kv": 1}))


def test_a_model_brings_its_sizes(views):
    view = views["cache"]
    view.labelled("model").select_option(label="Transformer base")
    near(view.values(), cost(512, layers=6, heads=8, kv=8, d_head=64, ratio=4))
    view.labelled("model").select_option(label="GPT-3")
    near(view.values(), cost(512, layers=96, heads=96, kv=96, d_head=128, ratio=4))


def test_the_readout_multiplies_the_cache_out(views):
    view = views["cache"]
    assert view.says() == (
        "Cache: 2 × 12 layers × 12 KV heads × 64 × 512 tokens × 2 bytes (float16) = 18.9 MB. "
        "Token 512 costs 189 MFLOP with it and 96.6 GFLOP without: 512 times as much."
    )
    view.labelled("whole text").check()
    shown = cost(512, **SMALL)
    times = round(shown["totalWithout"] / shown["totalWith"])
    assert view.says().endswith(f"without: {times} times as much.")


def test_a_press_in_a_plot_moves_the_length(views):
    view = views["cache"]
    for plot in (0, 1):
        view.canvas.scroll_into_view_if_needed()
        box = view.canvas.bounding_box()
        x, y = view.canvas.evaluate(f"canvas => [canvas.plots[{plot}].across(64), canvas.plots[{plot}].y + 20]")
        view.page.mouse.click(box["x"] + x, box["y"] + y)
        near(view.values(), cost(64, **SMALL))
        view.button("reset").click()
        near(view.values(), cost(512, **SMALL))


def test_the_table_has_the_same_numbers(views):
    view = views["cache"]
    view.button("show as table").click()
    view.values()
    rows = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    assert rows[0] == ["tokens", "cache", "next token, with", "without", "whole text, with", "without"]
    assert rows[1][:2] == ["1", "36.9 kB"]
    assert [row[0] for row in rows[1:]] == ["1", "4", "16", "64", "256", "1,024", "4,096", "16,384", "65,536"]
