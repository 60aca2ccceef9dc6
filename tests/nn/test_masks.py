"""Masks by hand, and the two opposite conventions of torch."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support import DEVICE, assert_close, each_half, randn, random_mask, refuses, tensor
from transformer_lab import causal_mask, decoder_mask, padding_mask
from transformer_lab.nn.masks import to_additive_mask, to_torch_attn_mask, to_torch_key_padding_mask

PAD = 9
INF = float("inf")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


# Numbers worked by hand: 1 = True = may attend; rows are queries, columns are keys


def assert_table(mask: torch.Tensor, table: list) -> None:
    assert mask.dtype == torch.bool
    assert mask.int().tolist() == table


def test_causal_mask_of_four_tokens():
    table = [
        #  <s>, Je, suis, un; each predicts the next word, the last one "étudiant"
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
    ]
    assert_table(causal_mask(4, DEVICE), table)


def test_padding_mask_hides_padding_from_every_query():
    tokens = tensor([[5, 6, 7, PAD, PAD], [5, PAD, 6, 0, PAD]])
    assert_table(padding_mask(tokens, PAD), [[[[1, 1, 1, 0, 0]]], [[[1, 0, 1, 1, 0]]]])


def test_decoder_mask_hides_the_future_and_padding():
    tokens = tensor([[5, 6, PAD], [PAD, 5, 6]])
    table = [
        [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]],
        [[[0, 0, 0], [0, 1, 0], [0, 1, 1]]],  # padding on the left: its first query may attend to nothing
    ]
    assert_table(decoder_mask(tokens, PAD), table)


def test_attn_mask_of_torch_says_the_opposite_with_the_heads_of_a_sentence_side_by_side():
    sentence_0, sentence_1 = [[1, 0, 0], [1, 1, 0]], [[1, 1, 1], [0, 0, 1]]
    mask = tensor([[sentence_0], [sentence_1]], torch.bool)  # (B, 1, T, S)
    opposite_0, opposite_1 = [[0, 1, 1], [0, 0, 1]], [[0, 0, 0], [1, 1, 0]]
    assert_table(to_torch_attn_mask(mask, batch=2, n_heads=2), [opposite_0, opposite_0, opposite_1, opposite_1])


def test_attn_mask_of_torch_keeps_the_heads_in_order():
    head_0, head_1, head_2 = [[1, 0]], [[0, 1]], [[1, 1]]
    mask = tensor([head_0, head_1, head_2], torch.bool)  # (h, T, S)
    expected = [[[0, 1]], [[1, 0]], [[0, 0]], [[0, 1]], [[1, 0]], [[0, 0]]]
    assert_table(to_torch_attn_mask(mask, batch=2, n_heads=3), expected)


def test_attn_mask_of_torch_repeats_one_table_for_all():
    mask = causal_mask(2, DEVICE)  # (T, S)
    assert_table(to_torch_attn_mask(mask, batch=3, n_heads=1), [[[0, 1], [0, 0]]] * 3)


def test_key_padding_mask_of_torch_says_the_opposite():
    mask = padding_mask(tensor([[5, 6, PAD], [5, PAD, PAD]]), PAD)
    assert_table(to_torch_key_padding_mask(mask), [[0, 0, 1], [0, 1, 1]])


def test_additive_mask_is_0_where_allowed_and_minus_infinity_where_not():
    assert to_additive_mask(causal_mask(3, DEVICE)).tolist() == [[0, -INF, -INF], [0, 0, -INF], [0, 0, 0]]


# Properties


def test_decoder_mask_is_both_masks_at_once():
    tokens = torch.randint(7, 11, (2, 5), device=DEVICE)
    mask = decoder_mask(tokens, PAD)
    for b in range(2):
        for t in range(5):
            for s in range(5):
                assert mask[b, 0, t, s].item() == (s <= t and tokens[b, s].item() != PAD)


def test_masks_lie_on_the_device_of_the_tokens():
    tokens = torch.full((2, 5), 3, device="meta")
    assert padding_mask(tokens, PAD).device.type == "meta"
    assert decoder_mask(tokens, PAD).device.type == "meta"
    assert causal_mask(3, "meta").device.type == "meta"
    assert to_additive_mask(causal_mask(3, "meta")).device.type == "meta"


@each_half
def test_additive_mask_takes_the_type_of_the_scores(dtype):
    mask = to_additive_mask(causal_mask(2, DEVICE), dtype)
    assert mask.dtype == dtype
    assert mask.tolist() == [[0, -INF], [0, 0]]


def test_masks_leave_their_inputs_alone():
    tokens, mask = tensor([[5, 6, PAD]]), random_mask(2, 3, 5, 7)
    before_tokens, before_mask = tokens.clone(), mask.clone()
    padding_mask(tokens, PAD), decoder_mask(tokens, PAD)
    to_torch_attn_mask(mask, 2, 3).logical_not_()
    to_additive_mask(mask)
    to_torch_key_padding_mask(mask[:, :1, :1]).logical_not_()
    assert tokens.equal(before_tokens)
    assert mask.equal(before_mask)


# Parity: attention computed by hand from our mask, against torch with the converted one


def expected_attention(query, key, value, mask):
    """exp(scores), zero where the mask says so, over their sum."""
    fits = (query @ key.transpose(-2, -1) / query.size(-1) ** 0.5).exp() * mask
    return fits / fits.sum(dim=-1, keepdim=True) @ value


@pytest.fixture
def bare_attention():
    """torch's module, all projections the identity: width 4, two heads."""
    module = nn.MultiheadAttention(4, 2, bias=False, batch_first=True, device=DEVICE)
    module.in_proj_weight.data.copy_(torch.eye(4).repeat(3, 1))
    module.out_proj.weight.data.copy_(torch.eye(4))
    return module


def by_heads(x):
    """(B, T, 4) -> (B, 2, T, 2)"""
    return torch.stack(x.chunk(2, dim=-1), dim=1)


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (3, 1, 5, 7), (3, 2, 5, 7)], ids=str)
def test_torchs_module_reads_the_converted_mask_as_ours(shape, bare_attention):
    query, key, value, mask = randn(3, 5, 4), randn(3, 7, 4), randn(3, 7, 4), random_mask(*shape)
    expected = expected_attention(by_heads(query), by_heads(key), by_heads(value), mask)
    output = bare_attention(query, key, value, attn_mask=to_torch_attn_mask(mask, batch=3, n_heads=2))[0]
    assert_close(by_heads(output), expected)


def test_torchs_module_reads_the_converted_padding_as_ours(bare_attention):
    query, key, value = randn(2, 5, 4), randn(2, 3, 4), randn(2, 3, 4)
    mask = padding_mask(tensor([[5, 6, PAD], [5, PAD, PAD]]), PAD)
    expected = expected_attention(by_heads(query), by_heads(key), by_heads(value), mask)
    output = bare_attention(query, key, value, key_padding_mask=to_torch_key_padding_mask(mask))[0]
    assert_close(by_heads(output), expected)


def test_torchs_function_reads_our_mask_and_the_additive_one_alike():
    query, key, value, mask = randn(2, 3, 5, 4), randn(2, 3, 7, 4), randn(2, 3, 7, 11), random_mask(2, 1, 5, 7)
    expected = expected_attention(query, key, value, mask)
    for converted in (mask, to_additive_mask(mask)):
        assert_close(F.scaled_dot_product_attention(query, key, value, attn_mask=converted), expected)


# Errors


@pytest.mark.parametrize("shape", [(7,), (1, 2, 3, 5, 7)], ids=str)
def test_a_mask_to_convert_has_two_to_four_axes(shape):
    with refuses(f"a mask must have 2, 3 or 4 axes, the last two being T and S (got {len(shape)})"):
        to_torch_attn_mask(torch.ones(shape, dtype=torch.bool), batch=2, n_heads=3)


@pytest.mark.parametrize("shape", [(2, 5, 7), (3, 1, 5, 7), (2, 2, 5, 7)], ids=str)
def test_a_mask_to_convert_fits_the_batch_and_the_heads(shape):
    with refuses(f"a mask must broadcast to (2, 3, 5, 7) (got {shape})"):
        to_torch_attn_mask(torch.ones(shape, dtype=torch.bool), batch=2, n_heads=3)


@pytest.mark.parametrize(
    "convert", [lambda mask: to_torch_attn_mask(mask, 2, 3), to_torch_key_padding_mask, to_additive_mask]
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=str)
def test_a_mask_to_convert_is_boolean(convert, dtype):
    with refuses(f"a mask must be torch.bool, True = may attend (got {dtype} of shape (2, 1, 1, 3))"):
        convert(torch.ones(2, 1, 1, 3, dtype=dtype))


def test_only_a_padding_mask_becomes_torchs_key_padding_mask():
    rule = "a padding mask must have the shape (B, 1, 1, S)"
    with refuses(f"{rule} (got (1, 1, 3, 3))"):  # whose first row hides all but the first key
        to_torch_key_padding_mask(decoder_mask(tensor([[5, 6, PAD]]), PAD))
    for shape in [(2, 3), (2, 1, 3), (2, 3, 1, 5)]:
        with refuses(f"{rule} (got {shape})"):
            to_torch_key_padding_mask(torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("make", [padding_mask, decoder_mask])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((3,), torch.int64), ((2, 3, 5), torch.int64), ((2, 3), torch.float32)], ids=str
)
def test_a_mask_is_made_from_token_ids(make, shape, dtype):
    rule = "tokens must be token ids, torch.int64 or int32, of shape (B, T)"
    with refuses(f"{rule} (got {dtype} of shape {shape})"):
        make(torch.ones(shape, dtype=dtype), PAD)
