"""Own sentence in Python: the translations that it carries, the answers to the page, and what it refuses."""

import numpy as np
import pytest
import torch

from tests.support import DEVICE
from tests.view_examples.own_sentence import cross_map, data, translation
from tests.view_outputs import numbers, state_of
from transformer_lab import Transformer, TransformerConfig, widgets
from transformer_lab.analysis import token_names
from transformer_lab.data.tasks import Vocabulary
from transformer_lab.widgets.views.own_sentence.own_sentence_picture import FAINT, THICK, draw_weave
from transformer_lab.widgets.views.own_sentence.own_sentence_view import OwnSentence

SMALL, WORDS = data["small"], data["vocabulary"]


def test_each_example_carries_its_tokens_its_translation_and_the_weights_of_every_head():
    view = widgets.own_sentence(SMALL, WORDS, ["ah <i> d", "b b"])
    first, second = state_of(view)["examples"]
    assert first["source"] == ["ah", "<i>", "d", "end"]
    assert (second["text"], second["source"]) == ("b b", ["b", "b", "end"])
    assert second["translation"] == WORDS.decode(translation("b b"))
    assert second["target"] == token_names(WORDS, translation("b b"))
    weights = numbers(second["weights"])
    assert weights.shape == (2, 2, len(translation("b b")), 3)
    for layer, head in ((0, 0), (1, 1)):
        torch.testing.assert_close(weights[layer, head], torch.tensor(cross_map("b b", layer, head)))
    assert "kernel" not in state_of(view)


def test_the_summary_says_what_is_translated():
    view = widgets.own_sentence(SMALL, WORDS, ["b b"])
    assert repr(view) == f"“b b” is translated as “{WORDS.decode(translation('b b'))}”; cross-attention of 2 × 2 heads."


def test_the_ribbons_of_the_picture_are_as_thick_as_the_weights():
    rows = cross_map("b b")
    drawn = draw_weave(rows, ["b", "b", "end"], token_names(WORDS, translation("b b"))).axes[0]
    shown = [weight for row in rows for weight in row if weight >= FAINT]
    assert len(drawn.collections) == len(shown)
    for ribbon, weight in zip(drawn.collections, shown, strict=True):
        corners = ribbon.get_paths()[0].vertices
        ends = corners[corners[:, 0] == 1, 1]
        assert ends.max() - ends.min() == pytest.approx(THICK * weight, rel=1e-6)


def test_tokens_are_named_as_a_person_reads_them():
    class Pieces:
        pad_id, bos_id, eos_id = 0, 1, 2

        def encode(self, text):
            return [7]

        def decode(self, ids):
            return " and"

    assert token_names(Pieces(), [1, 7, 0, 2]) == ["begin", "·and", "pad", "end"]


def test_the_model_may_be_on_any_device_and_stays_as_it_was():
    model = Transformer(TransformerConfig(vocab_size=7, d_model=4, n_heads=2, d_ff=4, n_layers=1, max_len=5)).to(DEVICE)
    model.train()
    widgets.own_sentence(model, WORDS, ["b"])
    assert all(module.training for module in model.modules())


class Page:
    """What a link sends, as the page gets it."""

    def __init__(self):
        self.sent = []

    def send(self, content, buffers=()):
        self.sent.append((content, list(buffers)))


def answer(message: dict) -> tuple[dict, list[bytes]]:
    view = widgets.own_sentence(SMALL, WORDS, ["b"])
    view.link = Page()
    view.answer(message)
    (sent,) = view.link.sent
    return sent


def test_an_answer_carries_the_weights_as_bytes_and_says_what_it_answers():
    content, (weights,) = answer({"request": "a 7", "text": "ah <i> d"})
    assert content["request"] == "a 7"
    assert content["source"] == ["ah", "<i>", "d", "end"]
    assert content["translation"] == WORDS.decode(translation("ah <i> d"))
    shape = content["shape"]
    assert shape == [2, 2, len(translation("ah <i> d")), 4]
    sent = torch.from_numpy(np.frombuffer(weights, dtype="<f4").reshape(shape).copy())
    torch.testing.assert_close(sent[1].mean(0), torch.tensor(cross_map("ah <i> d")))
    assert "weights" not in content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z", "a text must consist of the symbols ah b <i> d (got 'z')"),
        ("b " * 8, "a sentence may have at most 8 tokens, its end counted (this one has 9)"),
    ],
)
def test_a_sentence_that_cannot_be_translated_is_answered_in_words(text, message):
    assert answer({"request": "a 1", "text": text}) == ({"request": "a 1", "error": message}, [])


def test_whatever_goes_wrong_the_page_does_not_wait_for_ever(monkeypatch):
    def out_of_memory(*_):
        raise RuntimeError("out of memory")

    view = widgets.own_sentence(SMALL, WORDS, ["b"])
    view.link = Page()
    monkeypatch.setattr(OwnSentence, "work", out_of_memory)
    view.answer({"request": "a 1", "text": "b"})
    assert view.link.sent == [({"request": "a 1", "error": "out of memory"}, [])]


def test_an_example_is_needed_and_must_fit():
    with pytest.raises(ValueError, match=r"there must be an example, to be seen where no kernel runs \(got none\)"):
        widgets.own_sentence(SMALL, WORDS, [])
    with pytest.raises(ValueError, match=r"at most 8 tokens, its end counted \(this one has 9\)"):
        widgets.own_sentence(SMALL, Vocabulary(["b"]), ["b " * 8])
