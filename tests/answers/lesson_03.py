"""Right answers to the exercises of lesson 03, and the mutants of their references that compute the same."""

import math

import numpy as np
import torch

from tests.answers.reasons import ANY_FLOAT, COMMUTATIVE, DEFAULT_DEVICE, FROM_THE_END, SUM, commuted
from transformer_lab.nn import positions
from transformer_lab.nn.positions import frequencies


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


def encoding_in_float64(length, d_model):
    return positions.sinusoidal_encoding(length, d_model, dtype=torch.float64)


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


def rotate_by_complex_numbers(x):
    angle = torch.outer(
        torch.arange(x.size(-2)), 10000.0 ** (-torch.arange(0, x.size(-1), 2, dtype=torch.float64) / x.size(-1))
    )
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2).to(x.dtype)


def rotate_by_matrices(x):
    rows = []
    for p, row in enumerate(x.unbind(-2)):
        blocks = []
        for i in range(x.size(-1) // 2):
            a = p / 10000 ** (2 * i / x.size(-1))
            blocks.append(torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]))
        rows.append(row @ torch.block_diag(*blocks).to(x.dtype))
    return torch.stack(rows, -2)


def rotate_with_a_turned_copy(x):
    """As many libraries write it: x · cos + turned(x) · sin."""
    omega = 10000.0 ** (-torch.arange(0, x.size(-1), 2).double() / x.size(-1))
    angle = (torch.arange(x.size(-2)).double()[:, None] * omega).repeat_interleave(2, -1)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
    return x * angle.cos().to(x.dtype) + quarter * angle.sin().to(x.dtype)


def rotate_into_slices(x):
    omega = 1 / 10000 ** (torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angle = torch.einsum("p,i->pi", torch.arange(x.shape[-2], dtype=torch.float64), omega)
    rotated = torch.zeros_like(x)
    rotated[..., 0::2] = (x[..., 0::2] * angle.cos() - x[..., 1::2] * angle.sin()).to(x.dtype)
    rotated[..., 1::2] = (x[..., 0::2] * angle.sin() + x[..., 1::2] * angle.cos()).to(x.dtype)
    return rotated


def repeat_by_search(periods, with_cosine):
    position = 1
    while True:
        doubled = [position % period if with_cosine else 2 * position % period for period in periods]
        if not any(doubled):
            return position
        position += 1


def repeat_by_hand(periods, with_cosine):
    result = 1
    for period in periods:
        turn = period if with_cosine or period % 2 else period // 2
        result = result * turn // math.gcd(result, turn)
    return result


def repeat_by_numpy(periods, with_cosine):
    turns = np.array(periods)
    if not with_cosine:
        turns = np.where(turns % 2 == 0, turns // 2, turns)
    return np.lcm.reduce(turns)


def relative_by_moves(scores):
    for length in (3, 20):
        torch.manual_seed(length)
        q, k = torch.randn(length, 8), torch.randn(length, 8)
        for before in (0, 1, 5, 17):
            for behind in (0, 4):
                longer = scores(
                    torch.cat([torch.randn(before, 8), q, torch.randn(behind, 8)]),
                    torch.cat([torch.randn(before, 8), k, torch.randn(behind, 8)]),
                )
                if (longer[before : before + length, before : before + length] - scores(q, k)).abs().max() > 1e-3:
                    return False
    return True


def relative_by_equal_tokens(scores):
    """If all tokens are alike, every diagonal of the scores holds one number, whatever the length."""
    for seed in range(5):
        torch.manual_seed(seed)
        q, k = torch.randn(2, 1, 8)
        tables = [scores(q.expand(n, 8), k.expand(n, 8)) for n in (2, 9, 16, 50)]
        for distance in range(-1, 2):
            numbers = torch.cat([table.diagonal(distance) for table in tables])
            if not torch.allclose(numbers, numbers[:1], atol=1e-3):
                return False
    return True


def relative_by_numpy(scores):
    x, y = torch.randn(2, 60, 8)
    whole, equal = scores(x, y).numpy(), True
    for start in range(50):
        part = scores(x[start : start + 9], y[start : start + 9]).numpy()
        equal = equal and np.allclose(part, whole[start : start + 9, start : start + 9], rtol=1e-4, atol=1e-4)
    return np.bool_(equal)


RIGHT_ANSWERS = {
    "rotate": [rotate_by_complex_numbers, rotate_by_matrices, rotate_with_a_turned_copy, rotate_into_slices],
    "sinusoidal_encoding": [
        encoding_by_loop,
        encoding_by_slices,
        encoding_by_where,
        encoding_by_complex_numbers,
        encoding_by_phase,
        encoding_in_float64,
    ],
    "shift_matrix": [shift_by_block_diag, shift_by_einsum, shift_by_matrix_exponential, shift_by_steps],
    "first_repeat": [repeat_by_search, repeat_by_hand, repeat_by_numpy],
    "is_relative": [relative_by_moves, relative_by_equal_tokens, relative_by_numpy],
}

CLOSE_ENOUGH = "float32 is precise enough for so few positions"
OMEGA = "frequencies: torch.arange(0, d_model, 2, dtype=torch.float64, device='cpu') → torch.arange(0, d_model, 2, "
DOUBLE = OMEGA + "dtype=torch.float64)"
FREQUENCIES = {OMEGA + "device='cpu')": CLOSE_ENOUGH, DOUBLE: DEFAULT_DEVICE}

ANGLES = {
    "angles: torch.arange(start, start + length, dtype=torch.float64, device='cpu') → "
    "torch.arange(start, start + length, device='cpu')": "whole numbers become floating ones in the product",
    "angles: torch.arange(start, start + length, dtype=torch.float64, device='cpu') → "
    "torch.arange(start, start + length, dtype=torch.float64)": DEFAULT_DEVICE,
    "angles: start + length → length + start": SUM,
    "angles: positions[:, None] * frequencies(d_model, base) "
    "→ frequencies(d_model, base) * positions[:, None]": COMMUTATIVE,
}

WITHIN = "torch.allclose(longer[within, within], alone, rtol=0.0001, atol=0.0001)"
RELATIVE = {
    f"is_relative: {change}": reason
    for reason, changes in {
        "any seed serves": (
            *("torch.Generator().manual_seed(0) → torch.Generator()", "0 → 1", "0 → -1"),
            *(
                f"torch.randn(2, {size}, 8, generator=generator) → torch.randn(2, {size}, 8)"
                for size in ("length", "before", "behind")
            ),
        ),
        "other lengths serve as well, in any order": (
            *("(2, 6, 40) → (40, 6, 2)", "2 → 3", "2 → 1", "6 → 7", "6 → 5", "40 → 41", "40 → 39"),
        ),
        "other numbers of tokens serve as well, in any order": (
            *("((1, 0), (0, 1), (30, 2)) → ((30, 2), (0, 1), (1, 0))", "(0, 1) → (1, 0)", "(30, 2) → (2, 30)"),
            *("0 → 1 (2)", "0 → 1 (3)", "1 → 2 (2)", "1 → 0 (2)", "30 → 31", "30 → 29", "2 → 3 (3)", "2 → 1 (3)"),
        ),
        "a third row of numbers is never used": ("2 → 3 (4)", "2 → 3 (5)"),
        "the other tokens may be any, for queries and for keys": (
            *("0 → 1 (4)", "0 → -1 (4)", "0 → 1 (5)", "0 → -1 (5)", "1 → 0 (3)", "1 → 0 (4)"),
        ),
        "a score that moves is seen by any comparison": (
            f"{WITHIN} → torch.allclose(alone, longer[within, within], rtol=0.0001, atol=0.0001)",
            *(f"{WITHIN} → {WITHIN.replace(f', {part}', '')}" for part in ("rtol=0.0001", "atol=0.0001")),
            "0.0001 → 1.0001",
        ),
        "both axes are cut alike": ("(within, within) → (within, within)",),
    }.items()
    for change in changes
}

EQUIVALENT = {
    "sinusoidal_encoding": FREQUENCIES
    | ANGLES
    | {
        "sinusoidal_encoding: encoding.to(dtype or torch.get_default_dtype()).to(device or torch.get_default_device()) "
        "→ encoding.to(dtype or torch.get_default_dtype())": DEFAULT_DEVICE,
        "sinusoidal_encoding: encoding.to(dtype or torch.get_default_dtype()) → encoding": ANY_FLOAT,
    },
    "rotate": FREQUENCIES
    | ANGLES
    | commuted("rotate", "even * sin + odd * cos", "even * cos", "odd * sin", "even * sin", "odd * cos")
    | {"rotate: part.to(x.dtype).to(x.device) → part.to(x.dtype)": DEFAULT_DEVICE},
    "shift_matrix": FREQUENCIES
    | {
        "shift_matrix: offset * frequencies(d_model) → frequencies(d_model) * offset": COMMUTATIVE,
        "shift_matrix: -1 → 1": FROM_THE_END,
        "shift_matrix: -1 → 1 (2)": FROM_THE_END,
        "shift_matrix: matrix.to(dtype or torch.get_default_dtype()).to(device or torch.get_default_device()) → "
        "matrix.to(dtype or torch.get_default_dtype())": DEFAULT_DEVICE,
        "shift_matrix: matrix.to(dtype or torch.get_default_dtype()) → matrix": ANY_FLOAT,
    },
    "first_repeat": {"first_repeat: math.gcd(period, 2) → math.gcd(2, period)": COMMUTATIVE},
    "is_relative": RELATIVE | commuted("is_relative", "before + length"),
}
