"""Logits that can't grow beyond a bound, and yet always have a slope."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


def soft_cap(scores: Float[Tensor, "*axes"], cap: float) -> Float[Tensor, "*axes"]:
    """Between -cap and cap, and nearly as they were where they are small beside it.

    cap · tanh(scores / cap)        (Gemma 2, 2024, arXiv:2408.00118, section 2)
    """
    return cap * torch.tanh(scores / cap)


class CappedLinear(nn.Linear):
    """A linear layer without bias whose outputs pass through `soft_cap`: from vectors to logits."""

    def __init__(self, d_model: int, vocab_size: int, cap: float):
        super().__init__(d_model, vocab_size, bias=False)
        self.cap = cap

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes vocab"]:
        return soft_cap(super().forward(x), self.cap)
