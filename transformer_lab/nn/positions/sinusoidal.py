"""Sinusoidal positions: the encoding of section 3.5, which is added to the token's embedding."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_vectors


def frequencies(d_model: int, base: float = 10000.0) -> Float[Tensor, " pairs"]:
    """ω_i = base^(-2i / d_model), i = 0 … d_model/2 - 1, in radians per position: one for each pair of features.

    Raises:
        ValueError: d_model is odd, so that its features do not pair up, or below 2.
    """
    check_least(2, d_model=d_model)
    if d_model % 2:
        raise ValueError(f"d_model ({d_model}) must be even: a sine and a cosine share each frequency")
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") / d_model)  # MPS has no float64


def sinusoidal_encoding(
    length: int, d_model: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> Float[Tensor, "{length} {d_model}"]:
    """One row for each position, counted from 0; sines in the even columns, cosines in the odd ones.

    PE(pos, 2i) = sin(pos · ω_i),  PE(pos, 2i+1) = cos(pos · ω_i)        (§3.5)

    Computed in float64: a float32 angle of 5 000 rad is off by up to 2·10⁻⁴.

    Raises:
        ValueError: d_model is odd or below 2; length is below 0.
    """
    angle = angles(length, d_model)
    encoding = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # sin, cos, sin, cos, …
    return encoding.to(dtype or torch.get_default_dtype()).to(device or torch.get_default_device())


def angles(length: int, d_model: int, start: int = 0, base: float = 10000.0) -> Float[Tensor, "{length} pairs"]:
    """The angle pos · ω_i for each position from `start` on and each pair of features, in float64 on the CPU."""
    check_least(0, length=length)
    positions = torch.arange(start, start + length, dtype=torch.float64, device="cpu")
    return positions[:, None] * frequencies(d_model, base)


def shift_matrix(
    offset: int, d_model: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> Float[Tensor, "{d_model} {d_model}"]:
    """The matrix M with M @ PE(p) = PE(p + offset) for every position p: a rotation for each pair of features.

    [sin((p+k)ω), cos((p+k)ω)] = [[cos kω, sin kω], [-sin kω, cos kω]] @ [sin pω, cos pω]

    It is what §3.5 hints at: "PE(pos + k) can be represented as a linear function of PE(pos)".

    Raises:
        ValueError: d_model is odd or below 2.
    """
    angle = offset * frequencies(d_model)
    cos, sin = angle.cos(), angle.sin()
    rotations = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)  # (pairs, 2, 2)
    matrix = torch.block_diag(*rotations)
    return matrix.to(dtype or torch.get_default_dtype()).to(device or torch.get_default_device())


class SinusoidalPositions(nn.Module):
    """Adds the sinusoidal encoding of each position; the first position is `start`, and nothing is learned.

    The table is no part of the module's state; it moves with the module, and is computed anew on the device of an input
    that lies elsewhere. So a model may be built on "meta", filled by `to_empty` or from a checkpoint, and has a true
    table even so.

    Raises:
        ValueError: d_model is odd; max_len is below 1; a sequence is longer than max_len; x is no (B, T, d_model).
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_least(1, max_len=max_len)
        self.encoding = sinusoidal_encoding(max_len, d_model)

    def _apply(self, fn: Callable, recurse: bool = True) -> nn.Module:
        """Move the table along with the model, as a change made to it by hand would else be left behind."""
        device = fn(self.encoding[:0]).device
        if self.encoding.device != device and "meta" not in (self.encoding.device.type, device.type):
            self.encoding = self.encoding.to(device)
        return super()._apply(fn, recurse)

    def forward(self, x: Float[Tensor, "B T d_model"], start: int = 0) -> Float[Tensor, "B T d_model"]:
        check_vectors("x", x, self.encoding.size(1))
        return x + self.rows(start, x.size(1), like=x)

    def rows(self, start: int, length: int, like: Tensor) -> Float[Tensor, "{length} d_model"]:
        """The encoding of positions start … start + length - 1, in the type and on the device of a given tensor."""
        if self.encoding.device != like.device:
            max_len, d_model = self.encoding.shape
            self.encoding = sinusoidal_encoding(max_len, d_model, like.device)
        return rows(self.encoding, start, length).to(like.dtype)


def rows(table: Float[Tensor, "max_len ..."], start: int, length: int) -> Float[Tensor, "{length} ..."]:
    """The rows of positions start … start + length - 1. Raises a ValueError if the table does not contain them all."""
    if start < 0:
        raise ValueError(f"the first position of a sequence must be at least 0 (got {start})")
    if start + length > len(table):
        raise ValueError(f"a sequence may have at most max_len ({len(table)}) positions (got {start + length})")
    return table[start : start + length]
