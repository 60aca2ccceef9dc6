"""Lesson 14: find the bug in `clinic_02`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_02(query, key, value, lengths):
    """Attention over padded sentences; sentence b is lengths[b] words, then padding."""
    positions = torch.arange(key.size(1))
    padding = positions >= lengths[:, None]  # (B, S)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding[:, None, :])


def padded_case(label: str, lengths: list[int], queries: int, keys: int, width: int = 4) -> Case:
    batch = len(lengths)
    given = {"query": normal(batch, queries, width), "key": normal(batch, keys, width)}
    given |= {"value": normal(batch, keys, width + 1), "lengths": torch.tensor(lengths, device="cpu")}
    return Case(label, given)


@partial(
    FindTheBug,
    broken=broken_clinic_02,
    defect=(
        "`padding` is True where a pad stands, but to `F.scaled_dot_product_attention` True means *may attend*. So "
        "every query attends to the padding alone, and in a sentence without padding to nothing."
    ),
    lesson="14",
    minutes=5,
    difficulty=1,
    statement="""
    Attention over a batch of padded sentences. Each has at least one word.

    Symptom: other numbers in the *padding* change the output, other numbers in the *words* do not. A
    sentence without padding gives only zeros, or NaN, depending on the version of torch.
    """,
    returns=("output",),
    cases=(
        padded_case("two words and a pad", [2], 1, 3, 2),
        padded_case("no padding", [3], 2, 3, 2),
        padded_case("one word", [1, 4], 2, 4),
        padded_case("a batch", [5, 2, 3], 4, 6),
    ),
    hints=(
        "Print the mask for one short sentence. Where is it True?",
        "Torch has two conventions. What does True mean in `F.scaled_dot_product_attention`, and what in "
        "`nn.MultiheadAttention`?",
    ),
)
def clinic_02(query, key, value, lengths):
    """Attention over padded sentences; sentence b is lengths[b] words, then padding."""
    positions = torch.arange(key.size(1))
    words = positions < lengths[:, None]  # (B, S), True = may attend
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words[:, None, :])


def padding_of(key, lengths):
    return (torch.arange(key.size(1)) >= lengths[:, None])[:, None, :]


@clinic_02.mistake(
    "Sentences without padding come out right now, and that hides the symptom that strikes the eye. In all others the "
    "words are still masked, and the padding is attended to."
)
def whole_sentences_without_mask(query, key, value, lengths):
    whole = (lengths == key.size(1))[:, None, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding_of(key, lengths) | whole)


@clinic_02.mistake("No mask hides anything any more: every query attends to the padding as well as to the words.")
def mask_dropped(query, key, value, lengths):
    return F.scaled_dot_product_attention(query, key, value)


@clinic_02.mistake(
    "A mask of numbers is *added* to the scores. A difference of 1 between words and padding moves the attention a "
    "little, and hides nothing."
)
def ones_are_added(query, key, value, lengths):
    words = ~padding_of(key, lengths)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words.to(query.dtype))


@clinic_02.mistake(
    "The padding adds nothing now, because its values, or its weights after the softmax, are 0. But its "
    "keys still take their share of the attention, and the output shrinks. That hides half of the symptom and keeps "
    "the cause."
)
def padded_values_are_zero(query, key, value, lengths):
    words = ~padding_of(key, lengths)
    return F.scaled_dot_product_attention(query, key, value * words.transpose(1, 2))


@clinic_02.mistake(
    "The padding has the score 0 now, and adds nothing. But 0 is not the lowest score: it still takes its share."
)
def padded_keys_are_zero(query, key, value, lengths):
    words = (~padding_of(key, lengths)).transpose(1, 2)
    return F.scaled_dot_product_attention(query, key * words, value * words)


@clinic_02.mistake(
    "The mask is a product with infinity: 0 times infinity is NaN, so NaN is added to the scores of the words."
)
def infinity_times_zero(query, key, value, lengths):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding_of(key, lengths) * float("-inf"))


@clinic_02.mistake("The mask reaches one too far: it lets the first pad through.")
def first_pad_allowed(query, key, value, lengths):
    words = torch.arange(key.size(1)) <= lengths[:, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words[:, None, :])


@clinic_02.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, words, width), value_width = floats(generator), sizes(generator, 4), 5
    lengths = torch.randint(1, words + 2, (batch,), generator=generator, device="cpu")
    given = {"query": normal(batch, length, width), "key": normal(batch, words + 1, width)}
    return given | {"value": normal(batch, words + 1, value_width), "lengths": lengths}
