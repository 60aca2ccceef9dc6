"""Right answers to the exercises of lesson 02, and the mutants of their references that compute the same."""

import math

import torch
import torch.nn.functional as F

from tests.answers.lesson_01 import attention_by_einsum
from tests.answers.reasons import COMMUTATIVE, SYMMETRIC


def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def split_by_unflatten(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3).contiguous()


def split_by_slices(x, n_heads):
    width = x.size(-1) // n_heads
    return torch.stack([x[:, :, i * width : (i + 1) * width] for i in range(n_heads)], 1)


def split_by_einsum(x, n_heads):
    width = x.size(-1) // n_heads
    blocks = torch.eye(x.size(-1), dtype=x.dtype).reshape(x.size(-1), n_heads, width)
    return torch.einsum("btm,mhd->bhtd", x, blocks)


def merge_by_cat(x):
    return torch.cat([x[:, i] for i in range(x.size(1))], dim=-1)


def merge_by_permute(x):
    return x.permute(0, 2, 1, 3).contiguous().view(x.size(0), x.size(2), -1)


def merge_by_flatten(x):
    return x.movedim(1, 2).flatten(start_dim=2)


def merge_by_loop(x):
    batch, n_heads, length, d_head = x.shape
    out = x.new_zeros(batch, length, n_heads * d_head)
    for head in range(n_heads):
        out[:, :, head * d_head : (head + 1) * d_head] = x[:, head]
    return out


def multi_head_by_loop(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    projected = [(x @ w).chunk(n_heads, dim=-1) for x, w in ((query, w_q), (key, w_k), (value, w_v))]
    heads = [attention_by_einsum(q, k, v)[0] for q, k, v in zip(*projected, strict=True)]
    return torch.cat(heads, dim=-1) @ w_o


def multi_head_by_einsum(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    width = query.size(-1) // n_heads
    q, k, v = (
        torch.einsum("btm,mhd->bhtd", x, w.reshape(-1, n_heads, width))
        for x, w in ((query, w_q), (key, w_k), (value, w_v))
    )
    weights = torch.softmax(torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(width), -1)
    return torch.einsum("bhts,bhsd,hdm->btm", weights, v, w_o.reshape(n_heads, width, -1))


def multi_head_of_torch(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    output, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1) for x in (query, key, value)),
        embed_dim_to_check=query.size(-1),
        num_heads=n_heads,
        in_proj_weight=torch.cat([w_q.T, w_k.T, w_v.T]),
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=w_o.T,
        out_proj_bias=None,
    )
    return output.transpose(0, 1)


def multi_head_by_the_fused_kernel(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_by_chunks(x @ w, n_heads) for x, w in ((query, w_q), (key, w_k), (value, w_v)))
    return merge_by_cat(F.scaled_dot_product_attention(q, k, v)) @ w_o


def multi_head_in_float64(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    tensors = (x.double() for x in (query, key, value, w_q, w_k, w_v, w_o))
    return multi_head_by_loop(*tensors, n_heads).to(query.dtype)


RIGHT_ANSWERS = {
    "split_heads": [split_by_chunks, split_by_unflatten, split_by_slices, split_by_einsum],
    "merge_heads": [merge_by_cat, merge_by_permute, merge_by_flatten, merge_by_loop],
    "multi_head_attention": [
        multi_head_by_loop,
        multi_head_by_einsum,
        multi_head_of_torch,
        multi_head_by_the_fused_kernel,
        multi_head_in_float64,
    ],
}

EQUIVALENT = {
    "split_heads": {
        "line 4: x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2) → "
        "x.reshape(batch, length, n_heads, d_model // n_heads).transpose(2, 1)": SYMMETRIC,
    },
    "merge_heads": {
        "line 4: n_heads * d_head → d_head * n_heads": COMMUTATIVE,
        "line 4: x.transpose(1, 2) → x.transpose(2, 1)": SYMMETRIC,
    },
    "multi_head_attention": {
        "line 7: x.unflatten(-1, (n_heads, -1)).transpose(1, 2) → "
        "x.unflatten(-1, (n_heads, -1)).transpose(2, 1)": SYMMETRIC,
        "line 8: k.transpose(-2, -1) → k.transpose(-1, -2)": SYMMETRIC,
        "line 8: -2 → 2": "axis 2 of four is axis -2",
        "line 9: (weights @ v).transpose(1, 2) → (weights @ v).transpose(2, 1)": SYMMETRIC,
        "line 9: -2 → 2": "axis 2 of four is axis -2",
    },
}
