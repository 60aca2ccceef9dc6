"""The logit lens in Python: what the view carries, how a large vocabulary travels, and what is refused."""

import pytest
import torch
from torch.testing import assert_close

from tests.support import DEVICE
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import LanguageModel, LanguageModelConfig, widgets
from transformer_lab.analysis import logit_lens
from transformer_lab.widgets.views.lens.lens_view import visible

ABC = ["a", "b", "c"]


def logits_of(probabilities) -> torch.Tensor:
    return torch.tensor(probabilities, device=DEVICE).log() + 3.0


def test_a_lens_by_hand():
    table = [[[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]], [[0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]]  # two places, two positions
    state = state_of(widgets.lens(logits_of(table), [1, 2], ABC))
    assert state["places"] == ["embedding", "layer 0"]
    assert numbers(state["best"]).tolist() == [[[1, 2, 0], [0, 1, 2]], [[2, 0, 1], [0, 1, 2]]]
    assert_close(numbers(state["probabilities"])[0, 0], torch.tensor([0.5, 0.3, 0.2]))
    assert_close(numbers(state["truth"]), torch.tensor([[0.3], [0.8]]))  # after “b” comes “c”
    assert numbers(state["rank"]).tolist() == [[2], [1]]
    assert numbers(state["read"]).tolist() == [1, 2]


def test_the_last_place_is_what_the_model_says():
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(9, 12, 3, 20, 2, max_len=8)).to(DEVICE).eval()
    tokens = torch.randint(9, (1, 8), device=DEVICE)
    states = []
    with torch.no_grad():
        for layer in model.layers:
            layer.register_forward_hook(lambda layer, given, made: states.append(made[0]))
        said = model(tokens)[0].softmax(-1)
        hidden = torch.stack([model.embedded(tokens, 0)[0], *states])  # (3, T, d_model)
        logits = logit_lens(hidden, model.norm, model.to_logits.weight)
    state = state_of(widgets.lens(logits, tokens[0], list("abcdefghi")))
    assert len(state["places"]) == 3
    best = said.topk(5)
    assert_close(numbers(state["probabilities"])[-1], best.values.cpu(), atol=1e-6, rtol=0)
    assert numbers(state["best"])[-1].tolist() == best.indices.tolist()


def test_of_a_large_vocabulary_only_the_names_that_are_shown_travel():
    torch.manual_seed(0)
    names = [f"word {i}" for i in range(3_000)]
    logits, tokens = torch.randn(2, 4, 3_000), torch.tensor([5, 2_999, 17, 5])
    state = state_of(widgets.lens(logits, tokens, names))
    assert len(state["names"]) < 2 * 4 * 5 + 4
    read = [state["names"][int(i)] for i in numbers(state["read"])]
    assert read == ["word 5", "word 2999", "word 17", "word 5"]
    best = [state["names"][int(i)] for i in numbers(state["best"])[1, 2]]
    assert best == [f"word {i}" for i in logits[1, 2].topk(5).indices.tolist()]
    assert len(html_of(widgets.lens(logits, tokens, names))) < 90_000


def test_the_summary_names_the_text_and_no_number_of_a_training():
    view = widgets.lens(torch.zeros(3, 4, 3), torch.tensor([0, 1, 1, 2]), ["x", "\n", "y"])
    expected = "The logit lens over “x⏎⏎y”: the most probable next token at 3 places and 4 positions."
    assert repr(view) == expected


def test_a_token_in_the_picture_is_cut():
    assert [visible(name) for name in ("", "\n", " a", "the", "them")] == ["pad", "⏎", "␣a", "the", "th…"]


def test_lens_refuses_what_would_lie():
    right = torch.zeros(2, 4, 3)
    ids = [0, 1, 2, 0]
    message = r"must be \(places, T, vocab\) of at least 2 tokens, here \(…, 4, 3\) \(their shape is "
    for wrong in (right[0], right[:, :3], right[..., :2], right[:0]):
        with pytest.raises(ValueError, match=message):
            widgets.lens(wrong, ids, ABC)
    with pytest.raises(ValueError, match="at least 2 tokens"):
        widgets.lens(right[:, :1], [0], ABC)
    with pytest.raises(ValueError, match="must not be NaN"):
        widgets.lens(right.fill_(torch.nan), ids, ABC)
    with pytest.raises(ValueError, match=r"tokens must be from 0 to 2 \(got 0 to 3\)"):
        widgets.lens(torch.zeros(2, 4, 3), [0, 1, 3, 0], ABC)
    with pytest.raises(ValueError, match=r"a name for each of the 2 places \(got 1\)"):
        widgets.lens(torch.zeros(2, 4, 3), ids, ABC, ["in"])
