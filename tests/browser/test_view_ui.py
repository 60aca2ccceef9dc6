"""What all views promise in any page: nothing watched in vain, settings that stay, questions first, long maps."""

from collections.abc import Iterator
from functools import cache

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.browser.live import FRAMES, Live, in_a_page, near
from tests.view_examples import SHOW, html, make
from transformer_lab import widgets

REMOVE = "root => { window.away = root.parentElement; away.remove(); }"


# ── leaving the page and coming back ──


@pytest.mark.parametrize("name", SHOW)
def test_a_view_that_leaves_the_page_watches_nothing_and_comes_back_as_it_was(blank, name):
    with in_a_page(blank, html(name)) as (page, view):
        assert page.evaluate("listening.size") >= 3, "a theme, the system's theme, a width"
        view.move_the_slider()
        before = view.values(), view.picture(), view.says(), view.controls()
        view.root.evaluate(REMOVE)
        page.evaluate(FRAMES)
        assert page.evaluate("[...listening].map(String)") == []
        page.evaluate("() => { document.body.style.color = 'rgb(236, 233, 226)'; document.body.append(away); }")
        assert repr((view.values(), view.says(), view.controls())) == repr((before[0], *before[2:]))
        assert view.picture() != before[1], "drawn again, for the dark page"
        page.evaluate("() => { document.body.style.color = 'black'; document.body.className = 'other'; }")
        assert view.picture() == before[1], "the theme is watched again"


def test_a_view_that_leaves_before_its_numbers_are_read_watches_nothing(blank):
    element = long_html().split('<script type="module">')[0]
    with in_a_page(blank, long_html()) as (page, _):
        page.evaluate("html => { document.body.innerHTML = html; }", element)
        assert page.evaluate("Boolean(document.body.firstElementChild.live)")
        page.evaluate("() => document.body.firstElementChild.remove()")
        page.wait_for_timeout(300)
        assert page.evaluate("[...listening].map(String)") == []


# ── no more drawing than needed ──

DRAWN = """
window.drawn = 0; // canvases, of which this view has two
const {clearRect} = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.clearRect = function (...box) { drawn += 1; return clearRect.apply(this, box); };
"""


def test_a_view_is_drawn_once_at_first_and_again_when_its_width_changes_but_not_its_height(browser):
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.add_init_script(DRAWN)
    page.goto("about:blank")
    page.set_content(f"<!doctype html><body>{html('given')}</body>")
    times = []
    for change in ("", "width = '380px'", "paddingBottom = '50px'", "width = '500px'"):
        page.evaluate(f"document.querySelector('.tl-view').style.{change}") if change else None
        page.evaluate(FRAMES)
        times.append(page.evaluate("drawn"))
    page.close()
    assert times == [2, 4, 4, 6]


# ── themes; JupyterLab's is in test_views.py ──


DARK = {
    "VS Code": ("body.vscode-dark { --vscode-foreground: #ddd }", "document.body.className = 'vscode-dark'"),
    "Colab": ("html[theme=dark] { color: #ddd }", "document.documentElement.setAttribute('theme', 'dark')"),
    "the system": ("@media (prefers-color-scheme: dark) { body { color: #ddd } }", None),
}


@pytest.mark.parametrize("where", DARK)
def test_a_dark_theme_is_seen(blank, where):
    style, act = DARK[where]
    with in_a_page(blank, html("saturation"), style) as (page, view):
        before = view.picture()
        page.evaluate(act) if act else page.emulate_media(color_scheme="dark")
        assert view.after_a_frame("getComputedStyle(root).color") == "rgb(221, 221, 221)"
        assert view.picture() != before


# ── predict first ──


@cache
def asked_html() -> str:
    view = make("given").predict("What is it?", ["one", "<b>two</b>", "three"], "<b>two</b>", "the weight is 0.75")
    return view.html()


@pytest.fixture
def asked(blank) -> Iterator[tuple[Page, Live]]:
    with in_a_page(blank, asked_html()) as found:
        yield found


def test_without_scripts_the_picture_waits_behind_the_question(browser):
    page = browser.new_page(java_script_enabled=False)
    page.set_content(asked_html())
    expect(page.locator("img")).to_be_hidden()
    page.get_by_text("What is it? (one, <b>two</b> or three)").click()
    expect(page.locator("img")).to_be_visible()
    page.close()


def test_the_folded_picture_is_gone_where_the_view_is_live(asked):
    page, _ = asked
    expect(page.locator("details")).to_be_hidden()


def test_a_question_covers_the_view_until_it_is_answered(asked):
    page, view = asked
    ask = page.locator(".tl-ask")
    expect(view.root).to_be_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(ask).to_contain_text("Right: the weight is 0.75")
    expect(ask.get_by_role("button", name="ask again")).to_be_focused()
    expect(view.canvas).to_be_visible()
    expect(ask.get_by_role("button", name="<b>two</b>")).to_have_attribute("aria-pressed", "true")
    before = view.picture()
    view.move_the_slider()
    assert view.picture() != before
    ask.get_by_role("button", name="ask again").click()
    expect(view.root).to_be_hidden()
    expect(ask).not_to_contain_text("Right")


def test_a_wrong_answer_is_told_with_the_right_one(asked):
    page, view = asked
    page.get_by_role("button", name="three").click()
    expect(page.locator(".tl-ask")).to_contain_text("Not three but <b>two</b>: the weight is 0.75")
    expect(view.canvas).to_be_visible()


def test_right_and_wrong_look_different(asked):
    page, _ = asked
    ask = page.locator(".tl-ask")

    def look() -> list[str]:
        mark = "getComputedStyle(e.querySelector('[aria-live]'), '::before').content"
        return ask.evaluate(f"e => [getComputedStyle(e).borderLeftStyle, {mark}]")

    before = look()
    page.get_by_role("button", name="three").click()
    assert look() == ["dashed", '"✗ "']
    page.get_by_role("button", name="ask again").click()
    assert look() == before
    page.get_by_role("button", name="<b>two</b>").click()
    assert look() == ["solid", '"✓ "']


def test_a_view_that_gives_nothing_away_is_seen_and_the_answer_alone_is_covered(blank):
    view = make("given").predict("What is it?", ["one", "two"], "two", "the weight is 0.75", shown=True)
    with in_a_page(blank, view.html()) as (page, live):
        expect(live.canvas).to_be_visible()
        expect(page.locator(".tl-ask")).not_to_contain_text("0.75")
        live.move_the_slider()
        page.get_by_role("button", name="show me").click()
        expect(page.locator(".tl-ask")).to_contain_text("It is two: the weight is 0.75")


def test_without_scripts_a_picture_that_gives_nothing_away_is_seen(browser):
    view = make("given").predict("What is it?", ["one", "two"], "two", "the weight is 0.75", shown=True)
    page = browser.new_page(java_script_enabled=False)
    page.set_content(view.html())
    expect(page.locator("img")).to_be_visible()
    expect(page.get_by_text("the weight is 0.75")).to_be_hidden()
    page.get_by_text("What is it? (one or two)").click()
    expect(page.get_by_text("the weight is 0.75")).to_be_visible()
    page.close()


def test_one_may_look_without_choosing(asked):
    page, view = asked
    page.get_by_role("button", name="show me").click()
    expect(page.locator(".tl-ask")).to_contain_text("It is <b>two</b>: the weight is 0.75")
    expect(view.canvas).to_be_visible()
    expect(page.locator(".tl-ask [aria-pressed=true]")).to_have_count(0)


def test_no_button_of_a_question_gives_its_keys_away(asked):
    page, _ = asked
    buttons = page.locator(".tl-ask button").all()
    assert len(buttons) == 5
    assert all(button.get_attribute("data-lm-suppress-shortcuts") == "true" for button in buttons)


# ── long maps ──

torch.manual_seed(5)
WEIGHTS = (3 * torch.randn(2, 128, 128)).softmax(-1)
TOKENS = [f"t{i}" for i in range(128)]


@cache
def long_html() -> str:
    return widgets.attention(WEIGHTS, TOKENS, TOKENS).html()


@pytest.fixture
def long(blank) -> Iterator[tuple[Page, Live]]:
    with in_a_page(blank, long_html()) as found:
        yield found


def at(view: Live, t: float, s: float, overview: bool = False) -> None:
    """Put the mouse in the middle of a cell of the near map, or of the overview."""
    box = view.canvas.evaluate(f"canvas => canvas.layout{'.overview' if overview else ''}")
    place = view.canvas.bounding_box()
    t, s = t - box["first"][0], s - box["first"][1]
    x, y = box["left"] + (s + 0.5) * box["size"], box["top"] + (t + 0.5) * box["size"]
    view.page.mouse.move(place["x"] + x, place["y"] + y)


def first_seen(view: Live) -> list[int]:
    return view.after_a_frame("root.querySelector('canvas').layout.first")


def test_the_numbers_of_a_long_map_are_those_of_torch(long):
    _, view = long
    near(view.values(), WEIGHTS[0].double().tolist())
    view.labelled("head").select_option("1")
    near(view.values(), WEIGHTS[1].double().tolist())


def test_cells_of_a_long_map_are_large_enough_to_point_at(long):
    _, view = long
    assert view.canvas.evaluate("canvas => canvas.layout.size") >= 12


def test_the_near_map_follows_the_cursor(long):
    _, view = long
    assert first_seen(view) == [0, 0]
    view.canvas.focus()
    view.press("End")
    assert first_seen(view) == [0, 112]
    view.press("PageDown", "ArrowLeft")
    assert first_seen(view) == [112, 112]
    assert view.says().startswith(f"query t127, key t126: weight {WEIGHTS[0, 127, 126]:.3f}.")
    view.press("Home", "+")  # 12 cells across
    assert first_seen(view) == [116, 0]  # moved no farther than it must


def test_a_point_in_the_overview_shows_the_largest_cell_there(long):
    _, view = long
    at(view, 70, 40, overview=True)
    k = view.canvas.evaluate("canvas => canvas.layout.overview.k")
    assert k == 2
    block = WEIGHTS[0, 70:72, 40:42]
    t, s = divmod(block.argmax().item(), 2)
    assert view.says().startswith(f"query t{70 + t}, key t{40 + s}: weight {block.max():.3f}.")
    assert first_seen(view) == [70 + t - 8, 40 + s - 8]
    at(view, 70 + t, 40 + s)
    assert view.says().startswith(f"query t{70 + t}, key t{40 + s}: ")


def test_the_overview_says_how_it_pools(long):
    page, view = long
    note = view.root.locator(".tl-note")
    expect(note).to_contain_text("Each cell of the overview is the largest of 2 × 2.")
    before = view.picture()
    view.button("overview of means").click()
    expect(note).to_contain_text("Each cell of the overview is the mean of 2 × 2")
    assert view.picture() != before
    view.button("reset").click()
    page.mouse.move(0, 0)
    assert view.picture() == before


def test_zoom_buttons_and_keys_do_the_same(long):
    _, view = long
    view.button("zoom in").click()
    by_button = view.picture()
    view.button("reset").click()
    view.canvas.focus()
    view.press("+")
    view.canvas.blur()
    view.page.mouse.move(0, 0)
    shown = view.canvas.evaluate("canvas => canvas.layout.shown")
    assert shown == [12, 12]
    assert len(by_button) == 1


def test_keys_with_control_alt_or_meta_are_the_browsers(long):
    _, view = long
    view.canvas.focus()
    before = view.says()
    view.press("Control+ArrowRight", "Alt+ArrowDown", "Meta+ArrowRight", "Control+-")
    assert view.says() == before
    assert view.canvas.evaluate("canvas => canvas.layout.shown") == [16, 16]


def test_the_table_of_a_long_map_has_what_is_seen_near(long):
    _, view = long
    view.canvas.focus()
    view.press("PageDown", "End")
    view.button("show as table").click()
    view.values()  # the next frame is drawn
    rows = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    assert rows[0] == ["query \\ key", *TOKENS[112:]]
    assert rows[1] == ["t112", *(f"{weight:.3f}" for weight in WEIGHTS[0, 112, 112:].tolist())]
    assert len(rows) == 17


def test_the_strip_shades_the_row_of_the_query(long):
    _, view = long
    view.canvas.focus()
    view.press("ArrowDown", "ArrowDown")
    strip = view.root.locator(".tl-strip")
    row = WEIGHTS[0, 2]
    expect(strip).to_contain_text(f"Where query t2 looks: at most {row.max():.3f}")
    shaded = strip.locator("span").evaluate_all("all => all.map(span => span.style.backgroundColor !== '')")
    assert shaded == (row >= 0.05 * row.max()).tolist()
    strip.locator("span").nth(90).click()
    assert view.says().startswith("query t90, key t90: ")
    expect(strip).to_contain_text("Where query t90 looks: ")
    assert first_seen(view) == [82, 82]


def test_a_masked_half_is_striped_and_not_dark(blank):
    x = torch.randn(64, 8)
    with in_a_page(blank, widgets.attention_steps(x, x, TOKENS[:64], TOKENS[:64], causal=True).html()) as (_, view):
        over = view.canvas.evaluate("canvas => canvas.layout.overview")
        pixels = "c => [...c.getContext('2d').getImageData({}, {}, 40, 40).data].filter((_, i) => i % 4 === 3)"
        alphas = view.canvas.evaluate(pixels.format(over["left"] + 50 * over["size"], over["top"] + 5 * over["size"]))
        assert 0 in alphas
        assert max(alphas) > 60
