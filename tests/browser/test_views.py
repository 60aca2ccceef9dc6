"""The views in a real JupyterLab and a real Notebook 7, in exported pages, and in notebooks as they were stored."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
import torch
from lab import DARK, LIGHT, PANEL, OpenNotebook, opened
from nbconvert import HTMLExporter
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import Locator, Page, expect
from torch.testing import assert_close

from notebooks.build import KERNEL
from transformer_lab import widgets

FRONT_ENDS = {"JupyterLab": "/lab/tree/", "Notebook 7": "/notebooks/"}
THIS_MACHINE = {"127.0.0.1", None}  # None: data: and blob: addresses, and files

# The notebook. Names that HTML or a script could trip over are among the tokens.
SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(0)
queries = ["the", "cat", "sat", "<b>down</b>", "now"]
keys = ["die", "Katze", "</script>", "& \"sie\"", "saß", "jetzt", "."]
words = ["I", "am", "who", "I", "am", "."]
query, key = torch.randn(5, 3), torch.randn(7, 3)
own_query, own_key = torch.randn(4, 3), torch.randn(4, 3)
weights = torch.randn(2, 3, 6, 6).softmax(-1)
wide_query, wide_key = torch.randn(20, 1024), torch.randn(8, 1024)
"""
SHOW = {
    "steps": "widgets.attention_steps(query, key, queries, keys)",
    "causal": "widgets.attention_steps(own_query, own_key, queries[:4], queries[:4], causal=True)",
    "given": "widgets.attention(weights, words, words)",
    "saturation": "widgets.saturation(wide_query, wide_key)",
}
MAPS = ("steps", "causal", "given")
TALL = "tall\n\n" * 60  # makes the notebook longer than the window

data: dict = {}
exec(SET_UP, data)


# ── what torch says that a view must show ──


def steps_map(name="steps", stage="weights", temperature=1.0, scaled=True, causal=False) -> list[list[float]]:
    query, key = (data["query"], data["key"]) if name == "steps" else (data["own_query"], data["own_key"])
    scores = (query @ key.T).double()
    scaled_scores = scores / (math.sqrt(3) if scaled else 1) / temperature
    forbidden = torch.ones_like(scores).triu(1).bool() & causal
    stages = {
        "scores": scores,
        "scaled": scaled_scores,
        "masked": scaled_scores.masked_fill(forbidden, math.nan),
        "weights": scaled_scores.masked_fill(forbidden, -math.inf).softmax(-1),
    }
    return stages[stage].tolist()


def given_map(layer=0, head=0, temperature=1.0, causal=False) -> list[list[float]]:
    powers = data["weights"][layer, head].double().pow(1 / temperature)
    powers = powers.tril() if causal else powers
    return (powers / powers.sum(-1, keepdim=True)).tolist()


def saturated(width=1024, scaled=False) -> dict:
    norms, weights = jacobians(width, scaled)
    typical = jacobians(1024, False)[0].median(dim=0).indices
    return {"weights": weights[typical].tolist(), "norm": norms.median().item(), "width": width}


def jacobians(width: int, scaled: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The norm of the Jacobian of each query, and its weights."""
    query, key = (data[name][:, :width].double() for name in ("wide_query", "wide_key"))
    p = (query @ key.T / (math.sqrt(width) if scaled else 1)).softmax(-1)
    return (torch.diag_embed(p) - p[:, :, None] * p[:, None, :]).flatten(1).norm(dim=1), p


START = {
    "steps": steps_map(),
    "causal": steps_map("causal", causal=True),
    "given": given_map(),
    "saturation": saturated(),
}


# ── what the page shows ──

FRAMES = "await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
COLOURS = """canvas => {
    const {width, height} = canvas;
    return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer)).size;
}"""
# The colour of the text left of the map (or of the bars), where it covers a pixel best, and what is behind it.
INK = """root => {
    const canvas = root.querySelector('canvas');
    const {left, top, size, T} = canvas.layout ?? {left: 38, top: 20, size: 180, T: 1};
    const pixels = canvas.getContext('2d').getImageData(18, top, left - 20, size * T).data;
    let best = 3;
    for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > pixels[best]) best = i;
    const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
    let behind = root;
    while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    return [[...pixels.slice(best - 3, best)], rgb(getComputedStyle(behind).backgroundColor).slice(0, 3)];
}"""
# Back to the start, without a table.
RESET = """() => {
    for (const button of document.querySelectorAll('.tl-view button')) {
        const tableIsShown = button.textContent === 'show as table' && button.ariaPressed === 'true';
        if (button.textContent === 'reset' || tableIsShown) button.click();
    }
}"""


@dataclass
class Live:
    """A live view in a page: `root` is what the script has drawn."""

    page: Page
    root: Locator

    def values(self):
        """What is shown, once the next frame is drawn."""
        return self.root.evaluate(f"async root => {{ {FRAMES} return root.values; }}")

    def picture(self) -> str:
        return self.root.evaluate(f"async root => {{ {FRAMES} return root.querySelector('canvas').toDataURL(); }}")

    def says(self) -> str:
        return self.root.evaluate(f"async root => {{ {FRAMES} return root.querySelector('.tl-says').textContent; }}")

    def controls(self) -> list:
        """What each control says of itself."""
        return self.root.locator("input, select, button, output").evaluate_all(
            "all => all.map(control => [control.value, control.checked, control.ariaPressed, control.ariaValueText])"
        )

    @property
    def canvas(self) -> Locator:
        return self.root.locator("canvas")

    @property
    def slider(self) -> Locator:
        return self.root.locator("input[type=range]")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def labelled(self, name: str) -> Locator:
        return self.root.get_by_label(name, exact=True)

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def hover(self, t: int, s: int) -> None:
        """Put the mouse in the middle of a cell."""
        self.canvas.scroll_into_view_if_needed()
        left, top, size = self.canvas.evaluate("canvas => [canvas.layout.left, canvas.layout.top, canvas.layout.size]")
        box = self.canvas.bounding_box()
        self.page.mouse.move(box["x"] + left + (s + 0.5) * size, box["y"] + top + (t + 0.5) * size)


@pytest.fixture(scope="module", params=FRONT_ENDS)
def notebook(request, browser, address, lab_folder) -> Iterator[OpenNotebook]:
    """The notebook with all views, with all cells run."""
    cells = [new_code_cell(source) for source in (SET_UP, *SHOW.values())]
    cells += [new_markdown_cell(TALL) for _ in range(4)]
    path = lab_folder / "work" / "notebooks" / "98_views.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)
    with opened(browser, address.replace("/lab/tree/", FRONT_ENDS[request.param]), path.name) as notebook:
        notebook.console_errors.clear()  # what the front-end says of itself while it starts
        notebook.run_all()
        yield notebook


@pytest.fixture
def views(notebook) -> Iterator[dict[str, Live]]:
    """The views, each at its start. Whatever a test does, the page reports no error and asks no other machine."""
    notebook.page.mouse.move(0, 0)
    notebook.page.evaluate(RESET)
    roots = notebook.page.locator(".tl-view")
    assert roots.count() == len(SHOW)
    yield {name: Live(notebook.page, roots.nth(i)) for i, name in enumerate(SHOW)}
    assert notebook.console_errors == []
    assert notebook.hosts <= THIS_MACHINE


def near(actual, expected) -> None:
    """Equal to 1e-6; the sign for masked, NaN, must stand in the same places."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name, value in expected.items():
            near(actual[name], value)
    else:
        both = (torch.tensor(x, dtype=torch.float64) for x in (actual, expected))
        assert_close(*both, atol=1e-6, rtol=0, equal_nan=True)


# ── live, with the numbers of torch ──


def test_every_module_of_the_package_is_shown_here(views):
    shown = {view.root.evaluate("root => root.parentElement.localName").split("-")[1] for view in views.values()}
    files = {path.stem for path in Path(widgets.__file__).parent.glob("*.js")}
    assert shown == files - {"kit"}


@pytest.mark.parametrize("name", SHOW)
def test_run_all_makes_the_view_live(views, name):
    element = views[name].root.locator("..")
    assert element.evaluate("element => Boolean(element.live)")
    expect(element.locator("img")).to_have_count(1)
    expect(element.locator("img")).to_be_hidden()
    expect(views[name].canvas).to_be_visible()
    assert views[name].canvas.evaluate(COLOURS) > 20


@pytest.mark.parametrize("name", SHOW)
def test_it_starts_with_the_numbers_of_torch(views, name):
    near(views[name].values(), START[name])


@pytest.mark.parametrize("stage", ["scores", "scaled", "masked", "weights"])
@pytest.mark.parametrize("name", ["steps", "causal"])
def test_each_stage_at_each_setting_shows_the_numbers_of_torch(views, name, stage):
    view, causal = views[name], name == "causal"
    view.button(stage).click()
    expect(view.button(stage)).to_have_attribute("aria-pressed", "true")
    near(view.values(), steps_map(name, stage, causal=causal))
    view.slider.focus()
    view.press(*["ArrowRight"] * 5)
    near(view.values(), steps_map(name, stage, temperature=10**0.1, causal=causal))
    view.labelled("÷ √d_k").uncheck()
    near(view.values(), steps_map(name, stage, temperature=10**0.1, scaled=False, causal=causal))
    if causal:
        view.labelled("causal mask").uncheck()
        near(view.values(), steps_map(name, stage, temperature=10**0.1, scaled=False))


def test_each_head_and_layer_shows_its_own_weights(views):
    view = views["given"]
    view.labelled("head").select_option("2")
    near(view.values(), given_map(head=2))
    view.labelled("layer").select_option("1")
    near(view.values(), given_map(layer=1, head=2))
    view.labelled("causal mask").check()
    near(view.values(), given_map(layer=1, head=2, causal=True))
    view.slider.focus()
    view.press(*["ArrowLeft"] * 10)
    near(view.values(), given_map(layer=1, head=2, temperature=10**-0.2, causal=True))


def test_saturation_follows_its_width_and_its_scale(views):
    view = views["saturation"]
    view.slider.focus()
    view.press("ArrowLeft", "ArrowLeft")
    near(view.values(), saturated(round(2**9.5)))
    view.labelled("÷ √d_k").check()
    near(view.values(), saturated(round(2**9.5), scaled=True))
    view.press("Home")
    near(view.values(), saturated(round(2**9.5), scaled=True))  # a checkbox has the focus
    view.slider.focus()
    view.press("Home")
    near(view.values(), saturated(1, scaled=True))
    assert view.says().startswith("d_k = 1, scores divided by √d_k: largest weight ")


@pytest.mark.parametrize("name", SHOW)
def test_reset_restores_the_start_exactly(views, name):
    view = views[name]
    before = view.values(), view.picture(), view.says(), view.controls()
    for box in view.root.locator("input[type=checkbox]").all():
        box.click()
    for choice in view.root.locator("select").all():
        choice.select_option("1")
    view.slider.focus()
    view.press("Home")
    if name in ("steps", "causal"):
        view.button("masked").click()
    assert view.picture() != before[1]
    view.button("reset").click()
    view.page.mouse.move(0, 0)
    after = view.values(), view.picture(), view.says(), view.controls()
    assert repr(after) == repr(before)


# ── keyboard, mouse, table ──


def test_keys_move_over_the_cells(views):
    view, queries, keys = views["steps"], data["queries"], data["keys"]
    shown = view.values()
    view.canvas.focus()
    moves = [("Enter", 0, 0), ("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("End", 1, 6), ("PageDown", 4, 6)]
    moves += [("ArrowDown", 4, 6), ("ArrowLeft", 4, 5), ("Home", 4, 0), ("ArrowLeft", 4, 0), ("ArrowUp", 3, 0)]
    moves += [("PageUp", 0, 0), ("ArrowUp", 0, 0)]
    for key, t, s in moves:
        view.press(key)
        assert view.says().startswith(f"query {queries[t]}, key {keys[s]}: weight {shown[t][s]:.3f}. "), key


def test_a_masked_cell_is_said_to_be_masked(views):
    view = views["causal"]
    view.button("masked").click()
    view.canvas.focus()
    view.press("End")
    assert view.says() == "query the, key <b>down</b>: masked."


@pytest.mark.parametrize("name", MAPS)
def test_the_mouse_finds_the_cells_that_the_keys_find(views, name):
    view = views[name]
    last_row, last_column = len(START[name]) - 1, len(START[name][0]) - 1
    for t, s in [(0, 0), (1, last_column), (last_row, 2)]:
        view.hover(t, s)
        by_mouse, picture = view.says(), view.picture()
        view.page.mouse.move(0, 0)
        assert view.says().startswith("Point at a cell")
        view.canvas.focus()
        view.press("PageUp", "Home", *["ArrowDown"] * t, *["ArrowRight"] * s)
        assert view.says() == by_mouse
        assert view.picture() == picture
        view.canvas.blur()


@pytest.mark.parametrize("name", MAPS)
def test_the_table_has_the_numbers_and_the_names(views, name):
    view = views[name]
    rows, columns = {
        "steps": (data["queries"], data["keys"]),
        "causal": (data["queries"][:4], data["queries"][:4]),
        "given": (data["words"], data["words"]),
    }[name]
    view.button("show as table").click()
    numbers = [[f"{value:.3f}" for value in row] for row in view.values()]
    shown = [row.locator("th, td").all_text_contents() for row in view.root.locator("tr").all()]
    assert shown == [["query \\ key", *columns], *([token, *row] for token, row in zip(rows, numbers, strict=True))]
    view.button("show as table").click()
    expect(view.root.locator("table")).to_have_count(0)


@pytest.mark.parametrize("name", SHOW)
def test_dragging_the_slider_redraws(views, name):
    view = views[name]
    before, place = view.picture(), view.slider.input_value()
    view.slider.scroll_into_view_if_needed()
    box = view.slider.bounding_box()
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    view.page.mouse.move(*at)
    view.page.mouse.down()
    view.page.mouse.move(at[0] - box["width"] / 4, at[1], steps=4)
    while_dragging = view.picture()
    view.page.mouse.up()
    assert view.slider.input_value() != place
    assert while_dragging != before


CELLS = "[cell.model.type, cell.model.sharedModel.getSource(), cell.model.executionCount]"


@pytest.mark.parametrize("name", SHOW)
def test_no_key_reaches_the_notebook(notebook, views, name):
    before = notebook.cells(CELLS)
    focusable = views[name].root.locator("button, input, select, textarea, a, [tabindex]").all()
    assert len(focusable) >= 4
    for element in focusable:
        element.focus()
        views[name].press("x", "d", "d", "a", "b", "z", "Enter", "m", "Shift+Enter")
        what = element.evaluate("element => element.outerHTML.slice(0, 100)")
        assert notebook.cells(CELLS) == before, what
        assert element.evaluate("element => element === document.activeElement"), what


# ── themes, kernels, coming back ──


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_change_of_theme_repaints_the_labels(notebook, views):
    before = notebook.cells(CELLS)
    inks = {}
    try:
        for theme in (LIGHT, DARK):
            notebook.use_theme(theme)
            for name, view in views.items():
                view.values()  # the next frame is drawn
                ink, background = view.root.evaluate(INK)
                assert contrast(ink, background) >= 4.5, (theme, name, ink, background)
                inks.setdefault(name, []).append(ink)
    finally:
        notebook.use_theme(LIGHT)
    for light, dark in inks.values():
        assert luminance(light) < 0.2 < 0.4 < luminance(dark)
    assert notebook.cells(CELLS) == before


def answers(views: dict[str, Live]) -> None:
    """Each view follows its slider."""
    for view in views.values():
        view.slider.focus()
        view.press("Home")
    near(views["steps"].values(), steps_map(temperature=0.1))
    near(views["causal"].values(), steps_map("causal", temperature=0.1, causal=True))
    near(views["given"].values(), given_map(temperature=0.1))
    near(views["saturation"].values(), saturated(1))


def test_views_are_live_and_single_when_they_come_back_into_view(notebook, views):
    window_the_cells(notebook, "full")
    notebook.page.evaluate(f"() => {PANEL}.content.scrollToItem({PANEL}.content.widgets.length - 1)")
    expect(views["steps"].root).not_to_be_visible()
    notebook.page.evaluate(f"() => {PANEL}.content.scrollToItem(0)")
    expect(views["steps"].root).to_be_visible()
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
    expect(views["steps"].root).not_to_be_visible()
    notebook.page.evaluate("() => { jupyterapp.shell.currentWidget.close(); jupyterapp.shell.activateById(panel.id); }")
    expect(views["steps"].root).to_be_visible()
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
    for number, source in enumerate(SHOW.values(), start=2):
        output = new_output("execute_result", eval(source, data)._repr_mimebundle_(), execution_count=number)
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
    expect(page.locator(".tl-view canvas")).to_have_count(len(SHOW))
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
        assert notebook.console_errors == []
        assert notebook.hosts <= THIS_MACHINE
