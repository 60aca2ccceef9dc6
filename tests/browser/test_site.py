"""The site in a browser, from a file server without network: alive at once, legible, reachable, never too wide."""

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import WatchedPage, until
from tests.browser.live import Live
from tests.browser.served_site import seconds_to_answer, served
from tests.built_site import LESSONS, ROOT, built_site
from transformer_lab.exercises import catalogue

SECONDS_TO_BE_ALIVE = 2
WIDTHS = (360, 800, 900, 1080, 1320, 1400)
NOTEBOOKS = [*LESSONS, "gallery"]
BROKEN = {one.lesson for one in catalogue.values() if one.kind == "find the bug"}
PAGES = ["index", "contributing", "docs/instructors", *(f"lessons/{name}" for name in NOTEBOOKS)]
TOO_WIDE = """() => [document.documentElement, document.querySelector("main")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.className || box.localName)"""
NOT_LIVE = "() => [...document.querySelectorAll('*')].filter(e => /^tl-/.test(e.localName) && !e.live).length"
BEGIN_ALL = "() => waiting.forEach(begin => begin())"
NOT_LOADED = "() => [...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
# The tables of views have a corner without a text, which is theirs to mend.
FOUND_BY_AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map(one => ({...one, nodes: one.nodes.filter(({html}) => html !== '<th scope="col"></th>')}))
    .filter(({nodes}) => nodes.length)
    .map(({id, nodes}) => [id, nodes.length, nodes[0].html.slice(0, 200)])"""
SHIFTS = """() => new Promise(done => {
    let sum = 0;
    const add = list => list.getEntries().forEach(shift => { sum += shift.hadRecentInput ? 0 : shift.value; });
    new PerformanceObserver(add).observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 300);
})"""
IN_SIGHT = """place => {
    const { top } = document.querySelector(place).getBoundingClientRect();
    return top > document.querySelector(".top").getBoundingClientRect().bottom && top < innerHeight;
}"""
CUT_BY_THE_HEADER = """() => {
    const bar = document.querySelector(".top").getBoundingClientRect().bottom;
    return [...document.querySelectorAll("article :is(p, h2, h3, li, .cell_input)")].filter(one => {
        const { top, bottom } = one.getBoundingClientRect();
        return one.checkVisibility() && top < bar - 2 && bottom > bar + 4; // what is folded has a place, too
    }).map(one => one.textContent);
}"""
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
        ("Predict first, then see the numbers", "weights [[1.0]]"),
    ):
        summary = page.locator("summary", has_text=opened).first
        assert not summary.evaluate("summary => summary.parentElement.open")
        summary.focus()
        page.keyboard.press("Enter")
        expect(summary.locator("..")).to_contain_text(seen)
        assert summary.evaluate("summary => summary.parentElement.open")


def test_what_tells_an_answer_is_seen_once_the_answer_is_open(page, site):
    page.goto(f"{site}lessons/07_training.html")
    told = page.locator(".told-below").filter(has_text="After 40 steps the score is nearly perfect")
    expect(told).to_be_hidden()
    page.locator(".cell:has(+ .told-below) > .below-input > summary").filter(has_text="Then see what it says").click()
    expect(told).to_be_visible()


def test_a_quiz_keeps_what_was_known_and_asks_the_rest_again(page, site):
    page.goto(f"{site}lessons/04_residual_blocks.html")
    page.evaluate("() => localStorage.clear()")
    page.reload()
    quiz = page.locator("#quiz")
    known, questions = quiz.locator(".quiz-known"), quiz.locator("summary")
    expect(known).to_contain_text("Answer each question in a sentence")
    for i in range(5):
        questions.nth(i).click()
        card = quiz.locator("details").nth(i)
        card.get_by_role("button", name="Not quite" if i in (1, 3) else "Yes").click()
        if i < 4:
            expect(questions.nth(i + 1)).to_be_focused()
    expect(known).to_contain_text("You knew 3 of 5.")
    expect(quiz.locator("[aria-pressed=true]")).to_have_count(5)
    page.reload()
    expect(known).to_contain_text("You knew 3 of 5.")
    quiz.get_by_role("button", name="Ask me the other 2 again").click()
    expect(questions.nth(1)).to_be_focused()
    expect(quiz.locator("details.known")).to_have_count(3)
    expect(known).to_contain_text("You knew 3 of 3.")
    page.evaluate("() => localStorage.clear()")


# ── exercises, answered and judged in the page ──


def exercise_on(page: Page, site: str, lesson: str, name: str) -> Locator:
    page.goto(f"{site}lessons/{lesson}.html")
    page.evaluate("() => localStorage.clear()")
    page.reload()
    return page.locator(f"#exercise-{name}")


def check(exercise: Locator) -> Locator:
    exercise.get_by_role("button", name="Check").click()
    return exercise.locator(".verdict")


def test_a_formula_is_judged_by_the_names_of_the_package_and_progress_is_kept(page, site):
    exercise = exercise_on(page, site, "05_masking", "visible_pairs")
    exercise.get_by_role("button", name="with a formula").click()
    formula = exercise.get_by_label("count, in every case")
    expect(formula).to_be_focused()
    formula.fill("sum(n")
    expect(check(exercise)).to_have_text("The formula can’t be read: it ends too early.")
    formula.fill("len(lengths) * max(lengths) * (max(lengths) + 1) // 2")
    verdict = check(exercise)
    expect(verdict.get_by_role("heading")).to_have_text("Padding seen")
    expect(verdict).to_contain_text(catalogue["visible_pairs"].mistakes["padding_seen"].explanation)
    expect(exercise.get_by_role("tab", selected=True)).to_have_accessible_name("Case 4, not right yet")
    expect(verdict.locator(".yours")).to_contain_text("6")
    expect(exercise.locator("[data-seal]")).to_have_class("seal tried")
    formula.fill("sum(n * (n + 1) // 2 + (max(lengths) - n) * n for n in lengths)")
    expect(verdict).to_have_text("")  # it was about another answer
    expect(exercise.locator(".computed")).to_have_text("= 5")
    verdict = check(exercise)
    expect(verdict.get_by_role("heading")).to_have_text("Right in all 8 cases")
    expect(verdict).to_contain_text("1 of 6 in this lesson")
    expect(exercise.locator(".primary")).to_have_text("Next: masked_softmax →")
    expect(page.locator(".poster [data-done]")).to_contain_text("1 of 6 solved")
    expect(page.locator(".poster .dot.solved")).to_have_count(1)
    expect(page.locator(".closing .knots .solved")).to_have_attribute("href", "#exercise-visible_pairs")
    page.goto(f"{site}index.html")
    knot = page.locator('.knot[data-knot="05_masking"]')
    expect(knot.locator(".dot.solved")).to_have_count(1)
    expect(page.locator("[data-sum]")).to_contain_text(f"1 of {len(catalogue)} exercises solved")
    page.evaluate("() => localStorage.clear()")


def answered(exercise: Locator, *numbers: object) -> None:
    """Type numbers into the fields of a case, and press Enter in the last."""
    fields = exercise.locator(".field input")
    for field, number in zip(fields.all(), numbers, strict=True):
        field.fill(str(number))
    fields.last.press("Enter")


def test_cases_are_answered_one_by_one_by_the_keyboard_and_no_cause_is_guessed_from_one(page, site):
    exercise = exercise_on(page, site, "02_multi_head_attention", "place_in_heads")
    verdict, cases = exercise.locator(".verdict"), exercise.get_by_role("tab")
    answered(exercise, 0, 0, "")
    expect(verdict).to_have_text("Type all numbers first.")
    expect(verdict).to_be_focused()  # no keyboard of a phone covers it
    page.keyboard.press("Enter")
    expect(exercise.locator(".field input").first).to_be_focused()
    expect(exercise.locator(".field input").first).to_have_attribute("inputmode", "numeric")
    answered(exercise, 0, 0, 1)
    expect(verdict.get_by_role("heading")).to_have_text("Right")
    expect(verdict.get_by_role("img")).to_have_accessible_name(re.compile("head 0, row 0, column 1"))
    page.keyboard.press("Enter")  # to the next
    expect(exercise.locator(".case-of")).to_contain_text("Case 2 of 7")
    expect(exercise.locator("[data-seal]")).to_have_class("seal ")
    answered(exercise, 0, 0, 3)
    expect(verdict.get_by_role("heading")).to_have_text("Not yet")
    expect(verdict).to_contain_text("One way to arrive at [0, 0, 3]")  # no more: one answer is too little to be sure
    expect(verdict.locator(".yours b")).to_have_text(["0", "0", "3"])
    expect(verdict.locator(".right b")).to_have_text(["?", "0", "?"])  # what is right already, and no more
    expect(verdict.locator(".yours .off")).to_have_text(["0", "3"])
    answered(exercise, 9, 9, 9)
    expect(verdict).to_contain_text("no mistake that is known here leads to that")
    hints = exercise.locator("summary:visible", has_text=re.compile("hint 1 of", re.I))
    expect(hints).to_have_count(1)  # where the verdict has them, they stand nowhere else
    expect(verdict.locator("details").first).to_have_attribute("open", "")
    verdict.get_by_role("button", name="Show the right answer").click()
    expect(hints).to_have_count(1)
    expect(verdict.locator(".right b")).to_have_text(["1", "0", "1"])
    expect(verdict.locator(".yours .off")).to_have_text(["9", "9", "9"])
    expect(verdict).to_contain_text("What is asked for: Where split_heads puts a feature of a token")
    verdict.get_by_role("button", name="Next case").click()
    expect(exercise.locator(".case-of")).to_contain_text("Case 3 of 7")
    cases.nth(1).click()
    page.keyboard.press("ArrowLeft")
    expect(cases.first).to_be_focused()
    expect(cases.first).to_have_accessible_name("Case 1, right")
    expect(exercise.get_by_label("column, case 1")).to_have_value("1")  # what was typed is kept
    page.keyboard.press("End")
    answered(exercise, 4, 17, 44)
    cases.last.press("Home")
    exercise.get_by_label("column, case 1").fill("2")
    expect(cases.first).to_have_accessible_name("Case 1")  # nothing is known of a changed answer
    page.evaluate("() => localStorage.clear()")


@pytest.mark.parametrize("width", [360, 390])
def test_the_dots_of_all_cases_stand_in_one_row_on_a_phone(page, site, width):
    page.set_viewport_size({"width": width, "height": 844})
    for lesson in ("03_positional_encoding", "15_since_llama", "17_many_machines"):
        page.goto(f"{site}lessons/{lesson}.html")
        for dots in page.locator(".case-dots").all():
            rows = "all => all.map(one => one.getBoundingClientRect()).map(one => [one.top, one.width])"
            tops, widths = zip(*dots.get_by_role("tab").evaluate_all(rows), strict=True)
            assert len({*tops}) == 1
            assert min(widths) >= 18


def test_an_exercise_is_passed_when_all_its_cases_are_right(page, site):
    exercise = exercise_on(page, site, "03_positional_encoding", "first_repeat")
    right = [case["right"] for case in table_of(exercise)["cases"]]
    for number in right:
        expect(exercise.locator("[data-seal]")).to_have_class("seal ")
        answered(exercise, number)
        page.keyboard.press("Enter")
    expect(exercise.locator(".verdict h3")).to_have_text(f"Right in all {len(right)} cases")
    expect(exercise.locator("[data-seal]")).to_have_class("seal solved")
    expect(exercise.locator(".primary:visible")).to_have_text("Next: shift_matrix →")
    page.evaluate("() => localStorage.clear()")


def table_of(exercise: Locator) -> dict:
    return json.loads(exercise.locator("script").text_content())


def test_a_run_is_chosen_among_those_that_a_case_lists(page, site):
    exercise = exercise_on(page, site, "04_residual_blocks", "which_control")
    expect(check(exercise)).to_have_text("Choose a run first.")
    exercise.get_by_label("none of them").check()
    expect(check(exercise).locator(".beside b")).to_have_text(["none of them", "?"])
    exercise.get_by_label("gradient: rescaled").check()
    expect(check(exercise).get_by_role("heading")).to_have_text("Right")
    page.evaluate("() => localStorage.clear()")


@pytest.mark.parametrize("lesson", [one for one in LESSONS if one[:2] in BROKEN])
def test_a_line_of_a_fault_is_enough_and_its_other_lines_are_found_with_it(page, site, lesson):
    page.goto(f"{site}lessons/{lesson}.html")
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    for exercise in page.locator(".exercise:has([data-points])").all():
        places, found = table_of(exercise)["places"], 0
        for place in places:
            exercise.locator(f"[value='{place[-1]}']").check()
            verdict, found = check(exercise), found + len(place)
            expect(exercise.locator("label.found")).to_have_count(found)
            if place == places[-1]:
                break
            for line in place:
                exercise.locator(f"[value='{line}']").check()
                expect(check(exercise).get_by_role("heading")).to_have_text("Found already")
        expect(verdict.get_by_role("heading")).to_have_text("Found" if len(places) == 1 else f"All {len(places)} found")
        expect(verdict.locator(".boast")).to_contain_text("without one wrong guess")
        expect(exercise.locator("label.joined")).to_have_count(sum(n + 1 in one for one in places for n in one))
        expect(exercise.locator("[data-found]")).to_have_count(found)
        rows = "all => all.filter(one => one.textContent).map(one => one.getBoundingClientRect().height)"
        assert len({*exercise.locator(".lines pre > *").evaluate_all(rows)}) == 1, "lines stand at equal distances"
    page.evaluate("() => localStorage.clear()")


@pytest.mark.parametrize(
    ("lesson", "name"),
    [("14_bug_clinic", "clinic_01"), ("14_bug_clinic", "mend_generation"), ("04_residual_blocks", "mend_stack")],
)
def test_who_points_at_the_faults_has_found_them_and_not_solved_the_exercise(page, site, lesson, name):
    exercise = exercise_on(page, site, lesson, name)
    verdict, lines = exercise.locator(".verdict"), exercise.locator("[type=radio]")
    places = table_of(exercise)["places"]
    faults = [n for place in places for n in place]
    numbers = [int(one.get_attribute("value")) for one in lines.all()]
    expect(exercise.locator(".primary")).to_have_text("Check")
    expect(check(exercise)).to_have_text("Press a line first.")
    innocent = [n for n in numbers if n not in faults][:2]
    lines.first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(verdict.get_by_role("heading")).to_have_text("Not this one")
    exercise.locator(f"[value='{innocent[1]}']").check()
    check(exercise)
    if told := table_of(exercise)["probes"].get(str(innocent[1])):
        expect(verdict).to_contain_text(re.sub("<[^>]+>", "", told))
    assert exercise.evaluate("() => document.activeElement.type") in ("button", "radio"), "no press loses the focus"
    left = [int(one) for one in exercise.locator("label:not(.out) input").evaluate_all("all => all.map(e => e.value)")]
    assert {place[0] for place in places} <= {*left}
    assert len(places) > 1 or len(left) <= (len(numbers) + 1) // 2
    expect(verdict).to_contain_text("The simplest case that fails")
    expect(exercise.locator("label.miss.out")).to_have_count(2)  # a line is grey as soon as it is out of question
    for place in places:
        expect(exercise.locator("[data-seal]")).to_have_class("seal tried")
        exercise.locator(f"[value='{place[0]}']").check()
        expect(check(exercise).get_by_role("heading")).to_have_text(re.compile(r"Found|All \d found"))
    marks = exercise.locator("label:is(.miss, .found) > span").evaluate_all(
        "all => all.map(one => getComputedStyle(one, '::after').textIndent)"
    )
    assert {*marks} == {"0px"}, "a mark stands beside its line and not on it"
    expect(verdict.locator(".told")).to_have_count(len(places))
    expect(exercise.locator("label.found")).to_have_count(len(faults))
    broken, mended = [one.bounding_box() for one in verdict.locator(".ends > div").all()]
    assert (broken["y"], broken["height"]) == (mended["y"], mended["height"]), "they stand side by side"
    expect(verdict.locator(".boast")).to_contain_text("after 2 wrong guesses. Can you?")
    expect(verdict.locator("h3 + .told")).to_have_count(1)  # why comes first, then what can be sent, then tables
    expect(verdict.locator(".told + .boast ~ .before-and-after")).to_have_count(1)
    expect(verdict.locator(".boast p + .exercise-ways > button")).to_have_count(2)
    expect(exercise.locator(".primary")).to_contain_text("Now mend it")
    expect(exercise.locator(".primary")).to_be_focused()
    expect(verdict.get_by_role("img").last).to_have_accessible_name(re.compile("Where (is|are) the .*Can you"))
    with page.expect_download() as saving:
        verdict.get_by_role("button", name="Save as picture").click()
    assert saving.value.suggested_filename == f"{name}.png"
    expect(exercise.locator("[data-seal]")).to_have_class("seal tried")
    page.evaluate("() => localStorage.clear()")


def test_a_result_is_chosen_by_a_press_and_by_keys_and_solves_nothing(page, site):
    exercise = exercise_on(page, site, "01_attention", "softmax")
    verdict, results = exercise.locator(".verdict"), exercise.locator("label.result")
    expect(exercise.locator(".which details")).to_have_count(0)  # the answers, which stand there without a script
    expect(exercise.locator("[data-seal]")).to_have_class("seal ")
    results.filter(has_text="0.33").click()
    expect(verdict.get_by_role("heading")).to_have_text("B: no exponential")
    expect(verdict.locator("blockquote")).to_contain_text("The exponential is missing")
    expect(exercise.locator("[data-seal]")).to_have_class("seal tried")
    page.keyboard.press("ArrowUp")  # chooses, and does not answer yet
    expect(exercise.get_by_role("radio").first).to_be_checked()
    expect(verdict.get_by_role("heading")).to_have_text("B: no exponential")
    page.keyboard.press("Enter")
    expect(verdict.get_by_role("heading")).to_have_text("Right")
    expect(verdict).to_contain_text("The weights along dim sum to 1. Not so in D.")
    expect(exercise.locator(".primary:visible")).to_have_text("Now write it: open it in Colab →")
    assert exercise.evaluate("() => document.activeElement.type") == "radio", "the focus is not lost"
    expect(exercise.locator("[data-seal]")).to_have_class("seal tried")
    results.filter(has_text="−2.41").click()  # what the others come from can be read afterwards
    expect(verdict.get_by_role("heading")).to_have_text("D: log softmax")
    page.evaluate("() => localStorage.clear()")


def test_what_gets_past_a_test_is_chosen_and_one_test_follows_the_other(page, site):
    exercise = exercise_on(page, site, "06_the_transformer", "is_attention")
    asked = exercise.locator(".which")
    expect(asked.locator("visible=true").first).to_contain_text("what gets past a test?")
    expect(asked.nth(1)).to_be_hidden()
    first = asked.first
    first.locator("label").filter(has_text="without batch").click()
    expect(first.locator(".verdict").get_by_role("heading")).to_have_text(re.compile("This one is caught"))
    first.locator("label").filter(has_text="not the ones that were used").click()
    expect(first.locator(".verdict").get_by_role("heading")).to_have_text("Right")
    expect(first.locator("blockquote")).to_contain_text("The weights come back, too")
    first.get_by_role("button", name="Another test").click()
    expect(asked.nth(1).get_by_role("radio").first).to_be_focused()
    asked.nth(1).locator("label").filter(has_text="Keys are averaged").click()
    expect(asked.nth(1).locator(".verdict").get_by_role("heading")).to_have_text("Right, at the first try")
    page.evaluate("() => localStorage.clear()")


def test_a_mask_is_painted_with_the_keyboard_and_with_the_pointer(page, site):
    exercise = exercise_on(page, site, "05_masking", "causal_mask")
    board = exercise.locator(".paint").first
    board.locator("button").first.focus()
    for key in ("Space", "ArrowRight", "Space", "ArrowRight", "Space", "ArrowDown", "Space", "ArrowLeft", "Space"):
        page.keyboard.press(key)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    four = exercise.locator(".paint").nth(2).locator("button")
    for t in range(4):  # drawn from the diagonal to the right
        start, end = (four.nth(4 * t + s).bounding_box() for s in (t, 3))
        page.mouse.move(start["x"] + 9, start["y"] + 9)
        page.mouse.down()
        page.mouse.move(end["x"] + 9, end["y"] + 9, steps=8)
        page.mouse.up()
    expect(check(exercise).get_by_role("heading")).to_have_text("Upper triangle")
    assert exercise.locator(".tile.differs").count() == 6
    expect(exercise.locator(".beside th[scope=col]")).to_have_text([*"012012"])  # the labels of what was painted
    for cell in exercise.locator(".paint:not(.beside *) button").all():
        t, s = (int(x) for x in re.findall(r"\d+", cell.get_attribute("aria-label")))
        if (cell.get_attribute("aria-pressed") == "true") != (s <= t):
            cell.click()
    expect(check(exercise).get_by_role("heading")).to_have_text("Right in all 3 cases")
    with page.expect_download() as saving:
        exercise.get_by_role("button", name="Save as picture").click()
    assert saving.value.suggested_filename == "causal_mask.png"
    page.evaluate("() => localStorage.clear()")


def test_matrices_are_set_and_judged_on_all_short_inputs(page, site):
    exercise = exercise_on(page, site, "01_attention", "look_at_kind")
    for board in exercise.locator(".fields").all():
        for i in range(3):
            board.locator("input").nth(4 * i).fill("1")
    verdict = check(exercise)
    expect(verdict.get_by_role("heading")).to_have_text("Kinds too soft")
    expect(verdict).to_contain_text("It gives them 0.64.")
    exercise.get_by_label("w_q times").fill("20")
    expect(check(exercise).get_by_role("heading")).to_have_text("Right in all 36 cases")
    page.evaluate("() => localStorage.clear()")


def test_a_notebooks_progress_is_brought_in(page, site, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_LAB_PROGRESS", str(tmp_path / "progress.json"))
    catalogue["visible_pairs"].check(lambda lengths: 0)
    catalogue["dot_product"].check(lambda a, b: sum(x * y for x, y in zip(a, b, strict=True)))
    page.goto(f"{site}index.html")
    page.locator("[data-bring]").set_input_files(tmp_path / "progress.json")
    expect(page.locator("[data-said]")).to_have_text("2 exercises brought in.")
    expect(page.locator(".knot .dot.tried")).to_have_count(1)
    expect(page.locator(".knot.done")).to_have_count(1)
    expect(page.locator("[data-go-on]")).to_have_text("Go on: 01 →")
    (tmp_path / "other.json").write_text('{"weights": [1, 2]}')
    page.locator("[data-bring]").set_input_files(tmp_path / "other.json")
    expect(page.locator("[data-said]")).to_contain_text("not a progress file")
    page.get_by_role("button", name="forget all").click()
    expect(page.locator(".knot :is(.tried, .solved)")).to_have_count(0)


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
    page.goto(f"{site}lessons/03_positional_encoding.html")
    drawing = page.locator("article p > img:visible").first
    assert drawing.bounding_box()["width"] >= 540
    room = drawing.locator("..")
    assert room.evaluate("room => [room.scrollWidth > room.clientWidth, room.tabIndex]") == [True, 0]
    assert page.evaluate(TOO_WIDE) == []


def test_long_code_shows_its_first_lines_on_a_phone_and_all_of_them_elsewhere(page, site):
    page.goto(f"{site}lessons/02_multi_head_attention.html")
    whole = page.locator("pre:has(+ .all-lines)").filter(has_text="class ListOfHeads").first
    way = whole.locator("xpath=following-sibling::label[1]")
    assert [way.is_visible(), whole.evaluate(HIDES)] == [False, False]
    page.set_viewport_size({"width": 390, "height": 844})
    assert [way.is_visible(), whole.evaluate(HIDES)] == [True, True]
    assert way.bounding_box()["height"] >= 40
    expect(way.get_by_role("checkbox")).to_have_accessible_name(re.compile("All 13 lines: defines ListOfHeads"))
    way.click()
    assert whole.evaluate(HIDES) is False
    page.emulate_media(media="print")
    assert [way.is_visible(), whole.evaluate(HIDES)] == [False, False]


HIDES = "pre => pre.scrollHeight > pre.clientHeight + 1"


def test_halves_of_a_drawing_stand_one_below_the_other_on_a_phone(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    plate = page.locator(".plate:has(img[src$='01_lookup.svg'])")
    halves, whole = plate.locator(".stacked > div"), plate.locator("p:has(+ .stacked)")
    assert [whole.is_visible(), halves.first.is_visible()] == [True, False]
    page.set_viewport_size({"width": 390, "height": 844})
    assert [whole.is_visible(), halves.first.is_visible()] == [False, True]
    first, second = halves.nth(0).bounding_box(), halves.nth(1).bounding_box()
    assert second["y"] >= first["y"] + first["height"]
    assert min(first["width"], second["width"]) > 330
    assert page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_has_the_colours_of_the_page(page, site, theme):
    page.emulate_media(color_scheme=theme)
    page.goto(f"{site}lessons/01_attention.html")
    for when in ("day", "night"):
        shown = page.locator(f".drawn .{when}").evaluate_all("all => all.filter(one => one.offsetParent).length")
        assert bool(shown) == (when == {"light": "day", "dark": "night"}[theme])
    figure = page.locator(f".drawn .{'day' if theme == 'light' else 'night'}").first
    figure.scroll_into_view_if_needed()
    until(page, lambda: figure.evaluate("one => one.complete && one.naturalWidth > 0"))


@pytest.mark.parametrize(
    "name", ["01_attention", "03_positional_encoding", "04_residual_blocks", "16_after_pretraining"]
)
def test_panels_stand_one_below_the_other_on_a_phone(page, site, name):
    """Beside each other their labels had 4 pixels."""
    page.goto(f"{site}lessons/{name}.html")
    panels = page.locator(".drawn.panels").first.locator(".panel:not(.strip)")
    wide = list(map(Locator.bounding_box, panels.all()))
    assert len({box["y"] for box in wide}) == 1
    page.set_viewport_size({"width": 390, "height": 844})
    narrow = list(map(Locator.bounding_box, panels.all()))
    assert len({box["y"] for box in narrow}) == len(narrow) > 1
    drawn = panels.evaluate_all("all => all.map(one => Number(one.querySelector('img').getAttribute('width')))")
    assert min(box["width"] / own for box, own in zip(narrow, drawn, strict=True)) > 0.7
    assert page.evaluate(TOO_WIDE) == []


def test_prose_and_code_begin_at_one_edge_and_no_code_ends_beyond_the_cards(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    rights = "all => all.map(one => Math.round(one.getBoundingClientRect().right))"
    code = page.locator("div.cell_input:visible")
    assert code.count() > 10
    (card,) = {*page.locator(".exercise:visible").evaluate_all(rights)}
    assert max(code.evaluate_all(rights)) == card
    prose = page.locator("article section > p:not(:has(img))")
    boxes = prose.evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
    assert max(round(box["width"]) for box in boxes) <= 640
    inked = page.locator("div.cell_input pre:visible").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().left + parseFloat(getComputedStyle(one).paddingLeft))"
    )
    assert {round(left) for left in inked} == {round(box["left"]) for box in boxes}


def test_short_prints_stand_in_the_margin_of_their_code_and_long_ones_below_it(page, site):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{site}lessons/10_inside.html")
    where = """all => all.filter(one => one.checkVisibility()).map(one => {
        const code = one.closest(".cell").querySelector(".cell_input").getBoundingClientRect();
        const printed = one.getBoundingClientRect();
        return [printed.left >= code.right, printed.top >= code.bottom];
    })"""
    both = page.locator(".cell:has(> .cell_input pre.slim) > .cell_output:last-child pre.slim").evaluate_all(where)
    assert both
    assert set(map(tuple, both)) == {(True, False)}
    long = page.locator(".cell:has(> .cell_input) > .cell_output pre.printed:not(.slim)").evaluate_all(where)
    assert set(map(tuple, long)) == {(False, True)}
    assert page.evaluate(TOO_WIDE) == []


def test_a_lesson_has_one_edge_for_its_text_and_one_for_all_that_is_wide(page, site):
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{site}lessons/02_multi_head_attention.html")
    right = "all => all.filter(one => one.checkVisibility()).map(one => Math.round(one.getBoundingClientRect().right))"
    (text,) = {*page.locator("article section > p:not(:has(img))").evaluate_all(right)}
    (wide,) = {*page.locator(".exercise, .output.text_html:not(:has(.place)), .strip").evaluate_all(right)}
    beside = ".cell:has(> .cell_input pre.slim):has(> .cell_output:last-child > .output:only-child pre.slim)"
    assert {*page.locator(f"{beside} > .cell_input").evaluate_all(right)} == {text + 16}, "with the ground's own edge"
    assert {*page.locator(f".cell:not({beside}) > .cell_input").evaluate_all(right)} == {wide}


def test_no_formula_is_wider_than_a_phone(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    for name in LESSONS:
        page.goto(f"{site}lessons/{name}.html")
        wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"
        assert page.locator("div.math:visible").evaluate_all(wide) == [], name


def test_code_that_follows_code_lies_on_the_same_ground(page, site):
    page.goto(f"{site}lessons/10_inside.html")
    gaps = """all => all.filter(one => one.checkVisibility()).map(one => {
        const after = one.nextElementSibling.querySelector(":scope > .cell_input");
        return Math.abs(after.getBoundingClientRect().top - one.getBoundingClientRect().bottom);
    })"""
    found = page.locator(".cell:not(:has(.cell_output)):has(+ .cell > .cell_input)").evaluate_all(gaps)
    assert len(found) > 3
    assert max(found) < 1


def test_no_line_of_code_is_cut_on_a_phone(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}lessons/04_residual_blocks.html")
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert page.locator(".cell_input:visible pre").count() > 10
    assert page.locator(".stub:visible pre").count() > 1
    assert page.locator(":is(.cell_input, .stub):visible pre").evaluate_all(cut) == 0


def test_on_a_phone_a_name_is_whole_and_a_pressable_line_goes_on_further_in(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}lessons/14_bug_clinic.html#exercise-clinic_01")
    titles = page.locator(".exercise-title code").evaluate_all("all => all.map(e => e.getClientRects().length)")
    assert {*titles} == {1}
    card = page.locator("#exercise-clinic_01")
    rows = card.locator(".lines label").evaluate_all(
        """all => all.map(label => {
            const span = label.querySelector("span"), range = document.createRange();
            range.selectNodeContents(span);
            const boxes = [...range.getClientRects()].filter(box => box.width > 1);
            const [top, bottom] = [boxes[0].top, boxes[0].bottom];
            const rest = boxes.filter(box => box.top > bottom - 2).map(box => box.left);
            const code = span.textContent, within = code.length - code.trimStart().length;
            const button = label.querySelector("input").getBoundingClientRect();
            const width = Number.parseFloat(getComputedStyle(span).fontSize) * 0.6;
            return [Math.min(...rest, Infinity) - (span.getBoundingClientRect().left + within * width),
                    Math.abs((button.top + button.bottom - top - bottom) / 2)];
        })"""
    )
    assert any(further < 1000 for further, _ in rows), "a line is wrapped"
    assert all(further > 1 for further, _ in rows)
    assert all(away < 3 for _, away in rows)


@pytest.mark.parametrize("place", ["exercise-qk_norm", "extra-a-norm-on-queries-and-keys"])
def test_what_is_folded_opens_for_whom_an_address_leads_there(page, site, place):
    page.goto("about:blank")
    page.goto(f"{site}lessons/15_since_llama.html#{place}")
    until(page, lambda: page.evaluate(IN_SIGHT, f"#{place}"))
    assert page.locator(".extras > section > details[open]").count() == 1
    page.goto(f"{site}lessons/15_since_llama.html")
    expect(page.locator("#exercise-qk_norm")).to_be_hidden()
    page.locator(".knots a[data-exercise=qk_norm]").click()
    expect(page.locator("#exercise-qk_norm")).to_be_visible()


def test_the_end_of_a_lesson_says_what_was_done_and_can_be_kept(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    done = {
        "exercises": {"softmax": "solved"},
        "predicted": {"01_attention": {"view-arcs": "right", "view-x": "wrong"}},
    }
    page.evaluate("done => localStorage.setItem('transformer-lab', JSON.stringify(done))", done)
    page.reload()
    expect(page.locator(".closing [data-done]")).to_contain_text("1 of 5 solved")
    expect(page.locator(".closing [data-done]")).to_contain_text("1 of 2 predictions right")
    expect(page.locator(".knots a.solved")).to_have_text(["1"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as picture").last.click()
    assert download.value.suggested_filename == "01-attention.png"
    page.evaluate("() => localStorage.clear()")


def test_an_exercise_has_one_next_step_and_hands_over_its_code(browser, site):
    """What is copied runs as it is: the import, the function to be filled in, its check."""
    with browser.new_context() as context:
        page = context.new_page()
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{site}lessons/01_attention.html")
        for name in ("softmax", "new_weights"):
            expect(page.locator(f"#exercise-{name} .primary")).to_have_count(1)
        page.locator("#exercise-softmax [data-copy]").click()
        expect(page.locator("#exercise-softmax [data-copy]")).to_have_text("Copied")
        code = page.evaluate("() => navigator.clipboard.readText()")
    lines = code.splitlines()
    assert lines[0] == "from transformer_lab import exercises"
    assert lines[3] == "def softmax(scores, dim):"
    assert lines[-1] == "exercises.softmax.check(softmax)"
    compile(code, "copied", "exec")


def test_an_exercise_can_be_taken_elsewhere_from_a_phone(browser, site):
    with browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True) as context:
        page = context.new_page()
        page.goto(f"{site}lessons/15_since_llama.html")
        card = page.locator("#exercise-sliding_window_mask")
        effort = card.locator(".effort span").last
        assert effort.text_content() == "difficulty 1 of 3"
        assert effort.bounding_box()["height"] < 25, "in one line"
        for way in card.locator(".exercise-ways > *").all():
            expect(way).to_be_visible()
            assert way.bounding_box()["height"] >= 40
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        card.get_by_role("button", name="Copy link").click()
        expect(card.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()").endswith("#exercise-sliding_window_mask")
        page.locator(".closing").get_by_role("button", name="Copy link").click()
        expect(page.locator(".closing").get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()").endswith("/15_since_llama.html")
        answer = page.locator("#exercise-bytes_per_token .answer")
        answer.scroll_into_view_if_needed()
        assert answer.bounding_box()["height"] < 600, "question, field and button in one window"


@pytest.mark.parametrize("width", [390, 1000, 1400])
def test_the_machine_has_the_front_page_to_itself(browser, site, width):
    """It once stood in a column of the two that a lesson's opening has."""
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{site}index.html")
        page.wait_for_function("() => document.querySelector('.stage .tl-view')?.values")
        assert page.locator(".stage .tl-view").evaluate("one => one.clientWidth") > 0.9 * width


@pytest.mark.parametrize("width", [360, 900, 1400, 1920])
@pytest.mark.parametrize("name", ["index", "lessons/01_attention", "lessons/05_masking", "lessons/gallery"])
def test_nothing_jumps_while_a_page_comes_alive(browser, site, name, width):
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{site}{name}.html")
        page.evaluate("() => document.fonts.ready")
        if name == "index":
            page.wait_for_function("() => document.querySelector('.stage .tl-view')?.values")
        for _ in range(8):  # views begin as the reader comes near
            page.mouse.wheel(0, 500)
            page.wait_for_timeout(100)
        assert page.evaluate(SHIFTS) < 0.1


def test_views_begin_when_they_come_near_and_all_of_them_on_paper(page, site):
    page.goto(f"{site}lessons/gallery.html")
    page.locator(".place").first.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.querySelectorAll('*')].some(e => e.live)")
    assert page.evaluate(NOT_LIVE) > 5
    page.locator(".place").last.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.querySelectorAll('*')].findLast(e => /^tl-/.test(e.localName)).live")
    assert page.evaluate(NOT_LIVE) > 5
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(f"() => !({NOT_LIVE})()")


def test_an_address_leads_to_a_heading_a_view_and_an_exercise(page, site):
    for place in ("the-equation", "view-arcs", "exercise-new_weights"):
        page.goto("about:blank")
        page.goto(f"{site}lessons/01_attention.html#{place}")
        wait_until_alive(page)
        until(page, lambda place=place: 52 < page.locator(f"#{place}").bounding_box()["y"] < 450)
        expect(page.locator(f'.places a[href="#{place}"]')).to_have_count(1)


@pytest.mark.parametrize("width", [390, 1400])
def test_no_bar_covers_what_an_address_leads_to(page, site, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{site}lessons/01_attention.html")
    wait_until_alive(page)
    places = page.locator(".places a").evaluate_all("all => all.map(one => one.hash)")
    assert len(places) > 20
    for place in places:
        page.evaluate("place => { location.hash = place; }", place)
        until(page, lambda place=place: page.evaluate(IN_SIGHT, place))


def test_a_poster_leads_to_the_view(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    page.get_by_role("link", name="See where bank looks").click()
    expect(page).to_have_url(re.compile("#view-arcs$"))
    until(page, lambda: page.evaluate(IN_SIGHT, "#view-arcs"))


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize(
    "name",
    ["01_attention", "03_positional_encoding", "05_masking", "10_inside", "15_since_llama", "16_after_pretraining"],
)
def test_a_poster_lands_on_whole_lines(page, site, name, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{site}lessons/{name}.html")
    wait_until_alive(page)
    page.locator(".poster-acts .primary").click()
    place = page.evaluate("() => location.hash")
    until(page, lambda: page.evaluate(IN_SIGHT, place))
    until(page, lambda: page.evaluate(CUT_BY_THE_HEADER) == [])
    assert page.evaluate("place => document.querySelector(place).getBoundingClientRect().top < innerHeight / 2", place)


def test_the_threads_of_a_poster_answer_to_the_pointer_as_attention_does(page, site):
    page.goto(f"{site}lessons/01_attention.html")
    arcs = page.locator(".poster-picture path.edge")
    page.mouse.move(0, 0)
    page.locator(".poster-picture text", has_text="river").hover()
    near = "all => all.map(one => Number(one.style.getPropertyValue('--near')))"
    expect(arcs.last).to_have_attribute("style", re.compile("--near"))
    shares = arcs.evaluate_all(near)
    assert shares.index(max(shares)) == len(shares) - 1, "the arc that ends at the river"
    everything = page.locator(".poster-picture [style]").evaluate_all(near)
    assert sum(everything) == pytest.approx(1, abs=0.02)
    page.mouse.move(0, 0)
    expect(page.locator(".poster-picture .answers")).to_have_count(0)


ANSWERS = "() => document.querySelector('.poster-picture .answers')"


def test_a_poster_is_read_once_by_itself_and_never_again(browser, site):
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{site}lessons/01_attention.html")
        page.wait_for_function(ANSWERS)
        widest = "() => [...document.querySelectorAll('.poster-picture [style]')].map(one => one.style.cssText).join()"
        seen = page.evaluate(widest)
        page.wait_for_function(f"seen => ({widest})() !== seen", arg=seen)  # it goes on from thread to thread
        page.wait_for_function(f"() => !({ANSWERS})()")
        page.wait_for_timeout(1_500)
        assert not page.evaluate(f"() => Boolean(({ANSWERS})())")


def test_a_guess_is_kept_and_judged_at_the_end(browser, site):
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{site}lessons/05_masking.html")
        expect(page.locator(".closing-guess")).to_have_count(0)
        page.get_by_role("button", name="it is too high").click()
        expect(page.locator(".closing-guess")).to_contain_text("You guessed “it is too high”, but the loss is too good")
        page.get_by_role("button", name="it is too good").click()
        page.reload()
        expect(page.locator(".guess [aria-pressed=true]")).to_have_text("it is too good")
        expect(page.locator(".closing-guess")).to_contain_text("and you were right")
        page.locator(".guess").get_by_role("button", name="Ask a friend").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        asked = page.evaluate("() => navigator.clipboard.readText()")
    assert asked.splitlines()[0].endswith("it is too high · it is too good · it does not")
    assert asked.splitlines()[1].endswith("lessons/05_masking.html")


def test_who_wants_no_motion_sees_a_poster_at_rest(browser, site):
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        page.clock.install()
        page.goto(f"{site}lessons/01_attention.html")
        page.clock.run_for(2_000)
        assert page.locator(".poster-picture [style]").count() == 0


def test_a_card_answers_to_the_pointer(page, site):
    page.goto(f"{site}lessons/gallery.html")
    card = page.locator(".cards a[href='#view-masks']")
    card.locator("svg").hover(position={"x": 150, "y": 60})
    shares = card.locator("[style*=near]").evaluate_all("all => all.map(one => +one.style.getPropertyValue('--near'))")
    assert sum(shares) == pytest.approx(1, abs=0.03)
    page.mouse.move(0, 0)
    expect(page.locator(".cards .answers")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "width", "across"), [("gallery", 390, 2), ("gallery", 1400, 3), ("04_residual_blocks", 390, 1)]
)
def test_all_cards_are_seen_and_their_words_can_be_read(page, site, name, width, across):
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{site}lessons/{name}.html")
    boxes = page.locator(".cards li").evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
    assert len({round(box["left"]) for box in boxes}) == across
    assert max(box["right"] for box in boxes) <= width
    sizes = """all => all.filter(one => one.checkVisibility())
        .map(one => parseFloat(getComputedStyle(one).fontSize) * one.ownerSVGElement.getScreenCTM().a)"""
    assert min(page.locator(".cards text").evaluate_all(sizes), default=12) >= 12


@pytest.mark.parametrize("width", [390, 1400])
def test_the_first_screen_says_what_this_is_and_has_the_machine(page, site, width):
    page.set_viewport_size({"width": width, "height": 900 if width > 400 else 844})
    page.goto(f"{site}index.html")
    for part in (".hello h1", ".hello b", ".hello .primary", ".stage .tl-breaker >> nth=5"):
        expect(page.locator(part)).to_be_in_viewport(ratio=0.99)


def test_the_way_to_every_matrix_keeps_the_sentence(page, site):
    page.goto(f"{site}index.html#s=forty&off=norm")
    page.wait_for_function("() => document.querySelector('.stage .tl-view')?.values")
    page.locator(".pitch a").first.click()
    expect(page.locator(".stage").get_by_role("button", name="back to the weave")).to_be_in_viewport()
    assert {"s=forty", "view=map"} <= {*page.evaluate("location.hash.slice(1)").split("&")}
    page.go_back()
    expect(page.locator(".stage .tl-breaker").first).to_be_visible()


def test_a_phone_has_the_contents_in_a_drawer(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}lessons/01_attention.html")
    drawer = page.locator("#contents")
    expect(drawer).to_be_hidden()
    page.get_by_role("button", name="Contents").click()
    expect(drawer).to_be_visible()
    low = drawer.locator("a").evaluate_all("all => all.filter(a => a.getBoundingClientRect().height < 38).length")
    assert low == 0, "large enough for a thumb"
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    page.get_by_role("button", name="Contents").click()
    drawer.get_by_role("link", name="new_weights").click()
    expect(drawer).to_be_hidden()
    assert page.url.endswith("#exercise-new_weights")


def test_without_scripts_a_page_has_its_pictures_its_contents_and_its_ways(browser, site):
    with browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        page.goto(f"{site}lessons/01_attention.html")
        expect(page.locator(".poster-picture svg")).to_be_visible()
        expect(page.locator("tl-x, [class=output] img, .text_html img").first).to_be_visible()
        page.get_by_role("button", name="Contents").click()
        expect(page.locator("#contents")).to_be_visible()
        page.goto(f"{site}index.html")
        expect(page.locator(".knot")).to_have_count(len(LESSONS))
        expect(page.locator(".go-on").first).to_be_hidden()
        expect(page.locator(".stage img").first).to_be_visible()


FAST = "const own = setInterval; window.setInterval = (act, time) => own(act, time / 20)"  # time spent reading


def go_through(page: Page, rest: int) -> None:
    """Go from window to window, and stay in each for so many milliseconds."""
    for top in range(0, page.evaluate("() => document.body.scrollHeight"), 500):
        page.evaluate("top => scrollTo(0, top)", top)
        page.wait_for_timeout(rest)


def test_a_lesson_that_is_read_has_its_arc_and_is_not_marked_as_done(browser, site):
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(FAST)
        page.goto(f"{site}lessons/00_start_here.html")
        count = page.locator("article > section > section, .closing > section").count()
        for _ in range(5):
            go_through(page, 800)
            if page.locator(".places a.seen").count() == count:
                break
        expect(page.locator(".places a.seen")).to_have_count(count)
        expect(page.locator(".rail a.done")).to_have_count(0)
        page.goto(f"{site}index.html")
        knot = page.locator('.knot[data-knot="00_start_here"]')
        assert knot.evaluate("knot => knot.style.getPropertyValue('--read')") == "1"
        expect(knot).not_to_have_class(re.compile("done"))


def test_who_scrolls_past_a_section_has_not_read_it(browser, site):
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{site}lessons/00_start_here.html")
        go_through(page, 600)
        seen = page.locator(".places a.seen").evaluate_all("all => all.map(one => one.hash)")
        words = "one => one.innerText.split(/\\s+/).length"
        assert [place for place in seen if page.locator(place).evaluate(words) > 150] == []


def test_extras_are_no_part_of_what_is_to_be_read(browser, site):
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(FAST)
        page.goto(f"{site}lessons/05_masking.html")
        for heading in page.locator("#remember, #more").all():
            heading.scroll_into_view_if_needed()
            page.wait_for_timeout(2000)
        expect(page.locator(".places [href='#remember'].seen")).to_have_count(1)
        expect(page.locator(".places [data-kind=extra] a.seen")).to_have_count(0)


def test_a_download_is_filled_with_the_address_that_the_page_has(page, site):
    page.goto(f"{site}lessons/00_start_here.html")
    with page.expect_download() as download:
        page.locator(".take").get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "00_start_here.ipynb"
    assert "SITE-ADDRESS" not in download.value.path().read_text("utf-8")


@pytest.mark.skipif(find_spec("axe_playwright_python") is None, reason="axe comes with the extra `browser`")
@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [
        *(("index", "light", 360), ("index", "dark", 1400)),
        *(("lessons/05_masking", "dark", 360), ("lessons/10_inside", "dark", 390)),
        *(("lessons/00_start_here", "light", 1400), ("lessons/02_multi_head_attention", "light", 900)),
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
    folded = page.locator("article details")
    assert folded.count() > 5
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert folded.evaluate_all("all => all.every(details => details.open)")
    page.emulate_media(media="print")
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    red, green, blue = (int(part) for part in page.evaluate(INK)[4:-1].split(","))
    assert max(red, green, blue) < 60
    expect(page.locator("#contents")).to_be_hidden()
