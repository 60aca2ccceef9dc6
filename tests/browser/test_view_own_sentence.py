"""Own sentence in a page: torch's weights for each example, layer and head; and each output token.

What is typed is translated by the kernel: test_live_views.py.
"""

from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.own_sentence import cross_map, data, translation
from transformer_lab.analysis import token_names


def test_each_layer_and_head_of_each_example_shows_the_weights_of_torch(views):
    view = views["own sentence"]
    for text in ("b b", "ah <i> d"):
        view.button(text).click()
        for layer in (0, 1):
            view.labelled("layer").select_option(str(layer))
            for chosen, head in enumerate((None, 0, 1)):
                view.labelled("head").select_option(str(chosen))
                near(view.values(), cross_map(text, layer, head))


def test_the_slider_goes_over_the_output(views):
    view = views["own sentence"]
    names = token_names(data["vocabulary"], translation("ah <i> d"))
    rows = cross_map("ah <i> d")
    view.slider.focus()
    view.press("End")
    assert view.says().startswith(f"To write “{names[-1]}”, the decoder gives ")
    assert f"{max(rows[-1]):.3f}, the largest of all." in view.says()


def test_the_mouse_chooses_an_output_token_and_reads_a_weight(views):
    view = views["own sentence"]
    names = token_names(data["vocabulary"], translation("ah <i> d"))
    rows = cross_map("ah <i> d")
    middle = "canvas => ['source', 'target'].map(side => [0, 1, 2].map(i => canvas.layout.middle(side, i)))"
    source, target = view.canvas.evaluate(middle)
    width = view.canvas.bounding_box()["width"]
    view.canvas.hover(position={"x": width - 20, "y": target[1]})
    assert view.says().startswith(f"To write “{names[1]}”, ")
    expect(view.slider).to_have_value("1")
    view.canvas.hover(position={"x": 20, "y": source[2]})
    assert f"“{names[1]}”, the decoder gives “d” a weight of {rows[1][2]:.3f}" in view.says()


def test_the_arrow_keys_do_what_the_mouse_does(views):
    view = views["own sentence"]
    names = token_names(data["vocabulary"], translation("ah <i> d"))
    rows = cross_map("ah <i> d")
    view.canvas.focus()
    view.press("ArrowDown", *["ArrowRight"] * 4, "ArrowLeft")
    assert f"“{names[1]}”, the decoder gives “d” a weight of {rows[1][2]:.3f}" in view.says()
    expect(view.canvas).to_be_focused()


def test_the_table_has_a_row_for_each_output_token(views):
    view = views["own sentence"]
    view.button("show as table").click()
    view.values()
    table = [row.locator("th, td").all_inner_texts() for row in view.root.locator("tr").all()]
    assert table[0] == ["output", "ah", "<i>", "d", "end"]
    assert [row[1:] for row in table[1:]] == [[f"{weight:.3f}" for weight in row] for row in cross_map("ah <i> d")]


def test_layer_and_output_token_may_change_within_one_frame(views):
    view = views["own sentence"]
    view.root.evaluate("""root => {
        const choice = [...root.querySelectorAll("select")].find(select => select.options.length > 1);
        choice.selectedIndex = 1 - choice.selectedIndex;
        choice.dispatchEvent(new Event("change", {bubbles: true}));
        const slider = root.querySelector("input[type=range]");
        slider.value = 1;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    }""")
    near(view.values(), cross_map("ah <i> d", layer=0))
    assert view.labelled("output token").input_value() == "1"
