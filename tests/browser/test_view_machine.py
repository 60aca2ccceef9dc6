"""The machine in a page: own text, slider, parts switched off and swapped, looking inside; all with torch's numbers."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tests.browser.live import FRAMES, in_a_page, near
from tests.view_examples import html
from tests.view_examples.machine import recorded, sent, shown, source_of, written

CROSS = "decoder.layers.1.cross_attention"
FIND = """(canvas, key) => {
    const {x, y, width, height} = canvas.layout.items.find(({part}) => part.key === key);
    return [x + width / 2, y + height / 2];
}"""


@pytest.fixture
def screen(views):
    """The machine, at its first screen."""
    return views["machine"]


@pytest.fixture
def view(screen):
    """The machine with the map of all its matrices."""
    return opened(screen)


def opened(view):
    view.root.locator(".tl-weave svg").wait_for()
    view.button("every matrix").click()
    view.canvas.wait_for()
    return view


def press(view, part: str) -> None:
    x, y = view.canvas.evaluate(FIND, part)
    view.canvas.click(position={"x": x, "y": y})


def type_into(view, label: str, text: str) -> None:
    view.labelled(label).fill(text)


FONTS = "root => [...root.querySelectorAll('*')].map(one => getComputedStyle(one).fontFamily)"


def test_its_words_are_set_in_the_fonts_of_the_site(screen):
    named = {font for font in screen.root.evaluate(FONTS) if "Inter" in font or "Source" in font}
    assert len(named) > 1
    assert all(font.startswith(('"Inter Variable"', '"Source Serif 4 Variable"')) for font in named), named


def test_a_text_of_ones_own_is_translated(screen):
    for text in ("one two ten", "two"):
        type_into(screen, "text to translate", text)
        near(screen.values(), shown(text))


def test_every_output_token_has_its_probabilities(screen):
    screen.slider.focus()
    screen.press("Home")
    for at in range(1, 4):
        screen.slider.focus()
        screen.press("ArrowRight")
        near(screen.values(), shown(at=at))
    opened(screen).root.locator(".tl-tokens button").nth(2).click()
    near(screen.values(), shown(at=2))


@pytest.mark.parametrize(
    "part",
    [
        f"{CROSS}.head.0",
        "encoder.layers.0.residual_1.skip",
        "decoder.layers.0.residual_3.norm",
        "src_embedding.positions",
        "decoder.layers.0.self_attention.mask",
        "encoder.layers.1.feed_forward",
    ],
)
def test_a_part_that_is_switched_off_and_on_again(view, part):
    view.button("switch off").click()
    press(view, part)
    near(view.values(), shown(off=[part]))
    press(view, part)
    near(view.values(), shown())


def test_what_has_changed_is_marked(view):
    view.button("switch off").click()
    parts = ["src_embedding.positions", "encoder.layers.0.residual_1.norm", f"{CROSS}.head.1"]
    for part in parts:
        press(view, part)
    expected, intact = shown(off=parts), shown()
    near(view.values(), expected)
    tokens = view.root.locator(".tl-tokens button").evaluate_all(
        "all => all.map(one => [one.textContent, one.classList.contains('tl-changed')])"
    )
    assert [token for token, _ in tokens] == expected["tokens"]
    before = iter(intact["tokens"])
    assert all(token in before for token, new in tokens if not new), "what is not marked stood there, in this order"
    assert any(new for _, new in tokens), "the example shows nothing"
    view.button("decoder, layer 1, cross-attention, head 1 ✕").click()
    near(view.values(), shown(off=parts[:2]))
    view.button("all back").click()
    near(view.values(), intact)


def test_a_reader_finds_the_source_word_and_the_encoding_without_searching(screen):
    """The answer stands under the weave, and what is cut most often has a breaker with its name."""
    maps = [shown(matrix=f"{CROSS}.weights.{head}")["map"] for head in (0, 1)]
    looks = [(one + other) / 2 for one, other in zip(*(rows[shown()["at"]] for rows in maps), strict=True)]
    most = looks.index(max(looks))
    word = screen.root.locator(f".tl-weave [data-part=reads][data-s='{most}'] text").text_content()
    answer = screen.root.locator(".tl-answer")
    assert f"looks most at “{word}”: {max(looks):.2f} of its attention" in answer.text_content()
    screen.button("cut the input’s positions").click()
    expected, intact = shown(off=["src_embedding.positions"]), shown()
    near(screen.values() | {"at": 0, "probabilities": None}, expected | {"at": 0, "probabilities": None})
    same = expected["tokens"] == intact["tokens"]
    became = screen.root.locator(".tl-foot").text_content()
    assert ("The change alters numbers, but no token." if same else " tokens.") in became
    assert answer.text_content().startswith("Without the input’s positions it looks ")


def test_a_vector_from_another_sentence(view):
    model, tokenizer = sent()
    src = source_of("one ten")
    ids, _ = written(model, tokenizer, src)
    other = recorded(model, src, torch.tensor([ids[:-1]]))
    view.button("swap").click()
    type_into(view, "the other sentence", "one ten")
    view.labelled("at input token").select_option(index=2)
    part = "encoder.layers.1.residual_2"
    press(view, f"{part}.norm")
    near(view.values(), shown(swap={"part": part, "position": 2, "value": other[part][2]}))
    press(view, f"{part}.norm")
    view.root.locator(".tl-writes button").nth(1).click()
    part = "decoder.layers.0.feed_forward"
    press(view, part)
    near(view.values(), shown(at=1, swap={"part": part, "position": 1, "value": other[part][1]}))


def test_a_box_opens_and_a_number_leads_to_where_it_comes_from(view):
    part = "decoder.layers.0.feed_forward"
    press(view, part)
    near(view.values(), shown(matrix=part))
    view.root.locator(".tl-fold summary").click()
    view.root.locator(".tl-detail canvas").focus()
    view.press("ArrowRight", "ArrowDown", "Enter")
    value = shown(matrix=part)["map"][1][1]
    assert view.root.locator(".tl-sum b").first.text_content().strip() == f"{value:.4f}"
    assert view.root.locator(".tl-sum tr").last.text_content().endswith(f"{abs(value):.4f}")
    view.root.locator(".tl-sum .tl-go").first.click()
    assert view.values()["open"] == f"{part}.active"
    view.button("back").click()
    near(view.values(), shown(matrix=part))


def test_the_row_that_wrote_the_chosen_token_is_marked(view):
    tokens = shown()["tokens"]
    press(view, f"{CROSS}.head.0")
    view.root.locator(".tl-fold summary").click()
    before = view.picture(".tl-detail")
    view.root.locator(".tl-rows button").nth(1).click()
    note = view.root.locator(".tl-detail .tl-note").first
    view.page.evaluate(FRAMES)
    assert f"“{tokens[0]}”, writes “{tokens[1]}”" in note.text_content()
    assert view.picture(".tl-detail") != before
    view.press("Escape")
    press(view, "encoder.layers.0.self_attention.head.0")
    view.page.evaluate(FRAMES)
    assert note.text_content() == ""


IN_SIGHT = """one => { const {top, bottom} = one.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }"""


def test_the_sum_of_a_number_comes_into_sight_and_the_number_keeps_its_mark(blank):
    blank.set_viewport_size({"width": 700, "height": 620})
    with in_a_page(blank, html("machine")) as (page, view):
        opened(view)
        press(view, "src_embedding.tokens")
        view.root.locator(".tl-fold summary").click()
        map_, sum_ = view.root.locator(".tl-detail canvas").first, view.root.locator(".tl-sum")
        page.evaluate("scrollTo(0, 0)")
        assert not sum_.evaluate(IN_SIGHT)
        map_.click(position={"x": 200, "y": 60})
        page.mouse.move(1, 1)
        view.page.evaluate(FRAMES)
        assert sum_.evaluate(IN_SIGHT)
        first = view.picture(".tl-detail")
        map_.click(position={"x": 240, "y": 60})
        page.mouse.move(1, 1)
        assert view.picture(".tl-detail") != first
    blank.set_viewport_size({"width": 1000, "height": 900})


def test_a_part_that_is_opened_from_below_comes_into_sight(blank):
    blank.set_viewport_size({"width": 1200, "height": 400})
    with in_a_page(blank, html("machine")) as (page, view):
        opened(view)
        crumbs = view.root.locator(".tl-crumbs")
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        press(view, "src_embedding.tokens")
        page.evaluate(FRAMES)
        assert crumbs.evaluate(IN_SIGHT)
    blank.set_viewport_size({"width": 1000, "height": 900})


def test_a_box_opens_wherever_it_is_pressed_and_a_word_that_is_pressed_is_followed(view):
    x, y, wide = view.canvas.evaluate("""canvas => {
        const {x, y, width} = canvas.layout.bands[0].boxes.find(({box}) => box.kind === "residual");
        return [x, y, width];
    }""")
    first = "encoder.layers.0.residual_1"
    for place, part, then in ((8, f"{first}.sum", first), (wide - 4, first, "encoder.layers.0.feed_forward")):
        view.canvas.click(position={"x": x + place, "y": y + 6})  # its title, and no picture
        assert view.values()["open"] == part
        view.button("next part").click()
        assert view.values()["open"] == then
        assert view.root.locator(".tl-crumbs span").text_content() == "encoder › layer 0 › feed-forward" or place == 8
        assert ("ReLU(x W₁ + b₁) W₂ + b₂" in view.root.locator(".tl-say").text_content()) == (place != 8)
        view.press("Escape")
    last = view.root.locator(".tl-words span").last
    last.click()
    assert view.values()["at"] == len(shown()["tokens"]) - 1
    assert "tl-lit" in last.get_attribute("class")


def test_keys_go_from_part_to_part(view):
    view.canvas.focus()
    view.press("End")
    assert view.says() == "linear & softmax."
    view.press("Home", "ArrowRight", "ArrowRight")  # past the encoding
    assert view.says() == "encoder, layer 0, self-attention, head 0."
    view.press("ArrowRight", "Enter")
    near(view.values(), shown(matrix="encoder.layers.0.self_attention.weights.1"))


def test_the_part_under_the_cursor_is_in_sight_and_escape_leads_back(blank):
    blank.set_viewport_size({"width": 700, "height": 500})
    with in_a_page(blank, html("machine")) as (page, view):
        opened(view)
        page.evaluate("window.reached = []; document.addEventListener('keydown', ({key}) => reached.push(key))")
        spot = view.root.locator(".tl-spot")
        view.root.locator(".tl-route button").last.focus()
        view.press("Tab")
        page.evaluate(FRAMES)
        assert view.says() == "decoder, layer 1, cross-attention, head 0."
        assert spot.evaluate(IN_SIGHT)
        for key in ("Home", "End"):
            view.press(key)
            page.evaluate(FRAMES)
            assert spot.evaluate(IN_SIGHT), key
        assert f"{spot.text_content()}." == view.says() == "linear & softmax."
        view.press("Enter", "Tab", "Escape")
        page.evaluate(FRAMES)
        assert view.canvas.evaluate("canvas => canvas === document.activeElement")
        assert page.evaluate("window.reached") == ["Tab", "Tab"]
    blank.set_viewport_size({"width": 1000, "height": 900})


def test_escape_goes_back_to_the_number_that_was_followed(view):
    part = "decoder.layers.0.feed_forward"
    press(view, part)
    view.root.locator(".tl-fold summary").click()
    view.root.locator(".tl-sum .tl-go").first.click()
    assert view.values()["open"] == f"{part}.active"
    view.press("Escape")
    assert view.values()["open"] == part


TOP = "root.querySelector('canvas').getBoundingClientRect().top - root.getBoundingClientRect().top"


def test_the_drawing_stays_where_it_is_when_a_first_part_is_switched_off(view):
    top = view.after_a_frame(TOP)
    view.button("swap").click()
    assert view.after_a_frame(TOP) == top, "the other sentence has its room"
    view.button("switch off").click()
    for part in (f"{CROSS}.head.1", "src_embedding.positions"):
        press(view, part)
        view.page.evaluate(FRAMES)
        assert view.root.locator(".tl-chips").is_visible()
        assert view.after_a_frame(TOP) == top
    assert view.root.locator(".tl-key-of").is_visible(), "what the marks of a change mean stands beside them"
    view.root.locator(".tl-legends summary").click()
    assert view.after_a_frame(TOP) == top, "what the colours mean lies over the map"


def test_what_the_tokenizer_does_not_know_is_said(screen):
    type_into(screen, "text to translate", "one 7")
    assert screen.root.locator(".tl-note").first.text_content() == "Left out: “7”."
    type_into(screen, "text to translate", "")
    assert screen.values()["text"] == ""


@pytest.mark.parametrize("width", [360, 900, 1400])
def test_a_part_takes_the_place_of_the_whole_in_sight_and_escape_gives_it_back(blank, width):
    blank.set_viewport_size({"width": width, "height": 900})
    with in_a_page(blank, html("machine")) as (page, view):
        opened(view)
        press(view, f"{CROSS}.head.1")
        near(view.values(), shown(matrix=f"{CROSS}.weights.1"))
        assert not view.canvas.is_visible()
        assert page.evaluate(FOCUS) == "every matrix", "what was pressed is gone"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = view.root.locator(".tl-wall svg, .tl-heads svg").first.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900
        view.button("every matrix").click()
        near(view.values(), shown(matrix=f"{CROSS}.weights.1"))
        assert view.canvas.is_visible()
        press(view, f"{CROSS}.head.0")
        view.press("Escape")
        assert view.canvas.evaluate("canvas => canvas === document.activeElement")
    blank.set_viewport_size({"width": 1000, "height": 900})


# ── for everybody ──

LIGHT, DARK = "body { background: #fff; color: #111 }", "body { background: #111; color: #eee }"
SERIOUS = """async () => (await axe.run(document.body, {resultTypes: ["violations"]})).violations
    .filter(({impact}) => impact === "serious" || impact === "critical")
    .map(({id, nodes}) => [id, nodes.length, nodes[0].html.slice(0, 200)])"""
TARGETS = """root => [...root.querySelectorAll("button, select, input, canvas[tabindex='0'], .tl-weave")]
    .filter(one => one.checkVisibility())"""
SMALL = f"""root => ({TARGETS})(root).map(one => [one.getBoundingClientRect(), one.outerHTML.slice(0, 80)])
    .filter(([box]) => box.height < 24 || box.width < 24).map(([box, html]) => [box.width, box.height, html])"""
FOCUS = "() => document.activeElement.ariaLabel || document.activeElement.textContent"


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe comes with the extra `browser`")
@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "ratio"), [(360, 1), (900, 1), (1600, 1), (800, 2)])
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(browser, style, width, ratio):
    """800 pixels of two dots each are what a window of 1600 has at a zoom of 200 %."""
    import axe_playwright_python

    axe = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900}, device_scale_factor=ratio)
    page.add_init_script("window.listening = new Set()")
    with in_a_page(page, html("machine"), style) as (_, view):
        view.root.locator(".tl-weave svg").wait_for()
        page.evaluate(axe)
        for act in (lambda: None, *states(view)):
            act()
            page.evaluate(FRAMES)
            assert page.evaluate(SERIOUS) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert view.root.evaluate(SMALL) == []
    page.close()


def states(view) -> list:
    """What changes which controls are there."""

    def off() -> None:
        view.button("cut the causal masks").click()

    def table() -> None:
        view.button("show as table").click()

    def swap() -> None:
        view.button("swap a word").click()

    def inside() -> None:
        view.button("look inside").click()
        press(view, "decoder.layers.0.feed_forward")

    return [off, table, swap, inside]


def test_every_control_is_reached_and_used_by_keys_alone(blank):
    blank.set_viewport_size({"width": 1200, "height": 900})
    with in_a_page(blank, html("machine")) as (page, view):
        view.root.locator(".tl-weave svg").wait_for()

        def to(name: str) -> None:
            for _ in range(60):
                view.press("Tab")
                if page.evaluate(FOCUS).startswith(name):
                    return
            raise AssertionError(f"Tab does not reach {name!r}")

        to("text to translate")
        view.press("Control+a", *"two")
        near(view.values(), shown("two"))
        to("cut the input’s positions")
        view.press("Space")
        cut = shown("two", off=["src_embedding.positions"])
        near(view.values() | {"at": 0, "probabilities": None}, cut | {"at": 0, "probabilities": None})
        to("mend positions")
        view.press("Enter")
        assert view.values()["tokens"] == shown("two")["tokens"]
        assert page.evaluate(FOCUS).startswith("The weave."), "it has the focus that its button had"
        view.press("Home", "ArrowRight", "Enter")  # the cross-attention
        assert page.evaluate(FOCUS).startswith("← back")
        assert view.values()["open"] == f"{CROSS}.weights.0"
        to("All its numbers")
        view.press("Enter")
        to("scores")
        view.press("Enter")
        assert view.values()["open"].endswith("scores.0")
        view.press("Escape")
        assert page.evaluate(FOCUS).startswith("The weave.")
        every = view.root.evaluate(f"root => ({TARGETS})(root).map(e => e.outerHTML)")
        reached = set()
        for _ in range(len(every) + 4):
            view.press("Tab")
            reached.add(page.evaluate("() => document.activeElement.outerHTML"))
        assert [one for one in every if one not in reached] == []
    blank.set_viewport_size({"width": 1000, "height": 900})
