"""The induction explorer in Python: what the view carries, models of other kinds, and what is refused."""

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle

from tests.support import DEVICE
from tests.view_examples.induction import data
from tests.view_outputs import html_of, numbers, state_of
from transformer_lab import LanguageModel, LanguageModelConfig, widgets
from transformer_lab.widgets.shared.sent_model import as_sent, sent

NAMES = list("abcdefg")


def model_of(**kind):
    torch.manual_seed(0)
    return LanguageModel(LanguageModelConfig(7, 12, 6, 20, 2, max_len=8, **kind)).to(DEVICE)


def test_it_carries_the_text_and_the_model():
    ids = torch.tensor([6, 0, 1, 6, 0], device=DEVICE)
    state = state_of(widgets.induction(model_of(), ids, ["", "\n", " x", *"cdef"]))
    assert numbers(state["ids"]).tolist() == [6, 0, 1, 6, 0]
    assert state["tokens"] == ["f", "pad", "⏎", "f", "pad"]
    assert len(state["model"]["layers"]) == 2


def test_a_model_of_attention_alone_has_neither_norms_nor_feed_forward_networks():
    carried = sent(data["bare_lm"])
    assert carried["max_len"] is None
    assert carried["norm"] is None
    for layer in carried["layers"]:
        assert (layer["norm_1"], layer["norm_2"], layer["feed_forward"]) == (None, None, None)
        assert (layer["attention"]["n_heads"], layer["attention"]["rotary_base"]) == (3, 10000.0)


@pytest.mark.parametrize("kind", [{}, {"norm": "rms_norm", "n_kv_heads": 2, "positions": "rotary", "bias": False}])
def test_the_summary_counts_the_heads(kind):
    view = widgets.induction(model_of(**kind), [0, 1, 0], NAMES)
    said = (
        "Where 12 heads in 2 layers look in the 3 tokens “a b a”, and the loss of each next token without some of them."
    )
    assert repr(view) == said
    assert "<tl-induction-" in html_of(view)


def test_without_names_the_ids_are_shown():
    state = state_of(widgets.induction(model_of(), [6, 0, 6]))
    assert state["tokens"] == ["6", "0", "6"]


def test_the_picture_has_each_head_and_a_bar_for_each_loss():
    ids = [6, 0, 1, 6, 0]
    (axes,) = widgets.induction(model_of(), ids, NAMES).fallback().axes
    assert len(axes.get_images()) == 12
    assert np.allclose([image.get_array().sum() for image in axes.get_images()], 5, atol=1e-4)
    with torch.no_grad():
        logits = as_sent(model_of())(torch.tensor([ids]))[0, :-1]
    losses = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")
    *_, first, second, third, last = [one.get_height() for one in axes.patches if one.__class__ is Rectangle]
    assert [first, second, third, last] == pytest.approx((96 * losses / losses.max()).tolist(), rel=1e-3)


def test_induction_refuses_what_would_lie():
    model = model_of()
    for wrong in ([0], [], torch.zeros(2, 3, dtype=torch.int64), [0] * 9):
        with pytest.raises(ValueError, match=r"tokens must be 2 to 8 ids \(their shape is "):
            widgets.induction(model, wrong, NAMES)
    with pytest.raises(ValueError, match="tokens must be 2 to 96 ids"):
        widgets.induction(data["bare_lm"], [0] * 97)
    with pytest.raises(ValueError, match=r"tokens must be from 0 to 6 \(got 0 to 7\)"):
        widgets.induction(model, [0, 7], NAMES)
    with pytest.raises(ValueError, match=r"a name for each of the model's 7 tokens \(got 6\)"):
        widgets.induction(model, [0, 5], NAMES[:6])
