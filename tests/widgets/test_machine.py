"""The machine in Python: what it carries, how fine its weights are, and what is refused."""

import base64
import re
import zlib
from dataclasses import replace

import pytest
import torch

from tests.support import DEVICE
from tests.view_examples.machine import data, recorded, sent, source_of, written
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.data.tasks import number_names
from transformer_lab.data.tokenizer import Tokenizer
from transformer_lab.training import load_checkpoint, translate
from transformer_lab.widgets.machine import machine_view
from transformer_lab.widgets.machine.machine_picture import ROOM, TOP, looked_at, resting, stacked
from transformer_lab.widgets.machine.machine_view import LARGEST, MOST_TEXT, finest, kept_tokens, sent_translator

SHIPPED = "transformer_lab/checkpoints/en_de.safetensors"
TOKENIZER = Tokenizer.train(["one two", "eins zwei"], 4)
CONFIG = TransformerConfig(len(TOKENIZER), 12, 2, 10, 1, max_len=9)


@pytest.fixture(scope="module")
def shipped():
    return load_checkpoint(SHIPPED)[:2]


def test_every_weight_that_is_needed_travels_once():
    torch.manual_seed(0)
    model = Transformer(CONFIG).to(DEVICE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    carried = state_of(widgets.machine(model, TOKENIZER, "one"))["model"]
    whole = torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(carried["i8"]))), dtype=torch.int8)
    rounded, kept = sent_translator(model, TOKENIZER), kept_tokens(TOKENIZER)
    at, row, scales = 0, 0, numbers(carried["scales"])
    for name, rows, columns in carried["matrices"]:
        matrix = whole[at : at + rows * columns].view(rows, columns) * scales[row : row + rows, None]
        expected = rounded.to_logits.weight[kept] if name == "to_logits" else rounded.get_parameter(name)
        assert torch.equal(matrix, expected), name
        at, row = at + rows * columns, row + rows
    assert (at, row) == (len(whole), len(scales))
    vectors = torch.cat([rounded.get_parameter(name) for name, _ in carried["vectors"]])
    assert torch.equal(numbers(carried["numbers"]), vectors)
    n_bytes = 256 * 12
    assert len(whole) + len(vectors) == sum(p.numel() for p in model.parameters()) - n_bytes


def test_the_shipped_translator_has_room(shipped):
    model, tokenizer = shipped
    view = widgets.machine(model, tokenizer, "two hundred and twenty-one")
    assert len(view.state["model"]["i8"]) <= MOST_TEXT
    assert len(html_of(view).encode()) <= 900_000


def test_the_weights_as_sent_write_the_same_tokens_for_a_thousand_numbers(shipped):
    """The page writes what torch writes with these weights: tests/browser/javascript/machine_model.test.mjs."""
    model, tokenizer = shipped
    texts = [text for text, _ in number_names("en", "de").test]
    assert len(texts) == 1000
    assert translate(sent_translator(model, tokenizer), tokenizer, texts) == translate(model, tokenizer, texts)


def test_weights_are_as_fine_as_there_is_room(shipped, monkeypatch):
    model, tokenizer = data()["machine_model"], data()["machine_tokenizer"]
    assert finest(model, tokenizer) == LARGEST[0] == 127
    largest = finest(*shipped)
    assert 5 < largest < 127
    monkeypatch.setattr(machine_view, "MOST_TEXT", 700_000)
    assert finest(*shipped) > largest
    monkeypatch.setattr(machine_view, "MOST_TEXT", 1_000)
    with pytest.raises(ValueError, match=r"a machine's matrices must have room in 1,000 letters \(these are 6\d\d,\d"):
        finest(*shipped)


def test_the_summary_is_one_line_without_what_a_training_decides():
    view = widgets.machine(data()["machine_model"], data()["machine_tokenizer"], "one two")
    said = "A Transformer of 2 + 2 layers of 2 heads translates “one two”: for each word it writes,"
    assert repr(view) == f"{said} ribbons show where it looks."


def test_the_ribbons_of_the_picture_are_stacked_without_overlaps_around_their_tokens():
    assert stacked([10.0, 20.0], [200.0, 300.0]) == [195.0, 290.0]
    assert stacked([40.0, 40.0], [200.0, 210.0]) == [165.0, 205.0]
    assert stacked([60.0, 60.0], [TOP + 10.0, TOP + 20.0]) == [TOP, TOP + 60.0]
    assert stacked([60.0, 60.0], [TOP + ROOM, TOP + ROOM]) == [TOP + ROOM - 120, TOP + ROOM - 60]


def test_the_picture_rests_where_the_translator_looks_back():
    assert resting([[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]) == 1
    assert resting([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) == 0, "it never looks back"
    assert resting([[0, 0, 1], [0, 1, 0]]) == 0, "the last token is the end"


def test_the_picture_shows_the_weights_and_the_probabilities_of_the_page():
    """Of tokens that are single bytes none travels, and none has a probability."""
    model, tokenizer = sent()
    source = source_of("ten two")
    ids, steps = written(model, tokenizer, source)
    weights, sure = looked_at(model, tokenizer, source, torch.tensor([ids]))
    whole = recorded(model, source, torch.tensor([ids[:-1]]))
    heads = [whole[f"decoder.layers.1.cross_attention.weights.{head}"] for head in (0, 1)]
    assert torch.allclose(torch.tensor(weights, dtype=torch.float64), sum(heads) / 2)
    assert sure == pytest.approx([max(step) for step in steps])


def test_the_picture_has_the_room_of_the_live_machine_where_scripts_run():
    html = html_of(widgets.machine(data()["machine_model"], data()["machine_tokenizer"], "one two"))
    style = re.match(r"<(tl-machine-\w+)><style>(.*?)</style>", html)
    assert style
    assert f"{style[1]}{{display:block" in style[2]
    for width, high in machine_view.HEIGHTS.items():
        assert f"(min-width:{width}px)" in style[2]
        assert f"min-height:{high}px" in style[2]


def test_a_machine_that_has_changed_since_shows_what_was_given():
    model, tokenizer = data()["machine_model"], sent()[1]
    view = widgets.machine(model, tokenizer, "one two")
    before = view.state_json()
    with torch.no_grad():
        model.to_logits.weight.neg_()
        assert view.state_json() == before
        model.to_logits.weight.neg_()


@pytest.mark.parametrize("change", [{"norm_first": True}, {"tie_weights": False}])
def test_models_that_are_not_the_papers_are_refused(change):
    with pytest.raises(ValueError, match=r"must be the paper's, post-norm and with tied weights \(norm_first is "):
        widgets.machine(Transformer(replace(CONFIG, **change)), TOKENIZER, "one")


def test_what_does_not_go_together_is_refused():
    model = Transformer(CONFIG)
    with pytest.raises(ValueError, match=r"the model's vocabulary of \d+ tokens \(it has \d+\)"):
        widgets.machine(model, Tokenizer.train(["one"], 0), "one")
    with pytest.raises(ValueError, match=r"in the tokenizer's alphabet \(got '7é'\)"):
        widgets.machine(model, TOKENIZER, "7é one")
    with pytest.raises(ValueError, match=r"at most 9 tokens, its end counted \(it has 12\)"):
        widgets.machine(model, TOKENIZER, "s" * 11)
