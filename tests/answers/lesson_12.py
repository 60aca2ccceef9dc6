"""Right answers to the exercises of lesson 12, and the mutants of their references that compute the same."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import FROM_THE_END, SYMMETRIC, commuted, widened


def pool_by_loop(hidden, mask):
    pooled = [
        text[kept].mean(0) if kept.any() else torch.zeros_like(text[0]) for text, kept in zip(hidden, mask, strict=True)
    ]
    return torch.stack(pooled)


def pool_by_einsum(hidden, mask):
    counts = mask.sum(1, keepdim=True)
    return torch.einsum("btd,bt->bd", hidden, mask.to(hidden.dtype)) / counts.masked_fill(counts == 0, 1)


def pool_by_matmul(hidden, mask):
    kept = mask.to(hidden.dtype)
    shares = kept / kept.sum(1, keepdim=True).clamp(min=1)
    return (shares.unsqueeze(1) @ hidden).squeeze(1)


def pool_by_filling(hidden, mask):
    total = hidden.masked_fill(~mask.unsqueeze(-1), 0).sum(dim=1)
    return total / torch.clamp(mask.sum(dim=1), min=1e-9)[:, None]


def pool_by_nanmean(hidden, mask):
    return hidden.masked_fill(~mask[..., None], float("nan")).nanmean(1).nan_to_num(0.0)


def split_by_chunks(weight, bias, n_parts):
    parts = [part.T for part in weight.chunk(n_parts, dim=1)]
    return torch.stack(parts), torch.stack(bias.chunk(n_parts))


def split_by_slices(weight, bias, n_parts):
    width = weight.shape[1] // n_parts
    blocks = [slice(i * width, (i + 1) * width) for i in range(n_parts)]
    weights = torch.stack([weight[:, block].t().contiguous() for block in blocks])
    return weights, torch.stack([bias[block] for block in blocks])


def split_by_reshape(weight, bias, n_parts):
    d_in, columns = weight.shape
    return weight.reshape(d_in, n_parts, columns // n_parts).permute(1, 2, 0), bias.reshape(n_parts, -1)


def split_by_loop(weight, bias, n_parts):
    d_in, columns = weight.shape
    d_out = columns // n_parts
    weights, biases = weight.new_zeros(n_parts, d_out, d_in), bias.new_zeros(n_parts, d_out)
    for column in range(columns):
        weights[column // d_out, column % d_out] = weight[:, column]
        biases[column // d_out, column % d_out] = bias[column]
    return weights, biases


def loading_by_steps(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = F.embedding(tokens, word) + types[0]
    d_model = x.size(1)
    d_head = d_model // n_heads
    order = torch.arange(d_head).reshape(2, -1).T.flatten()  # 0, d_head / 2, 1, d_head / 2 + 1, …
    heads = []
    for i in range(n_heads):
        query, key, value = (
            x @ w_qkv[:, part * d_model + i * d_head : part * d_model + (i + 1) * d_head] for part in range(3)
        )
        scores = rotate(query[:, order]) @ rotate(key[:, order]).T / math.sqrt(d_head)
        heads.append(torch.softmax(scores, dim=-1) @ value)
    return F.layer_norm(x + F.linear(torch.cat(heads, -1), w_out), (d_model,), eps=eps)


def loading_with_chunks(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens] + types[:1]
    query, key, value = (
        part.reshape(len(tokens), n_heads, -1).transpose(0, 1) for part in (x @ w_qkv).chunk(3, dim=-1)
    )
    half = query.size(-1) // 2

    def turned(part):
        pairs = torch.stack([part[..., :half], part[..., half:]], dim=-1)
        return rotate(pairs.flatten(-2))

    attended = F.scaled_dot_product_attention(turned(query)[None], turned(key)[None], value[None])[0]
    x = x + torch.einsum("htd,ohd->to", attended, w_out.reshape(len(w_out), n_heads, -1))
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + eps)


def loading_of_reordered_weights(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    """The columns of W_Q and W_K change places once, as a loader does it."""
    w_q, w_k, w_v = w_qkv.split(len(w_qkv), dim=1)
    w_q, w_k = (w.unflatten(1, (n_heads, 2, -1)).transpose(2, 3).flatten(1) for w in (w_q, w_k))
    x = word[tokens] + types[0]
    query, key, value = ((x @ w).unflatten(1, (n_heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))
    scores = torch.einsum("hqd,hkd->hqk", rotate(query), rotate(key)) * query.size(-1) ** -0.5
    heads = scores.softmax(-1) @ value
    return F.layer_norm(x + heads.transpose(0, 1).reshape(len(x), -1) @ w_out.T, [x.size(1)], None, None, eps)


def right_by_allclose(ours, theirs):
    torch.manual_seed(0)
    for _ in range(20):
        tokens, types = torch.randint(1, 10, (6, 40)), torch.randint(0, 2, (6, 40))
        for row, length in enumerate([40, *torch.randint(1, 41, (5,)).tolist()]):
            tokens[row, length:] = 0
        real = tokens != 0
        if not torch.allclose(ours(tokens, types)[real], theirs(tokens, types)[real], rtol=0, atol=1e-4):
            return False
    return True


def right_by_numpy(ours, theirs):
    draw = np.random.default_rng(0)
    tokens, types = draw.integers(1, 10, (200, 40)), draw.integers(0, 2, (200, 40))
    tokens[np.arange(40) >= draw.integers(1, 41, (200, 1))] = 0  # about five of them stay whole
    one, other = (model(torch.from_numpy(tokens), torch.from_numpy(types)).numpy() for model in (ours, theirs))
    return np.abs(one - other)[tokens > 0].max() <= 1e-4


def right_by_every_length(ours, theirs):
    """A staircase: a text of each length, all tokens in turn."""
    at = torch.arange(40)
    for shift in range(9):
        tokens = ((at + shift) * 7 % 9 + 1).repeat(40, 1)
        types = (at + at[:, None] + shift) % 3 % 2
        tokens = tokens.masked_fill(at > at[:, None], 0).flip(0)
        for first in (tokens, tokens.flip(0)):
            gap = (ours(first, types) - theirs(first, types)).abs().amax(-1)
            if (gap * (first != 0)).max() > 1e-4:
                return False
    return True


RIGHT_ANSWERS = {
    "mean_pool": [pool_by_loop, pool_by_einsum, pool_by_matmul, pool_by_filling, pool_by_nanmean],
    "split_fused_projection": [split_by_chunks, split_by_slices, split_by_reshape, split_by_loop],
    "mend_loading": [loading_by_steps, loading_with_chunks, loading_of_reordered_weights],
    "loaded_right": [right_by_allclose, right_by_numpy, right_by_every_length],
}

EQUIVALENT = {
    "loaded_right": {
        f"loaded_right: {change}": reason
        for reason, changes in {
            "any seed serves": (
                *("torch.Generator().manual_seed(0) → torch.Generator()", "0 → 1", "0 → -1"),
                "torch.randint(1, 10, (60, 40), generator=generator) → torch.randint(1, 10, (60, 40))",
                "torch.randint(2, (60, 40), generator=generator) → torch.randint(2, (60, 40))",
                "torch.randint(1, 41, (60, 1), generator=generator) → torch.randint(1, 41, (60, 1))",
            ),
            "other lengths serve as well, if one text has no padding": (
                *("1 → 2 (2)", "41 → 42", "41 → 40", "40 → 41 (3)", "0 → 1 (2)", "0 → -1 (2)"),
            ),
            "among sixty texts there is another one without padding": ("40 → 39 (3)",),
            "a difference is as large in the other direction": (
                "ours(tokens, types) - theirs(tokens, types) → theirs(tokens, types) - ours(tokens, types)",
            ),
            "a tensor with one truth is as good as that": (
                "bool(difference[tokens != 0].max() <= 0.0001) → difference[tokens != 0].max() <= 0.0001",
            ),
            "no token is below 0": ("tokens != 0 → tokens > 0",),
        }.items()
        for change in changes
    },
    "mean_pool": commuted("mean_pool", "hidden * kept")
    | widened(
        *("mean_pool", "hidden", "means.to(hidden.dtype) → means"),
        "(hidden * kept).sum(1, dtype=at_least_float32) → (hidden * kept).sum(1)",
    ),
    "split_fused_projection": {"split_fused_projection: 0 → -1 (2)": FROM_THE_END},
    "mend_loading": commuted("mend_loading", "word[tokens] + types[0]", "x + heads @ w_out.T")
    | {
        **dict.fromkeys((f"mend_loading: {x}" for x in ("-1 → 1", "-2 → 2", "-1 → 1 (7)")), FROM_THE_END),
        "mend_loading: (weights @ value).transpose(0, 1) → (weights @ value).transpose(1, 0)": SYMMETRIC,
    },
}
