"""What every view promises, in Python: an output that is whole in itself, equal for equal input, and safe."""

import base64
import re
from functools import cache
from html import unescape
from inspect import isfunction
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.view_examples import MODULES, SHOW, html, make
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import widgets
from transformer_lab.widgets.shared.view import View, script_of

COMPUTE_THEMSELVES = ("decoding", "speculation", "a draft", "training")  # with functions that the example brings along
every_view = pytest.mark.parametrize("name", SHOW)


def test_every_view_has_an_example_and_tests_of_its_own():
    shown = {re.match(r"widgets\.(\w+)\(", code)[1] for code in SHOW.values()}
    assert shown == {name for name in widgets.__all__ if isfunction(getattr(widgets, name))}
    assert all(module.START.keys() == module.SHOW.keys() for module in MODULES.values())
    here = Path(__file__).parents[1]
    wanted = [f"{start}_{module}.py" for module in MODULES for start in ("widgets/test", "browser/test_view")]
    assert [name for name in wanted if not (here / name).exists()] == []


def test_no_module_is_hidden_by_a_function_of_its_name():
    modules = {path.stem for path in Path(widgets.__file__).parent.glob("*.py")}
    assert modules & set(widgets.__all__) == set()


def test_the_numbers_travel_exactly_as_float32():
    scores = torch.tensor([[1.0, -2.5], [1e-30, 3e30]])
    view = View("attention", {"scores": scores, "words": ["a"], "d_k": 2}, "It says so.", make("saturation").fallback)
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


@cache
def shown(name: str, dtype: torch.dtype) -> str:
    return html_of(GIVEN[name](given(dtype)))


def given(dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(6, 6, dtype=dtype, generator=torch.Generator().manual_seed(0)).softmax(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", GIVEN)
def test_an_output_that_is_made_later_shows_what_was_given(name, dtype):
    x = given(dtype)
    view = GIVEN[name](x)
    x.copy_(x.flip(0))
    assert html_of(view) == shown(name, dtype)
    assert view.state_json() != GIVEN[name](x).state_json()


@pytest.mark.parametrize("change", [np.asarray, np.ndarray.tolist], ids=["array", "list"])
@pytest.mark.parametrize("name", GIVEN)
def test_arrays_and_lists_are_shown_as_tensors_are(name, change):
    x = given(torch.float64)
    assert html_of(GIVEN[name](change(x.numpy()))) == shown(name, torch.float64)


@pytest.mark.parametrize("name", [name for name in SHOW if not name.startswith(COMPUTE_THEMSELVES)])
def test_an_output_does_not_depend_on_the_default_device(name):
    expected = html(name)
    with torch.device("meta"):
        assert make(name).html() == expected


def test_tokens_may_be_numbers():
    x, ids = torch.eye(6), list(range(6))
    for show in (widgets.attention, widgets.heads, widgets.mask_playground):
        given = (x, ids) if show is widgets.mask_playground else (x, ids, ids)
        state = state_of(show(*given))
        assert state.get("keys", state.get("tokens")) == ["0", "1", "2", "3", "4", "5"]
    table = torch.tensor([-torch.inf, 1.0, 0.5])
    assert "“1”" in repr(widgets.decoding(lambda _: table, [0, 1, 2], bos_id=0, eos_id=1, depth=1))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 2, 3)])
def test_nothing_to_show_is_refused(shape):
    x, queries, keys = torch.zeros(shape), ["a", "b"][: shape[-2]], ["x", "y", "z"][: shape[-1]]
    for show in (widgets.attention, widgets.heads):
        with pytest.raises(ValueError, match="weights must have at least one row and one column"):
            show(x, queries, keys)
    with pytest.raises(ValueError, match="query must have at least one row and one column"):
        widgets.attention_steps(torch.zeros(0, 4), torch.zeros(3, 4), [], list("xyz"))
    with pytest.raises(ValueError, match="key must have at least one row and one column"):
        widgets.attention_steps(torch.zeros(3, 4), torch.zeros(0, 4), list("xyz"), [])
    for query, key in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match=rf"at least 1 query, and 1 to 16 keys \(got {query} and {key}\)"):
            widgets.saturation(torch.zeros(query, 1024), torch.zeros(key, 1024))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("show", [widgets.attention, widgets.heads])
def test_weights_of_half_precision_are_shown(show, dtype):
    weights = (3 * torch.randn(2, 6, 6, generator=torch.Generator().manual_seed(1))).softmax(-1).to(dtype)
    assert (weights.double().sum(-1) - 1).abs().max() > (1e-3 if dtype is torch.bfloat16 else 0)
    assert "6 queries" in repr(show(weights, WORDS, WORDS))


def test_a_name_of_thousands_of_letters_makes_no_huge_output():
    names = ["x" * 5000, *WORDS[1:]]
    for show in (widgets.attention, widgets.heads):
        view = show(torch.eye(6), names, names)
        assert len(repr(view)) < 400
        assert len(html_of(view)) < 90_000


@every_view
def test_an_output_is_whole_in_itself(name):
    view, output = make(name), html(name)
    page = re.sub(r'src="data:[^"]+"', "", output)  # what stands in the picture is not in the page
    page = page.replace("http://www.w3.org/2000/svg", "")  # the name of a kind of elements, which nothing loads
    page = re.sub(r"\b(var|let) id=|,id=", "", page)  # a short name that a script was given, and no attribute
    assert not re.search(r"https?://|(?<!\.)\bid=|\bimport\b|^export\b", page, re.MULTILINE)
    assert unescape(re.search(r'<img alt="([^"]+)"', output)[1]) == repr(view)
    tag = re.match(rf"<(tl-{view.kind}-[0-9a-f]{{8}})>", output)[1]
    assert f'<script type="application/json">{view.state_json()}</script></{tag}>' in output
    assert f'<script type="module">const TAG="{tag}";' in output
    assert output.count("<script") == output.count("</script>") == 2


def test_an_output_is_a_line_of_text_and_html_alone():
    view = make("saturation")
    assert view._repr_mimebundle_() == {"text/plain": repr(view), "text/html": html("saturation")}


@every_view
def test_the_picture_where_no_script_runs_is_not_blank(name):
    address = re.search(r'<img alt="[^"]+" width="\d+" src="data:image/svg\+xml,([^"]+)">', html(name))[1]
    data = re.search(r"href='data:image/png;base64,([^']+)'", address)[1]
    picture = Image.open(BytesIO(base64.b64decode(data)))
    assert len(picture.convert("RGB").getcolors(maxcolors=1 << 16)) >= 6  # a blank one has one


@every_view
def test_equal_views_give_equal_outputs(name):
    assert make(name).html() == html(name)


@every_view
def test_the_summary_is_one_line_that_a_person_can_read(name):
    assert re.fullmatch(r".{20,400}\.", repr(make(name)))


@every_view
def test_an_output_is_small(name):
    # The machine is two views, the weave and all matrices with a strip and a legend, and has a picture a part.
    most = 258_000 if name == "machine" else 90_000
    assert len(html(name).encode()) <= most


def test_no_token_can_end_the_script_or_leave_the_alt_text():
    tokens = ["</script><b>", '"><img>', "&amp;"]
    view = widgets.attention(torch.eye(3), tokens, tokens)
    assert html_of(view).count("</script>") == 2
    assert state_of(view)["queries"] == tokens
    assert unescape(re.search(r'<img alt="([^"]*)"', html_of(view))[1]) == repr(view)


def test_the_tag_changes_with_the_script(monkeypatch):
    before = re.match("<[^>]*>", html("saturation"))[0]
    monkeypatch.setattr("transformer_lab.widgets.shared.view.script_of", lambda kind: script_of(kind) + " ")
    assert re.match("<[^>]*>", html_of(make("saturation")))[0] != before
