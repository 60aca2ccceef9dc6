"""Positional encodings: section 3.5 of "Attention Is All You Need"."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_floats, check_least, check_vectors


def frequencies(d_model: int, base: float = 10000.0) -> Float[Tensor, " pairs"]:
    """ω_i = base^(-2i / d_model), i = 0 … d_model/2 - 1, in radians a position: one for each pair of features.

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


def rotate(
    x: Float[Tensor, "*batch T d_head"], start: int = 0, base: float = 10000.0
) -> Float[Tensor, "*batch T d_head"]:
    """Rotary positions (RoPE): the row of position p becomes `row @ shift_matrix(p)`; the first has position `start`.

    (x_2i, x_2i+1) → (x_2i cos pω_i - x_2i+1 sin pω_i,  x_2i sin pω_i + x_2i+1 cos pω_i)

    Queries and keys are rotated, values are not: a score then depends on the two positions by their difference only
    (Su et al., 2021, "RoFormer", equations 15 and 16; pairs of neighbours, as there). With a larger `base` the
    later pairs turn more slowly: Llama 3 has 500 000.

    Raises:
        ValueError: d_head is odd; x is not of floating-point numbers.
    """
    check_floats("x", x, least_axes=2)
    angle = angles(x.size(-2), x.size(-1), start, base)
    cos, sin = (part.to(x.dtype).to(x.device) for part in (angle.cos(), angle.sin()))
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def fused_rotate(
    x: Float[Tensor, "*batch T d_head"], turns: Float[Tensor, "T pairs 2"]
) -> Float[Tensor, "*batch T d_head"]:
    """Fast twin of `rotate`, which is handed the cosine and the sine of each angle, as `RotaryPositions` keep them.

    A pair is one complex number, and to turn it by an angle is to multiply it by e^(i angle), in the type of the turns.
    torch.compile fuses the products of `rotate`, and no complex numbers.
    """
    wide = x if x.dtype == turns.dtype else x.to(turns.dtype)
    pairs = wide.unflatten(-1, (-1, 2))  # (…, T, pairs, 2)
    if torch.compiler.is_compiling():
        (even, odd), (cos, sin) = pairs.unbind(-1), turns.unbind(-1)
        turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    else:
        turned = torch.view_as_real(torch.view_as_complex(pairs) * torch.view_as_complex(turns))
    return turned.flatten(-2).to(x.dtype)


def alibi_bias(
    n_heads: int, length: int, device: torch.device | str | None = None
) -> Float[Tensor, "{n_heads} {length} {length}"]:
    """What ALiBi adds to the scores: -m · distance, with a slope m = 2^(-8 / h), 2^(-16 / h), … , 2^-8 for each head.

    Press et al., 2021, "Train Short, Test Long", section 3. There n_heads is a power of 2, and a causal mask hides all
    that lies ahead; here what lies ahead is as far as what lies behind.

    Raises:
        ValueError: n_heads is below 1, or length below 0.
    """
    check_least(1, n_heads=n_heads)
    check_least(0, length=length)
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1, device=device) / n_heads)
    positions = torch.arange(length, device=device)
    return -slopes[:, None, None] * (positions[:, None] - positions).abs()


class SinusoidalPositions(nn.Module):
    """Adds the sinusoidal encoding of each position, the first of which is `start`; it learns nothing.

    The table is no part of the module's state, and is computed anew on the device of an input that lies elsewhere. So a
    model may be built on "meta", filled by `to_empty` or from a checkpoint, and has a true table even so.

    Raises:
        ValueError: d_model is odd; max_len is below 1; a sequence is longer than max_len; x is no (B, T, d_model).
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_least(1, max_len=max_len)
        self.encoding = sinusoidal_encoding(max_len, d_model)

    def forward(self, x: Float[Tensor, "B T d_model"], start: int = 0) -> Float[Tensor, "B T d_model"]:
        check_vectors("x", x, self.encoding.size(1))
        return x + self.rows(start, x.size(1), like=x)

    def rows(self, start: int, length: int, like: Tensor) -> Float[Tensor, "{length} d_model"]:
        """The encoding of positions start … start + length - 1, of the type and on the device of another tensor."""
        if self.encoding.device != like.device:
            max_len, d_model = self.encoding.shape
            self.encoding = sinusoidal_encoding(max_len, d_model, like.device)
        return rows(self.encoding, start, length).to(like.dtype)


class RotaryPositions(nn.Module):
    """Turns queries and keys by their positions, as `rotate` does, the first of which is `start`; it learns nothing.

    The table of cosines and sines is reckoned in float64, once for all layers of a model. It is no part of the module's
    state: it is made anew where the module goes to another device or type, and twice as long for a longer text.

    Raises:
        ValueError: d_head is odd; length is below 1; a position is below 0.
    """

    def __init__(self, length: int, d_head: int, base: float = 10000.0):
        super().__init__()
        check_least(1, length=length, d_head=d_head)
        if d_head % 2:
            raise ValueError(f"d_head ({d_head}) must be even: rotary positions turn pairs of features")
        self.d_head, self.base = d_head, base
        self.table = self.turns(length, torch.get_default_device(), torch.float32)

    def forward(
        self, queries: Float[Tensor, "B h T d_head"], keys: Float[Tensor, "B g S d_head"], start: int = 0
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        n_queries, n_keys = queries.size(-2), keys.size(-2)
        table = self.table_for(start + max(n_queries, n_keys), like=queries)
        if not torch.compiler.is_compiling():  # else it is a tensor of the compiler's
            self.table = table
        turns = rows(table, start, n_queries)
        turns_of_keys = turns if n_keys == n_queries else rows(table, start, n_keys)
        return fused_rotate(queries, turns), fused_rotate(keys, turns_of_keys)

    def table_for(self, length: int, like: Tensor) -> Float[Tensor, "positions pairs 2"]:
        """A table of so many positions at least, on the device of another tensor and wide enough for its type."""
        known, wide = self.table.size(0), torch.float64 if like.dtype == torch.float64 else torch.float32
        if length <= known and self.table.device == like.device and self.table.dtype == wide:
            return self.table
        return self.turns(known if length <= known else max(length, 2 * known), like.device, wide)

    def turns(self, length: int, device: torch.device, dtype: torch.dtype) -> Float[Tensor, "{length} pairs 2"]:
        """Cosine and sine of each position's angles."""
        with torch.inference_mode(False):  # what is kept may serve a training later
            angle = angles(length, self.d_head, base=self.base)
            return torch.stack([angle.cos(), angle.sin()], dim=-1).to(dtype).to(device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """To another device or type goes no number of the table: a narrow type would round it, `to_empty` lose it."""
        super()._apply(fn, recurse)
        self.table = self.table_for(len(self.table), like=fn(self.table[:0]))
        return self


class LearnedPositions(nn.Module):
    """Adds a vector of its own for each position, learned like a word embedding (§3.5 found both alike).

    The first has position `start`. The vectors begin as N(0, 1/d_model), as word embeddings do. Positions never seen in
    training stay as they began.

    Raises:
        ValueError: max_len or d_model is below 1; a sequence is longer than max_len; x is no (B, T, d_model).
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_least(1, max_len=max_len, d_model=d_model)
        self.encoding = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, x: Float[Tensor, "B T d_model"], start: int = 0) -> Float[Tensor, "B T d_model"]:
        check_vectors("x", x, self.encoding.size(1))
        return x + rows(self.encoding, start, x.size(1))


def rows(table: Float[Tensor, "max_len ..."], start: int, length: int) -> Float[Tensor, "{length} ..."]:
    """The rows of positions start … start + length - 1. Raises a ValueError if the table does not have them all."""
    if start < 0:
        raise ValueError(f"the first position of a sequence must be at least 0 (got {start})")
    if start + length > len(table):
        raise ValueError(f"a sequence may have at most max_len ({len(table)}) positions (got {start + length})")
    return table[start : start + length]
