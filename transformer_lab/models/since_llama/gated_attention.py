"""Attention with a gate on what its heads have read."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.models.since_llama.layers import OpenAttention
from transformer_lab.nn.attention import merge_heads, xavier_linear


class GatedAttention(OpenAttention):
    """`OpenAttention` in which each position decides, feature by feature, how much of its heads' output passes.

    y = (Concat(head_1, …, head_h) ⊙ sigmoid(x W_gate)) W_o        (Qiu et al., 2025, arXiv:2505.06708)

    A head that has nothing to say is closed by its gate, and so needs neither a sink nor the first token.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_head: int,
        positions: nn.Module,
        norms: nn.Module | None = None,
    ):
        super().__init__(d_model, n_heads, n_kv_heads, d_head, positions, norms)
        self.w_gate = xavier_linear(d_model, n_heads * d_head)

    def joined(
        self, heads: Float[Tensor, "B h T d_head"], query: Float[Tensor, "B T d_model"]
    ) -> Float[Tensor, "B T d_model"]:
        return self.w_o(merge_heads(heads) * torch.sigmoid(self.w_gate(query)))
