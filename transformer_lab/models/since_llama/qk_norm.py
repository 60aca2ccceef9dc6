"""Norms on queries and keys, so that no score grows beyond what their weights allow."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_lab.nn.attention import merge_heads, split_heads
from transformer_lab.nn.blocks import rms_norm


def qk_norm(
    query: Float[Tensor, "B h T d_head"],
    key: Float[Tensor, "B g S d_head"],
    weight_q: Float[Tensor, " d_head"],
    weight_k: Float[Tensor, " d_head"],
    eps: float,
) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
    """RMSNorm over the features of each head, of queries and of keys; `(query, key)`.

    Without weights a query has the length √d_head, and so has a key: their score q · k / √d_head is at most √d_head,
    however large W_Q and W_K become        (Henry et al., 2020, arXiv:2010.04245; as RMSNorm: Qwen3, arXiv:2505.09388,
    section 2, and Gemma 3, arXiv:2503.19786, section 2)
    """
    return rms_norm(query, weight_q, eps), rms_norm(key, weight_k, eps)


class QKNorm(nn.Module):
    """`qk_norm` with its learned weights, which start at 1 and which all heads share."""

    def __init__(self, d_head: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight_q, self.weight_k = nn.Parameter(torch.ones(d_head)), nn.Parameter(torch.ones(d_head))

    def forward(
        self, query: Float[Tensor, "B h T d_head"], key: Float[Tensor, "B g S d_head"]
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        return qk_norm(query, key, self.weight_q, self.weight_k, self.eps)


class WholeQKNorm(nn.Module):
    """A norm over all heads of a query together, and one over all of a key's, as in OLMo 2 (arXiv:2501.00656).

    Heads may then still differ in how sharply they look.
    """

    def __init__(self, n_heads: int, n_kv_heads: int, d_head: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight_q = nn.Parameter(torch.ones(n_heads * d_head))
        self.weight_k = nn.Parameter(torch.ones(n_kv_heads * d_head))

    def forward(
        self, query: Float[Tensor, "B h T d_head"], key: Float[Tensor, "B g S d_head"]
    ) -> tuple[Float[Tensor, "B h T d_head"], Float[Tensor, "B g S d_head"]]:
        queries = rms_norm(merge_heads(query), self.weight_q, self.eps)  # (B, T, h · d_head)
        keys = rms_norm(merge_heads(key), self.weight_k, self.eps)  # (B, S, g · d_head)
        return split_heads(queries, query.size(1)), split_heads(keys, key.size(1))
