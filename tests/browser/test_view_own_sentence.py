"""Own sentence in a page: torch's weights for each example, layer and head; each output token, by slider and by mouse.

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


def test_the_slider_goes_over_the_output_and_colours_what_each_token_looks_at(views):
    view = views["own sentence"]
    names = token_names(data["vocabulary"], translation("ah <i> d"))
    rows = cross_map("ah <i> d")
    view.slider.focus()
    view.press("End")
    assert view.says().startswith(f"To write “{names[-1]}”, the decoder gives ")
    assert f"{max(rows[-1]):.3f}, the largest of all." in view.says()
    colours = view.root.locator(".tl-strip span").evaluate_all("all => all.map(token => token.style.background)")
    assert [bool(colour) for colour in colours] == [weight >= 0.05 for weight in rows[-1]]
    view.hover(0, 2)
    assert f"“{names[0]}”, the decoder gives “d” a weight of {rows[0][2]:.3f}" in view.says()
    expect(view.slider).to_have_value("0")


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
