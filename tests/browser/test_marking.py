"""The pages of grading in a browser: marking by hand with the keyboard alone, hostile text inert, never too wide."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.lab import WatchedPage
from transformer_lab.grading.gradebook import hand_marks
from transformer_lab.grading.handout.assignment import Assignment
from transformer_lab.grading.handout.questions import Question
from transformer_lab.grading.marking.records import Graded
from transformer_lab.grading.marking.scoring import VERDICTS, Mark
from transformer_lab.grading.reports import reports, term_page

ASKED = {
    "why_scaled": Question(2, "Why are the scores divided?", "One point for the variance."),
    "before_you_run": Question(1, "What will the loss be?"),
}
HW = Assignment("hw1", {"softmax": 2, "causal_mask": 1}, seed="s", questions=ASKED)
HOSTILE = "</script><script>document.title = 'owned'</script><img src=https://example.org/x onerror=alert(1)>"
TEXTS = {
    "ann": {"why_scaled": "The variance of a sum of d products is d.\n\nSo it saturates.", "before_you_run": "ln 37"},
    "ben": {"why_scaled": HOSTILE, "before_you_run": "one " * 400},
    "<img src=x onerror=alert(2)>": {"why_scaled": "x" * 3000},
    "dai": {},
}
SERIOUS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .filter(({impact}) => impact === "serious" || impact === "critical")
    .map(({id, nodes}) => [id, nodes.length, nodes[0].html.slice(0, 200)])"""
SAYS = "words => document.getElementById('said').textContent.includes(words)"
RUN = "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); }"
TOO_WIDE = "() => document.documentElement.scrollWidth > innerWidth"


def records() -> list[Graded]:
    wrong = (
        "You divide by all.\nSimplest case that fails: three scores.\n  scores = [1.0, 2.0, 3.0]\n`weights` is wrong."
    )
    program = f"def softmax(scores, dim):\n    return '{'x' * 300}'"
    return [
        Graded(
            student,
            (
                Mark("softmax", "wrong", 0, 2, "sum_over_everything", wrong, program=program),
                Mark("causal_mask", "ok", 1, 1, message="Right.", program=program),
            ),
            ("code cell 3 can't be parsed: " + "y" * 200,),
            texts=texts,
        )
        for student, texts in TEXTS.items()
    ]


@pytest.fixture(scope="module")
def grades(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("grades")
    reports.write_reports(records(), HW, folder)
    term_page.write_term([folder], folder / "term")
    return folder


@pytest.fixture
def marking(browser, grades, tmp_path):
    """The page as it is opened from a folder, in a browser that keeps nothing of what was done before."""
    context = browser.new_context(accept_downloads=True, viewport={"width": 900, "height": 800})
    watched = WatchedPage(context.new_page())
    watched.page.goto((grades / "marking.html").as_uri())
    yield watched.page
    assert watched.new_errors() == []
    assert watched.new_strangers() == []
    context.close()


def save(page: Page, tmp_path: Path) -> Path:
    with page.expect_download() as download:
        page.keyboard.press("Control+s")
    download.value.save_as(tmp_path / "marked.json")
    return tmp_path / "marked.json"


def test_a_class_is_marked_by_the_keyboard_alone_and_what_is_saved_is_taken_over(marking, tmp_path):
    page = marking
    assert page.evaluate("document.activeElement.type") == "number", "the first answer is ready to be marked"
    page.keyboard.type("1.5")
    page.keyboard.press("Tab")
    page.keyboard.type("good")
    page.keyboard.press("Control+Enter")
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    page.keyboard.type("2")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("0.5")  # another thought on the second
    assert page.locator("#said").text_content() == "3 of 5 answers marked; not saved yet"
    kept = hand_marks.take_over([save(page, tmp_path)], tmp_path, HW)
    assert page.locator("#said").text_content() == "3 of 5 answers marked"
    students = [*TEXTS][:3]
    assert [(kept[s, "why_scaled"].points, kept[s, "why_scaled"].comment) for s in students] == [
        (1.5, "good"), (0.5, ""), (2, "")
    ]  # fmt: skip
    assert kept["ann", "why_scaled"].is_of(TEXTS["ann"]["why_scaled"])


def test_what_was_marked_is_there_after_a_reload_and_after_another_grading(marking, browser, tmp_path):
    page = marking
    page.keyboard.type("2")
    page.on("dialog", lambda dialog: dialog.accept())  # it asks, as nothing has been saved
    page.reload()
    assert page.locator(".answer.done").count() == 1
    hand_marks.take_over([save(page, tmp_path)], tmp_path, HW)
    reports.write_reports(records(), HW, tmp_path)
    other = browser.new_page()
    other.goto((tmp_path / "marking.html").as_uri())
    assert other.locator(".answer.done input").input_value() == "2"
    other.locator(".answer.done input").fill("")  # taken back
    assert other.locator(".answer.done").count() == 0
    other.close()


def test_a_saved_file_is_taken_over_and_another_one_is_refused(marking, tmp_path):
    page = marking
    one = {"student": "ann", "question": "why_scaled", "points": 1, "comment": "", "at": "2026-10-02T10:00:00.000Z"}
    for name, told in (("good", {"assignment": "hw1", "marks": [one]}), ("bad", {"assignment": "hw2", "marks": []})):
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
        page.set_input_files("#load", tmp_path / f"{name}.json")
        page.wait_for_function(SAYS, arg={"good": "1 of 5", "bad": "hw2"}[name])
    assert page.locator(".answer.done").count() == 1


def test_points_that_there_are_not_are_refused_in_words_and_the_comment_is_kept(marking, tmp_path):
    page, said = marking, marking.locator("#said")
    page.keyboard.type("15")  # the first key alone would be 1 point
    assert page.locator("input:invalid").count() == 1
    assert page.locator(".fault").first.text_content() == "Points must be from 0 to 2: these are not saved."
    out = "0 of 5 answers marked; 1 answer has points out of range, and counts as not marked"
    assert said.text_content() == f"{out}; not saved yet"
    page.keyboard.press("Tab")
    page.keyboard.type("too good")
    given = hand_marks.take_over([save(page, tmp_path)], tmp_path, HW)["ann", "why_scaled"]
    assert (given.points, given.comment) == (None, "too good")
    assert said.text_content() == out
    page.get_by_label("before_you_run").check()  # what was typed is there when one comes back
    page.get_by_label("why_scaled").check()
    assert page.locator(".answer input").first.input_value() == "15"
    assert page.locator(".fault").first.text_content() != ""
    page.locator(".answer input").first.fill("1.5")
    assert page.locator(".fault").first.text_content() == ""
    assert said.text_content() == "1 of 5 answers marked; not saved yet"
    given = hand_marks.take_over([save(page, tmp_path)], tmp_path, HW)["ann", "why_scaled"]
    assert (given.points, given.comment) == (1.5, "too good")


def test_one_question_at_a_time_without_names_and_only_what_is_open(marking):
    page = marking
    assert page.locator(".answer").count() == 3
    assert "1 left it empty" in page.locator("#answers").text_content()
    page.get_by_label("before_you_run").check()
    assert page.locator(".answer h3").all_text_contents() == ["ann", "ben"]
    assert page.locator("#guided").is_hidden(), "nothing is said to the marker"
    page.locator(".answer input").first.fill("1")
    page.get_by_label("only what is not marked yet").check()
    page.get_by_label("hide names").check()
    assert page.locator(".answer h3").all_text_contents() == ["answer 2"]


def test_what_students_write_is_shown_as_it_is_and_does_nothing(marking):
    assert marking.title() == "hw1: answers in words"
    assert marking.locator("img").count() == 0
    assert marking.locator(".answer pre").nth(1).text_content() == HOSTILE
    assert marking.locator(".answer h3").nth(2).text_content() == "<img src=x onerror=alert(2)>"


def test_the_page_s_policy_lets_nothing_else_run_or_be_fetched(browser, grades):
    page = browser.new_page()
    page.goto((grades / "marking.html").as_uri())
    page.evaluate(RUN)
    assert page.evaluate("window.ran") is None
    page.close()


@pytest.fixture(scope="module")
def axe() -> str:
    found = pytest.importorskip("axe_playwright_python", reason="axe comes with the extra `browser`")
    return Path(found.__file__).with_name("axe.min.js").read_text("utf-8")


PAGES = ("report.html", "marking.html", "feedback/ben.html", "code/ben.html", "term/term.html")


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_are_legible_light_and_dark_and_print(browser, grades, axe, name):
    page = browser.new_page()
    page.goto((grades / name).as_uri())
    for width in (360, 900, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        assert not page.evaluate(TOO_WIDE), width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(axe)
        assert page.evaluate(SERIOUS) == [], scheme
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 between its margins
    assert not page.evaluate(TOO_WIDE)
    page.close()


FOLDED = "() => [...document.querySelectorAll('details > :not(summary)')].filter(e => !e.checkVisibility()).length"
OK = "() => getComputedStyle(document.documentElement).getPropertyValue('--ok')"


def test_paper_has_all_that_is_folded_and_the_colours_of_the_day(browser, grades):
    page = browser.new_page(color_scheme="dark")
    page.goto((grades / "report.html").as_uri())
    assert page.evaluate(FOLDED) > 0
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(FOLDED) == 0, "who made a mistake, and the notes"
    assert page.evaluate(OK) == "#00795a"
    assert page.evaluate("() => getComputedStyle(document.querySelector('tr')).breakInside") == "avoid"
    assert page.evaluate("() => getComputedStyle(document.querySelector('h2')).breakAfter") == "avoid"
    assert page.evaluate("() => getComputedStyle(document.documentElement).colorScheme") == "light"
    page.close()


def test_a_term_of_twelve_assignments_fits_on_paper(browser, grades, tmp_path):
    told = json.loads((grades / "summary.json").read_text())
    folders = [tmp_path / f"homework {number}" for number in range(12)]
    for folder in folders:
        folder.mkdir()
        (folder / "summary.json").write_text(json.dumps(told | {"assignment": folder.name}))
    term_page.write_term(folders, tmp_path / "term")
    page = browser.new_page(viewport={"width": 700, "height": 1000})
    page.goto((tmp_path / "term" / "term.html").as_uri())
    page.emulate_media(media="print")
    assert not page.evaluate(TOO_WIDE)
    widths = page.evaluate("() => [...document.querySelectorAll('table')].map(e => e.getBoundingClientRect().right)")
    assert max(widths) <= 700
    page.close()


def test_who_made_which_mistake_is_a_picture_of_its_own_on_a_desk_and_on_a_phone(browser, grades):
    page = browser.new_page(viewport={"width": 900, "height": 800})
    page.goto((grades / "report.html").as_uri())
    picture = page.locator("figure", has=page.get_by_role("heading", name="Who made which mistake"))
    said = picture.get_by_role("img").get_attribute("aria-label")
    assert said == "Who made which mistake: sum_over_everything in softmax 4 students."
    for width, shown, hidden in ((900, ".at-desk", ".on-phone"), (360, ".on-phone", ".at-desk")):
        page.set_viewport_size({"width": width, "height": 800})
        assert picture.locator(hidden).is_hidden()
        drawn = picture.locator(f"{shown} svg")
        assert "sum_over_everything" in drawn.text_content()
        assert 250 < drawn.bounding_box()["width"] <= width
    page.close()


CUT_OFF = "() => [...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth).length"
OUT_OF_SIGHT = """() => [...document.querySelectorAll('.broad td:nth-child(2)')]
    .filter(e => e.getBoundingClientRect().right > innerWidth).length"""


def test_the_table_of_exercises_shows_all_its_columns_and_on_a_phone_the_mean(browser, tmp_path):
    """With every verdict that there is, and long names."""
    names = ("softmax", "scaled_dot_product_attention", "grouped_query_attention")
    made = [
        Graded(
            verdict, tuple(Mark(name, verdict, 1, 2, follows="softmax" * (i > 0)) for i, name in enumerate(names)), ()
        )
        for verdict in VERDICTS
    ]
    reports.write_reports(made, Assignment("hw1", dict.fromkeys(names, 2), seed="s"), tmp_path)
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    for width in (1400, 1100, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator(".broad tr").count() == 1 + len(names)
        assert not page.evaluate(TOO_WIDE), width
        assert page.evaluate(CUT_OFF) == 0 or width == 360, width
        assert page.evaluate(OUT_OF_SIGHT) == 0, width
    page.close()
