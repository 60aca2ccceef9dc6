"""The site in a browser, from a file server without network: alive at once, legible, reachable, never too wide."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import WatchedPage, until
from tests.browser.live import Live
from tests.browser.served_site import seconds_to_answer, served
from tests.built_site import LESSONS, ROOT, built_site

SECONDS_TO_BE_ALIVE = 2
WIDTHS = (360, 800, 900, 1080, 1320, 1400)
NOTEBOOKS = [*LESSONS, "gallery"]
PAGES = ["index", "contributing", "docs/instructors", *(f"lessons/{name}" for name in NOTEBOOKS)]
TOO_WIDE = """() => [document.documentElement, document.querySelector("main")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.className || box.localName)"""
NOT_LIVE = "() => [...document.querySelectorAll('*')].filter(e => /^tl-/.test(e.localName) && !e.live).length"
BEGIN_ALL = "() => waiting.forEach(begin => begin())"
NOT_LOADED = "() => [...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
FOUND_BY_AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map(({id, nodes}) => [id, nodes.length, nodes[0].html.slice(0, 200)])"""
TOLD_LIGHT = "() => document.body.dataset.jpThemeLight"  # what views go by
INK = "() => getComputedStyle(document.querySelector('article')).color"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[str]:
    """The address of the site on a file server of this machine."""
    with served(built_site(tmp_path_factory.mktemp("site") / "out")) as address:
        yield address


@pytest.fixture(scope="module")
def watched(browser) -> Iterator[WatchedPage]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    yield WatchedPage(page)
    page.close()


@pytest.fixture
def page(watched) -> Iterator[Page]:
    """A page, in the light. Whatever a test does, the page reports no error and asks no other machine."""
    watched.page.emulate_media(color_scheme="light", media="screen")
    watched.page.set_viewport_size({"width": 1400, "height": 900})
    yield watched.page
    assert watched.new_errors() == []
    assert watched.new_strangers() == []


def views_on(name: str) -> int:
    """How many views the page of a notebook must have."""
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return sum(output.get("data", {}).get("text/html", "").startswith("<tl-") for output in outputs)


def wait_until_alive(page: Page) -> None:
    """Bring every view near, for none begins before."""
    page.evaluate(BEGIN_ALL)
    page.wait_for_function(f"() => !({NOT_LIVE})()")


# ── alive ──


def test_the_front_page_answers_after_two_seconds_of_computing(browser, site):
    assert min(seconds_to_answer(browser, site)[1] for _ in range(3)) < SECONDS_TO_BE_ALIVE


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_alive_and_no_wider_than_the_window(page, site, name):
    page.goto(f"{site}{name}.html")
    wait_until_alive(page)
    assert page.evaluate(NOT_LOADED) == []
    if name.startswith("lessons/"):
        expect(page.locator(".tl-view")).to_have_count(views_on(name.partition("/")[2]))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(TOO_WIDE) == [], width


def test_a_view_answers_the_keyboard_and_follows_the_theme(page, site):
    page.goto(f"{site}lessons/00_start_here.html")
    wait_until_alive(page)
    view = Live(page, page.locator(".tl-view").first)
    before, values = view.picture(), view.values()
    view.slider.focus()
    page.keyboard.press("ArrowRight")
    until(page, lambda: repr(view.values()) != repr(values) and view.picture() != before)
    light, ink = view.picture(), page.evaluate(INK)
    page.emulate_media(color_scheme="dark")
    until(page, lambda: view.picture() != light and page.evaluate(INK) != ink)
    assert page.evaluate(TOLD_LIGHT) == "false"
    page.locator("button.theme").focus()
    page.keyboard.press("Enter")  # from the system's to the light
    until(page, lambda: (page.evaluate(INK), page.evaluate(TOLD_LIGHT), view.picture()) == (ink, "true", light))
    page.evaluate("() => localStorage.clear()")


# ── answers ──


def test_predictions_quizzes_and_hints_answer_the_keyboard(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    wait_until_alive(page)
    views = page.locator(".tl-view canvas")
    view = next(view for view in views.all() if not view.is_visible())
    page.get_by_role("button", name="show me").nth(1).focus()  # the view of the first question gives nothing away
    page.keyboard.press("Enter")
    expect(view).to_be_visible()
    for opened, seen in (
        ("3. Two words of a sentence change places.", "the same average of the same words"),
        ("hint 1 of 3", "Two steps"),
        ("what comes out: predict first", "weights [[1.0]]"),
    ):
        summary = page.locator("summary", has_text=opened).first
        assert not summary.evaluate("summary => summary.parentElement.open")
        summary.focus()
        page.keyboard.press("Enter")
        expect(summary.locator("..")).to_contain_text(seen)
        assert summary.evaluate("summary => summary.parentElement.open")


def test_search_finds_the_section_and_leads_to_it(page, site):
    page.goto(f"{site}index.html")
    page.get_by_role("searchbox").first.fill("einundzwanzig")
    page.keyboard.press("Enter")
    results = page.locator("#search-results li")
    expect(results.filter(has_text="07 · Training").first).to_contain_text("einundzwanzig")
    results.filter(has_text="07 · Training").get_by_role("link", name="The question").click()
    expect(page).to_have_url(re.compile(r"07_training\.html#the-question$"))
    assert page.locator("#the-question h2").bounding_box()["y"] < 300
    page.goto(f"{site}search.html?q=zzzz")
    expect(page.locator("#found")).to_have_text("0 places found")


# ── reachable and legible ──


def test_every_lesson_is_reached_with_the_tab_key(page, site):
    page.goto(f"{site}index.html")
    reached: set[str] = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.getAttribute('href') ?? ''"))
    assert {f"lessons/{name}.html" for name in NOTEBOOKS} - reached == set()
    page.locator(".knot > a:first-child").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("01 · Attention")
    page.locator(".next-page").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("02 · Multi-head attention")


def test_a_drawing_on_a_phone_is_large_enough_to_be_read_and_scrolls_by_itself(page, site):
    page.set_viewport_size({"width": 360, "height": 900})
    page.goto(f"{site}lessons/01_attention.html")
    drawing = page.locator("article p > img").first
    assert drawing.bounding_box()["width"] >= 540
    room = drawing.locator("..")
    assert room.evaluate("room => [room.scrollWidth > room.clientWidth, room.tabIndex]") == [True, 0]
    assert page.evaluate(TOO_WIDE) == []


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe comes with the extra `browser`")
@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [
        *(("index", "light", 360), ("index", "dark", 1400)),
        *(("lessons/05_masking", "dark", 360), ("lessons/00_start_here", "light", 1400)),
        *(("lessons/gallery", "dark", 900), ("search", "light", 900)),
    ],
)
def test_axe_finds_nothing(page, site, name, theme, width):
    import axe_playwright_python

    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site}{name}.html")
    wait_until_alive(page)
    page.evaluate(Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8"))
    assert page.evaluate(FOUND_BY_AXE) == []


def test_paper_is_white_and_shows_what_is_folded(page, site):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{site}lessons/01_attention.html")
    wait_until_alive(page)
    folded = page.locator("article details:not(.above-input)")
    assert folded.count() > 5
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert folded.evaluate_all("all => all.every(details => details.open)")
    page.emulate_media(media="print")
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    red, green, blue = (int(part) for part in page.evaluate(INK)[4:-1].split(","))
    assert max(red, green, blue) < 60
    expect(page.locator("#contents")).to_be_hidden()
