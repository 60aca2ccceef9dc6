"""Rotary positions (RoPE), which rotate queries and keys by their positions."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_floats, check_least
from transformer_lab.nn.positions.sinusoidal import angles, rows


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
    """Fast twin of `rotate`, which takes the cosine and sine of each angle, as `RotaryPositions` stores them.

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


def wide_enough(dtype: torch.dtype) -> torch.dtype:
    """The type in which numbers of a given type are rotated."""
    return torch.float64 if dtype == torch.float64 else torch.float32


class RotaryPositions(nn.Module):
    """Rotates queries and keys by their positions, as `rotate` does; the first is `start`, and nothing is learned.

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
        """A table of at least so many positions, on the device of a given tensor and precise enough for its type."""
        known, wide = self.table.size(0), wide_enough(like.dtype)
        if length <= known and self.table.device == like.device and self.table.dtype == wide:
            return self.table
        return self.turns(known if length <= known else max(length, 2 * known), like.device, wide)

    def turns(self, length: int, device: torch.device, dtype: torch.dtype) -> Float[Tensor, "{length} pairs 2"]:
        """The cosine and sine of each position's angles."""
        with torch.inference_mode(False):  # what is kept may serve a training later
            angle = angles(length, self.d_head, base=self.base)
            return torch.stack([angle.cos(), angle.sin()], dim=-1).to(dtype).to(device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Exclude the table from moves and conversions: a narrow type would round it, and `to_empty` would lose it."""
        super()._apply(fn, recurse)
        self.table = self.table_for(len(self.table), like=fn(self.table[:0]))
        return self
