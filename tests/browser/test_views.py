"""What every view promises by itself, in any page: torch's numbers, mouse and keys, themes; and as it was stored."""

import re

import pytest
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_notebook
from playwright.sync_api import Page, expect

from notebooks.build import KERNEL
from tests.browser.lab import opened, write
from tests.browser.live import (
    CARELESS,
    FOCUSABLE,
    FRAMES,
    INK,
    KEYS,
    TAKES_FOCUS,
    Live,
    all_seen,
    answers,
    contrast,
    luminance,
    near,
)
from tests.browser.stored import signed
from tests.view_examples import MODULES, SHOW, start

COLOURS = """canvas => {
    if (canvas.localName === 'svg') return canvas.querySelectorAll('path, line, text').length;
    const {width, height} = canvas;
    return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer)).size;
}"""
LISTEN = """() => {
    window.escaped = [];
    window.onkeydown = ({key, target}) => {
        if (!target.dataset.lmSuppressShortcuts) window.escaped.push([key, target.outerHTML.slice(0, 100)]);
    };
}"""
# The keys that got past the view, and whether the nth element that takes the focus still has it, if it is there.
AFTERWARDS = f"""async (root, n) => {{
    const element = root.querySelectorAll("{FOCUSABLE}")[n];
    const fine = () => element === document.activeElement || !element?.checkVisibility({{visibilityProperty: true}});
    if (!fine()) await {FRAMES};  // what closes is hidden when the next frame is drawn
    return [window.escaped.splice(0), fine()];
}}"""
every_view = pytest.mark.parametrize("name", SHOW)


# ── live, with the numbers of torch ──


def test_every_kind_of_view_is_shown_here(views):
    shown = {view.root.evaluate("root => root.parentElement.localName").split("-")[1] for view in views.values()}
    assert shown == set(MODULES)


@every_view
def test_the_view_is_live_in_place_of_its_picture(views, name):
    element = views[name].root.locator("..")
    assert element.evaluate("element => Boolean(element.live)")
    expect(element.locator("img")).to_have_count(1)
    expect(element.locator("img")).to_be_hidden()
    expect(views[name].drawing).to_be_visible()
    assert views[name].drawing.evaluate(COLOURS) > 20


@every_view
def test_it_starts_with_the_numbers_of_torch(views, name):
    near(views[name].values(), start(name))


@every_view
def test_reset_restores_the_start_exactly(views, name):
    view = views[name]
    before = view.values(), view.picture(), view.says(), view.controls()
    for box in view.root.locator("input[type=checkbox]:visible").all():
        box.click()
    for choice in view.root.locator("select:visible").all():
        if choice.locator("option").count() > 1:
            choice.select_option(index=1)
    view.move_the_slider()
    assert view.picture() != before[1]
    view.button("reset").click()
    view.page.mouse.move(0, 0)
    after = view.values(), view.picture(), view.says(), view.controls()
    assert repr(after) == repr(before)


# ── mouse and keys ──


@every_view
def test_dragging_the_slider_redraws(views, name):
    view = views[name]
    before, place = view.picture(), view.slider.input_value()
    view.slider.scroll_into_view_if_needed()
    box = view.slider.bounding_box()
    low, high = (float(view.slider.get_attribute(side)) for side in ("min", "max"))
    share = (float(place) - low) / (high - low)
    at = box["x"] + 8 + (box["width"] - 16) * share, box["y"] + box["height"] / 2
    to = at[0] + box["width"] * (0.4 if share < 0.5 else -0.4)
    view.page.mouse.move(*at)
    view.page.mouse.down()
    view.page.mouse.move(to, at[1], steps=4)
    while_dragging = view.picture()
    view.page.mouse.up()
    assert view.slider.input_value() != place
    assert while_dragging != before


@every_view
def test_every_control_has_a_name(views, name):
    nameless = (
        "all => all.filter(e => !(e.ariaLabel || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML)"
    )
    assert views[name].root.locator("button, input, select, canvas").evaluate_all(nameless) == []


@every_view
def test_a_screen_reader_hands_its_arrow_keys_to_what_has_some(views, name):
    roles = views[name].root.locator("canvas").evaluate_all("all => all.map(canvas => [canvas.tabIndex, canvas.role])")
    assert {tuple(one) for one in roles} <= {(0, "application"), (-1, "img")}


@every_view
def test_no_key_gets_past_the_view(page_of_views, views, name):
    """JupyterLab leaves alone what is pressed on an element with the attribute: test_views_in_jupyter.py."""
    if (table := views[name].button("show as table")).count():
        table.click()
        views[name].values()  # the next frame is drawn
    everything, root = views[name].root.locator(FOCUSABLE), views[name].root.element_handle()
    assert everything.evaluate_all(CARELESS) == [], "shown or not"
    page_of_views.page.evaluate(LISTEN)
    tried = 0
    for number in reversed(range(everything.count())):  # the table before the button that hides it
        if (what := root.evaluate(TAKES_FOCUS, number)) is None:
            continue
        tried += 1
        views[name].press(*KEYS)
        escaped, still_has_focus = root.evaluate(AFTERWARDS, number)
        assert escaped == [], what
        assert still_has_focus, what
    assert tried >= 3


# ── themes, coming back ──


def test_a_change_of_theme_repaints_every_view(page_of_views, views):
    inks, pictures = ({name: [] for name in SHOW} for _ in range(2))
    try:
        for light in ("true", "false"):
            page_of_views.page.evaluate("light => { document.body.dataset.jpThemeLight = light; }", light)
            for name, (_, picture) in all_seen(views).items():
                pictures[name].append(picture)
                ink, found, background = views[name].root.evaluate(INK)
                assert found >= 20, (name, "the canvas is not drawn in the colour of the text")
                assert contrast(ink, background) >= 4.5, (name, ink, background)
                inks[name].append(ink)
    finally:
        page_of_views.page.evaluate("() => { document.body.dataset.jpThemeLight = 'true'; }")
    for name, (in_light, in_dark) in pictures.items():
        assert luminance(inks[name][0]) < 0.2 < 0.4 < luminance(inks[name][1]), name
        same = [i for i, one in enumerate(in_light) if one == in_dark[i] != "nothing"]  # nothing: it has no size
        assert same == [], (name, "not painted anew")


def test_views_are_live_and_single_when_their_elements_are_moved(views):
    page = next(iter(views.values())).page
    page.evaluate("""() => {
        for (const {parentElement: element} of document.querySelectorAll('.tl-view')) {
            const place = element.parentElement;
            element.remove();
            place.prepend(element);
        }
    }""")
    assert page.locator(".tl-view").count() == len(SHOW)
    answers(views)


# ── outputs as they were stored: no kernel runs ──


@pytest.fixture(scope="module")
def exported(stored, tmp_path_factory) -> str:
    """The address of the notebook as a page."""
    path = tmp_path_factory.mktemp("exported") / "views.html"
    notebook = new_notebook(cells=stored, metadata={"kernelspec": KERNEL})
    path.write_text(HTMLExporter().from_notebook_node(notebook)[0], "utf-8")
    return path.as_uri()


def visible_pictures(page: Page) -> list[tuple[str, bool]]:
    """The alt text of each visible picture, and whether it has loaded."""
    pictures = page.locator("img[alt]:visible").all()
    return [(picture.get_attribute("alt"), picture.evaluate("img => img.naturalWidth > 100")) for picture in pictures]


def summaries(stored: list[NotebookNode]) -> list[tuple[str, bool]]:
    return [(cell.outputs[0].data["text/plain"], True) for cell in stored[1:]]


def assert_live(page: Page) -> None:
    expect(page.locator(".tl-view")).to_have_count(len(SHOW))
    shown = all_seen({name: Live(page, page.locator(".tl-view").nth(i)) for i, name in enumerate(SHOW)})
    for name, (values, _) in shown.items():
        near(values, start(name))
    assert visible_pictures(page) == []


def assert_no_model_is_missed(page: Page) -> None:
    assert not re.search("model not found|error displaying widget", page.locator("body").inner_text(), re.IGNORECASE)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts: live", "without scripts: pictures"])
def test_an_exported_page_without_network(browser, exported, stored, scripts):
    context = browser.new_context(java_script_enabled=scripts)
    context.route(re.compile("^https?:"), lambda route: route.abort())
    page = context.new_page()
    page.goto(exported)
    if scripts:
        assert_live(page)
    else:
        assert visible_pictures(page) == summaries(stored)
    assert_no_model_is_missed(page)
    context.close()


def test_a_stored_notebook_that_is_opened_and_not_trusted_shows_pictures(profile, address, lab_folder, stored):
    """One that is trusted is live: test_views_in_jupyter.py."""
    name = write(lab_folder, "97_stored.ipynb", *stored)
    signed(lab_folder / "work" / "notebooks" / name, lab_folder, trusted=False)
    with opened(profile, address, name) as notebook:
        assert not any(notebook.cells("cell.model.trusted"))
        assert visible_pictures(notebook.page) == summaries(stored)
        assert_no_model_is_missed(notebook.page)
        assert notebook.new_errors() == []
        assert notebook.new_strangers() == []
