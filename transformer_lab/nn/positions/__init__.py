"""Positional encodings: section 3.5 of "Attention Is All You Need", and those of later models.

Read `sinusoidal` and `learned`, which are added to the words' vectors; then `rotary`, which turns queries and keys, and
`alibi`, which is added to the scores. All of their names are here, too.
"""

from transformer_lab.nn.positions.alibi import alibi_bias
from transformer_lab.nn.positions.learned import LearnedPositions
from transformer_lab.nn.positions.rotary import RotaryPositions, fused_rotate, rotate, wide_enough
from transformer_lab.nn.positions.sinusoidal import (
    SinusoidalPositions,
    angles,
    frequencies,
    shift_matrix,
    sinusoidal_encoding,
)

__all__ = [
    "LearnedPositions",
    "RotaryPositions",
    "SinusoidalPositions",
    "alibi_bias",
    "angles",
    "frequencies",
    "fused_rotate",
    "rotate",
    "shift_matrix",
    "sinusoidal_encoding",
    "wide_enough",
]
