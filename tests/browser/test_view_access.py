"""What every view promises to those who touch, listen or see little: targets, names, tables, labels that are true."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.live import COUNT, FRAMES, PAGE, Live, in_a_page
from tests.view_examples import SHOW, html
from tests.view_examples.attention import data

every_view = pytest.mark.parametrize("name", SHOW)
# What is pressed, and how large: of a slider and a checkbox, its label. A word of a text is a link in a sentence.
TARGETS = """root => [...root.querySelectorAll("button, input, select, .tl-words span")]
    .filter(control => control.checkVisibility())
    .map(control => control.closest("label") ?? control)
    .map(control => [control.textContent.trim().slice(0, 40), control.getBoundingClientRect()])
    .map(([name, {width, height}]) => [name, width, height])"""
LABELS = "[...root.querySelectorAll('canvas')].map(canvas => canvas.ariaLabel)"
WRITTEN = """
window.written = [];
const {fillText} = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
    if (this.canvas.isConnected !== undefined) written.push(text);
    return fillText.call(this, text, ...at);
};
"""


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Page]:
    """A page that is touched."""
    context = browser.new_context(viewport={"width": 400, "height": 900}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(COUNT)
    yield page
    context.close()


def written(view: Live) -> set[str]:
    """All that is written on canvases from now until the second next frame."""
    view.page.evaluate("() => { written.length = 0; document.body.className += 'x'; }")  # as if the theme had changed
    return set(view.after_a_frame("[...window.written]"))


# ── size ──


def too_small(root: Locator, least: float) -> list:
    return [target for target in root.evaluate(TARGETS) if min(target[1:]) < least]


@every_view
def test_what_is_pressed_is_24_pixels_high_and_wide(views, name):
    assert too_small(views[name].root, 24) == []


def test_what_a_finger_presses_is_44_pixels_high_and_wide_and_nothing_is_wider_than_a_phone(phone):
    phone.goto("about:blank")  # where no element is defined yet
    phone.set_content(PAGE + "\n".join(f"<div>{html(name)}</div>" for name in SHOW))
    roots = phone.locator(".tl-view")
    expect(roots).to_have_count(len(SHOW))
    phone.evaluate(FRAMES)
    found = {name: too_small(roots.nth(i), 44) for i, name in enumerate(SHOW)}
    assert found == {name: [] for name in SHOW}
    wide = (
        "() => [...document.querySelectorAll('.tl-view')].filter(view => view.scrollWidth > 400).map(v => v.innerText)"
    )
    assert phone.evaluate(wide) == []
    phone.goto("about:blank")


TOO_WIDE = """() => [...document.querySelectorAll(".tl-view")]
    .map((view, i) => [i, view.scrollWidth - view.clientWidth]).filter(([, more]) => more > 0)"""


def test_nothing_is_wider_than_a_card_on_a_phone(phone):
    """The machine stands in one on the front page."""
    in_cards = "\n".join(f'<div style="width: 294px">{html(name)}</div>' for name in SHOW)
    phone.goto("about:blank")
    phone.set_content(PAGE + in_cards)
    expect(phone.locator(".tl-view")).to_have_count(len(SHOW))
    phone.evaluate(FRAMES)
    assert [(list(SHOW)[i], more) for i, more in phone.evaluate(TOO_WIDE)] == []
    phone.goto("about:blank")


def test_a_wide_page_is_used(views):
    page = next(iter(views.values())).page
    page.set_viewport_size({"width": 1440, "height": 1000})
    try:
        page.evaluate(FRAMES)
        widths = {name: view.root.bounding_box()["width"] for name, view in views.items()}
        assert min(widths.values()) >= 1100, widths
        charts = ("depth", "encoding", "saturation", "cache", "training")
        drawn = {name: views[name].canvas.bounding_box()["width"] for name in charts}
        assert min(drawn.values()) >= 1000, drawn
    finally:
        page.set_viewport_size({"width": 1280, "height": 1000})
        page.evaluate(FRAMES)


# ── styles ──

# The selectors of the styles in each view, but for what all views share: how many elements of other views they name.
LEAKS = """() => [...document.querySelectorAll(".tl-view")].flatMap(view => {
    const rules = [...view.querySelectorAll(":scope > style")].flatMap(style => [...style.sheet.cssRules]);
    const plain = rules.flatMap(rule => rule.cssRules?.length ? [...rule.cssRules] : [rule]);
    const own = element => element.closest(".tl-view")?.parentElement.localName === view.parentElement.localName;
    return plain.map(({selectorText}) => selectorText)
        .filter(text => [...document.querySelectorAll(text)].some(element => !own(element)));
})"""


def test_the_style_of_one_kind_of_view_changes_no_other(views):
    page = next(iter(views.values())).page
    assert page.evaluate(LEAKS) == []


def test_what_all_views_share_does_not_undo_the_style_of_one(views):
    """Each output carries the shared style, so another view's may come after a view's own."""
    tokens = views["machine"].root.locator(".tl-writes button")
    assert tokens.first.evaluate("button => getComputedStyle(button).fontSize") == "16px"


def test_a_text_that_is_written_has_its_own_frame_where_a_page_frames_such_texts(views):
    page = views["completer"].page
    page.add_style_tag(content="div:not(.none) pre { border: 5px solid red }")
    sides = "pre => ['Top', 'Right', 'Bottom', 'Left'].map(side => getComputedStyle(pre)[`border${side}Width`])"
    assert page.locator(".tl-written").first.evaluate(sides) == ["0px", "0px", "0px", "3px"]


# ── names ──


@every_view
def test_what_scrolls_can_be_reached_by_keys_and_has_a_name(views, name):
    """The rule scrollable-region-focusable of axe-core."""
    view = views[name]
    if (table := view.button("show as table")).count():
        table.click()
    view.values()  # the next frame is drawn
    rooms = view.root.locator(".tl-scroll:visible").all()
    assert rooms
    for room in rooms:
        assert room.evaluate("room => [room.tabIndex, room.role, Boolean(room.ariaLabel)]") == [0, "group", True]
        room.focus()
        expect(room).to_be_focused()


@every_view
def test_an_empty_room_takes_no_focus(views, name):
    views[name].values()
    assert (
        views[name].root.locator(".tl-scroll:visible").filter(has_not=views[name].page.locator("tr, canvas")).count()
        == 0
    )


@every_view
def test_the_label_of_a_picture_says_what_is_seen_now(views, name):
    if name == "machine":
        pytest.skip("its label names the drawing, and its parts are told one by one")
    view = views[name]
    before = view.after_a_frame(LABELS)
    assert all(label and "undefined" not in label and "NaN" not in label for label in before)
    view.move_the_slider()
    assert view.after_a_frame(LABELS) != before


def test_the_label_of_a_map_follows_what_is_chosen(views):
    view = views["given"]
    weights = data["weights"]
    for layer, head in ((0, 0), (1, 2)):
        view.labelled("layer").select_option(str(layer))
        view.labelled("head").select_option(str(head))
        row = weights[layer, head, 0]
        most = data["words"][row.argmax()]
        label = view.after_a_frame(LABELS)[0]
        assert f"Layer {layer}, head {head}, weights; largest in each row: " in label
        assert f"{data['words'][0]} at {most} ({row.max():.2f})" in label


# ── touch ──


def cell(view: Live, t: int, s: int) -> tuple[float, float]:
    view.canvas.scroll_into_view_if_needed()
    left, top, size = view.canvas.evaluate("canvas => [canvas.layout.left, canvas.layout.top, canvas.layout.size]")
    box = view.canvas.bounding_box()
    return box["x"] + left + (s + 0.5) * size, box["y"] + top + (t + 0.5) * size


@pytest.mark.parametrize("name", ["steps", "given"])
def test_a_finger_reads_the_cell_that_it_touches_each_time(phone, name):
    with in_a_page(phone, html(name)) as (page, view):
        queries, keys = (data["queries"], data["keys"]) if name == "steps" else (data["words"], data["words"])
        for t, s in ((1, 2), (2, 0), (0, 1)):
            page.touchscreen.tap(*cell(view, t, s))
            assert view.says().startswith(f"query {queries[t]}, key {keys[s]}: ")
            page.wait_for_timeout(50)  # the mouse events that a browser makes of a tap come later
            assert view.says().startswith(f"query {queries[t]}, key {keys[s]}: ")


def test_a_finger_beside_the_cells_reads_none(phone):
    with in_a_page(phone, html("steps")) as (page, view):
        box = view.canvas.bounding_box()
        page.touchscreen.tap(box["x"] + 3, box["y"] + box["height"] - 3)
        page.wait_for_timeout(50)
        assert view.says().startswith("Point at a cell")


@pytest.mark.parametrize("name", ["heads", "induction"])
def test_a_finger_reads_the_small_maps(phone, name):
    with in_a_page(phone, html(name)) as (page, view):
        view.canvas.scroll_into_view_if_needed()
        box, place = view.canvas.evaluate("canvas => canvas.layout.boxes[1]"), view.canvas.bounding_box()
        if name == "heads":  # on the name of the second query
            x, y = box["left"] + box["width"] - 16, box["queries"] + box["row"]
        else:
            x, y = box["left"] + 0.5 * box["size"], box["top"] + 1.5 * box["size"]
        spot = (place["x"] + x, place["y"] + y)
        page.touchscreen.tap(*spot)
        page.wait_for_timeout(50)
        assert "query " in view.says()
        assert ", key " in view.says()


def test_a_finger_reads_a_bar_and_a_node_of_the_tree(phone):
    with in_a_page(phone, html("saturation")) as (page, view):
        x, y, wide = view.canvas.evaluate("canvas => [canvas.layout.x, canvas.layout.y, canvas.layout.width]")
        box = view.canvas.bounding_box()
        page.touchscreen.tap(box["x"] + x + wide * 2.5 / 8, box["y"] + y + 20)
        page.wait_for_timeout(50)
        assert " Key 3: weight " in view.says()
    with in_a_page(phone, html("decoding")) as (page, view):
        x, y = view.canvas.evaluate("canvas => { const {x, y} = canvas.boxes.at(-1); return [x + 5, y + 5]; }")
        box = view.canvas.bounding_box()
        page.touchscreen.tap(box["x"] + x, box["y"] + y)
        page.wait_for_timeout(50)
        assert view.says().startswith("“")


# ── what is written on a map, and in which colours ──


@pytest.fixture(scope="module")
def readable(browser: Browser) -> Iterator[Page]:
    """A page that notes what is written on canvases."""
    page = browser.new_page(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
    page.add_init_script(COUNT + WRITTEN)
    yield page
    page.close()


def test_the_name_of_the_cell_that_is_read_is_not_cut_though_it_is_bold(readable):
    with in_a_page(readable, html("steps")) as (_, view):
        for t, query in enumerate(data["queries"]):
            view.hover(t, t % len(data["keys"]))
            names = written(view)
            assert {query, data["keys"][t % len(data["keys"])]} <= names
            assert not [name for name in names if name.endswith("…")]


def test_each_map_has_a_key_to_its_colours(readable):
    with in_a_page(readable, html("causal")) as (_, view):
        assert {"0", "1", "weight", "masked"} <= written(view)
        view.labelled("causal mask").uncheck()
        assert "masked" not in written(view)
        view.button("scores").click()
        most = f"{float(f'{max(abs(x) for row in view.values() for x in row):.3g}'):g}"
        assert {f"−{most}", most, "score"} <= written(view)


def colour_of(view: Live, t: int, s: int) -> list[int]:
    """The colour of a cell, near its corner."""
    return view.canvas.evaluate(
        """(canvas, [t, s]) => {
            const {left, top, size} = canvas.layout, ratio = devicePixelRatio;
            const at = [left + s * size + 3, top + t * size + 3].map(x => Math.round(x * ratio));
            return [...canvas.getContext("2d").getImageData(...at, 1, 1).data];
        }""",
        [t, s],
    )


def test_scores_are_red_below_0_and_blue_above(views):
    view = views["steps"]
    view.button("scores").click()
    scores = view.values()
    for t, row in enumerate(scores):
        for s, score in enumerate(row):
            red, _, blue, _ = colour_of(view, t, s)
            assert (red > blue) == (score < 0), (t, s, score)


def test_masked_cells_are_hatched_and_those_of_the_sheet_are_not(views):
    view = views["causal tiles"]
    last = view.slider.get_attribute("max")
    view.slider.fill(last)
    view.values()
    plain = """(canvas, [t, s]) => {
        const {left, top, size} = canvas.layout, ratio = devicePixelRatio;
        const box = [left + s * size + 4, top + t * size + 4, size - 9, size - 9].map(x => Math.round(x * ratio));
        const {data} = canvas.getContext("2d").getImageData(...box);
        return new Set(new Uint32Array(data.buffer)).size === 1;
    }"""
    masked, empty = view.canvas.evaluate(plain, [0, 5]), view.canvas.evaluate(plain, [2, 0])
    assert not masked
    assert empty
