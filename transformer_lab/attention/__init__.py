"""Attention: section 3.2 of "Attention Is All You Need" (Vaswani et al., 2017, arXiv:1706.03762).

Read `functions`, `cache`, then `layers`; all of their names are here, too.

Axes: B batch, h heads, T query positions, S key positions, d_k width of queries and keys, d_v width of values. Of one
of h heads d_k = d_v = d_head = d_model / h. Masks are boolean, True = may attend, and broadcast to (B, h, T, S).
"""

from transformer_lab.attention.cache import KVCache, LayerCache
from transformer_lab.attention.functions import (
    cached_attention,
    grouped_query_attention,
    masked_softmax,
    merge_heads,
    multi_head_attention,
    scaled_dot_product_attention,
    softmax,
    split_heads,
)
from transformer_lab.attention.layers import AttentionHead, GroupedQueryAttention, MultiHeadAttention, xavier_linear

__all__ = [
    "AttentionHead",
    "GroupedQueryAttention",
    "KVCache",
    "LayerCache",
    "MultiHeadAttention",
    "cached_attention",
    "grouped_query_attention",
    "masked_softmax",
    "merge_heads",
    "multi_head_attention",
    "scaled_dot_product_attention",
    "softmax",
    "split_heads",
    "xavier_linear",
]
