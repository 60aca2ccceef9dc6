"""The attention explorer in a page: torch's numbers at each setting, and the cells by mouse, by keys and as a table."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.attention import causal_output, data, given_map, steps_map

LAYOUT = "canvas => [canvas.layout.left, canvas.layout.top, canvas.layout.size]"
MAPS = ("steps", "causal", "given")


@pytest.mark.parametrize("stage", ["scores", "scaled", "masked", "weights"])
@pytest.mark.parametrize("name", ["steps", "causal"])
def test_each_stage_at_each_setting_shows_the_numbers_of_torch(views, name, stage):
    view, causal = views[name], name == "causal"
    view.button(stage).click()
    expect(view.button(stage)).to_have_attribute("aria-pressed", "true")
    near(view.values(), steps_map(name, stage, causal=causal))
    view.slider.focus()
    view.press(*["ArrowRight"] * 5)
    near(view.values(), steps_map(name, stage, temperature=10**0.1, causal=causal))
    view.labelled("÷ √d_k").uncheck()
    near(view.values(), steps_map(name, stage, temperature=10**0.1, scaled=False, causal=causal))
    if causal:
        view.labelled("causal mask").uncheck()
        near(view.values(), steps_map(name, stage, temperature=10**0.1, scaled=False))


def test_each_head_and_layer_shows_its_own_weights(views):
    view = views["given"]
    view.labelled("head").select_option("2")
    near(view.values(), given_map(head=2))
    view.labelled("layer").select_option("1")
    near(view.values(), given_map(layer=1, head=2))
    view.labelled("causal mask").check()
    near(view.values(), given_map(layer=1, head=2, causal=True))
    view.slider.focus()
    view.press(*["ArrowLeft"] * 10)
    near(view.values(), given_map(layer=1, head=2, temperature=10**-0.2, causal=True))


TERMS = {"Q Kᵀ": "scores", "/ √dₖ": "scaled", "+ mask": "masked", "softmax": "weights", "V": "output"}


def lit(view) -> list[str]:
    return view.root.locator(".tl-formula button[aria-pressed=true]").all_text_contents()


def test_each_term_of_the_equation_shows_its_step_and_each_step_lights_its_term(views):
    view = views["causal"]
    for term, stage in TERMS.items():
        view.button(f"{term}: {stage}").click()
        expected = causal_output(causal=True) if stage == "output" else steps_map("causal", stage, causal=True)
        near(view.values(), expected)
        assert lit(view) == [term]
    for term, stage in TERMS.items():
        view.button(stage).click()
        assert lit(view) == [term]
    assert views["steps"].button("V: output").count() == 0, "it has no values"


def test_the_output_follows_the_settings_and_is_said_row_by_row(views):
    view = views["causal"]
    view.button("output").click()
    view.labelled("causal mask").uncheck()
    view.labelled("÷ √d_k").uncheck()
    output = causal_output(scaled=False)
    near(view.values(), output)
    view.hover(1, 2)
    a, b = (f"{number:.2f}".replace("-", "−") for number in output[1])
    assert view.says().endswith(f" The output of the row: a {a}, <b> {b}.")


def test_a_name_lights_its_row_or_its_column(views):
    view = views["steps"]
    shown = torch.tensor(view.values())
    view.canvas.scroll_into_view_if_needed()
    box, [left, top, size] = view.canvas.bounding_box(), view.canvas.evaluate(LAYOUT)
    for t, query in enumerate(data["queries"]):
        view.page.mouse.move(box["x"] + left - 12, box["y"] + top + (t + 0.5) * size)
        assert view.says().startswith(f"query {query}, key {data['keys'][shown[t].argmax()]}: ")
    for s, key in enumerate(data["keys"]):
        view.page.mouse.move(box["x"] + left + (s + 0.5) * size, box["y"] + top - 12)
        assert view.says().startswith(f"query {data['queries'][shown[:, s].argmax()]}, key {key}: ")


def test_a_press_on_a_name_paints_nothing(views):
    view = views["masks"]
    before = view.values()
    view.canvas.scroll_into_view_if_needed()
    box, [left, top, size] = view.canvas.bounding_box(), view.canvas.evaluate(LAYOUT)
    view.page.mouse.click(box["x"] + left - 12, box["y"] + top + 0.5 * size)
    near(view.values(), before)


def test_keys_move_over_the_cells(views):
    view, queries, keys = views["steps"], data["queries"], data["keys"]
    shown = view.values()
    view.canvas.focus()
    moves = [("Enter", 0, 0), ("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("End", 1, 6), ("PageDown", 4, 6)]
    moves += [("ArrowDown", 4, 6), ("ArrowLeft", 4, 5), ("Home", 4, 0), ("ArrowLeft", 4, 0), ("ArrowUp", 3, 0)]
    moves += [("PageUp", 0, 0), ("ArrowUp", 0, 0)]
    for key, t, s in moves:
        view.press(key)
        assert view.says().startswith(f"query {queries[t]}, key {keys[s]}: weight {shown[t][s]:.3f}. "), key


def test_a_masked_cell_is_said_to_be_masked(views):
    view = views["causal"]
    view.button("masked").click()
    view.canvas.focus()
    view.press("End")
    assert view.says() == "query the, key <b>down</b>: masked."


@pytest.mark.parametrize("name", MAPS)
def test_the_mouse_finds_the_cells_that_the_keys_find(views, name):
    view = views[name]
    last_row, last_column = len(view.values()) - 1, len(view.values()[0]) - 1
    for t, s in [(0, 0), (1, last_column), (last_row, 2)]:
        view.hover(t, s)
        by_mouse, picture = view.says(), view.picture()
        view.page.mouse.move(0, 0)
        assert view.says().startswith("Point at a cell")
        view.canvas.focus()
        view.press("PageUp", "Home", *["ArrowDown"] * t, *["ArrowRight"] * s)
        assert view.says() == by_mouse
        assert view.picture() == picture
        view.canvas.blur()


@pytest.mark.parametrize("name", MAPS)
def test_the_table_has_the_numbers_and_the_names(views, name):
    view = views[name]
    rows, columns = {
        "steps": (data["queries"], data["keys"]),
        "causal": (data["queries"][:4], data["queries"][:4]),
        "given": (data["words"], data["words"]),
    }[name]
    view.button("show as table").click()
    numbers = [[f"{value:.3f}" for value in row] for row in view.values()]
    shown = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    assert shown == [["query \\ key", *columns], *([token, *row] for token, row in zip(rows, numbers, strict=True))]
    view.button("show as table").click()
    expect(view.root.locator("table")).to_have_count(0)
