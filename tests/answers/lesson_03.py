"""Right answers to the exercises of lesson 03, and the mutants of their references that compute the same."""

import math

import torch

from tests.answers.reasons import COMMUTATIVE
from transformer_lab.positions import frequencies


def encoding_by_loop(length, d_model):
    encoding = torch.zeros(length, d_model)
    for position in range(length):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            encoding[position, 2 * i] = math.sin(angle)
            encoding[position, 2 * i + 1] = math.cos(angle)
    return encoding


def encoding_by_slices(length, d_model):
    encoding = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1)
    factor = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    encoding[:, 0::2] = torch.sin(position * factor)
    encoding[:, 1::2] = torch.cos(position * factor)
    return encoding


def encoding_by_where(length, d_model):
    dim = torch.arange(d_model)
    angle = torch.arange(length)[:, None] / 10000 ** (2 * (dim // 2) / d_model)
    return torch.where(dim % 2 == 0, angle.sin(), angle.cos())


def encoding_by_complex_numbers(length, d_model):
    """e^(iωp) has the cosine in its real part; its conjugate times i has the sine there."""
    angle = torch.outer(torch.arange(length).double(), frequencies(d_model))
    turned = 1j * torch.exp(1j * angle).conj()
    return torch.view_as_real(turned).flatten(1).float()


def encoding_by_phase(length, d_model):
    """A cosine is a sine a quarter turn ahead."""
    angle = torch.arange(length).double()[:, None] * frequencies(d_model).repeat_interleave(2)
    return (angle + torch.tensor([0, math.pi / 2]).repeat(d_model // 2)).sin().float()


def shift_by_block_diag(offset, d_model):
    blocks = []
    for i in range(d_model // 2):
        angle = offset / 10000 ** (2 * i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


def shift_by_einsum(offset, d_model):
    angle = offset * frequencies(d_model)
    cos, sin = angle.cos(), angle.sin()
    blocks = torch.stack([cos, sin, -sin, cos]).reshape(2, 2, -1)
    pairs = torch.eye(d_model // 2, dtype=torch.float64)
    return torch.einsum("abi,ij->iajb", blocks, pairs).reshape(d_model, d_model).float()


def shift_by_matrix_exponential(offset, d_model):
    """A rotation is the exponential of its speed."""
    quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return torch.matrix_exp(offset * torch.kron(torch.diag(frequencies(d_model)), quarter)).float()


def shift_by_steps(offset, d_model):
    """Many single steps, forward or back."""
    step = shift_by_matrix_exponential(1 if offset >= 0 else -1, d_model).double()
    return torch.linalg.matrix_power(step, abs(offset)).float()


RIGHT_ANSWERS = {
    "sinusoidal_encoding": [
        encoding_by_loop,
        encoding_by_slices,
        encoding_by_where,
        encoding_by_complex_numbers,
        encoding_by_phase,
    ],
    "shift_matrix": [shift_by_block_diag, shift_by_einsum, shift_by_matrix_exponential, shift_by_steps],
}

SAME = "both parts are the same"

EQUIVALENT = {
    "sinusoidal_encoding": {
        "line 7: torch.arange(length).unsqueeze(1) * frequency → frequency * torch.arange(length).unsqueeze(1)": (
            COMMUTATIVE
        ),
    },
    "shift_matrix": {
        "line 7: even + 1 → 1 + even": "a sum does not depend on the order of its terms",
        "line 8: offset * 10000.0 ** (-even / d_model) → 10000.0 ** (-even / d_model) * offset": COMMUTATIVE,
        "line 9: torch.zeros(d_model, d_model) → torch.zeros(d_model, d_model)": SAME,
        "line 10: (even, even) → (even, even)": SAME,
        "line 10: (odd, odd) → (odd, odd)": SAME,
    },
}
