"""Learned positions: a learned vector for each position, which is added to the token's embedding (§3.5)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.checks import check_least, check_vectors
from transformer_lab.nn.positions.sinusoidal import rows


class LearnedPositions(nn.Module):
    """Adds a learned vector for each position, like a word embedding (§3.5 found it as good as sinusoids).

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
