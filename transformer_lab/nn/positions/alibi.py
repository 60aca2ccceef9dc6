"""ALiBi, which subtracts more from a score the further the key is from the query."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.checks import check_least


def alibi_bias(
    n_heads: int, length: int, device: torch.device | str | None = None
) -> Float[Tensor, "{n_heads} {length} {length}"]:
    """The bias that ALiBi adds to the scores: -m · distance, with one slope m = 2^(-8 / h), … , 2^-8 for each head.

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
