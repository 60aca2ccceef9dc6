"""Weights in 8 bits: rounded by hand, how far off, and what they weigh."""

import pytest
import torch
from torch import nn

from tests.support import DEVICE, assert_close, randn, refuses, tensor
from transformer_lab import LanguageModel, LanguageModelConfig
from transformer_lab.weights.quantization import rounded, weight_bytes, whole_numbers


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def model() -> LanguageModel:
    return LanguageModel(LanguageModelConfig(11, 12, 3, 20, 2, max_len=9)).to(DEVICE).eval()


def test_a_matrix_is_rounded_by_hand():
    matrix = tensor([[1.27, -0.634, 0.006], [0.0, 0.0, 0.0], [-254.0, 3.1, 2.9]])
    whole, scale = whole_numbers(matrix)
    assert whole.tolist() == [[127, -63, 1], [0, 0, 0], [-127, 2, 1]]
    assert_close(scale, [0.01, 0.0, 2.0])


def test_four_bits_by_hand():
    whole, scale = whole_numbers(tensor([[0.7, -0.16, 0.04]]), bits=4)
    assert whole.tolist() == [[7, -2, 0]]
    assert_close(scale, [0.1])


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_no_number_is_off_by_more_than_half_a_step_of_its_row(bits):
    matrix = randn(40, 33) * torch.logspace(-6, 6, 40, device=DEVICE)[:, None]
    whole, scale = whole_numbers(matrix, bits)
    assert whole.dtype == torch.int8
    assert whole.abs().amax(1).tolist() == [2 ** (bits - 1) - 1] * 40
    off = (whole * scale[:, None] - matrix).abs() / scale[:, None]
    assert 0.4 < off.max() < 0.5001


def test_a_model_is_copied_with_its_matrices_rounded():
    ours = model()
    before = {name: x.clone() for name, x in ours.state_dict().items()}
    copy = rounded(ours, bits=8)
    assert copy.to_logits.weight is copy.tokens.weight  # still tied
    for name, x in copy.state_dict().items():
        assert torch.equal(before[name], ours.state_dict()[name])
        if x.ndim == 2:
            whole, scale = whole_numbers(before[name])
            assert_close(x, whole * scale[:, None])
        else:
            assert torch.equal(x, before[name])


def test_fewer_bits_change_the_logits_more():
    ours = model()
    for parameter in ours.parameters():
        nn.init.normal_(parameter)
    tokens = torch.randint(11, (3, 9), device=DEVICE)
    with torch.no_grad():
        off = [(rounded(ours, bits)(tokens) - ours(tokens)).abs().mean().item() for bits in (8, 6, 4)]
    assert 0 < 2 * off[0] < off[1] < off[2] / 2


def test_the_bytes_of_a_model_by_hand():
    linear = nn.Linear(5, 3)  # a matrix (3, 5) and a bias (3,)
    assert weight_bytes(linear) == 4 * 18
    assert weight_bytes(linear, bits=8) == 15 + 4 * 3 + 4 * 3
    assert weight_bytes(linear, bits=4) == 8 + 4 * 3 + 4 * 3


def test_bits_that_make_no_sense_are_refused():
    with refuses("bits (1) must be at least 2"):
        whole_numbers(randn(2, 2), 1)
    with refuses("bits (9) must be at most 8"):
        whole_numbers(randn(2, 2), 9)
