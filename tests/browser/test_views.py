"""What every view promises in a page: live in JupyterLab and Notebook 7, in exported pages and stored notebooks."""

import re

import nbformat
import pytest
from lab import DARK, LIGHT, PANEL, THIS_MACHINE, OpenNotebook, opened
from live import Live, near
from nbconvert import HTMLExporter
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Page, expect

from notebooks.build import KERNEL
from tests.view_examples import MODULES, SET_UP, SHOW, START, make

CELLS = "[cell.model.type, cell.model.sharedModel.getSource(), cell.model.executionCount]"
COLOURS = """canvas => {
    const {width, height} = canvas;
    return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer)).size;
}"""
# The colour that the view writes in, how many pixels of the first canvas have it, and what is behind it.
INK = """root => {
    const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
    const canvas = root.querySelector('canvas');
    const ink = rgb(getComputedStyle(root).color);
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let found = 0;
    for (let i = 0; i < pixels.length; i += 4) {
        if (pixels[i + 3] > 200 && [0, 1, 2].every(c => Math.abs(pixels[i + c] - ink[c]) <= 24)) found += 1;
    }
    let behind = root;
    while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    return [ink.slice(0, 3), found, rgb(getComputedStyle(behind).backgroundColor).slice(0, 3)];
}"""

FOCUSABLE = "button, input, select, textarea, a, [tabindex], .tl-scroll"  # browsers give the focus to what scrolls
every_view = pytest.mark.parametrize("name", SHOW)


# ── live, with the numbers of torch ──


def test_every_module_of_the_package_is_shown_here(views):
    shown = {view.root.evaluate("root => root.parentElement.localName").split("-")[1] for view in views.values()}
    assert shown == set(MODULES)


@every_view
def test_run_all_makes_the_view_live(views, name):
    element = views[name].root.locator("..")
    assert element.evaluate("element => Boolean(element.live)")
    expect(element.locator("img")).to_have_count(1)
    expect(element.locator("img")).to_be_hidden()
    expect(views[name].canvas).to_be_visible()
    assert views[name].canvas.evaluate(COLOURS) > 20


@every_view
def test_it_starts_with_the_numbers_of_torch(views, name):
    near(views[name].values(), START[name])


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
def test_no_key_reaches_the_notebook(notebook, views, name):
    before = notebook.cells(CELLS)
    if (table := views[name].button("show as table")).count():
        table.click()
        views[name].values()  # the next frame is drawn
    everything = views[name].root.locator(FOCUSABLE)
    careless = "all => all.filter(e => !e.dataset.lmSuppressShortcuts).map(e => e.outerHTML.slice(0, 100))"
    assert everything.evaluate_all(careless) == [], "shown or not"
    takes = "element => { element.focus(); return element === document.activeElement; }"
    focusable = [element for element in everything.all() if element.is_visible() and element.evaluate(takes)]
    assert len(focusable) >= 3
    for element in reversed(focusable):  # the table before the button that hides it
        element.focus()
        views[name].press("x", "d", "d", "a", "b", "z", "Enter", "m", "Shift+Enter")
        what = element.evaluate("element => element.outerHTML.slice(0, 100)")
        assert notebook.cells(CELLS) == before, what
        if element.is_visible():
            assert element.evaluate("element => element === document.activeElement"), what


# ── themes, kernels, coming back ──


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@every_view
def test_a_change_of_theme_repaints_the_view(notebook, views, name):
    before, view = notebook.cells(CELLS), views[name]
    inks = []
    try:
        for theme in (LIGHT, DARK):
            notebook.use_theme(theme)
            view.values()  # the next frame is drawn
            ink, found, background = view.root.evaluate(INK)
            assert found >= 20, (theme, "the canvas is not drawn in the colour of the text")
            assert contrast(ink, background) >= 4.5, (theme, ink, background)
            inks.append(ink)
    finally:
        notebook.use_theme(LIGHT)
    assert luminance(inks[0]) < 0.2 < 0.4 < luminance(inks[1])
    assert notebook.cells(CELLS) == before


def answers(views: dict[str, Live]) -> None:
    """Each view follows its slider."""
    for name, view in views.items():
        values, picture = view.values(), view.picture()
        near(values, START[name])
        view.move_the_slider()
        assert view.picture() != picture, name


def first(views: dict[str, Live]) -> Live:
    return next(iter(views.values()))


def test_views_are_live_and_single_when_they_come_back_into_view(notebook, views):
    window_the_cells(notebook, "full")
    notebook.page.evaluate(f"() => {PANEL}.content.scrollToItem({PANEL}.content.widgets.length - 1)")
    expect(first(views).root).not_to_be_visible()
    notebook.page.evaluate(f"() => {PANEL}.content.scrollToItem(0)")
    expect(first(views).root).to_be_visible()
    window_the_cells(notebook, "none")
    assert notebook.page.locator(".tl-view").count() == len(SHOW)
    answers(views)


def window_the_cells(notebook: OpenNotebook, mode: str) -> None:
    """`full`: cells that are not in view are taken from the page, as JupyterLab does by default."""
    config = f"{PANEL}.content.notebookConfig"
    notebook.page.evaluate(f"windowingMode => {{ {config} = {{...{config}, windowingMode}}; }}", mode)


def test_views_are_live_and_single_when_their_elements_are_moved(notebook, views):
    notebook.page.evaluate("""() => {
        for (const {parentElement: element} of document.querySelectorAll('.tl-view')) {
            const place = element.parentElement;
            element.remove();
            place.prepend(element);
        }
    }""")
    assert notebook.page.locator(".tl-view").count() == len(SHOW)
    answers(views)


def test_views_are_live_and_single_after_another_tab(notebook, views):
    if not notebook.page.evaluate("() => jupyterapp.commands.hasCommand('launcher:create')"):
        pytest.skip("Notebook 7 has one document a page")
    notebook.page.evaluate(f"() => {{ window.panel = {PANEL}; jupyterapp.commands.execute('launcher:create'); }}")
    expect(first(views).root).not_to_be_visible()
    notebook.page.evaluate("() => { jupyterapp.shell.currentWidget.close(); jupyterapp.shell.activateById(panel.id); }")
    expect(first(views).root).to_be_visible()
    assert notebook.page.locator(".tl-view").count() == len(SHOW)
    answers(views)


def test_views_answer_while_the_kernel_is_busy(notebook, views):
    kernel = f"{PANEL}.sessionContext.session.kernel"
    notebook.page.evaluate(f"() => {{ {kernel}.requestExecute({{code: 'import time; time.sleep(60)'}}); }}")
    notebook.page.wait_for_function(f"() => {kernel}.status === 'busy'")
    answers(views)
    assert notebook.page.evaluate(f"() => {kernel}.status") == "busy"
    notebook.page.evaluate(f"() => {kernel}.interrupt()")
    notebook.page.wait_for_function(f"() => {kernel}.status === 'idle'")


def test_views_answer_when_the_kernel_is_gone(notebook, views):
    notebook.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")
    assert notebook.page.evaluate(f"() => {PANEL}.sessionContext.session") is None
    answers(views)


# ── outputs as they were stored: no kernel runs ──


@pytest.fixture(scope="module")
def stored() -> nbformat.NotebookNode:
    """The notebook with its outputs, as a repository has it."""
    cells = [new_code_cell(SET_UP, execution_count=1)]
    for number, (name, source) in enumerate(SHOW.items(), start=2):
        output = new_output("execute_result", make(name)._repr_mimebundle_(), execution_count=number)
        cells.append(new_code_cell(source, execution_count=number, outputs=[output]))
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


@pytest.fixture(scope="module")
def exported(stored, tmp_path_factory) -> str:
    """The address of the notebook as a page."""
    path = tmp_path_factory.mktemp("exported") / "views.html"
    path.write_text(HTMLExporter().from_notebook_node(stored)[0], "utf-8")
    return path.as_uri()


def visible_pictures(page: Page) -> list[tuple[str, bool]]:
    """The alt text of each visible picture, and whether it has loaded."""
    pictures = page.locator("img[alt]:visible").all()
    return [(picture.get_attribute("alt"), picture.evaluate("img => img.naturalWidth > 100")) for picture in pictures]


def summaries(stored: nbformat.NotebookNode) -> list[tuple[str, bool]]:
    return [(cell.outputs[0].data["text/plain"], True) for cell in stored.cells[1:]]


def assert_live(page: Page) -> None:
    expect(page.locator(".tl-view")).to_have_count(len(SHOW))
    for i, name in enumerate(SHOW):
        near(Live(page, page.locator(".tl-view").nth(i)).values(), START[name])
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


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted: live", "not trusted: pictures"])
def test_a_stored_notebook_that_is_opened_and_not_run(browser, address, lab_folder, stored, trusted):
    path = lab_folder / "work" / "notebooks" / "97_stored.ipynb"
    nbformat.write(stored, path)
    notary = NotebookNotary(data_dir=str(lab_folder / "data"))
    (notary.sign if trusted else notary.unsign)(nbformat.read(path, as_version=4))
    with opened(browser, address, path.name) as notebook:
        assert set(notebook.cells("cell.model.type !== 'code' || cell.model.trusted")) == {trusted}
        if trusted:
            assert_live(notebook.page)
        else:
            assert visible_pictures(notebook.page) == summaries(stored)
        assert_no_model_is_missed(notebook.page)
        assert notebook.new_errors() == []
        assert notebook.hosts <= THIS_MACHINE
