"""The code completer in a page: torch's numbers for what is typed, written and picked, at each temperature."""

import torch

from tests.browser.live import near
from tests.view_examples.completer import completed, data
from transformer_lab import complete
from transformer_lab.widgets.shared.sent_model import as_sent

TEXT = "your text"


def greedy(text: str, n: int) -> str:
    model, characters = as_sent(data["rotary_lm"]).double(), data["lm_characters"]
    ids = complete(model, characters.encode(text)[None], n, top_k=1)[0]
    return "".join(characters.symbols[i] for i in ids[len(text) :].tolist())


def symbol_of(visible: str) -> str:
    return {"⏎": "\n", "␣": " "}.get(visible, visible)


def test_each_key_that_is_typed(views):
    view = views["completer"]
    view.labelled(TEXT).focus()
    view.press("End", "b")
    near(view.values(), completed(text="fed (ab"))
    view.press("Enter", "c")
    near(view.values(), completed(text="fed (ab\nc"))
    view.press("Home", "ArrowUp", "Delete")  # in the middle
    near(view.values(), completed(text="ed (ab\nc"))


def test_without_a_text_there_is_nothing_to_go_on_from(views):
    view = views["completer"]
    view.labelled(TEXT).fill("")
    near(view.values(), {"text": "", "step": 0, "tokens": [], "probabilities": []})
    assert view.says().endswith("type at least one character.")
    view.button("write 1").click()
    near(view.values()["tokens"], [])
    view.labelled(TEXT).fill("é")
    near(view.values(), completed(text="\ufffd") | {"text": "é" + greedy("\ufffd", 1)})
    assert view.root.get_by_text("Not among the model’s characters").inner_text().endswith("each: é")


def test_it_writes_what_the_package_writes(views):
    view = views["completer"]
    view.button("write 1").click()
    near(view.values(), completed(written=greedy("fed (a", 1), step=1))
    view.button("write 40").click()
    assert view.values()["text"] == "fed (a" + greedy("fed (a", 41)  # its window has 24 tokens
    view.labelled(TEXT).fill("abc")  # what is written follows what is typed
    near(view.values(), completed(text="abc", written=greedy("abc", 41)))
    view.button("erase").click()
    near(view.values(), completed(text="abc"))


def test_the_bars_of_a_token_that_was_written(views):
    view = views["completer"]
    view.button("write 40").click()
    text = greedy("fed (a", 40)
    view.labelled("bars for token").focus()
    view.press("Home", "ArrowRight", "ArrowRight")
    near(view.values(), completed(written=text, step=2))
    p = completed(written=text, step=2)["probabilities"][0]
    assert f"was written, with probability {p:.3f}." in view.says()
    other = next(i for i in range(5, 40) if text[i] != "\n")  # a new line has no middle to point at
    view.root.locator(".tl-written span").nth(other).hover()
    near(view.values(), completed(written=text, step=other))


def test_the_temperature_changes_the_bars_and_not_the_greedy_text(views):
    view = views["completer"]
    view.button("write 1").click()
    view.slider.focus()
    view.press(*["ArrowRight"] * 10)
    near(view.values(), completed(written=greedy("fed (a", 1), step=1, temperature=10**0.2))


def test_random_texts_are_repeated_by_their_number(views):
    view = views["completer"]
    view.button("write 40").click()
    view.labelled("takes").select_option(label="a random one")
    first = view.values()["text"]
    view.labelled("draw").focus()
    view.press("ArrowRight")
    second = view.values()["text"]
    view.press("ArrowLeft")
    assert view.values()["text"] == first
    assert len({first, second, "fed (a" + greedy("fed (a", 40)}) == 3
    view.slider.focus()
    view.press("Home")  # a temperature of 0.1 leaves little to chance
    cold = view.values()["text"]
    agree = [sum(map(str.__eq__, text, "fed (a" + greedy("fed (a", 40))) for text in (cold, second)]
    assert agree[0] > agree[1]


def test_draws_have_the_model_s_probabilities(views):
    view = views["completer"]
    view.labelled("takes").select_option(label="a random one")
    view.button("write 1").click()
    view.labelled("draw").focus()
    drawn = []
    for _ in range(20):
        drawn.append(view.values()["text"][-1])
        view.press("ArrowRight")
    shown = completed()
    first, p = symbol_of(shown["tokens"][0]), shown["probabilities"][0]
    spread = (20 * p * (1 - p)) ** 0.5
    assert abs(drawn.count(first) - 20 * p) < 3 * spread
    assert len(set(drawn)) > 1


def test_a_bar_that_is_pressed_is_written(views):
    view = views["completer"]
    third = completed()["tokens"][2]
    view.canvas.focus()
    view.press("ArrowDown", "ArrowDown")
    p = completed()["probabilities"][2]
    assert view.says() == f"“{third}”: probability {p:.3f}, number 3 of 14 tokens. Press it to write it."
    view.press("Enter")
    symbol = symbol_of(third)
    near(view.values(), completed(written=symbol, step=1))
    view.button("write 1").click()
    both = symbol + greedy("fed (a" + symbol, 1)
    near(view.values(), completed(written=both, step=2))
    fifth = completed(written=both, step=2)["tokens"][4]
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    view.page.mouse.click(box["x"] + 100, box["y"] + 30 + 4.5 * 26)
    near(view.values()["text"], "fed (a" + both + symbol_of(fifth))


def test_a_tap_writes_too(views):
    view = views["completer"]
    view.canvas.scroll_into_view_if_needed()
    box = view.canvas.bounding_box()
    point = {"clientX": box["x"] + 100, "clientY": box["y"] + 30 + 13, "pointerType": "touch", "bubbles": True}
    for kind in ("pointerdown", "pointermove", "pointerup", "pointerleave", "click"):
        view.canvas.dispatch_event(kind, point)
    near(view.values(), completed(written=greedy("fed (a", 1), step=1))


def test_the_table_has_the_numbers_of_the_bars(views):
    view = views["completer"]
    view.button("write 1").click()
    view.labelled("bars for token").focus()
    view.press("Home")
    view.button("show as table").click()
    view.values()
    cells = view.root.locator("table tr").evaluate_all("all => all.map(row => [...row.cells].map(c => c.textContent))")
    shown = completed()
    rows = zip(shown["tokens"], shown["probabilities"], strict=True)
    assert cells[1:] == [[token, f"{p:.4f}", "yes" if i == 0 else ""] for i, (token, p) in enumerate(rows)]


def test_no_text_is_longer_than_200_tokens(views):
    view = views["completer"]
    for _ in range(6):
        view.button("write 40").click()
    assert len(view.values()["text"]) == len("fed (a") + 200
    assert torch.tensor(view.values()["probabilities"]).isfinite().all()


def test_a_ghost_behind_the_caret_is_written_when_it_is_pressed(views):
    view = views["completer"]
    view.values()  # the next frame is drawn
    ghosts = view.root.locator(".tl-ghosts i")
    assert ghosts.all_text_contents() == completed()["tokens"][:4]
    ghosts.nth(1).click()
    near(view.values()["text"], "fed (a" + symbol_of(completed()["tokens"][1]))
