"""The code completer in Python: what the view carries, how the weights are rounded, and what is refused."""

import base64

import pytest
import torch

from tests.support import DEVICE
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import LanguageModel, LanguageModelConfig, widgets
from transformer_lab.data.texts import PRINTABLE, Characters
from transformer_lab.widgets.shared.sent_model import as_sent, count, in_bytes, sent
from transformer_lab.widgets.views.completer.completer_view import seen

ABC = Characters("abc")


def model_of(vocab=5, d_model=12, n_heads=3, d_ff=20, n_layers=2, max_len=8, **kind):
    torch.manual_seed(0)
    return LanguageModel(LanguageModelConfig(vocab, d_model, n_heads, d_ff, n_layers, max_len, **kind)).to(DEVICE)


def matrix_of(carried: dict) -> torch.Tensor:
    """The numbers that a page gets."""
    whole = torch.frombuffer(bytearray(base64.b64decode(carried["i8"])), dtype=torch.int8)
    return whole.view(carried["shape"]) * numbers(carried["scale"])[:, None]


# ── what is carried ──


@pytest.mark.parametrize("kind", [{"positions": "rotary"}, {"tie_weights": False, "norm_first": False}])
def test_the_page_gets_the_weights_of_the_model_as_sent(kind):
    model = model_of(**kind)
    carried = state_of(widgets.completer(model, ABC, "ab"))["model"]
    rounded = as_sent(model)
    assert torch.equal(matrix_of(carried["tokens"]), rounded.tokens.weight)
    assert (carried["positions"] is None) == (model.positions is None)
    if model.positions is not None:
        assert torch.equal(matrix_of(carried["positions"]), rounded.positions.encoding)
    assert (carried["to_logits"] is None) == model.config.tie_weights
    if carried["to_logits"]:
        assert torch.equal(matrix_of(carried["to_logits"]), rounded.to_logits.weight)
    layer, other = carried["layers"][1], rounded.layers[1]
    assert torch.equal(matrix_of(layer["attention"]["w_k"]["weight"]), other.self_attention.w_k.weight)
    assert torch.equal(matrix_of(layer["feed_forward"]["w_2"]["weight"]), other.feed_forward.w_2.weight)
    assert torch.equal(numbers(layer["norm_2"]["weight"]), model.layers[1].residual_2.norm.weight.cpu())
    assert (carried["norm"] is None) == (not model.config.norm_first)


def test_the_logits_of_rounded_weights_are_near_those_of_the_model():
    model = model_of(d_model=48, d_ff=96).eval()
    tokens = torch.randint(0, 5, (1, 8))
    with torch.no_grad():
        full, rounded = model(tokens.to(DEVICE)).cpu(), as_sent(model)(tokens)
    assert 0 < (full - rounded).abs().max() < 0.03 * full.abs().max()


def test_the_model_itself_is_left_alone():
    model = model_of().train()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    html_of(widgets.completer(model, ABC, "a"))
    assert all(map(torch.equal, before, model.parameters()))
    assert model.training
    assert {parameter.device.type for parameter in model.parameters()} == {DEVICE.type}


def test_a_view_that_is_shown_later_has_the_weights_of_its_time():
    model = model_of()
    view = widgets.completer(model, ABC, "a")
    before = view.state_json()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert view.state_json() == before


def test_an_odd_matrix_is_carried_whole():
    matrix = torch.randn(3, 5)
    carried = in_bytes(matrix)
    assert carried["shape"] == [3, 5]
    assert len(base64.b64decode(carried["i8"])) == 15


def test_parts_of_another_kind_are_refused():
    model = model_of()
    model.norm = torch.nn.BatchNorm1d(12)
    with pytest.raises(ValueError, match=r"must be LayerNorm or RMSNorm \(got BatchNorm1d"):
        sent(model)
    model = model_of()
    model.layers[0].self_attention = torch.nn.MultiheadAttention(12, 3)
    with pytest.raises(ValueError, match=r"must be one of this package's \(got MultiheadAttention"):
        sent(model)


# ── sizes ──


def test_the_model_of_lesson_09_makes_an_output_of_a_fifth_of_a_megabyte():
    characters = Characters(PRINTABLE)
    model = model_of(len(characters), 64, 4, 256, 2, 64, positions="rotary")
    assert count(model) == 106_368
    assert len(html_of(widgets.completer(model, characters))) < 200_000


def test_the_largest_model_that_is_carried_makes_about_900_kb():
    characters = Characters(PRINTABLE)
    model = model_of(len(characters), 128, 4, 532, 3, 128, positions="rotary")
    assert 600_000 < count(model) < 640_000
    assert len(html_of(widgets.completer(model, characters))) < 920_000
    with pytest.raises(ValueError, match=r"at most 640,000 weights \(this one has 842,832\)"):
        sent(model_of(len(characters), 128, 4, 532, 4, 128))


# ── words ──


def test_the_summary_has_no_number_that_a_training_made():
    view = widgets.completer(model_of(positions="rotary"), ABC, "a\nb  ")
    n_weights = f"{count(model_of(positions='rotary')):,}"
    assert repr(view) == f"A language model of 2 layers and {n_weights} weights goes on from “a⏎b␣␣”."
    assert "1 layer and" in repr(widgets.completer(model_of(n_layers=1), ABC, "a"))


def test_spaces_at_the_end_are_seen():
    assert [seen(text) for text in ("def ", "a b", "  ", "\n")] == ["def␣", "a b", "␣␣", "⏎"]


def test_completer_refuses_what_would_lie():
    with pytest.raises(ValueError, match=r"the model's vocabulary of 5 tokens \(there are 6\)"):
        widgets.completer(model_of(), Characters("abcd"))
    for prefix, length in (("", 0), ("a" * 9, 9)):
        with pytest.raises(ValueError, match=rf"1 to max_len \(8\) characters \(it has {length}\)"):
            widgets.completer(model_of(), ABC, prefix)


def test_a_model_with_the_paper_s_positions_is_not_sent():
    config = LanguageModelConfig(len(Characters(PRINTABLE)), 12, 3, 20, 1, max_len=11, positions="sinusoidal")
    with pytest.raises(ValueError, match=r"must be learned or rotary \(got sinusoidal\)"):
        sent(LanguageModel(config))
