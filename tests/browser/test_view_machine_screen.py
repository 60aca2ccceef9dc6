"""The machine's first screen in a page: both sentences, the weave, six cuts, what plays, and the page's address."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import transformer_lab
from tests.browser.live import FRAMES, contrast
from transformer_lab import widgets
from transformer_lab.training import load_checkpoint

SENTENCE = "thirty-four thousand and twenty-one"
SIZES = {"desk": (1400, 900), "phone": (390, 844)}
MEDIUM = (900, 800)
PAGE = """<!doctype html><meta charset=utf-8><meta name=viewport content="width=device-width">
<body style="margin: 0; background: {paper}; color: {ink}"><div style="height: 52px"></div>
<div style="padding: 0 {side}px" {owner}>{html}</div>"""
THEMES = {"light": ("#fbfaf6", "#16202b"), "dark": ("#0e1217", "#ece9e2")}
BREAKERS = ("positions", "residual", "norm", "cross-attention", "mask", "feed-forward")
BOTTOMS = """names => names.map(name => [name, document.querySelector(name)?.getBoundingClientRect().bottom])"""
RIBBONS = (
    """() => [...document.querySelectorAll('.w-ribbon')].map(({dataset: {t, weight, wide}}) => [t, weight, wide])"""
)
# The outline of a ribbon begins at its upper left corner, and its last vertical is the one at the left.
DRAWN = """() => [...document.querySelectorAll('.w-ribbon')].map(one => {
    const [, top] = one.getAttribute('d').match(/^M[\\d.]+ ([-\\d.]+)/);
    const [, bottom] = one.getAttribute('d').match(/ ([-\\d.]+)Z$/);
    return [Number(one.dataset.wide), bottom - top];
})"""
LOST = "document.activeElement === document.body"


@cache
def shipped() -> str:
    path = Path(transformer_lab.__file__).parent / "checkpoints" / "en_de.safetensors"
    return widgets.machine(*load_checkpoint(path)[:2], SENTENCE).html()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """The address of a folder with a page for each theme, which belongs to its machine, and one that does not."""
    folder = tmp_path_factory.mktemp("machine")
    for theme, (paper, ink) in THEMES.items():
        text = PAGE.format(paper=paper, ink=ink, side=12, owner="data-tl-page", html=shipped())
        (folder / f"{theme}.html").write_text(text, "utf-8")
    plain = PAGE.format(paper="#fff", ink="#111", side=12, owner="", html=shipped())
    (folder / "plain.html").write_text(plain, "utf-8")
    return folder.as_uri()


def opened(browser: Browser, where: str, size: str = "desk", motion: str = "reduce", script: str = "") -> Page:
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion=motion)
    page.add_init_script(script)
    page.goto(where)
    page.wait_for_function("document.querySelector('.tl-view')?.values")
    page.evaluate(FRAMES)
    return page


@pytest.fixture(params=SIZES)
def sized(browser, address, request) -> Iterator[Page]:
    page = opened(browser, f"{address}/light.html", request.param)
    yield page
    page.close()


@pytest.fixture
def desk(browser, address) -> Iterator[Page]:
    page = opened(browser, f"{address}/light.html")
    yield page
    page.close()


def breaker(page: Page, name: str):
    return page.locator(".tl-breaker", has_text=name).first


def german(page: Page) -> str:
    page.evaluate(FRAMES)
    return page.evaluate("document.querySelector('.tl-view').values.translation")


def test_sentence_weave_breakers_and_before_and_after_are_in_the_first_viewport(sized):
    breaker(sized, "positions").click()
    sized.evaluate(FRAMES)
    names = [".tl-sentence", ".tl-german", ".tl-weave", ".tl-breakers", ".tl-answer", ".tl-pinned .tl-primary"]
    names += [".tl-line + .tl-line"] if sized.viewport_size["width"] > 1000 else []
    outside = [(name, low) for name, low in sized.evaluate(BOTTOMS, names) if low > sized.viewport_size["height"]]
    assert outside == []
    assert sized.evaluate("document.documentElement.scrollWidth") <= sized.viewport_size["width"]


def test_each_breaker_changes_a_word_of_the_first_sentence_and_what_it_says_is_seen(sized):
    before = german(sized)
    assert before == "vierunddreißigtausendeinundzwanzig"
    assert sized.locator(".tl-verdict").text_content() == "34\u202f021 ✓"
    said = set()
    for name in BREAKERS:
        breaker(sized, name).click()
        assert german(sized) != before, name
        verdict = sized.locator(".tl-verdict b").text_content()
        assert verdict.endswith("✗"), name
        assert breaker(sized, name).get_attribute("aria-pressed") == "true"
        said.add(verdict)
        breaker(sized, name).click()
        assert german(sized) == before, name
    assert len(said) == len(BREAKERS), "six wrong answers"
    assert sized.locator(".tl-breaker", has_text="→ ?").count() == 0, "what was found stays"


def test_ribbons_are_as_thick_as_the_weights_in_numbers_and_on_the_screen(sized):
    unit = sum(float(wide) for t, _, wide in sized.evaluate(RIBBONS) if t == "0")
    for t, weight, wide in sized.evaluate(RIBBONS):
        assert abs(float(wide) / unit - float(weight)) <= 0.012, t  # of a token up to 0.02 is too faint to be drawn
    for wide, drawn in sized.evaluate(DRAWN):
        assert drawn == pytest.approx(wide, abs=0.03)


def test_a_cut_stands_beside_what_was_before(desk):
    breaker(desk, "positions").click()
    desk.evaluate(FRAMES)
    before, after = desk.locator(".tl-text").all()
    assert before.locator("b").text_content() == "ein"
    assert after.locator("b").text_content() == "vier"
    assert desk.locator(".tl-german s").text_content() == "ein"
    assert desk.locator(".w-old").count() > 0
    desk.get_by_role("button", name="mend positions").click()
    assert german(desk).endswith("einundzwanzig")
    assert not desk.evaluate(LOST)


def test_a_riddle_is_solved_by_guesses(desk):
    title = desk.locator(".tl-title", has_text="Six cuts, six wrong answers.")
    title.wait_for()
    desk.locator(".tl-chip", has_text="24\u202f021").click()
    breaker(desk, "mask").click()
    desk.evaluate(FRAMES)
    assert "Right: without the causal masks it says 24\u202f021." in desk.locator(".tl-foot").text_content()
    breaker(desk, "mask").click()
    desk.evaluate(FRAMES)
    assert desk.locator(".tl-foot").text_content().count("1 of 6 found") == 1


KEYS = ("ArrowRight", "ArrowDown", "x", "Enter", "Escape", "x", ".", ",", "s", "Escape", "?", "Space", "Space", "End")


def test_no_key_leaves_the_focus_on_the_body_and_escape_leads_back(sized):
    weave = sized.locator(".tl-weave")
    weave.focus()
    for key in KEYS:
        sized.keyboard.press(key)
        sized.evaluate(FRAMES)
        assert not sized.evaluate(LOST), key
    assert weave.evaluate("weave => weave === document.activeElement")
    for part in range(11):  # from the first to the last
        for _ in range(part and 1):
            sized.keyboard.press("ArrowRight")
        sized.keyboard.press("Enter")
        sized.evaluate(FRAMES)
        assert not sized.evaluate(LOST), part
        sized.keyboard.press("Escape")
        sized.evaluate(FRAMES)
        assert weave.evaluate("weave => weave === document.activeElement"), part


def test_the_address_gives_the_same_picture_again(desk):
    desk.locator(".tl-weave").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        desk.keyboard.press(key)
    breaker(desk, "mask").click()
    desk.get_by_role("button", name="layer 0").click()
    desk.evaluate(FRAMES)
    look = (
        "(() => [document.querySelector('.tl-picture').outerHTML, document.querySelector('.tl-answer').textContent])()"
    )
    before, values = desk.evaluate(look), desk.evaluate("document.querySelector('.tl-view').values")
    assert "off=mask" in desk.url
    assert "layer=0" in desk.url
    desk.reload()
    desk.wait_for_function("document.querySelector('.tl-view')?.values")
    desk.evaluate(FRAMES)
    assert desk.evaluate(look) == before
    assert desk.evaluate("document.querySelector('.tl-view').values") == values


def test_a_part_that_is_opened_is_a_step_of_the_history(desk):
    desk.locator(".tl-weave").focus()
    desk.keyboard.press("ArrowRight")
    desk.keyboard.press("Enter")
    desk.evaluate(FRAMES)
    assert "at=decoder.layers.1.cross_attention.head.0" in desk.url
    assert desk.locator(".tl-lead").is_visible()
    desk.go_back()
    desk.evaluate(FRAMES)
    assert desk.locator(".tl-weave").is_visible()
    assert "at=" not in desk.url


def test_who_follows_a_link_to_a_part_sees_where_it_stands_and_what_was_cut_since(desk):
    desk.locator(".tl-weave").focus()
    desk.keyboard.press("ArrowRight")
    desk.keyboard.press("Enter")
    desk.reload()
    strip = desk.locator(".tl-strip canvas")
    whole = strip.evaluate("one => one.toDataURL()")
    desk.get_by_role("button", name="switch this part off").click()
    expect(desk.get_by_role("button", name="switch this part off")).to_have_count(0)
    desk.wait_for_function("whole => document.querySelector('.tl-strip canvas').toDataURL() !== whole", arg=whole)
    strip.click(position={"x": 12, "y": 12})
    expect(desk.locator(".tl-crumbs span")).to_have_text("encoder › input embedding")


# What the player would do a token later waits here, until it is called: so nothing depends on how fast a machine is.
WAITING = """
window.waiting = new Map();
const [later, never] = [window.setTimeout, window.clearTimeout];
window.setTimeout = (act, after, ...more) => {
    if (after !== 1200) return later(act, after, ...more);
    const id = -1 - waiting.size;
    waiting.set(id, act);
    return id;
};
window.clearTimeout = id => { waiting.delete(id); never(id); };
"""
NEXT = """() => {
    const [[id, act]] = waiting;
    waiting.delete(id);
    act();
    return document.querySelector('.tl-view').values.at;
}"""


def test_it_plays_by_itself_until_it_is_touched_and_nowhere_else(browser, address):
    page = opened(browser, f"{address}/light.html", motion="no-preference", script=WAITING)
    page.wait_for_function("waiting.size === 1")  # it has begun
    expect(page.locator(".w-wait")).not_to_have_count(0)
    assert page.evaluate(NEXT) == page.evaluate(NEXT) - 1, "a token after the other"
    assert page.evaluate("waiting.size") == 1
    page.locator(".tl-weave").click(position={"x": 640, "y": 5})
    page.get_by_role("button", name="next token").click()
    expect(page.locator(".w-wait")).to_have_count(0)
    assert page.evaluate("waiting.size") == 0, "nothing will move it any more"
    page.goto(f"{address}/plain.html")
    page.wait_for_function("document.querySelector('.tl-view')?.values")
    page.evaluate(FRAMES)
    expect(page.locator(".w-wait")).to_have_count(0)
    assert page.evaluate("waiting.size") == 0
    page.close()


SHIFTS = """window.shifts = 0;
new PerformanceObserver(list => { for (const one of list.getEntries()) window.shifts += one.value; })
    .observe({type: 'layout-shift', buffered: true});"""


@pytest.mark.parametrize("width", [360, 900, 1400, 1920])
def test_nothing_moves_when_the_script_begins(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page.add_init_script(SHIFTS)
    page.goto(f"{address}/light.html")
    page.wait_for_function("document.querySelector('.tl-view')?.values")
    page.wait_for_timeout(300)
    assert page.evaluate("shifts") < 0.1
    page.close()


EDGES = """() => [...document.querySelectorAll('.tl-stage button, .tl-sentence')].map(one => {
    const {borderBottomColor, borderBottomWidth, color, backgroundColor} = getComputedStyle(one);
    return [one.textContent || one.ariaLabel, borderBottomWidth, borderBottomColor, color, backgroundColor];
})"""


def rgba(colour: str) -> list[float]:
    return [float(part) for part in colour[colour.index("(") + 1 : -1].replace(",", " ").split() if part != "/"]


@pytest.mark.parametrize("theme", THEMES)
def test_controls_stand_out_from_the_page(browser, address, theme):
    page = opened(browser, f"{address}/{theme}.html")
    paper = [int(THEMES[theme][0][i : i + 2], 16) for i in (1, 3, 5)]
    edged = 0
    for name, width, edge, ink, ground in page.evaluate(EDGES):
        behind = rgba(ground)[:3] if len(rgba(ground)) == 3 else paper
        assert contrast(rgba(ink)[:3], behind) >= 4.5, name
        if width != "0px" and len(rgba(edge)) == 3:
            edged += 1
            assert contrast(rgba(edge), paper) >= 3, name
    assert edged >= 6
    page.close()


SEEN = """names => names.map(name => {
    const {top, bottom, left, right} = document.querySelector(name).getBoundingClientRect();
    return [name, top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth];
})"""


def out_of_sight(page: Page, *names: str) -> list[str]:
    return [name for name, seen in page.evaluate(SEEN, list(names)) if not seen]


def test_the_first_screen_holds_all_breakers_the_sentence_and_the_riddle(sized):
    expect(sized.locator(".tl-chip")).to_have_count(6)
    parts = [".tl-sentence", ".tl-german", ".tl-verdict", ".tl-weave", ".tl-breaker:last-child", ".tl-answer"]
    assert out_of_sight(sized, *parts, ".tl-breaker:first-child", ".tl-chip:last-child") == []


def test_a_text_without_end_keeps_its_breakers_in_sight(sized):
    breaker(sized, "feed-forward").click()
    expect(sized.locator(".tl-verdict b")).to_have_text("never stops ✗")
    assert out_of_sight(sized, ".tl-german", ".tl-breaker:first-child", ".tl-breaker:last-child", ".tl-answer") == []
    drawn = sized.locator(".w-out")
    assert drawn.count() < len(sized.evaluate("document.querySelector('.tl-view').values.tokens"))
    sized.locator(".tl-weave").focus()
    sized.keyboard.press("End")
    followed = "t => document.querySelector('.tl-view').values.at === t"
    sized.wait_for_function(followed, arg=30)
    drawn.nth(0).click(position={"x": 20, "y": 8})  # the first row that is drawn is not the first token
    sized.wait_for_function(followed, arg=31 - drawn.count())


NEAR = """() => [...document.querySelectorAll('.w-ribbon')].map(({dataset: {s, t}, classList}) =>
    [s, t, classList.contains('w-near')])"""


def test_the_word_under_the_pointer_lights_its_ribbons(desk):
    for word, side, row in (("g[data-s='2'] .w-word", 0, "2"), (".w-out[data-t='1'] .w-word", 1, "1")):
        desk.locator(word).first.hover()
        expect(desk.locator(".tl-points")).to_have_count(1)
        lit = desk.evaluate(NEAR)
        assert any(near for *_, near in lit)
        assert all(near == (one[side] == row) for *one, near in lit)
    desk.locator(".tl-answer").hover()
    expect(desk.locator(".tl-points")).to_have_count(0)
    assert not any(near for *_, near in desk.evaluate(NEAR))


def test_a_part_under_the_pointer_says_that_it_opens(desk):
    part = desk.locator(".w-look[data-part='encoder.1.feed']")
    tip = part.locator("text")
    expect(tip).to_have_css("visibility", "hidden")
    part.hover()
    expect(tip).to_have_css("visibility", "visible")
    desk.mouse.down()
    desk.mouse.up()
    desk.wait_for_function("document.querySelector('.tl-view').values.open.includes('feed')")
    assert "at=encoder.layers.1.feed_forward" in desk.url


OVER = """() => {
    const boxes = name => [...document.querySelectorAll(name)].filter(one => one.checkVisibility())
        .map(one => one.getBoundingClientRect());
    const over = (p, q) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > 0
        && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 0;
    const german = document.querySelector('.tl-german');
    const [line, outer] = [german.firstChild.getBoundingClientRect(), german.getBoundingClientRect()];
    const edge = document.querySelector('.tl-picture').getBoundingClientRect().right;
    return {
        verdict: boxes('.tl-top .tl-plain').some(one => boxes('.tl-verdict *').some(said => over(one, said))),
        german: line.top < outer.top || line.bottom > outer.bottom,
        words: boxes('.w-out .w-word').some(one => one.right > edge),
        struck: [...document.querySelectorAll('.w-struck')].some(one =>
            one.getBoundingClientRect().right > one.nextSibling.getBoundingClientRect().left),
    };
}"""


@pytest.mark.parametrize("name", BREAKERS)
def test_after_a_cut_nothing_lies_over_another(sized, name):
    breaker(sized, name).click()
    expect(sized.locator(".tl-verdict b")).to_contain_text("✗")
    assert not any(sized.evaluate(OVER).values())


def test_what_is_written_keeps_its_place_while_the_rest_follows(browser, address):
    page = opened(browser, f"{address}/light.html", motion="no-preference")
    page.locator(".w-wait").first.wait_for(state="attached")
    left = "document.querySelector('.tl-german span').getBoundingClientRect().left"
    first = page.evaluate(left)
    page.wait_for_function("document.querySelectorAll('.w-out').length > 2")
    assert page.locator(".w-wait").count() > 0
    assert page.evaluate(left) == pytest.approx(first, abs=0.5)
    page.close()


def test_at_rest_it_stands_where_the_two_languages_have_another_order(sized):
    expect(sized.locator(".tl-at")).to_have_text("ein")
    expect(sized.locator(".tl-answer")).to_contain_text("looks most at “one”")


def test_a_word_that_is_read_opens_its_own_row(desk):
    desk.locator(".w-word", has_text="thousand").click()
    expect(desk.locator(".tl-out")).to_be_focused()
    expect(desk.locator(".tl-sum").first).to_contain_text("“·thousand”")


def test_a_cut_mask_shows_what_becomes_visible(desk):
    expect(desk.locator(".w-leak")).to_have_count(0)
    breaker(desk, "mask").click()
    expect(desk.locator(".w-leak")).not_to_have_count(0)
    breaker(desk, "mask").click()
    expect(desk.locator(".w-leak")).to_have_count(0)


def test_what_was_found_stays_after_a_part_was_opened_and_left(desk):
    breaker(desk, "mask").click()
    breaker(desk, "mask").click()
    expect(breaker(desk, "mask")).to_contain_text("says 24\u202f021")
    desk.locator(".tl-weave").focus()
    desk.keyboard.press("Enter")
    expect(desk.locator(".tl-steps")).to_be_visible()
    desk.go_back()
    expect(desk.locator(".tl-weave")).to_be_visible()
    expect(breaker(desk, "mask")).to_contain_text("says 24\u202f021")


def test_six_that_are_found_say_what_the_parts_are_for(desk):
    for name in BREAKERS[:-1]:
        breaker(desk, name).click()
        breaker(desk, name).click()
    expect(desk.locator(".tl-purposes > div")).to_have_count(0)
    breaker(desk, BREAKERS[-1]).click()
    keep = desk.get_by_role("button", name="Save the picture “I broke it six ways”")
    expect(keep).to_be_visible()  # before the last cut is mended
    assert out_of_sight(desk, ".tl-prize b", ".tl-prize button") == []
    expect(desk.locator(".tl-purposes")).to_contain_text(
        "Positions matter, because attention is a sum over words, and a sum has no order."
    )
    breaker(desk, BREAKERS[-1]).click()
    expect(desk.locator(".tl-purposes > div")).to_have_count(6)
    with desk.expect_download() as download:
        keep.click()
    assert download.value.suggested_filename == "thirty-four-thousand-and-twenty-one.png"
    breaker(desk, "mask").click()
    expect(keep).to_be_hidden()
    expect(desk.get_by_role("button", name="mend mask")).to_be_visible()


def test_a_part_shows_its_scores_weights_and_a_sum_in_one_screen(desk):
    desk.locator(".tl-weave").focus()
    desk.keyboard.press("Enter")
    expect(desk.locator(".tl-lead .tl-title")).to_have_text("To write “ein” it looks most at “one”: 0.65")
    expect(desk.locator(".tl-score[aria-pressed=true]")).to_contain_text("one")
    assert (
        out_of_sight(desk, ".tl-strip canvas", ".tl-wall button:last-child", ".tl-pour", ".tl-mixed", ".tl-total") == []
    )
    desk.locator(".tl-score").first.click()
    expect(desk.locator(".tl-score").first).to_be_focused()
    expect(desk.locator(".tl-score[aria-pressed=true]")).to_contain_text("th")
    desk.locator(".tl-term .tl-go").first.click()
    expect(desk.locator(".tl-tabs [aria-pressed=true]")).to_have_text("query")
    assert not desk.evaluate(LOST)
    desk.keyboard.press("Escape")
    desk.keyboard.press("Escape")
    expect(desk.locator(".tl-weave")).to_be_focused()


def test_a_swapped_word_has_its_own_name_and_is_judged_by_it(desk):
    desk.get_by_role("button", name="swap a word").click()
    desk.get_by_role("button", name="heads and other parts").click()
    expect(desk.get_by_label("the other sentence")).to_have_value("thirty-five thousand and twenty-one")
    expect(desk.get_by_label("at input token")).to_have_value("2")


def test_a_word_and_its_replacement_are_picked_in_two_presses(sized):
    opens = sized.get_by_role("button", name="swap a word")
    opens.click()
    card = sized.get_by_role("group", name="swap a word")
    expect(card.locator("[aria-pressed=true]")).to_be_focused()
    sized.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(opens).to_be_focused()
    opens.click()
    card.get_by_role("button", name="four", exact=True).click()
    card.get_by_role("button", name="five", exact=True).click()
    expect(sized.locator(".tl-verdict b")).to_contain_text("35\u202f021 ✓")
    expect(card).to_be_hidden()
    expect(sized.locator(".w-put")).to_have_count(1)
    expect(sized.locator(".tl-weave")).to_be_focused()
    sized.get_by_role("button", name="mend five for four").click()
    expect(sized.locator(".tl-verdict b")).to_have_text("34\u202f021 ✓")


def test_the_words_that_can_be_swapped_are_those_of_the_sentence(sized):
    sized.get_by_role("button", name="swap a word").click()
    words = sized.get_by_role("group", name="swap a word").locator(".tl-answers").first.get_by_role("button")
    expect(words).to_have_text(["thirty", "four", "twenty", "one"])
    sized.get_by_label("text to translate").fill("sixty-two")
    expect(words).to_have_text(["sixty", "two"])


def test_another_number_starts_without_what_was_swapped_in_the_last(desk):
    desk.get_by_role("button", name="swap a word").click()
    card = desk.get_by_role("group", name="swap a word")
    card.get_by_role("button", name="four", exact=True).click()
    card.get_by_role("button", name="five", exact=True).click()
    expect(desk.locator(".w-put")).to_have_count(1)
    desk.get_by_role("button", name="another").click()
    expect(desk.locator(".tl-verdict b")).to_contain_text("✓")
    expect(desk.locator(".w-put, .tl-german s")).to_have_count(0)


@pytest.mark.parametrize("width", [1000, 1040, 1150, 1240])
def test_no_control_lies_over_another(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page.goto(f"{address}/light.html")
    expect(page.locator(".tl-chip")).to_have_count(6)
    over = """() => { const all = [...document.querySelectorAll('.tl-stage :is(button, input)')]
        .filter(one => one.checkVisibility()).map(one => [one, one.getBoundingClientRect()]);
        return all.flatMap(([a, p], i) => all.slice(i + 1).filter(([b, q]) =>
            Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
            Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 1).map(([b]) => [a.textContent, b.textContent]));
    }"""
    assert page.evaluate(over) == []
    assert page.get_by_label("output token").is_visible()
    page.close()


def test_a_tour_hides_no_breaker_ends_at_them_and_gives_the_focus_back(sized):
    expect(sized.locator(".tl-chip")).to_have_count(6)
    opens = sized.get_by_role("button", name="tour", exact=True)
    opens.click()
    expect(opens).to_have_attribute("aria-expanded", "true")
    sized.keyboard.press("Escape")
    expect(opens).to_be_focused()
    expect(opens).to_have_attribute("aria-expanded", "false")
    opens.click()
    on = sized.locator(".tl-tour .tl-primary")
    for step in range(1, 7):
        expect(sized.locator(".tl-tour .tl-title")).to_have_text(f"Step {step} of 6")
        expect(on).to_be_focused()
        expect(sized.locator(".w-veil")).to_have_count(2 if step < 6 else 0)
        expect(sized.locator(".tl-at")).to_have_text("ein" if step < 6 else "vier")
        on.press("Enter")
    expect(sized.locator(".tl-tour")).to_be_hidden()
    expect(sized.locator(".tl-breaker").first).to_be_focused()
    expect(sized.locator(".tl-verdict b")).to_have_text("34\u202f024 ✗")


def test_digits_are_read_in_words_and_a_mistake_offers_the_spelling_that_mends_it(sized):
    field, hint = sized.get_by_label("text to translate"), sized.locator(".tl-hint")
    field.fill("42")
    expect(sized.locator(".tl-verdict b")).to_have_text("42 ✓")
    expect(hint).to_have_text("read as “forty-two”")
    expect(hint).to_be_visible()
    learned = "nine hundred and ninety-nine thousand, nine hundred and ninety-nine"
    field.fill(learned.replace(",", ""))
    expect(sized.locator(".tl-why")).to_contain_text(", not 999\u202f999. It has learned such numbers")
    sized.get_by_role("button", name="with a comma").click()
    expect(field).to_have_value(learned)
    expect(sized.locator(".tl-verdict b")).to_have_text("999\u202f999 ✓")
    expect(sized.locator(".tl-why")).to_be_hidden()


@pytest.mark.parametrize(
    ("text", "says"), [("1000000", "below a million"), ("hello world", "It knows only numbers, and “hello” is none.")]
)
def test_what_cannot_be_translated_is_said_and_the_last_sentence_waits(sized, text, says):
    field = sized.get_by_label("text to translate")
    expect(sized.locator(".tl-chip")).to_have_count(6)
    field.fill(text)
    expect(sized.locator(".tl-refusal")).to_contain_text(says)
    assert out_of_sight(sized, ".tl-refusal span", ".tl-refusal button") == []
    frame, message = field.bounding_box(), sized.locator(".tl-refusal span").bounding_box()
    assert message["y"] >= frame["y"] + frame["height"]
    assert german(sized) == "vierunddreißigtausendeinundzwanzig"
    expect(sized.locator(".tl-chip").first).to_be_hidden()
    expect(sized.locator(".tl-verdict b")).to_have_count(0)
    assert sized.locator(".tl-weave").evaluate("weave => weave.inert")
    assert "s=thirty-four+thousand" in sized.url
    sized.locator(".tl-refusal button").click()
    expect(sized.locator(".tl-verdict b")).to_contain_text("✓")
    expect(field).to_have_value("999 999" if "million" in says else "42")
    assert not sized.locator(".tl-weave").evaluate("weave => weave.inert")
    assert not sized.evaluate(LOST)


def test_a_word_dropped_on_a_word_takes_its_place(desk):
    four, one = (desk.locator(f"[data-part=reads][data-s='{s}'] text").bounding_box() for s in (2, 6))
    desk.mouse.move(one["x"] + 9, one["y"] + 9)
    desk.mouse.down()
    desk.mouse.move(four["x"] + 5, four["y"] + 30, steps=3)
    desk.mouse.move(four["x"] + 5, four["y"] + 9, steps=3)
    expect(desk.locator(".tl-ghost")).to_have_text("one →")
    desk.mouse.up()
    expect(desk.locator(".tl-verdict b")).to_have_text("31\u202f021 ✗")
    expect(desk.locator(".w-put")).to_have_count(1)


def test_a_word_is_dragged_onto_another_thread_and_the_address_says_so(desk):
    four, one = (desk.locator(f"[data-part=reads][data-s='{s}'] text").bounding_box() for s in (2, 6))
    desk.mouse.move(four["x"] + 9, four["y"] + 9)
    desk.mouse.down()
    desk.mouse.move(200, four["y"] + 40, steps=3)
    desk.mouse.move(desk.locator(".w-slab").first.bounding_box()["x"] + 40, one["y"] + 12, steps=3)
    expect(desk.locator(".tl-ghost")).to_have_text("four →")
    desk.mouse.up()
    expect(desk.locator(".tl-verdict b")).to_have_text("34\u202f024 ✗")
    expect(desk.locator(".w-put")).to_have_count(1)
    expect(desk.locator(".tl-answer")).to_contain_text("With four for one it looks")
    values = "document.querySelector('.tl-view').values"
    before = desk.evaluate(values)
    assert "swap=encoder.layers.0.residual_2.norm:6:2" in desk.url
    desk.reload()
    expect(desk.locator(".tl-verdict b")).to_have_text("34\u202f024 ✗")
    expect(desk.locator(".w-put")).to_have_count(1)
    assert desk.evaluate(values) == before
    desk.get_by_role("button", name="mend four for one").click()
    expect(desk.locator(".tl-verdict b")).to_have_text("34\u202f021 ✓")


@pytest.mark.parametrize("theme", THEMES)
def test_the_stage_is_saved_as_a_picture_in_the_theme_of_the_page(browser, address, theme, tmp_path):
    page = opened(browser, f"{address}/{theme}.html")
    with page.expect_download() as download:
        page.get_by_role("button", name="save picture").click()
    assert download.value.suggested_filename == "thirty-four-thousand-and-twenty-one.png"
    download.value.save_as(tmp_path / "saved.png")
    picture = Image.open(tmp_path / "saved.png").convert("RGB")
    assert picture.size == (2400, 1350)
    paper = tuple(int(THEMES[theme][0][i : i + 2], 16) for i in (1, 3, 5))
    assert picture.getpixel((5, 5)) == paper
    apart = ((n, max(abs(a - b) for a, b in zip(colour, paper, strict=True))) for n, colour in picture.getcolors(2**24))
    drawn = sum(n for n, most in apart if most > 30)
    assert drawn / (2400 * 1350) > 0.1, "words, threads and ribbons"
    assert page.locator(".tl-machine > .tl-stage").count() == 1, "what it was drawn from is gone"
    page.close()


def test_a_part_and_the_map_are_saved_with_their_sentences(browser, address, tmp_path):
    desk = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1&at=decoder.layers.0.feed_forward")
    desk.evaluate("""() => { window.said = []; const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            said.push(text);
            return write.call(this, text, ...rest);
        }; }""")
    save = desk.get_by_role("button", name="save picture")
    with desk.expect_download() as download:
        save.click()
    assert download.value.suggested_filename == "thirty-four-thousand-and-twenty-one-feed-forward.png"
    download.value.save_as(tmp_path / "part.png")
    with Image.open(tmp_path / "part.png") as picture:
        assert picture.size == (2400, 1350)
    written = desk.evaluate("said")
    assert desk.locator(".tl-lead .tl-title").text_content() in written
    assert {"before this layer", "after it", "Transformer Lab", "ein"} <= set(written)
    desk.get_by_role("button", name="every matrix").click()
    with desk.expect_download() as download:
        save.click()
    assert download.value.suggested_filename == "thirty-four-thousand-and-twenty-one-every-matrix.png"
    download.value.save_as(tmp_path / "map.png")
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.width == 2400
        assert picture.height > 1350
        edge = picture.convert("RGB").crop((2310, 0, 2400, picture.height))
        assert len(edge.getcolors()) == 1, "the map is as wide as its room"
    headline = "Every number behind “ein”, from left to right."
    assert {headline, "self-attention", "to write", "undzwan"} <= set(desk.evaluate("said"))
    desk.close()


@pytest.mark.parametrize("place", ["", "&at=decoder.layers.0.feed_forward"])
def test_a_phone_saves_the_weave_and_a_part_of_it(browser, address, place):
    """The foot has the button there, and a part hides the foot."""
    phone = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1{place}", "phone")
    with phone.expect_download() as download:
        phone.get_by_role("button", name="picture").click()
    assert download.value.suggested_filename.endswith("feed-forward.png" if place else "twenty-one.png")
    phone.close()


ZOOMS = {
    "encoder.layers.1.self_attention.head.0": "“one” looks most at",
    "decoder.layers.1.self_attention.head.0": "To write “ein” it looks most at",
    "decoder.layers.1.cross_attention.head.2": "To write “ein” it looks most at “one”: 0.65",
    "encoder.layers.0.feed_forward": "Feed-forward moves away from “one”",
    "decoder.layers.1.feed_forward": "Feed-forward makes sure of “ein”",
    "src_embedding.positions": "“one” stands at place 6",
    "to_logits": "After “tausend” it writes “ein”: 0.99 sure",
}


def test_a_part_that_cannot_be_drawn_says_so_in_its_place_and_in_the_console(browser, address):
    page = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1&at=decoder.layers.0.feed_forward")
    complaints = []
    page.on("console", lambda message: complaints.append((message.type, message.text)))
    fault, lead = page.locator(".tl-right > [role=alert]"), page.locator(".tl-lead")
    expect(fault).to_be_hidden()
    page.evaluate("""() => { Object.defineProperty(document.querySelector('.tl-flow'), 'innerHTML', {
        configurable: true, set() { throw new Error('a test broke it'); }
    }); }""")
    page.set_viewport_size({"width": 1300, "height": 900})  # so that it is drawn anew
    expect(fault).to_have_text("The picture of this part cannot be drawn: a test broke it.")
    expect(lead).to_be_hidden()
    assert "error" in [kind for kind, text in complaints if "a test broke it" in text]
    page.evaluate("() => { delete document.querySelector('.tl-flow').innerHTML; }")
    page.set_viewport_size({"width": 1400, "height": 900})
    expect(fault).to_be_hidden()
    expect(lead).to_be_visible()
    page.close()


PICTURE_TOP = """() => {
    const [zoom, picture] = ['.tl-zoom', '.tl-pan'].map(one => document.querySelector(one).getBoundingClientRect());
    return picture.top - zoom.top;
}"""


@pytest.mark.parametrize("size", SIZES)
def test_the_picture_of_all_matrices_comes_first(browser, address, size):
    """A row of controls, where to begin and the legend stand above it; a phone pulls it sideways."""
    page = opened(browser, f"{address}/light.html", size)
    page.get_by_role("button", name="every matrix").click()
    pan = page.locator(".tl-pan")
    expect(pan).to_be_visible()
    assert page.evaluate(PICTURE_TOP) <= (140 if size == "desk" else 290)
    expect(page.locator(".tl-strip")).to_be_visible(visible=size == "phone")
    box = pan.bounding_box()
    # A phone has the whole, small, with the three places in it, over the map.
    seen = [pan] if size == "desk" else page.locator(".tl-strip, .tl-strip b").all()
    assert len(seen) == (1 if size == "desk" else 4)
    for one in seen:
        place = one.bounding_box()
        assert place["y"] + place["height"] <= SIZES[size][1]
        assert place["x"] + place["width"] <= SIZES[size][0]
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    expect(page.locator(".tl-words .tl-lit")).to_have_text(
        ["onelooked at 0.65", "einreads tausend", "einreads tausend"]
    )
    pulled = pan.evaluate("one => { one.scrollLeft = 200; return one.scrollLeft; }")
    assert pulled == (0 if size == "desk" else 200)
    if size == "phone":
        port = page.locator(".tl-strip i").bounding_box()
        assert port["x"] > box["x"] + 40, "it shows how far the map was pulled"
    outside = """() => [...document.querySelectorAll('.tl-back > :not(.tl-writes) button, .tl-stack button')]
        .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth)
        .map(one => one.textContent)"""
    assert page.evaluate(outside) == []
    words = page.locator(".tl-words").bounding_box()
    assert words["x"] == pytest.approx(box["x"], abs=1), "the words stay in sight"
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    assert page.locator(".tl-words :is(span, em), .tl-route *").evaluate_all(cut) == []
    page.close()


def test_from_a_small_window_on_the_whole_map_is_in_sight_and_a_part_has_its_controls_in_one_row(browser, address):
    page = opened(browser, f"{address}/light.html")
    page.set_viewport_size(dict(zip(("width", "height"), MEDIUM, strict=True)))
    page.get_by_role("button", name="every matrix").click()
    expect(page.locator(".tl-strip")).to_be_hidden()
    assert page.locator(".tl-pan").evaluate("one => one.scrollWidth <= one.clientWidth")
    mark = page.locator(".tl-beads u").bounding_box()
    assert mark["y"] + mark["height"] < 800
    page.mouse.click(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    rows = page.locator(".tl-lead .tl-rows button, .tl-back button:visible")
    tops = rows.evaluate_all("all => all.map(one => [one.closest('.tl-back') !== null, one.offsetTop])")
    assert len({(head, top) for head, top in map(tuple, tops)}) == 2
    page.keyboard.press("Escape")
    expect(page.locator(".tl-pan")).to_be_visible()
    expect(page.locator(".tl-beads u")).to_have_count(0)
    page.close()


def test_the_map_names_three_places_to_begin_and_a_press_opens_each(sized):
    sized.get_by_role("button", name="every matrix").click()
    places = sized.get_by_role("group", name="three places to begin")
    one, look, end = (sized.locator(".tl-route button").nth(i) for i in range(3))
    says = "Every number behind “ein”, from left to right. Press a matrix or a word."
    expect(sized.locator(".tl-whole")).to_have_text(says)
    expect(places).to_be_visible()
    expect(sized.locator(".tl-pan .tl-beads b")).to_have_text(["1", "2", "3"])
    expect(sized.locator(".tl-keys")).to_be_hidden()
    for place, says in (
        (one, "“one” and its place become 128 numbers"),
        (look, "To write “ein” it looks most at “one”: 0.65"),
        (end, "After “tausend” it writes “ein”: 0.99 sure"),
    ):
        place.click()
        expect(sized.locator(".tl-lead .tl-title")).to_have_text(says)
        expect(place).to_have_attribute("aria-pressed", "true")
        sized.get_by_role("button", name="every matrix").click()
        expect(place).to_have_attribute("aria-pressed", "false")


def test_what_a_switched_off_head_does_is_said_in_the_headline_and_moves_nothing(sized):
    sized.get_by_role("button", name="every matrix").click()
    sized.get_by_role("button", name="switch off").click()
    drawing = sized.locator(".tl-pan canvas")
    before = drawing.bounding_box()
    head = """one => {
        const {x, y} = one.layout.items.find(({part}) => part.key === "encoder.layers.0.self_attention.head.0");
        return {x: x + 9, y: y + 9};
    }"""
    drawing.click(position=drawing.evaluate(head))
    says = "Still 34\u202f021 without this head, but less sure, most of all of its fifth word, “undzwan”: 0.97 of 1, "
    expect(sized.locator(".tl-whole")).to_contain_text(f"{says}before 0.98; “ein” ")
    assert drawing.bounding_box() == before
    # Cause and effect, and where a reader goes on, are in one screen.
    for one in (".tl-whole", ".tl-chips", ".tl-key-of", "button:has-text('find a number')"):
        place = sized.locator(one).bounding_box()
        assert place["y"] + place["height"] <= sized.viewport_size["height"], one
        assert 0 <= place["x"] <= place["x"] + place["width"] <= sized.viewport_size["width"], one
    sized.get_by_role("button", name="find a number").click()
    instead = sized.get_by_role("button", name="cut positional encoding instead")
    instead.wait_for(timeout=60_000)
    expect(sized.locator(".tl-example span")).to_have_text("None of 12 numbers shows it.")
    expect(sized.locator(".tl-key-of")).to_be_in_viewport(ratio=1)
    expect(instead).to_be_in_viewport(ratio=1)
    instead.click()
    expect(sized.locator(".tl-whole")).to_have_text(
        "34\u202f021 → 34\u202f024 without this positional encoding of the input."
    )
    expect(sized.get_by_role("button", name="switch off", exact=True)).to_be_focused()
    sized.get_by_role("button", name="swap", exact=True).click()
    place = sized.get_by_label("at input token").bounding_box()
    assert place["x"] + place["width"] <= sized.viewport_size["width"]


def test_a_part_says_under_its_title_what_its_cut_does_and_escape_leaves_it_after_a_press_on_what_is_blank(sized):
    sized.get_by_role("button", name="every matrix").click()
    sized.get_by_role("button", name=re.compile("looks most at")).click()
    verdict = sized.locator(".tl-lead .tl-whole")
    expect(verdict).to_be_hidden()
    sized.get_by_role("button", name="switch this part off").click()
    expect(verdict).to_contain_text("without this head")
    title = sized.locator(".tl-lead .tl-title")
    assert verdict.bounding_box()["y"] > title.bounding_box()["y"]
    title.click()
    sized.keyboard.press("Escape")
    expect(sized.locator(".tl-pan canvas")).to_be_visible()
    expect(sized.locator(".tl-stack .tl-whole")).to_contain_text("without this head")


def test_the_other_sentence_has_its_label_and_its_room_and_nothing_is_cut_off(sized):
    cuts = ",".join(f"decoder.layers.{i}.cross_attention.head.3" for i in (0, 1))
    sized.goto(f"{sized.url.split('#')[0]}#s={SENTENCE}&t=3&layer=1&view=off&off={cuts}")
    sized.get_by_role("button", name="swap", exact=True).click()
    field = sized.get_by_label("the other sentence")
    assert field.evaluate("one => one.scrollWidth <= one.clientWidth")
    row = sized.locator(".tl-one-row")
    expect(row.get_by_text("the other sentence")).to_be_visible()
    assert row.evaluate("one => one.scrollWidth <= one.clientWidth")
    expect(sized.get_by_role("button", name="find a number")).to_be_in_viewport(ratio=1)
    expect(sized.locator(".tl-key-of")).to_be_in_viewport(ratio=1)
    sized.get_by_role("button", name="switch off", exact=True).click()
    if sized.viewport_size["width"] < 400:
        assert row.bounding_box()["height"] < 120, "two parts take no more room than one"


def test_a_phone_shows_the_part_that_is_cut_and_says_what_to_do_over_the_map(browser, address):
    cut = "decoder.layers.1.cross_attention.head.1"
    page = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1&view=off&off={cut}", "phone")
    place = f"""() => {{
        const [map] = document.querySelectorAll('.tl-pan canvas');
        const {{x, width}} = map.layout.items.find(({{part}}) => part.key === '{cut}');
        const {{left}} = map.getBoundingClientRect();
        return [left + x, left + x + width];
    }}"""
    left, right = page.evaluate(place)
    assert page.locator(".tl-words").bounding_box()["x"] + 90 < left < right < SIZES["phone"][0] - 40
    assert page.locator(".tl-strip b:visible").count() == 0, "no mark lies over the cross"
    page.get_by_role("button", name="head 1 ✕").click()
    says = page.locator(".tl-whole")
    expect(says).to_have_text("Press a part to switch it off, and again to switch it on.")
    assert says.bounding_box()["y"] < page.locator(".tl-strip").bounding_box()["y"]
    page.close()


def test_a_phone_has_the_way_to_every_matrix_in_its_first_screen(browser, address):
    page = opened(browser, f"{address}/light.html", "phone")
    way = page.get_by_role("button", name="every matrix")
    box = way.bounding_box()
    assert box["height"] >= 40
    assert box["y"] + box["height"] <= SIZES["phone"][1] / 2 + 100
    assert box["x"] + box["width"] <= SIZES["phone"][0]
    way.click()
    expect(page.locator(".tl-whole")).to_be_visible()
    page.close()


@pytest.mark.parametrize("still", [False, True])
def test_a_phone_scrolls_to_the_picture_that_is_opened_unless_motion_is_reduced(browser, address, still):
    page = opened(
        browser,
        f"{address}/light.html#s={SENTENCE}&t=3&layer=1&view=map",
        "phone",
        "reduce" if still else "no-preference",
    )
    page.set_viewport_size({"width": 390, "height": 600})
    page.get_by_role("button", name="looks most at").click()
    expect(page.locator(".tl-heads svg")).to_be_visible()
    page.wait_for_timeout(900)
    box = page.locator(".tl-heads").bounding_box()
    assert (box["y"] + box["height"] <= 601) != still
    assert page.evaluate("document.activeElement.textContent") == "every matrix"
    page.close()


@pytest.mark.parametrize("place", ["", "&at=decoder.layers.1.cross_attention.head.0"])
def test_numbers_in_a_drawing_are_equally_wide_and_hyphens_are_not(browser, address, place):
    page = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1{place}")
    uneven = """() => [...document.querySelectorAll('.tl-machine svg text, .tl-machine svg tspan')]
        .filter(one => {
            const tabular = getComputedStyle(one).fontVariantNumeric === 'tabular-nums';
            if (/[a-z]-/.test(one.textContent)) return tabular;
            return /\\d/.test(one.textContent) && !tabular && !one.matches('.w-tip');
        })
        .map(one => one.outerHTML)"""
    assert page.locator(".tl-machine svg text").filter(has_text=re.compile(r"\d\.\d\d")).count() > 3
    assert page.evaluate(uneven) == []
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_each_part_says_what_it_does_and_its_picture_is_in_sight(browser, address, size):
    page = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1", size)
    for part, says in ZOOMS.items():
        page.evaluate("hash => { location.hash = hash; }", f"s={SENTENCE}&t=3&layer=1&at={part}")
        expect(page.locator(".tl-lead .tl-title")).to_contain_text(says)
        picture = page.locator(":is(.tl-heads, .tl-flow) svg:visible")
        expect(picture).to_have_count(1)
        box = picture.bounding_box()
        assert box["y"] + box["height"] <= SIZES[size][1] + (120 if size == "phone" else 0), part
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], part
    page.close()


def test_the_head_that_was_seen_last_is_open_again(desk):
    desk.locator(".tl-weave").press("Enter")
    desk.get_by_role("button", name=re.compile("^head 2: ")).click()
    desk.get_by_role("button", name="back to the weave").click()
    desk.locator(".tl-weave").press("Enter")
    expect(desk.get_by_role("button", name=re.compile("^head 2: "))).to_have_attribute("aria-pressed", "true")
    assert "cross_attention.head.2" in desk.url


def test_a_token_is_followed_from_within_a_part(desk):
    desk.locator(".tl-weave").press("Enter")
    vier = desk.locator(".tl-rows button", has_text="vier")
    vier.click()
    expect(desk.locator(".tl-lead .tl-title")).to_contain_text("To write “vier” it looks most at “four”")
    expect(desk.locator(".tl-german .tl-at")).to_have_text("vier")
    expect(vier).to_be_focused()


BANDS = ".tl-bands svg"
ONE_ROW = """names => {
    const places = names.map(name => document.querySelector(name).getBoundingClientRect());
    const middles = places.map(({top, bottom}) => (top + bottom) / 2);
    return Math.max(...middles) - Math.min(...middles) < 4;
}"""


@pytest.mark.parametrize("size", SIZES)
def test_an_embedding_shows_how_a_token_and_its_place_become_what_goes_in(browser, address, size):
    where = f"{address}/light.html#s={SENTENCE}&t=3&layer=1&at=src_embedding.tokens"
    page = opened(browser, where, size)
    expect(page.locator(".tl-lead .tl-title")).to_have_text("“one” and its place become 128 numbers")
    expect(page.locator(f"{BANDS} .w-band")).to_have_count(3)
    four = page.locator(".tl-rows button", has_text="four")
    four.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tl-lead .tl-title")).to_have_text("“four” and its place become 128 numbers")
    expect(four).to_be_focused()
    expect(four).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".tl-sum")).to_contain_text("the table’s entry for “four”")
    first, second, third = page.locator(f"{BANDS} .w-sum").all_text_contents()
    a, b, c = (float(text.strip("+= ").replace("−", "-")) for text in (first, second, third))
    assert a + b == pytest.approx(c, abs=0.011)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    page.close()


def test_a_part_has_one_row_of_controls_and_a_press_on_its_bars_chooses_a_number(browser, address):
    desk = opened(browser, f"{address}/light.html#s={SENTENCE}&t=3&layer=1&at=encoder.layers.0.residual_1.norm")
    expect(desk.locator(f"{BANDS} .w-band")).to_have_count(4)
    desk.wait_for_function(ONE_ROW, arg=[".tl-out", ".tl-crumbs span", ".tl-crumbs button:nth-of-type(2)"])
    wide = desk.locator(".tl-bands").evaluate("one => one.clientWidth")
    desk.locator(".tl-bands").click(position={"x": wide - 4, "y": 30})
    expect(desk.locator(".tl-sum")).to_contain_text(re.compile(r"feature 12\d: "))
    desk.close()


def test_a_breaker_says_how_many_parts_it_cuts_and_holds_its_name(sized):
    for name, says in {
        "positions": "cut → ?",
        "residual": "all 4 → ?",
        "norm": "all 10 → ?",
        "mask": "both → ?",
    }.items():
        expect(breaker(sized, name).locator(".tl-known")).to_have_text(says)
    outside = """() => [...document.querySelectorAll('.tl-breaker b')].filter(name => {
        const range = document.createRange();
        range.selectNodeContents(name);
        const [text, box] = [range, name.parentElement].map(one => one.getBoundingClientRect());
        return text.left < box.left + 1 || text.right > box.right - 1;
    }).map(({textContent}) => textContent)"""
    assert sized.evaluate(outside) == []
    assert sized.evaluate("document.documentElement.scrollWidth") <= sized.viewport_size["width"]


@pytest.fixture
def touched(browser, address) -> Iterator[Page]:
    """The machine on a phone, which is touched."""
    context = browser.new_context(viewport={"width": 390, "height": 664}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/light.html")
    expect(page.locator(".tl-chip")).to_have_count(6)
    yield page
    context.close()


class Finger:
    def __init__(self, page: Page) -> None:
        self.devtools = page.context.new_cdp_session(page)

    def does(self, kind: str, *points: tuple[float, float]) -> None:
        where = [{"x": x, "y": y} for x, y in points]
        self.devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})

    def goes(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        for i in range(1, steps + 1):
            self.does("touchMove", tuple(a + (b - a) * i / steps for a, b in zip(start, end, strict=True)))


def word_at(page: Page, row: int) -> tuple[float, float]:
    box = page.locator(f"[data-part=reads][data-s='{row}'] text").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_drags_a_word_that_it_holds(touched):
    finger, four, one = Finger(touched), word_at(touched, 2), word_at(touched, 6)
    finger.does("touchStart", four)
    expect(touched.locator(".tl-ghost")).to_have_text("four")
    finger.goes(four, one)
    expect(touched.locator(".tl-ghost")).to_have_text("four → one")
    finger.does("touchEnd")
    expect(touched.locator(".tl-verdict b")).to_have_text("34\u202f024 ✗")
    expect(touched.locator(".tl-ghost")).to_have_count(0)
    assert touched.evaluate("scrollY") == 0, "the page stood still"


def test_a_finger_pulls_a_word_sideways_and_steps_beside_it(touched):
    finger, four, one = Finger(touched), word_at(touched, 2), word_at(touched, 6)
    finger.does("touchStart", four)
    finger.goes(four, (four[0] + 12, four[1]), 2)
    finger.goes((four[0] + 12, four[1]), one)
    expect(touched.locator(".tl-ghost")).to_have_text("four → one")
    finger.does("touchEnd")
    expect(touched.locator(".tl-verdict b")).to_have_text("34\u202f024 ✗")
    start = (240, four[1])
    finger.does("touchStart", start)
    finger.goes(start, (150, four[1]))
    finger.does("touchEnd")
    touched.wait_for_function("document.querySelector('.tl-view').values.at === 4")


def test_a_finger_that_goes_up_over_a_word_scrolls_the_page(touched):
    finger, four = Finger(touched), word_at(touched, 2)
    finger.does("touchStart", four)
    finger.goes(four, (four[0] + 2, four[1] - 130), 12)
    touched.wait_for_function("scrollY > 40")
    expect(touched.locator(".tl-ghost")).to_have_count(0)
    finger.does("touchEnd")
    expect(touched.locator(".w-put")).to_have_count(0)


@pytest.mark.parametrize(("column", "side"), [("encoder", "left"), ("decoder", "right")])
def test_a_press_on_a_phones_rails_leads_to_each_part_behind_them(touched, column, side):
    rails = touched.locator(f".w-hit[data-part='{column}.0.attention']")
    assert rails.bounding_box()["width"] >= 44
    rails.tap(position={"x": 23, "y": 150})
    menu = touched.get_by_role("group", name=f"parts of the {column}")
    expect(menu.get_by_role("button").first).to_be_focused()
    assert all(one.bounding_box()["height"] >= 44 for one in menu.get_by_role("button").all())
    assert out_of_sight(touched, ".tl-menu") == []
    touched.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(touched.locator(".tl-weave")).to_be_focused()
    rails.tap(position={"x": 23, "y": 150})
    menu.get_by_role("button", name="feed-forward").last.tap()
    touched.wait_for_function("document.querySelector('.tl-view').values.open.includes('feed_forward')")
    assert f"at={column}.layers.1.feed_forward" in touched.url
    touched.go_back()
    expect(touched.locator(".tl-weave")).to_be_focused()


def test_a_tour_on_a_phone_keeps_in_sight_what_it_speaks_of(touched):
    touched.get_by_role("button", name="tour", exact=True).tap()
    on = touched.locator(".tl-tour .tl-primary")
    for step in range(1, 7):
        expect(touched.locator(".tl-tour .tl-title")).to_have_text(f"Step {step} of 6")
        expect(on).to_be_focused()
        seen = ".tl-weave" if step < 6 else ".tl-breakers"
        covered = """seen => {
            const [part, card] = [seen, '.tl-tour'].map(name => document.querySelector(name).getBoundingClientRect());
            return part.top >= 0 && part.bottom <= card.top + 1 && card.bottom <= innerHeight + 1;
        }"""
        touched.wait_for_function(covered, arg=seen)
        expect(touched.locator(".w-cursor")).to_have_count(int(step < 6))  # the part that it speaks of is framed
        on.tap()


def test_a_ribbon_says_what_it_joins_and_opens_at_once_for_its_token(desk):
    ribbon = ".w-ribbon[data-t='1'][data-s='1']"
    start = desk.locator(ribbon).bounding_box()
    desk.mouse.move(start["x"] + 6, start["y"] + 16)
    expect(desk.locator(".w-says text")).to_have_text(re.compile(r"^irty- → unddreißig 0\.\d\d: look inside$"))
    desk.mouse.down()
    desk.mouse.up()
    desk.wait_for_function("document.querySelector('.tl-view').values.at === 1")
    assert "at=decoder.layers.1.cross_attention.head.0" in desk.url


def test_between_ribbons_the_nearest_answers_the_pointer_and_a_press(desk):
    free = """() => { const {left, right, top, bottom} = document.querySelector('.w-hit[data-part=cross]')
        .getBoundingClientRect();
        for (let y = top + 30; y < bottom - 30; y += 6) for (let x = left + 40; x < right - 40; x += 20)
            if (document.elementFromPoint(x, y)?.matches('.w-hit[data-part=cross]')) return [x, y];
    }"""
    x, y = desk.evaluate(free)
    desk.mouse.move(x, y)
    expect(desk.locator(".w-says text")).to_contain_text("look inside")
    desk.mouse.down()
    desk.mouse.up()
    desk.wait_for_function("document.querySelector('.tl-view').values.open.includes('cross_attention')")


def test_the_map_and_a_part_in_it_are_two_steps_of_the_history(desk):
    desk.get_by_role("button", name="every matrix").click()
    desk.locator(".tl-pan canvas").press("Enter")
    expect(desk.locator(".tl-crumbs")).to_be_visible()
    desk.go_back()
    expect(desk.locator(".tl-pan canvas")).to_be_focused()
    desk.go_back()
    expect(desk.locator(".tl-weave")).to_be_focused()


def test_the_wrong_answers_stay_while_a_cut_is_open(sized):
    expect(sized.locator(".tl-chip:not(.tl-gone)")).to_have_count(6)
    breaker(sized, "mask").click()
    expect(sized.locator(".tl-became")).to_be_visible()
    expect(sized.locator(".tl-riddle .tl-chip")).to_have_count(6)
    expect(sized.locator(".tl-riddle .tl-found")).to_have_text("24\u202f021 · mask")
    expect(sized.locator(".tl-riddle")).to_be_visible()


def test_the_wrong_answers_stand_in_two_rows_of_three_that_a_found_one_does_not_move(sized):
    chips = sized.locator(".tl-riddle .tl-chip")
    expect(chips).to_have_count(6)
    before = [chip.bounding_box() for chip in chips.all()]
    assert len({box["y"] for box in before}) == 2
    assert len({box["x"] for box in before}) == 3
    for _ in "on", "off":
        breaker(sized, "cross-attention").click()
    expect(sized.locator(".tl-found")).to_have_text("no number · cross-attention")
    assert [chip.bounding_box() for chip in chips.all()] == before
    assert chips.evaluate_all("all => all.every(chip => chip.scrollWidth <= chip.clientWidth)")


def test_on_a_phone_no_number_lies_over_a_word_and_one_row_holds_what_can_be_done(touched):
    over = """() => {
        const boxes = name => [...document.querySelectorAll(name)].map(one => one.getBoundingClientRect());
        const over = (p, q) => Math.min(p.right, q.right) > Math.max(p.left, q.left)
            && Math.min(p.bottom, q.bottom) > Math.max(p.top, q.top);
        return boxes('.w-pill').filter(one => boxes('[data-s] .w-word').some(word => over(one, word))).length;
    }"""
    assert touched.locator(".w-pill").count() > 0
    assert touched.evaluate(over) == 0
    for width in (390, 360):
        touched.set_viewport_size({"width": width, "height": 664})
        touched.evaluate(FRAMES)
        tops = {round(one.bounding_box()["y"]) for one in touched.locator(".tl-asked .tl-plain").all()}
        assert len(tops) == 1
