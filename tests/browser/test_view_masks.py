"""The mask playground in a page: painting by mouse and by keys, patterns, padding, alarms, two layers."""

import re

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.live import near
from tests.view_examples.masks import causal, data, leak, playground
from transformer_lab.widgets.views.masks.masks_view import mask_of

BLIND = "Sees nothing: {}. A softmax over −∞ alone is NaN; the package gives zeros."
HIDDEN = torch.tensor([True, True, True, True, False])


def leaking(allowed: torch.Tensor, more: int) -> list[str]:
    return [leak(f"{100 * playground(allowed, [])['leaked']:.1f}", more)]


def test_space_and_enter_paint_the_cell_under_the_cursor(views):
    view, allowed = views["masks"], causal()
    view.canvas.focus()
    view.press("ArrowRight", " ")
    allowed[0, 1] = True
    near(view.values(), playground(allowed, leaking(allowed, 0)))
    assert view.says().startswith("query Je, key suis: score ")
    view.press("Enter", "Home", "Enter")
    allowed[0, :2] = False
    near(view.values(), playground(allowed, [BLIND.format("Je (1)")]))
    assert "masked. In two layers it hears nothing of it either." in view.says()
    expect(view.button("causal")).to_have_attribute("aria-pressed", "false")


def test_a_drag_paints_every_cell_it_crosses_alike(views):
    view, allowed = views["masks"], causal()
    view.hover(2, 1)
    view.page.mouse.down()
    view.hover(2, 2)
    view.hover(2, 3)
    view.page.mouse.up()
    view.hover(3, 3)  # without the button nothing is painted
    allowed[2, 1:4] = False
    near(view.values(), playground(allowed, []))
    view.hover(2, 1)
    view.page.mouse.down()
    view.page.mouse.up()
    allowed[2, 1] = True
    near(view.values(), playground(allowed, []))


def test_the_patterns(views):
    view = views["masks"]
    view.button("sliding window").click()
    near(view.values(), playground(mask_of("sliding window", 5) & HIDDEN, []))
    view.slider.focus()
    view.press("ArrowLeft")
    near(view.values(), playground(mask_of("sliding window", 5, window=1) & HIDDEN, [BLIND.format("pad (5)")]))
    view.button("prefix").click()
    near(view.values(), playground(mask_of("prefix", 5) & HIDDEN, [], known=2))
    view.labelled("prefix").first.focus()
    view.press("ArrowRight")
    near(view.values(), playground(mask_of("prefix", 5, prefix=3) & HIDDEN, [], known=3))
    view.button("everything").click()
    allowed = mask_of("everything", 5) & HIDDEN
    near(view.values(), playground(allowed, leaking(allowed, 5)))


def test_padding_is_chosen_token_by_token_and_keeps_what_is_painted(views):
    view, allowed = views["masks"], causal()
    view.canvas.focus()
    view.press("ArrowRight", " ")
    view.root.get_by_role("button", name="pad, place 5, is padding").click()
    view.root.get_by_role("button", name="Je, place 1, is padding").click()
    allowed[4, 4], allowed[:, 0], allowed[0, 1] = True, False, True
    near(view.values(), playground(allowed, leaking(allowed, 0)))


def test_painted_padding_is_an_alarm(views):
    view, allowed = views["masks"], causal()
    view.canvas.focus()
    view.press("PageDown", "End", " ")
    allowed[4, 4] = True
    shown = playground(allowed, [])
    share = f"{100 * shown['weights'][4][4] / 5:.1f}"
    alarm = f"Listens to padding: pad (5) sees pad (5); {share} % of all weight lies there."
    near(view.values(), shown | {"alarms": [alarm]})


def test_two_layers_reach_further(views):
    view = views["masks"]
    view.button("sliding window").click()
    before = view.picture()
    view.labelled("two layers").check()
    assert view.picture() != before
    said = "In two layers 3 more pairs: <b>un</b> (3) hears of Je (1) through suis."
    expect(view.root.locator(".tl-checks")).to_contain_text(said)
    view.canvas.focus()
    view.press("ArrowDown", "ArrowDown")
    assert view.says().endswith("masked. In two layers it hears of it through suis.")


@pytest.mark.parametrize(("name", "signs"), [("masks", ["✓", "✓", "✓"]), ("no mask", ["⚠", "✓"])])
def test_every_verdict_has_a_sign(views, name, signs):
    views[name].values()  # the next frame is drawn
    assert views[name].root.locator(".tl-checks b").all_text_contents() == signs


def test_the_seal_breaks_when_the_future_leaks(views):
    view = views["masks"]
    seal = view.root.locator(".tl-verdict")
    expect(seal).to_have_text("A sound mask")
    view.button("everything").click()
    expect(seal).to_have_text("The future leaks")
    expect(seal).to_have_class(re.compile("tl-wrong"))
    view.button("causal").click()
    expect(seal).to_have_text("A sound mask")
    expect(seal).not_to_have_class(re.compile("tl-wrong"))


def test_the_table_has_the_weights(views):
    view = views["masks"]
    view.button("show as table").click()
    weights = view.values()["weights"]
    cells = [row.locator("td").all_text_contents() for row in view.root.locator("tr").all()[1:]]
    assert cells == [[f"{weight:.3f}" for weight in row] for row in weights]
    assert data["padded"] == view.root.locator("tr th[scope=row]").all_text_contents()
