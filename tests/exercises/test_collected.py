"""Wrong answers that were collected without a look at the catalogue of mistakes are told a cause."""

import warnings

import pytest

from tests.collected import blind, clinic, put_aside, since_llama, working
from tests.collected.measuring import share, told
from transformer_lab.exercises import catalogue
from transformer_lab.exercises.diagnosis import repairs


@pytest.mark.parametrize(
    ("half", "at_least"),
    [(working, 0.95), (put_aside, 0.93), (clinic, 0.96), (since_llama, 0.85), (blind, 0.88)],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_most_collected_answers_are_told_a_cause(half, at_least, monkeypatch):
    monkeypatch.setattr(repairs, "SECONDS", 60.0)  # the number of changes decides, on a slow machine as on a quick one
    all_told = list(told(half.COLLECTED))
    assert [one.answer.__name__ for one in all_told if one.passed] == []
    assert share(all_told) >= at_least, [one.answer.__name__ for one in all_told if not (one.mistake or one.cause)]


def test_what_a_change_makes_of_an_answer_warns_nobody():
    """`mask[..., None]` becomes `None[..., mask]`, say, of which Python warns as it is compiled."""
    (answer,) = (one for _, one in blind.COLLECTED["mean_pool"] if one.__name__ == "pool_max")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert not catalogue["mean_pool"].check(answer).passed
    assert [str(one.message) for one in caught] == []


@pytest.mark.parametrize(
    ("exercise", "name", "words"),
    [
        ("softmax_jacobian", "softmax_jacobian_6", "look at `torch.softmax(weights, dim=-1)` in line"),
        ("causal_mask", "causal_mask_7", "there is an axis of size 1 too many"),
        ("encoder_layer", "encoder_layer_14", "look at `mask` of `self_attention(x, x, x, ~mask)` in line"),
        ("greedy_decode", "greedy_decode_8", "chance plays a part"),
        ("shift_matrix", "shift_matrix_9", "look at `d_model // 2 - 1` in line"),
        (
            "scaled_dot_product_attention",
            "scaled_dot_product_attention_11",
            "Two things are wrong:\n- You divide by d_k",
        ),
    ],
)
def test_a_collected_answer_keeps_its_diagnosis(exercise, name, words):
    (answer,) = (one for _, one in working.COLLECTED[exercise] if one.__name__ == name)
    assert words in catalogue[exercise].check(answer).cause
