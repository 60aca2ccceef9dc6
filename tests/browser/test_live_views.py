"""The views with the kernel behind them, in JupyterLab and Notebook 7: typing, stopping, resuming."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from notebooks.build import WIDGET_VIEW
from tests.browser.lab import PANEL, OpenNotebook, made, opened
from tests.browser.live import Live, near
from tests.view_examples import own_sentence, start, training_monitor

THE_KERNEL = f"{PANEL}.sessionContext.session.kernel"
GATES = {"stopped": 10, "seen": 25}  # a training does not go on with such a step before the file is there
SLOWLY = f"""import time
from pathlib import Path

def slowly(reports):
    gates = {{step: Path(name) for name, step in {GATES}.items()}}
    for report in reports:
        time.sleep(0.1)
        while report.step in gates and not gates[report.step].exists():
            time.sleep(0.05)
        yield report

reports, *rest = toy_training()
widgets.training_monitor(slowly(reports), *rest)"""
TRAINING, NEXT = 3, 4
CELLS = [own_sentence.SET_UP, own_sentence.SHOW["own sentence"], training_monitor.SET_UP, SLOWLY, "print('next')"]
PATH = "96_live.ipynb"


@pytest.fixture(scope="module")
def notebook(profile, address_here, lab_folder) -> Iterator[OpenNotebook]:
    """A notebook with both views; all cells before the training have run."""
    with made(profile, address_here, lab_folder, *CELLS, name=PATH) as notebook:
        for number in range(TRAINING):
            run(notebook, number)
            wait_for_count(notebook, number)
        yield notebook


def run(notebook: OpenNotebook, number: int) -> None:
    go = f"n => {{ {PANEL}.content.activeCellIndex = n; jupyterapp.commands.execute('notebook:run-cell'); }}"
    notebook.page.evaluate(go, number)


def wait_for_count(notebook: OpenNotebook, number: int) -> None:
    """Wait until a cell is done."""
    notebook.wait_for(f"() => {PANEL}.content.widgets[{number}].model.executionCount")


def shows(place: Locator, text: str | re.Pattern) -> None:
    expect(place).to_contain_text(text)


# ── own sentence ──


@pytest.fixture
def sentence(notebook) -> Iterator[Live]:
    view = Live(notebook.page, notebook.page.locator(".tl-view").first)
    expect(field(view)).to_be_visible()
    view.button("reset").click()
    yield view
    assert notebook.new_errors() == []
    assert notebook.new_strangers() == []


def field(view: Live) -> Locator:
    return view.labelled("sentence to translate")


def said(view: Live) -> Locator:
    return view.root.locator(".tl-said")


def translation(text: str) -> str:
    return f"→ {own_sentence.data['vocabulary'].decode(own_sentence.translation(text))}"


def test_what_is_typed_is_translated_with_the_weights_of_torch(sentence):
    before = sentence.picture()
    field(sentence).press_sequentially("d b")
    shows(said(sentence), translation("d b"))
    wait_for_map(sentence, "d b")
    near(sentence.values(), own_sentence.cross_map("d b"))
    assert sentence.picture() != before
    sentence.labelled("layer").select_option("0")
    sentence.labelled("head").select_option("2")
    near(sentence.values(), own_sentence.cross_map("d b", layer=0, head=1))
    sentence.button("b b").click()
    shows(said(sentence), translation("b b"))
    sentence.button("reset").click()
    near(sentence.values(), start("own sentence"))
    expect(field(sentence)).to_have_value("")


def wait_for_map(view: Live, text: str) -> None:
    """Until the map is that of the text: its columns are the text's tokens."""
    label = re.compile(f"^Cross-attention for “{text}”. ")
    expect(view.canvas).to_have_attribute("aria-label", label)


def test_a_sentence_that_cannot_be_translated_is_answered_in_words(sentence):
    field(sentence).fill("b z")
    shows(sentence.root, "a text must consist of the symbols ah b <i> d (got 'z')")
    near(sentence.values(), start("own sentence"))
    field(sentence).fill("b " * 8)
    shows(sentence.root, "a sentence may have at most 8 tokens, its end counted (this one has 9)")
    field(sentence).fill("d d")
    wait_for_map(sentence, "d d")
    expect(sentence.root).not_to_contain_text("a sentence may have")


@pytest.fixture
def busy_kernel(notebook, tmp_path) -> Iterator[Path]:
    """A kernel that runs a cell until the file is there, and has begun with it."""
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"
    code = f"""import time
from pathlib import Path

Path({str(begun)!r}).touch()
while not Path({str(go_on)!r}).exists():
    time.sleep(0.05)"""
    notebook.page.evaluate(f"code => {{ {THE_KERNEL}.requestExecute({{code}}); }}", code)
    while not begun.exists():
        notebook.page.wait_for_timeout(20)
    yield go_on
    go_on.touch()


def test_while_the_kernel_is_busy_a_sentence_waits_and_says_so(sentence, busy_kernel):
    field(sentence).fill("d")
    shows(sentence.root, "The kernel is busy; your sentence waits for it.")
    field(sentence).fill("d ah b")
    busy_kernel.touch()
    wait_for_map(sentence, "d ah b")
    near(sentence.values(), own_sentence.cross_map("d ah b"))
    expect(sentence.root).not_to_contain_text("The kernel is busy")


def test_an_emptied_field_leaves_no_translation_of_what_was_there(sentence):
    field(sentence).fill("d ah b")
    wait_for_map(sentence, "d ah b")
    field(sentence).fill("")
    near(sentence.values(), start("own sentence"))


# ── training ──


def open_gate(lab_folder: Path, name: str) -> None:
    (lab_folder / "work" / "notebooks" / name).touch()


@pytest.fixture
def training(notebook, lab_folder) -> Iterator[Live]:
    """The monitor of a training that runs, with a cell that waits behind it."""
    for name in GATES:
        (lab_folder / "work" / "notebooks" / name).unlink(missing_ok=True)
    before = notebook.page.locator(".tl-view").count() > 1
    run(notebook, TRAINING)
    if before:
        notebook.wait_for(f"() => !{PANEL}.content.widgets[{TRAINING}].model.executionCount")
    run(notebook, NEXT)
    view = Live(notebook.page, notebook.page.locator(".tl-view").nth(1))
    expect(view.button("stop")).to_be_visible()
    yield view
    assert notebook.new_errors() == []
    assert notebook.new_strangers() == []


def status(view: Live) -> Locator:
    return view.root.locator(".tl-status")


STOP = {
    "by its button": lambda notebook, view: view.button("stop").click(),
    "by the notebook's": lambda notebook, view: notebook.page.evaluate(f"() => {THE_KERNEL}.interrupt()"),
}


@pytest.mark.parametrize("way", STOP)
def test_training_is_seen_stops_and_resumes_where_it_was(notebook, training, lab_folder, way):
    shows(status(training), re.compile(r"step [5-9] of 30, \d+ s left"))
    expect(status(training)).to_have_attribute("aria-live", "off")  # nobody listens to every step
    assert training.values()["map"] is not None
    with notebook.page.expect_response(lambda one: "/interrupt" in one.url):
        STOP[way](notebook, training)
    open_gate(lab_folder, "stopped")
    shows(status(training), "stopped after step")
    expect(status(training)).to_have_attribute("aria-live", "polite")
    wait_for_count(notebook, NEXT)
    assert notebook.cells("cell.outputArea.node.innerText")[NEXT] == "next\n"
    assert "Interrupt" not in notebook.cells("cell.outputArea.node.innerText")[TRAINING]
    stopped = training.values()
    assert 5 <= stopped["step"] < 30
    near(stopped, training_monitor.seen_at(int(stopped["step"])))
    live = training.root.element_handle()
    training.button("resume").click()
    notebook.wait_for("() => document.querySelector('.tl-samples')?.innerText.includes('translation at step 20')")
    open_gate(lab_folder, "seen")
    shows(status(training), "30 of 30 steps")
    notebook.wait_for("view => !view.isConnected", given=live)  # the last is stored
    near(training.values(), training_monitor.seen_at(30))
    expect(training.button("resume")).to_be_hidden()
    expect(training.button("stop")).to_be_hidden()
    training.slider.focus()
    training.press("Home")
    near(training.values(), training_monitor.seen_at(1))


# ── a new kernel ──


def test_views_say_so_when_their_kernel_is_started_anew(profile, address_here, lab_folder):
    """They know nothing of each other, the new kernel and the views of the old one: nobody waits for an answer."""
    with made(profile, address_here, lab_folder, *CELLS[:2], name="95_restarted.ipynb") as notebook:
        notebook.run_all()
        sentence = Live(notebook.page, notebook.page.locator(".tl-view").first)
        expect(field(sentence)).to_be_visible()
        notebook.page.evaluate(f"() => {THE_KERNEL}.restart()")
        expect(field(sentence)).to_be_hidden()
        shows(sentence.root, "The kernel that translated is gone: it was shut down or started anew.")
        near(sentence.values(), start("own sentence"))
        notebook.run_all()
        sentence = Live(notebook.page, notebook.page.locator(".tl-view").first)
        field(sentence).fill("d b")
        wait_for_map(sentence, "d b")


# ── afterwards ──


def test_reopened_without_its_kernel_each_view_shows_what_it_showed(notebook, profile, address_here, lab_folder):
    if notebook.page.locator(".tl-view").count() == 1:
        for name in GATES:
            open_gate(lab_folder, name)
        run(notebook, TRAINING)
    shows(notebook.page.locator(".tl-status"), "30 of 30 steps")
    notebook.wait_for(f"() => {THE_KERNEL}.status === 'idle'")
    notebook.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    notebook.wait_for(f"() => !{PANEL}.context.model.dirty")
    stored = nbformat.read(lab_folder / "work" / "notebooks" / PATH, as_version=4)
    kinds = {kind for cell in stored.cells for output in cell.outputs for kind in output.get("data", {})}
    assert kinds == {"text/plain", "text/html"}
    assert WIDGET_VIEW not in kinds
    assert len(stored.cells[TRAINING].outputs) == 1
    notebook.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")
    sentence = Live(notebook.page, notebook.page.locator(".tl-view").first)
    field(sentence).fill("d")  # there is nobody to answer
    expect(field(sentence)).to_be_hidden()
    shows(sentence.root, "The kernel that translated is gone")
    assert notebook.new_errors() == []
    with opened(profile, address_here, PATH) as again:
        views = [Live(again.page, again.page.locator(".tl-view").nth(i)) for i in (0, 1)]
        near(views[0].values(), start("own sentence"))
        near(views[1].values(), start("training"))
        expect(field(views[0])).to_be_hidden()
        expect(views[1].button("resume")).to_be_hidden()
        shows(views[0].root, "To type a sentence of your own, run this cell in a notebook")
        assert not re.search("model not found|error displaying", again.page.locator("body").inner_text(), re.IGNORECASE)
