"""A view is handed on: a link leads to exactly what is seen, and a picture of it says what it is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab import WatchedPage
from tests.browser.live import FRAMES
from tests.browser.served_site import served
from tests.built_site import built_site

# Changes everything that can be changed: breakers, lists, a button that is not pressed, sliders.
CHANGE = """root => {
    const seen = kind => [...root.querySelectorAll(kind)].filter(one => one.checkVisibility());
    const tell = (one, event) => one.dispatchEvent(new Event(event, { bubbles: true }));
    seen('input[type=checkbox]').forEach(one => one.click());
    for (const one of seen('select')) {
        one.selectedIndex = (one.selectedIndex + 1) % one.options.length;
        tell(one, 'change');
    }
    seen('button[aria-pressed=false]').find(one => one.textContent !== 'show as table')?.click();
    for (const one of seen('input[type=range]')) {
        one.value = Number(one.value) === Number(one.min) ? one.max : one.min;
        tell(one, 'input');
    }
}"""
# What each view shows when its link is followed, beside what it showed when the link was made: those that differ.
FOLLOWED = f"""async ([change, places]) => {{
    const {{ changedFrom, set, settingsOf }} = await import(new URL('../_static/settings.js', location.href));
    const frames = () => {FRAMES};
    const others = [];
    const until = async (right) => {{
        for (let i = 0; i < 300 && !right(); i += 1) await frames();
        return right();
    }};
    for (const [place, node] of places) {{
        await until(() => node.live?.values);
        const [view, start] = [node.live, settingsOf(node.live)];
        (0, eval)(`(${{change}})`)(view);
        await frames();
        const [wanted, shown] = [changedFrom(start, view), JSON.stringify(view.values)];
        [...view.querySelectorAll('button')].find(one => one.textContent === 'reset').click();
        await frames();
        await set(view, new Map(new URLSearchParams(new URLSearchParams([...wanted]).toString())));
        const isSame = () => JSON.stringify(view.values) === shown;
        if (!wanted.size || !(await until(isSame))) others.push([place, ...wanted.keys()].join(' '));
    }}
    return others;
}}"""
PLACES = """() => [...document.querySelectorAll('.hand-on:not(.plate *)')].map(bar => bar.previousElementSibling)
    .filter(node => !node.localName.startsWith('tl-machine')).map(node => [node.localName, node])"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[str]:
    with served(built_site(tmp_path_factory.mktemp("site") / "out")) as address:
        yield address


@pytest.fixture(scope="module")
def watched(browser: Browser) -> Iterator[WatchedPage]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield WatchedPage(page)
    context.close()


@pytest.fixture
def page(watched: WatchedPage) -> Iterator[Page]:
    yield watched.page
    assert watched.new_errors() == []
    assert watched.new_strangers() == []


def handed_on(page: Page, place: str) -> tuple[Locator, Locator]:
    """The view at a place, once it is alive, and the bar below it."""
    bar = page.locator(f".cell_output:has(#{place}) .hand-on")
    bar.scroll_into_view_if_needed()
    view = page.locator(f".cell_output:has(#{place}) .tl-view")
    expect(view.locator("input, button").first).to_be_attached()
    return view, bar


def link_of(page: Page, bar: Locator) -> str:
    bar.get_by_role("button", name="Copy link").click()
    expect(bar).to_contain_text("Copied")
    return page.evaluate("navigator.clipboard.readText()")


def test_every_view_is_set_by_what_its_link_says(page, site):
    page.goto(f"{site}lessons/gallery.html")
    page.evaluate("() => waiting.forEach(begin => begin())")
    places = page.evaluate_handle(PLACES)
    assert page.evaluate("places => places.length", places) > 20
    assert page.evaluate(FOLLOWED, [CHANGE, places]) == []


def test_a_link_leads_to_exactly_what_is_seen(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    view, bar = handed_on(page, "view-arcs")
    view.get_by_role("slider", name="sharpness").focus()
    page.keyboard.press("End")
    view.get_by_role("button", name=re.compile("money")).click()
    shown = view.evaluate(f"async view => {{ await {FRAMES}; return JSON.stringify(view.values); }}")
    address = link_of(page, bar)
    assert "sharpness=" in address
    assert address.endswith("#view-arcs")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(
        "shown => JSON.stringify(document.querySelector('.tl-arcs.tl-view')?.values) === shown", arg=shown
    )
    expect(view).to_be_in_viewport()


def test_who_follows_a_link_is_not_asked_first(page, site):
    page.goto(f"{site}lessons/05_masking.html")
    view, bar = handed_on(page, "view-masks")
    ask = page.locator(".cell_output:has(#view-masks) .tl-ask .tl-quiet").first
    if ask.is_visible():
        ask.click()
    view.locator("canvas").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")  # paints a leak
    address = link_of(page, bar)
    assert "painted=" in address
    shown = view.evaluate("view => JSON.stringify(view.values.allowed)")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(
        "shown => JSON.stringify(document.querySelector('.tl-masks.tl-view')?.values?.allowed) === shown", arg=shown
    )
    expect(view).to_be_visible()


def test_what_stands_below_a_view_waits_for_the_prediction(page, site):
    page.goto(f"{site}lessons/05_masking.html")
    page.evaluate("() => waiting.forEach(begin => begin())")
    asked = page.locator(".cell_output:has(#view-masks)")
    bar = asked.locator(".hand-on")
    expect(bar).to_have_class("hand-on waits")
    expect(bar.get_by_role("button", name="Copy link")).to_be_hidden()
    asked.locator(".tl-ask button:not(.tl-quiet)").first.click()
    expect(bar.get_by_role("button", name="Copy link")).to_be_visible()


def test_what_was_written_comes_after_what_was_typed(page, site):
    """A control that is set may begin anew what lies on it, so that is set last."""
    page.goto(f"{site}lessons/09_language_model.html")
    view, bar = handed_on(page, "view-completer")
    view.get_by_role("textbox").first.fill("import ")
    view.locator("[data-ghost]").nth(1).click()
    address = link_of(page, bar)
    assert "written=" in address
    shown = view.evaluate(f"async view => {{ await {FRAMES}; return JSON.stringify(view.values); }}")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(
        "shown => JSON.stringify(document.querySelector('.tl-completer.tl-view')?.values) === shown", arg=shown
    )


def test_a_picture_says_what_it_is(page, site, tmp_path: Path):
    page.goto(f"{site}lessons/01_attention.html")
    view, bar = handed_on(page, "view-arcs")
    with page.expect_download() as kept:
        bar.get_by_role("button", name="Save as picture").click()
    assert kept.value.suggested_filename == "arcs.png"
    kept.value.save_as(tmp_path / "arcs.png")
    with Image.open(tmp_path / "arcs.png") as picture:
        wide = view.evaluate("view => view.clientWidth")
        assert picture.width >= 2 * wide, "as sharp as a screen with two dots for each pixel"
        assert picture.height > 600
        wide, tall = picture.size
        bands = [(80, 80, wide - 80, 170), (80, 200, wide - 80, tall - 200), (80, tall - 120, wide - 80, tall - 60)]
        inked = [picture.convert("L").crop(band).getextrema()[0] < 120 for band in bands]
    assert inked == [True] * 3, "the title, the drawing, and where it is from"
    assert page.evaluate("devicePixelRatio") == 1, "the screen is again what it was"


def test_a_figure_is_handed_on_with_its_caption(page, site, tmp_path: Path):
    page.goto(f"{site}lessons/10_inside.html")
    figure = page.locator(".plate#figure-1")
    figure.get_by_role("button", name="Copy link").click()
    assert page.evaluate("() => navigator.clipboard.readText()") == f"{site}lessons/10_inside.html#figure-1"
    with page.expect_download() as kept:
        figure.get_by_role("button", name="Save as picture").click()
    assert kept.value.suggested_filename == "10-inside-figure-1.png"
    kept.value.save_as(tmp_path / "figure.png")
    with Image.open(tmp_path / "figure.png") as picture:
        wide, tall = picture.size
        assert wide >= 2 * figure.locator(".drawn").bounding_box()["width"]
        bands = [(80, 80, wide - 80, 170), (80, 250, wide - 80, tall - 200), (80, tall - 120, wide - 80, tall - 60)]
        inked = [picture.convert("L").crop(band).getextrema()[0] < 120 for band in bands]
    assert inked == [True] * 3, "the caption, the figure, and where it is from"


SAID = """async ([place, telling]) => {
    const { saidBy } = await import(new URL('../_static/picture.js', location.href));
    return saidBy(document.querySelector(`.cell_output:has(#${place}) .tl-view`));
}"""


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("view-arcs", "Sentence 1: bank looks at money (0.70), bank (0.12), took (0.06)"),
        ("view-attention", "Attention of 7 queries to 7 keys"),  # the text beside it only says what to press
    ],
)
def test_a_picture_says_one_sentence_with_a_number_and_bids_nothing(page, site, place, said):
    page.goto(f"{site}lessons/01_attention.html")
    handed_on(page, place)
    expect_said = f"async args => (await ({SAID})(args)).startsWith(args[1])"
    page.wait_for_function(expect_said, arg=[place, said])
