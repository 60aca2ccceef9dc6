"""Right answers to the exercises of lesson 11, and the mutants of their references that compute the same."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import ATTENTION, commuted


def rms_of_torch(x, weight, eps):
    heads = x.reshape(*x.shape[:-1], -1, len(weight))
    return F.rms_norm(heads, weight.shape, weight, eps).reshape(x.shape)


def rms_head_by_head(x, weight, eps):
    heads = []
    for head in x.split(weight.numel(), dim=-1):
        length = torch.linalg.vector_norm(head, dim=-1, keepdim=True)
        heads.append(weight * head / (length**2 / head.size(-1) + eps) ** 0.5)
    return torch.cat(heads, dim=-1)


def rms_by_loop(x, weight, eps):
    rows = []
    for row in x.reshape(-1, len(weight)):
        mean_square = sum(value * value for value in row) / len(row)
        rows.append(torch.stack([value / (mean_square + eps) ** 0.5 * w for value, w in zip(row, weight, strict=True)]))
    return torch.stack(rows).reshape(x.shape)


def rms_by_einsum(x, weight, eps):
    heads = torch.stack(x.chunk(x.shape[-1] // weight.shape[0], -1), -2)
    squares = torch.einsum("...hd,...hd->...h", heads, heads) / weight.shape[0]
    return torch.einsum("...hd,...h,d->...hd", heads, torch.rsqrt(squares + eps), weight).flatten(-2)


def rms_by_a_matrix(x, weight, eps):
    """A matrix that sums the squares of each head, and spreads the sums over its features again."""
    head = torch.arange(x.size(-1)) // weight.size(0)
    same = (head[:, None] == head).to(x.dtype)
    return x / (x.square() @ same / weight.size(0) + eps).sqrt() * weight.repeat(x.size(-1) // weight.size(0))


def swiglu_by_silu(x, w_gate, w_up, w_down):
    gate = torch.clamp(x @ w_gate, max=7.0)
    return (F.silu(1.702 * gate) / 1.702 * (torch.clamp(x @ w_up, -7, 7) + 1)) @ w_down


def swiglu_by_linear(x, w_gate, w_up, w_down):
    gate = torch.minimum(F.linear(x, w_gate.T), torch.tensor(7.0, dtype=x.dtype))
    up = F.hardtanh(F.linear(x, w_up.T), -7, 7)
    return F.linear((1 + up) * gate * torch.sigmoid(gate * 1.702), w_down.T)


def swiglu_in_one_product(x, w_gate, w_up, w_down):
    gate, up = (x @ torch.cat([w_gate, w_up], 1)).clamp(max=7).chunk(2, -1)
    return ((up.clamp(min=-7) + 1) * gate / (1 + torch.exp(-1.702 * gate))) @ w_down


def swiglu_by_where(x, w_gate, w_up, w_down):
    gate, up = (torch.einsum("...d,df->...f", x, w) for w in (w_gate, w_up))
    gate = torch.where(gate > 7, 7, gate)
    up = torch.where(up.abs() > 7, 7 * up.sign(), up)
    passed = gate * torch.sigmoid(1.702 * gate)
    return torch.einsum("...f,fd->...d", passed + passed * up, w_down)


def groups_by_copies(query, key, value):
    times = query.size(1) // key.size(1)
    keys, values = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    return F.scaled_dot_product_attention(query, keys, values)


def groups_by_loop(query, key, value):
    times, heads = query.size(1) // key.size(1), []
    for i in range(query.size(1)):
        scores = query[:, i] @ key[:, i // times].transpose(1, 2) / math.sqrt(query.size(-1))
        heads.append(torch.softmax(scores, -1) @ value[:, i // times])
    return torch.stack(heads, 1)


def groups_by_einsum(query, key, value):
    batch, heads, length, d_head = query.shape
    queries = query.reshape(batch, key.size(1), -1, length, d_head)
    weights = (torch.einsum("bgntd,bgsd->bgnts", queries, key) * d_head**-0.5).softmax(-1)
    return torch.einsum("bgnts,bgsd->bgntd", weights, value).reshape(batch, heads, length, d_head)


def groups_side_by_side(query, key, value):
    """The heads of a group ask one behind the other: their queries are T · h / g rows of one matrix."""
    rows = query.reshape(query.size(0), key.size(1), -1, query.size(-1))  # (B, g, h / g · T, d_head)
    return ((rows @ key.mT / rows.size(-1) ** 0.5).softmax(-1) @ value).reshape(query.shape)


def groups_by_index(query, key, value):
    group = torch.arange(query.size(1)) // (query.size(1) // key.size(1))
    return (query @ key[:, group].mT / query.size(-1) ** 0.5).softmax(-1) @ value[:, group]


def bytes_by_product(*sizes):
    return 2 * math.prod(sizes)


def bytes_by_counting_shapes(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    one_layer = torch.empty(2, batch, n_kv_heads, length, d_head, device="meta")
    return n_layers * one_layer.numel() * bytes_per_number


def bytes_token_by_token(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    vector = d_head * bytes_per_number
    of_a_token = sum(vector for _ in range(n_layers) for _ in ("key", "value") for _ in range(n_kv_heads))
    return batch * (length * of_a_token)


def bytes_by_numpy(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return np.prod([2, n_layers, n_kv_heads, d_head, length, batch, bytes_per_number], dtype=np.int64)


def cache_by_parts(query, key, value, cache, rotate):
    start = cache.shape[3]
    keys = torch.cat([cache[0], rotate(key, start)], 2)
    values = torch.cat([cache[1], value], 2)
    return F.scaled_dot_product_attention(rotate(query, start), keys, values), torch.stack([keys, values])


def cache_turned_together(query, key, value, cache, rotate):
    query, key = rotate(torch.stack([query, key]), cache.size(-2))
    cache = torch.cat([cache, torch.stack([key, value])], dim=3)
    scores = torch.einsum("bhtd,bhsd->bhts", query, cache[0]) / query.shape[-1] ** 0.5
    return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), cache[1]), cache


def cache_with_space(query, key, value, cache, rotate):
    length = cache.size(-2)
    grown = torch.nn.functional.pad(cache, (0, 0, 0, 1))
    last = torch.zeros(length + 1, 1, dtype=cache.dtype)
    last[length] = 1
    grown = grown + last * torch.stack([rotate(key, length), value])
    weights = torch.softmax(rotate(query, length) @ grown[0].transpose(-1, -2) / key.size(-1) ** 0.5, -1)
    return weights @ grown[1], grown


RIGHT_ANSWERS = {
    "rms_norm": [rms_of_torch, rms_head_by_head, rms_by_loop, rms_by_einsum, rms_by_a_matrix],
    "swiglu": [swiglu_by_silu, swiglu_by_linear, swiglu_in_one_product, swiglu_by_where],
    "grouped_query_attention": [
        *(groups_by_copies, groups_by_loop, groups_by_einsum, groups_side_by_side, groups_by_index),
    ],
    "kv_cache_bytes": [bytes_by_product, bytes_by_counting_shapes, bytes_token_by_token, bytes_by_numpy],
    "mend_rotary_cache": [cache_by_parts, cache_turned_together, cache_with_space],
}

SEEN_BY_A_GUARD = "the number of heads is there for an error text alone, and no case raises it"

EQUIVALENT = {
    "rms_norm": commuted(
        "rms_norm",
        *("heads * torch.rsqrt(mean_square + eps) * weight", "heads * torch.rsqrt(mean_square + eps)"),
        "mean_square + eps",
    ),
    "swiglu": commuted(
        "swiglu",
        *("gate * torch.sigmoid(1.702 * gate) * (up + 1)", "gate * torch.sigmoid(1.702 * gate)"),
        *("1.702 * gate", "up + 1"),
    ),
    "grouped_query_attention": ATTENTION
    | {
        **dict.fromkeys(
            (
                *("grouped_query_attention: query.size(1) → 1", "grouped_query_attention: query.size(1) → query"),
                *("grouped_query_attention: 1 → 2", "grouped_query_attention: 1 → 0"),
                *("grouped_query_attention: query → key", "grouped_query_attention: query → value"),
            ),
            SEEN_BY_A_GUARD,
        ),
        "grouped_query_attention: key → value": "there are as many groups of keys as of values",
        "scaled_dot_product_attention: query → value (3)": "queries and values of a head have the same width",
    },
    "kv_cache_bytes": commuted(
        "kv_cache_bytes",
        *("2 * n_layers * n_kv_heads * d_head", "2 * n_layers * n_kv_heads", "2 * n_layers"),
        "numbers_of_a_token * length * batch * bytes_per_number",
        *("numbers_of_a_token * length * batch", "numbers_of_a_token * length"),
    ),
    "mend_rotary_cache": dict.fromkeys(
        (f"mend_rotary_cache: query → {other} (3)" for other in ("key", "value", "cache")),
        "all of them have heads of one width",
    ),
}
