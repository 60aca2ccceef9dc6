"""What every view promises in a notebook, in JupyterLab and Notebook 7: keys, themes, cells out of view, kernels."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.faults import SHOWN_WITHOUT_MODEL
from tests.browser.lab import DARK, LIGHT, PANEL, OpenNotebook
from tests.browser.live import FOCUSABLE, INK, KEYS, TAKES_FOCUS, Live, all_seen, answers, contrast, luminance, near
from tests.view_examples import SHOW, start

CELLS = "[cell.model.type, cell.model.sharedModel.getSource(), cell.model.executionCount]"
# Of the elements of views whether each is live, and of its pictures whether they are seen.
PLACES = """all => all.map(element =>
    [Boolean(element.live), [...element.querySelectorAll("img")].map(image => image.checkVisibility())])"""
WIDTHS = "() => [...document.querySelectorAll('.tl-view canvas')].map(canvas => canvas.style.width)"
KINDS = f"""root => [...root.querySelectorAll("{FOCUSABLE}")]
    .map(e => [e.localName, e.type, e.className, e.role].join())"""


def test_every_view_is_live_with_the_numbers_of_torch(notebook, views_in_notebook):
    """In JupyterLab once all cells have run, in Notebook 7 as stored: see `notebook` in conftest.py."""
    for name, (values, _) in all_seen(views_in_notebook).items():
        near(values, start(name))
    elements = notebook.page.locator(":has(> .tl-view)")
    assert elements.evaluate_all(PLACES) == [[True, [False]]] * len(SHOW), "live, in place of one picture"
    assert not re.search(SHOWN_WITHOUT_MODEL, notebook.page.locator("body").inner_text())


def test_no_key_reaches_the_notebook(notebook, views_in_notebook):
    """From an element of each kind that views have; test_views.py tries all of them, in each view."""
    before, tried = notebook.cells(CELLS), set()
    for name, view in views_in_notebook.items():
        if (table := view.button("show as table")).count():
            table.click()
            view.values()  # the next frame is drawn
        root = view.root.element_handle()
        for number, kind in reversed([*enumerate(root.evaluate(KINDS))]):  # the table before the button that hides it
            if kind in tried or not root.evaluate(TAKES_FOCUS, number):
                continue
            tried.add(kind)
            view.press(*KEYS)
            assert notebook.cells(CELLS) == before, (name, kind)
    assert {kind.partition(",")[0] for kind in tried} >= {"input", "button", "select", "canvas"}


def test_a_change_of_theme_repaints_every_view_in_view_or_not(notebook, views_in_notebook):
    """Cells out of view are as JupyterLab has them by default: in the page, and without a size."""
    before, widths = notebook.cells(CELLS), notebook.page.evaluate(WIDTHS)
    inks = {name: [] for name in SHOW}
    window_the_cells(notebook, "contentVisibility")
    try:
        for theme in (LIGHT, DARK):
            notebook.use_theme(theme)
            assert notebook.page.evaluate(WIDTHS) == widths
            for name, view in views_in_notebook.items():
                view.root.scroll_into_view_if_needed()
                view.values()  # the next frame is drawn
                ink, found, background = view.root.evaluate(INK)
                assert found >= 20, (theme, name, "the canvas is not drawn in the colour of the text")
                assert contrast(ink, background) >= 4.5, (theme, name, ink, background)
                inks[name].append(ink)
    finally:
        notebook.use_theme(LIGHT)
        window_the_cells(notebook, "none")
    assert all(luminance(light) < 0.2 < 0.4 < luminance(dark) for light, dark in inks.values())
    assert notebook.cells(CELLS) == before


def first(views: dict[str, Live]) -> Live:
    return next(iter(views.values()))


def test_views_are_live_and_single_when_they_come_back_into_view(notebook, views_in_notebook):
    window_the_cells(notebook, "full")
    notebook.page.evaluate(f"() => {PANEL}.content.scrollToItem({PANEL}.content.widgets.length - 1)")
    expect(first(views_in_notebook).root).not_to_be_visible()
    notebook.page.evaluate(f"() => {PANEL}.content.scrollToItem(0)")
    expect(first(views_in_notebook).root).to_be_visible()
    window_the_cells(notebook, "none")
    assert notebook.page.locator(".tl-view").count() == len(SHOW)
    answers(views_in_notebook)


def window_the_cells(notebook: OpenNotebook, mode: str) -> None:
    """`full`: cells that are not in view are taken from the page; `contentVisibility`: they stay, and have no size."""
    config = f"{PANEL}.content.notebookConfig"
    notebook.page.evaluate(f"windowingMode => {{ {config} = {{...{config}, windowingMode}}; }}", mode)


def test_views_are_live_and_single_after_another_tab(notebook, views_in_notebook):
    if not notebook.page.evaluate("() => jupyterapp.commands.hasCommand('launcher:create')"):
        pytest.skip("Notebook 7 has one document a page")
    notebook.page.evaluate(f"() => {{ window.panel = {PANEL}; jupyterapp.commands.execute('launcher:create'); }}")
    expect(first(views_in_notebook).root).not_to_be_visible()
    notebook.page.evaluate("() => { jupyterapp.shell.currentWidget.close(); jupyterapp.shell.activateById(panel.id); }")
    expect(first(views_in_notebook).root).to_be_visible()
    assert notebook.page.locator(".tl-view").count() == len(SHOW)
    answers(views_in_notebook)


def test_views_answer_while_the_kernel_is_busy(notebook, views_in_notebook):
    kernel = f"{PANEL}.sessionContext.session.kernel"
    notebook.page.evaluate(f"() => {{ {kernel}.requestExecute({{code: 'import time; time.sleep(100_000)'}}); }}")
    notebook.wait_for(f"() => {kernel}.status === 'busy'")
    answers(views_in_notebook)
    assert notebook.page.evaluate(f"() => {kernel}.status") == "busy"
    notebook.page.evaluate(f"() => {kernel}.interrupt()")
    notebook.wait_for(f"() => {kernel}.status === 'idle'")


def test_views_answer_when_the_kernel_is_gone(notebook, views_in_notebook):
    notebook.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")
    assert notebook.page.evaluate(f"() => {PANEL}.sessionContext.session") is None
    answers(views_in_notebook)
