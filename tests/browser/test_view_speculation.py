"""The speculation view in a page: each round shows the run as it was recorded, and says what became of the draft."""

import re

from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.speculation import data, shown

FILLED = "button => getComputedStyle(button).backgroundColor === getComputedStyle(button).borderTopColor"


def test_buttons_step_through_the_rounds(views):
    view = views["speculation"]
    near(view.values(), shown(step=0))
    for step in (1, 2, 3):
        view.button("forward ▶").click()
        near(view.values(), shown(step=step))
    view.button("◀ back").click()
    near(view.values(), shown(step=2))


def test_the_rounds_play_until_the_reader_steps(views):
    view = views["speculation"]
    play = view.button("▶ play")
    assert play.evaluate(FILLED)
    assert not view.button("◀ back").evaluate(FILLED)
    play.click()
    expect(view.root.locator("output").first).to_have_text(re.compile("^2 of"))
    near(view.values(), shown(step=1))
    view.button("◀ back").click()
    expect(view.button("▶ play")).to_be_visible()
    near(view.values(), shown(step=0))


def test_the_letters_n_and_p_step(views):
    view = views["speculation"]
    view.slider.focus()
    view.press("n", "n", "p")
    near(view.values(), shown(step=1))


def test_the_readout_says_what_became_of_the_draft(views):
    view = views["speculation"]
    seen = {" ": "␣", "\n": "⏎"}
    step = next(i for i, one in enumerate(data["speculated"].rounds) if one.n_accepted < len(one.drafted))
    for _ in range(step):
        view.button("forward ▶").click()
    now = shown(step=step)
    rejected = now["drafted"][now["accepted"]]
    said = f"“{seen.get(rejected, rejected)}” would have stood with probability {now['chances'][now['accepted']]:.2f}"
    assert said in view.says()
    views["a draft that is right"].values()
    assert views["a draft that is right"].says().startswith("All 5 drafted tokens stand, and the model wrote ")


def test_the_table_has_the_probabilities(views):
    view = views["speculation"]
    view.button("show as table").click()
    view.values()
    now = shown()
    rows = [row.locator("th, td").all_inner_texts() for row in view.root.locator("tr").all()][1:]
    assert [row[1:4] for row in rows] == [
        [f"{q:.3f}", f"{p:.3f}", f"{chance:.3f}"]
        for q, p, chance in zip(now["q"], now["p"], now["chances"], strict=True)
    ]


def test_rejected_tokens_are_struck_out(views):
    view = views["speculation"]
    for step in range(4):
        now = shown(step=step)
        near(view.values(), now)
        struck = view.root.locator(".tl-strip s").count()
        assert struck == len(now["drafted"]) - now["accepted"]
        view.button("forward ▶").click()
