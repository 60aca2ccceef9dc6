"""The arcs in a page: what pointing, pressing and keys show, at each sharpness; words that follow; narrow pages."""

import pytest
from playwright.sync_api import expect

from tests.browser.live import COUNT, FRAME_BY_FRAME, SEEN, WATCH, Live, in_a_page, near
from tests.view_examples import html
from tests.view_examples.arcs import data, looks

OUTSIDE = """root => {
    const stage = root.querySelector(".tl-stage").getBoundingClientRect();
    return [...root.querySelectorAll(".tl-word")].map(word => word.getBoundingClientRect())
        .filter(({left, right}) => left < stage.left || right > stage.right).length;
}"""


def word(view: Live, sentence: int, place: int):
    return view.root.get_by_role("toolbar").nth(sentence).get_by_role("button").nth(place)


def test_pointing_shows_a_word_until_the_mouse_leaves_and_a_press_keeps_it(views):
    view = views["arcs"]
    word(view, 0, 2).hover()
    near(view.values(), looks(words=(2, 1)))
    view.page.mouse.move(0, 0)
    near(view.values(), looks())
    word(view, 0, 2).click()
    view.page.mouse.move(0, 0)
    near(view.values(), looks(words=(2, 1)))
    expect(word(view, 0, 2)).to_have_attribute("aria-pressed", "true")


def test_a_word_that_both_sentences_have_shows_its_arcs_in_both(views):
    view = views["arcs"]
    word(view, 0, 4).hover()  # the
    near(view.values(), looks(words=(4, 0)))
    river = looks(words=(4, 0))[1]["weights"][4]
    assert view.says().startswith("Sentence 1: the looks at ")
    assert f"\nSentence 2: the looks at <b>river</b> ({river:.2f}), " in view.says()
    word(view, 1, 4).hover()
    assert "Sentence 1" not in view.says()


def test_keys_go_from_word_to_word_of_the_sentence_that_has_the_focus(views):
    view = views["arcs"]
    word(view, 1, 1).focus()
    for key, at in (("ArrowRight", 2), ("ArrowDown", 3), ("End", 4), ("ArrowRight", 4), ("ArrowLeft", 3), ("Home", 0)):
        view.press(key)
        expect(word(view, 1, at)).to_be_focused()
        assert view.values()[1]["word"] == at
        assert f"Sentence 2: {data['sat'][at]} looks at " in view.says()
    view.press("Tab")
    expect(view.slider).to_be_focused()
    view.press("Shift+Tab")
    expect(word(view, 1, 0)).to_be_focused()  # one word of each sentence takes part in Tab


@pytest.mark.parametrize("sharpness", [0.0, 1.15, 4.0])
def test_the_sharpness_changes_the_weights(views, sharpness):
    view = views["arcs"]
    view.slider.fill(str(sharpness))
    near(view.values(), looks(sharpness=sharpness))
    word(view, 1, 3).click()  # where two words may not be seen
    near(view.values(), looks(words=(5, 3), sharpness=sharpness))


def test_the_table_has_the_weights_of_the_words_that_are_shown(views):
    view = views["arcs alone"]
    view.button("show as table").click()
    word(view, 0, 3).click()
    shown = looks("arcs alone", words=(3, 3))
    rows = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    expected = [
        [f"to (head {i})", token, f"{weight:.3f}"]
        for i in (0, 1)
        for token, weight in zip(data["took"], shown[i]["weights"], strict=True)
    ]
    assert rows == [["word", "looks at", "weight"], *expected]


@pytest.mark.parametrize("width", [360, 754, 1400])
def test_all_words_are_in_the_picture(browser, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page.add_init_script(COUNT)
    with in_a_page(page, html("arcs")) as (_, view):
        assert view.root.evaluate(OUTSIDE) == 0
        assert view.root.evaluate("root => root.scrollWidth <= root.clientWidth")
    page.close()


@pytest.mark.parametrize(("motion", "least", "most"), [("no-preference", 6, 100), ("reduce", 2, 2)])
def test_the_arcs_glide_from_word_to_word_unless_the_reader_wants_no_motion(browser, motion, least, most):
    page = browser.new_page(viewport={"width": 1000, "height": 900}, reduced_motion=motion)
    page.add_init_script(COUNT)
    page.add_init_script(FRAME_BY_FRAME)
    with in_a_page(page, html("arcs")) as (_, view):
        view.root.evaluate(WATCH)
        word(view, 0, 0).click()
        near(view.values(), looks(words=(0, 1)))  # true at once
        assert least <= page.evaluate(SEEN) <= most
    page.close()
