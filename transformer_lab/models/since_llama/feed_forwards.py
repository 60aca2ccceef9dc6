"""Gated feed-forward networks with other gates than SwiGLU's."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_lab.nn.blocks import SwiGLU


class GeGLU(SwiGLU):
    """A SwiGLU whose gate is GELU, as in Gemma.

    (gelu(x W_gate) ⊙ x W_up) W_down        (Shazeer, 2020, arXiv:2002.05202, equation 6), by GELU's tanh formula
    """

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        return self.w_down(F.gelu(self.w_gate(x), approximate="tanh") * self.w_up(x))


class ClampedSwiGLU(SwiGLU):
    """A SwiGLU of gpt-oss: with biases, both halves clamped, and 1 added to that which the gate multiplies.

    (g · sigmoid(α g) ⊙ (u + 1)) W_down + b, g = min(x W_gate + b_gate, limit), u = x W_up + b_up within ±limit
    (OpenAI, 2025, github.com/openai/gpt-oss, gpt_oss/torch/model.py)

    With u + 1, the input passes the gate where u is 0.

    Raises:
        ValueError: as SwiGLU.
    """

    def __init__(self, d_model: int, d_ff: int, alpha: float = 1.702, limit: float = 7.0):
        super().__init__(d_model, d_ff)
        self.alpha, self.limit = alpha, limit

    def forward(self, x: Float[Tensor, "*axes d_model"]) -> Float[Tensor, "*axes d_model"]:
        gate = self.w_gate(x).clamp(max=self.limit)  # (…, d_ff)
        up = self.w_up(x).clamp(-self.limit, self.limit)  # (…, d_ff)
        return self.w_down(gate * torch.sigmoid(self.alpha * gate) * (up + 1))
