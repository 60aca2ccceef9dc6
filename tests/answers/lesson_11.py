"""Right answers to the exercises of lesson 11, and the mutants of their references that compute the same."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import ATTENTION, COMMUTATIVE, ONE_TYPE, commuted


def rms_of_torch(x, weight, eps):
    return F.rms_norm(x, weight.shape, weight, eps)


def rms_by_length(x, weight, eps):
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return weight * x / (length**2 / x.size(-1) + eps) ** 0.5


def rms_by_loop(x, weight, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mean_square = sum(value * value for value in row) / len(row)
        rows.append(torch.stack([value / (mean_square + eps) ** 0.5 * w for value, w in zip(row, weight, strict=True)]))
    return torch.stack(rows).reshape(x.shape)


def rms_by_einsum(x, weight, eps):
    squares = torch.einsum("...d,...d->...", x, x) / x.shape[-1]
    return torch.einsum("...d,...,d->...d", x, torch.rsqrt(squares + eps), weight)


def rms_in_float64(x, weight, eps):
    wide = x.double()
    return (wide * wide.pow(2).mean(-1, keepdim=True).add(eps).rsqrt() * weight.double()).to(x.dtype)


def swiglu_by_sigmoid(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate * torch.sigmoid(gate) * (x @ w_up)) @ w_down


def swiglu_by_linear(x, w_gate, w_up, w_down):
    return F.linear(F.linear(x, w_up.T) * F.silu(F.linear(x, w_gate.T)), w_down.T)


def swiglu_in_one_product(x, w_gate, w_up, w_down):
    gate, up = (x @ torch.cat([w_gate, w_up], 1)).chunk(2, -1)
    return (up * gate / (1 + torch.exp(-gate))) @ w_down


def swiglu_by_einsum(x, w_gate, w_up, w_down):
    gate, up = (torch.einsum("...d,df->...f", x, w) for w in (w_gate, w_up))
    return torch.einsum("...f,...f,fd->...d", F.silu(gate), up, w_down)


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
    "rms_norm": [rms_of_torch, rms_by_length, rms_by_loop, rms_by_einsum, rms_in_float64],
    "swiglu": [swiglu_by_sigmoid, swiglu_by_linear, swiglu_in_one_product, swiglu_by_einsum],
    "grouped_query_attention": [
        *(groups_by_copies, groups_by_loop, groups_by_einsum, groups_side_by_side, groups_by_index),
    ],
    "kv_cache_bytes": [bytes_by_product, bytes_by_counting_shapes, bytes_token_by_token, bytes_by_numpy],
    "mend_rotary_cache": [cache_by_parts, cache_turned_together, cache_with_space],
}

SEEN_BY_A_GUARD = "the number of heads is there for an error text alone, and no case raises it"
ROOT = "torch.rsqrt(mean_square + eps)"

EQUIVALENT = {
    "rms_norm": {
        **commuted("rms_norm", f"(wide * {ROOT}).to(x.dtype) * weight", f"wide * {ROOT}", "mean_square + eps"),
        "rms_norm: (torch.float16, torch.bfloat16) → (torch.bfloat16, torch.float16)": "a set of two has no order",
        **dict.fromkeys(
            (
                *("rms_norm: x.float() → x", f"rms_norm: (wide * {ROOT}).to(x.dtype) → wide * {ROOT}"),
                *("rms_norm: x → eps (3)", *(f"rms_norm: x → weight ({i})" for i in (2, 3, 4))),
            ),
            ONE_TYPE,
        ),
    },
    "swiglu": {"swiglu: F.silu(x @ w_gate) * (x @ w_up) → x @ w_up * F.silu(x @ w_gate)": COMMUTATIVE},
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
