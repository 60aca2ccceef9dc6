"""Gated feed-forward networks with other gates than SwiGLU's."""

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
