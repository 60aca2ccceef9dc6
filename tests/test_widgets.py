"""What every view promises, in Python: an output that is whole in itself, equal for equal input, and safe."""

import re
from html import unescape
from inspect import isfunction
from io import BytesIO
from pathlib import Path

import pytest
import torch
from PIL import Image

from tests.view_examples import MODULES, SHOW, START, make
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.bundle import bundle
from transformer_lab.widgets.kit import View

every_view = pytest.mark.parametrize("name", SHOW)


def test_every_view_has_an_example_and_tests_of_its_own():
    shown = {re.match(r"widgets\.(\w+)\(", code)[1] for code in SHOW.values()}
    assert shown == {name for name in widgets.__all__ if isfunction(getattr(widgets, name))}
    assert START.keys() == SHOW.keys()
    here = Path(__file__).parent
    wanted = [f"{folder}_{module}.py" for module in MODULES for folder in ("test_widgets", "browser/test_view")]
    assert [name for name in wanted if not (here / name).exists()] == []


def test_the_numbers_travel_exactly_as_float32():
    scores = torch.tensor([[1.0, -2.5], [1e-30, 3e30]])
    view = View("attention", {"scores": scores, "words": ["a"], "d_k": 2}, "It says so.", make("saturation").still)
    state = state_of(view)
    assert torch.equal(numbers(state["scores"]), scores)
    assert (state["words"], state["d_k"], state["summary"]) == (["a"], 2, "It says so.")


WORDS = list("abcdef")
GIVEN = {
    "attention": lambda x: widgets.attention(x, WORDS, WORDS),
    "heads": lambda x: widgets.heads(x, WORDS, WORDS),
    "encoding": widgets.encoding,
    "masks": lambda x: widgets.mask_playground(x, WORDS),
    "shift": lambda x: widgets.shift(x[0], x[1]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", GIVEN)
def test_an_output_that_is_made_later_shows_what_was_given(name, dtype):
    x = torch.randn(6, 6, dtype=dtype, generator=torch.Generator().manual_seed(0)).softmax(-1)
    expected, view = html_of(GIVEN[name](x.clone())), GIVEN[name](x)
    x.copy_(x.flip(0))
    assert html_of(view) == expected != html_of(GIVEN[name](x))


@every_view
def test_an_output_is_whole_in_itself(name):
    view = make(name)
    html = html_of(view)
    assert not re.search(r"https?://|\bid=|\bimport\b|^export\b", html, re.MULTILINE)
    assert unescape(re.search(r'<img alt="([^"]+)"', html)[1]) == view.picture.alt == repr(view)
    tag = re.match(rf"<(tl-{view.module}-[0-9a-f]{{8}})>", html)[1]
    assert f'define("{tag}",view,' in html
    assert set(view._repr_mimebundle_()) == {"text/plain", "text/html"}


@every_view
def test_the_picture_where_no_script_runs_is_not_blank(name):
    picture = Image.open(BytesIO(make(name).picture.png))
    assert len(picture.convert("RGB").getcolors(maxcolors=1 << 16)) >= 6  # a blank one has one


@every_view
def test_equal_views_give_equal_outputs(name):
    assert html_of(make(name)) == html_of(make(name))


@every_view
def test_the_summary_is_one_line_that_a_person_can_read(name):
    assert re.fullmatch(r".{20,400}\.", repr(make(name)))


@every_view
def test_an_output_is_small(name):
    assert len(html_of(make(name)).encode()) <= 90_000


def test_no_token_can_end_the_script_or_leave_the_alt_text():
    tokens = ["</script><b>", '"><img>', "&amp;"]
    view = widgets.attention(torch.eye(3), tokens, tokens)
    assert html_of(view).count("</script>") == 2
    assert state_of(view)["queries"] == tokens
    assert unescape(re.search(r'<img alt="([^"]*)"', html_of(view))[1]) == repr(view)


def test_the_tag_changes_with_the_script(monkeypatch):
    before = re.match("<[^>]*>", html_of(make("saturation")))[0]
    monkeypatch.setattr("transformer_lab.widgets.kit.bundle", lambda module: bundle(module) + " ")
    assert re.match("<[^>]*>", html_of(make("saturation")))[0] != before
