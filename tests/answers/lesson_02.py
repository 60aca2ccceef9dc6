"""Right answers to the exercises of lesson 02, and the mutants of their references that compute the same."""

import math

import torch
import torch.nn.functional as F

from tests.answers.lesson_01 import attention_by_einsum
from tests.answers.reasons import FROM_THE_END, OF_HEADS, SYMMETRIC


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


def back_by_outer_products(positions):
    length, d_model = positions.shape
    w_q = torch.zeros(d_model, d_model)
    for t in range(1, length):
        w_q += torch.outer(positions[t], positions[t - 1])
    return 50 * w_q, torch.eye(d_model)


def back_by_the_key(positions):
    length, d_model = positions.shape
    shift = torch.diag(torch.ones(length - 1), 1)
    return 30 * torch.eye(d_model), positions.T @ shift @ positions


def back_by_einsum(positions):
    w = torch.einsum("ti,tj->ij", positions[1:], positions[:-1])
    return 40 * w, 2 * torch.eye(positions.shape[1])


def back_turned(positions):
    turn = torch.linalg.qr(torch.randn(positions.shape[1], positions.shape[1])).Q
    return 60 * positions.T @ positions.roll(1, 0) @ turn, turn


def ways_by_outer_products(positions):
    back = sum(torch.outer(positions[t], positions[t - 1]) for t in range(1, len(positions)))
    return [(50 * back, torch.eye(len(back))), (50 * back.T, torch.eye(len(back)))]


def ways_by_einsum(positions):
    back = torch.einsum("ti,tj->ij", positions[1:], positions[:-1])
    eye = torch.eye(positions.size(1))
    return [[40 * back, eye], [40 * back.mT, eye]]


def ways_by_roll(positions):
    eye = torch.eye(positions.shape[1])
    return [(60 * positions.T @ positions.roll(step, 0), eye) for step in (1, -1)]


def place_by_division(token, feature, length, d_model, n_heads):
    d_head = d_model // n_heads
    return feature // d_head, token, feature % d_head


def place_by_counting(token, feature, length, d_model, n_heads):
    d_head, head = d_model // n_heads, 0
    while feature >= d_head:
        feature, head = feature - d_head, head + 1
    return [head, token, feature]


def place_by_looking(token, feature, length, d_model, n_heads):
    x = torch.zeros(1, length, d_model)
    x[0, token, feature] = 1
    heads = x.reshape(1, length, n_heads, -1).transpose(1, 2)
    _, head, row, column = heads.nonzero()[0].tolist()
    return head, row, column


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
    "look_back_one": [back_by_outer_products, back_by_the_key, back_by_einsum, back_turned],
    "look_both_ways": [ways_by_outer_products, ways_by_einsum, ways_by_roll],
    "place_in_heads": [place_by_division, place_by_counting, place_by_looking],
}

SPLIT = {"split_heads: x.transpose(1, 2) → x.transpose(2, 1)": SYMMETRIC}
MERGE = {"merge_heads: x.transpose(1, 2) → x.transpose(2, 1)": SYMMETRIC, "merge_heads: -2 → 2": FROM_THE_END}

LONG = "the length of the queries is free, if they are long enough"


def long_enough(name: str) -> dict[str, str]:
    changed = (
        *("10 * d_model ** 0.5 * positions.T → positions.T * (10 * d_model ** 0.5)", "10 → 11", "10 → 9"),
        *("10 * d_model ** 0.5 → d_model ** 0.5 * 10", "d_model ** 0.5 → d_model * 0.5", "0.5 → 1.5"),
    )
    return {f"{name}: {change}": LONG for change in changed}


EQUIVALENT = {
    "split_heads": SPLIT,
    "merge_heads": MERGE,
    "multi_head_attention": SPLIT | MERGE | OF_HEADS,
    "look_back_one": long_enough("look_back_one"),
    "look_both_ways": long_enough("look_both_ways"),
}
