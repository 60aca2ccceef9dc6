"""Right answers to the exercises of lesson 15, and the mutants of their references that compute the same."""

from collections import deque
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import DEFAULT_DEVICE, ONE_TYPE, commuted


def window_by_distance(length, window):
    t, s = torch.arange(length).unsqueeze(1), torch.arange(length).unsqueeze(0)
    return (s <= t) & (t - s < window)


def window_by_triangles(length, window):
    ones = torch.ones(length, length)
    return (ones.tril() - ones.tril(-window)).bool()


def window_by_loop(length, window):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for t in range(length):
        mask[t, max(0, t + 1 - window) : t + 1] = True
    return mask


def window_by_diagonals(length, window):
    diagonals = [torch.ones(length - back).diag(-back) for back in range(min(window, length))]
    return torch.stack(diagonals).sum(0) > 0


def window_by_numpy(length, window):
    return torch.from_numpy(np.tri(length, dtype=bool) & ~np.tri(length, k=-window, dtype=bool))


def window_by_lists(length, window):
    return torch.tensor([[t - window < s <= t for s in range(length)] for t in range(length)])


def bytes_by_cases(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    if kind == "mha":
        return 4 * n_layers * n_heads * d_head
    if kind == "gqa":
        return 4 * n_layers * n_kv_heads * d_head
    if kind == "mla":
        return 2 * n_layers * (d_latent + d_rope)
    if kind == "window":
        full = 4 * n_layers * n_kv_heads * d_head
        return full if length <= window else full * window / length
    return 2 * n_layers * n_heads * d_head**2 / length


def bytes_by_shapes(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    shapes = {
        "mha": [(2, n_heads, length, d_head)],
        "gqa": [(2, n_kv_heads, length, d_head)],
        "mla": [(length, d_latent), (length, d_rope)],
        "window": [(2, n_kv_heads, min(window, length), d_head)],
        "state": [(n_heads, d_head, d_head)],
    }[kind]
    tensors = [torch.empty(n_layers, *shape, dtype=torch.bfloat16, device="meta") for shape in shapes]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors) / length


def bytes_by_fractions(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    held = {"mha": length, "gqa": length, "mla": length, "window": min(length, window), "state": 1}[kind]
    groups = n_heads if kind == "mha" else n_kv_heads
    numbers = {"mla": d_latent + d_rope, "state": n_heads * d_head * d_head}.get(kind, 2 * groups * d_head)
    return float(Fraction(2 * n_layers * numbers * held, length))


def bytes_by_numpy(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    share = np.minimum(1.0, np.float64(window) / length) if kind == "window" else 1.0
    widths = np.array([n_heads * d_head, n_kv_heads * d_head, n_kv_heads * d_head, 0]) * 2.0
    widths[3] = n_heads * d_head**2 / length
    place = {"mha": 0, "gqa": 1, "window": 2, "state": 3}
    width = d_latent + d_rope if kind == "mla" else widths[place[kind]]
    return 2 * n_layers * share * width


def rolling_in_the_order_of_the_text(query, key, value, cache, position, rotate):
    """What can be seen, oldest first, gathered from its slots."""
    window = cache.size(-2)
    cache = cache.clone()
    cache[:, :, :, position % window] = torch.cat([key, value]).unflatten(0, (2, -1))[..., 0, :]
    seen = torch.arange(max(0, position + 1 - window), position + 1)
    keys, values = cache[..., seen % window, :]
    query, keys = rotate(query, seen[-1:]), rotate(keys, seen)
    return F.scaled_dot_product_attention(query, keys, values), cache


def rolling_by_roll(query, key, value, cache, position, rotate):
    """Turned so that the oldest comes first, moved along, and turned back."""
    window = cache.size(-2)
    ordered = cache.roll(-(position % window), -2)  # the slot of the new position first: the one that leaves
    ordered = torch.cat([ordered[..., 1:, :], torch.stack((key, value))], -2)
    places = torch.arange(position + 1 - window, position + 1)
    bias = torch.where(places < 0, -torch.inf, 0.0).to(query.dtype)
    scores = rotate(query, places[-1:]) @ rotate(ordered[0], places).transpose(-1, -2) * query.size(-1) ** -0.5
    return torch.softmax(scores + bias, -1) @ ordered[1], ordered.roll(position % window + 1, -2)


def rolling_by_distance(query, key, value, cache, position, rotate):
    """Only distances count: the query stands at 0, and the keys before it."""
    window = cache.shape[3]
    slot = position % window
    new = torch.stack([key, value])
    cache = torch.cat([cache[..., :slot, :], new, cache[..., slot + 1 :, :]], -2)
    back = torch.tensor([(position - i) % window for i in range(window)])
    weights = torch.einsum("bhtd,bhsd->bhts", rotate(query, torch.zeros(1)), rotate(cache[0], -back))
    weights = weights.div(query.shape[-1] ** 0.5).masked_fill(back > position, -1e9).softmax(-1)
    return torch.einsum("bhts,bhsd->bhtd", weights, cache[1]), cache


def rolling_by_queue(query, key, value, cache, position, rotate):
    """A queue of the window, filled from the slots; the cache is put together again at the end."""
    window = cache.size(-2)
    queue = deque(maxlen=window)
    for p in range(max(0, position - window), position):
        queue.append((p, cache[0, :, :, p % window], cache[1, :, :, p % window]))
    queue.append((position, key[:, :, 0], value[:, :, 0]))
    places = torch.tensor([p for p, _, _ in queue])
    keys, values = (torch.stack([one[i] for one in queue], 2) for i in (1, 2))
    scores = rotate(query, places[-1:]) @ rotate(keys, places).mT / query.size(-1) ** 0.5
    slot = torch.tensor([position % window])
    return scores.softmax(-1) @ values, cache.index_copy(3, slot, torch.stack([key, value]))


def norms_by_torch(query, key, weight_q, weight_k, eps):
    d_head = query.shape[-1]
    return F.rms_norm(query, (d_head,), weight_q, eps), F.rms_norm(key, (d_head,), weight_k, eps)


def norms_by_rsqrt(query, key, weight_q, weight_k, eps):
    out = []
    for x, weight in ((query, weight_q), (key, weight_k)):
        out.append(weight * x * torch.rsqrt(torch.mean(x**2, dim=3, keepdim=True) + eps))
    return tuple(out)


def norms_head_by_head(query, key, weight_q, weight_k, eps):
    def norm(x, weight):
        heads = [head / (head.pow(2).sum(-1, keepdim=True) / len(weight) + eps).sqrt() for head in x.unbind(1)]
        return torch.stack(heads, 1) * weight

    return [norm(query, weight_q), norm(key, weight_k)]


def norms_by_einsum(query, key, weight_q, weight_k, eps):
    def norm(x, weight):
        squares = torch.einsum("bhtd,bhtd->bht", x, x) / x.size(-1)
        return torch.einsum("bhtd,bht,d->bhtd", x, (squares + eps) ** -0.5, weight)

    return norm(query, weight_q), norm(key, weight_k)


def delta_by_einsum(query, key, value, beta, decay):
    state = torch.einsum("btk,btv->bkv", torch.zeros_like(key), value)
    outputs = []
    for t in range(key.size(1)):
        state = torch.einsum("b,bkv->bkv", decay[:, t], state)
        missing = value[:, t] - torch.einsum("bk,bkv->bv", key[:, t], state)
        state = state + torch.einsum("b,bk,bv->bkv", beta[:, t], key[:, t], missing)
        outputs.append(torch.einsum("bk,bkv->bv", query[:, t], state))
    return torch.stack(outputs, 1)


def delta_by_matrices(query, key, value, beta, decay):
    """S ← decay (1 - beta k kᵀ) S + beta k vᵀ, text by text."""
    texts = []
    for q, k, v, b, d in zip(query, key, value, beta, decay, strict=True):
        state, outputs = k.new_zeros(k.size(1), v.size(1)), []
        for t in range(len(q)):
            keep = d[t] * (torch.eye(k.size(1), dtype=k.dtype) - b[t] * torch.outer(k[t], k[t]))
            state = keep @ state + b[t] * torch.outer(k[t], v[t])
            outputs.append(q[t] @ state)
        texts.append(torch.stack(outputs))
    return torch.stack(texts)


def delta_transposed(query, key, value, beta, decay):
    """The state with values in rows, as (B, d_v, d_k)."""
    state = torch.zeros(value.size(0), value.size(2), key.size(2), dtype=value.dtype)
    outputs = []
    for q, k, v, b, d in zip(*(x.unbind(1) for x in (query, key, value, beta, decay)), strict=True):
        state = state * d.reshape(-1, 1, 1)
        v_old = (state @ k.unsqueeze(-1)).squeeze(-1)
        v_new = b.unsqueeze(-1) * v + (1 - b.unsqueeze(-1)) * v_old
        state = state + (v_new - v_old).unsqueeze(-1) * k.unsqueeze(-2)
        outputs.append((state @ q.unsqueeze(-1)).squeeze(-1))
    return torch.stack(outputs, dim=1)


def delta_by_solving(query, key, value, beta, decay):
    """All that is written at once: a triangular system, and no state."""
    length = query.size(1)
    far = decay.log().cumsum(1)
    fading = (far[:, :, None] - far[:, None]).exp().tril()  # (B, t, s): what is left at t of what s wrote
    before = (beta[..., None] * (key @ key.mT) * fading).tril(-1)
    system = torch.eye(length, dtype=key.dtype) + before
    written = torch.linalg.solve_triangular(system, beta[..., None] * value, upper=False)
    return (query @ key.mT * fading) @ written


def latent_by_einsum(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    absorbed = torch.einsum("bhtn,hln->bhtl", query_nope, w_uk)
    scores = torch.einsum("bhtl,bsl->bhts", absorbed, latent) + torch.einsum("bhtr,bsr->bhts", query_rope, key_rope)
    weights = torch.softmax(scores / (query_nope.shape[-1] + query_rope.shape[-1]) ** 0.5, dim=-1)
    return torch.einsum("bhtl,hlv->bhtv", torch.einsum("bhts,bsl->bhtl", weights, latent), w_uv)


def latent_by_heads(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = (query_nope.size(3) + query_rope.size(3)) ** -0.5
    heads = []
    for i in range(len(w_uk)):
        asked = torch.cat([query_nope[:, i] @ w_uk[i].T, query_rope[:, i]], -1)
        weights = (scale * asked @ torch.cat([latent, key_rope], -1).transpose(1, 2)).softmax(2)
        heads.append((weights @ latent) @ w_uv[i])
    return torch.stack(heads, 1)


def latent_by_torch(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    """One head of keys, which all heads of queries share."""
    queries = torch.cat([query_nope @ w_uk.transpose(1, 2), query_rope], -1)
    keys = torch.cat([latent, key_rope], -1)[:, None].expand(-1, queries.size(1), -1, -1)
    values = latent[:, None].expand(-1, queries.size(1), -1, -1)
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** -0.5
    return F.scaled_dot_product_attention(queries, keys, values, scale=scale) @ w_uv


def latent_in_rows(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    """The queries of all heads as rows of one matrix."""
    batch, heads, n, _ = query_nope.shape
    rows = (query_nope @ w_uk.mT).reshape(batch, heads * n, -1)
    scores = rows @ latent.mT + query_rope.reshape(batch, heads * n, -1) @ key_rope.mT
    e = torch.exp((scores - scores.amax(-1, keepdim=True)) / (query_nope.size(-1) + query_rope.size(-1)) ** 0.5)
    mixed = e @ latent / e.sum(-1, keepdim=True)
    return mixed.reshape(batch, heads, n, -1) @ w_uv


def latent_with_copies(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    """A copy of the cache for each head is still small."""
    cache = torch.cat([latent, key_rope], -1).unsqueeze(1).repeat(1, w_uk.size(0), 1, 1)
    queries = torch.cat([torch.matmul(query_nope, w_uk.permute(0, 2, 1)), query_rope], dim=-1)
    scores = torch.matmul(queries, cache.transpose(-1, -2)) / (query_nope.size(-1) + query_rope.size(-1)) ** 0.5
    return torch.matmul(torch.matmul(scores.softmax(-1), cache[..., : latent.size(-1)]), w_uv)


RIGHT_ANSWERS = {
    "qk_norm": [norms_by_torch, norms_by_rsqrt, norms_head_by_head, norms_by_einsum],
    "latent_attention": [latent_by_einsum, latent_by_heads, latent_by_torch, latent_in_rows, latent_with_copies],
    "delta_rule": [delta_by_einsum, delta_by_matrices, delta_transposed, delta_by_solving],
    "sliding_window_mask": [
        *(window_by_distance, window_by_triangles, window_by_loop, window_by_diagonals, window_by_numpy),
        window_by_lists,
    ],
    "bytes_per_token": [bytes_by_cases, bytes_by_shapes, bytes_by_fractions, bytes_by_numpy],
    "mend_rolling_cache": [
        *(rolling_in_the_order_of_the_text, rolling_by_roll, rolling_by_distance, rolling_by_queue),
    ],
}

NOTHING_TO_WRITE = "a case has at least one position"
OF_ONE_TEXT = "all have as many texts, of one length and one type"

ROOT = "torch.rsqrt(mean_square + eps)"

EQUIVALENT = {
    "qk_norm": {
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
    "latent_attention": commuted(
        "latent_weights",
        "absorbed.flatten(1, 2) @ latent.mT + query_rope.flatten(1, 2) @ key_rope.mT",
        "query_nope.size(-1) + query_rope.size(-1)",
    )
    | {
        "latent_weights: query_nope → w_uk (2)": "a w_uk is as wide as its queries",
        "latent_weights: query_rope → key_rope (2)": "queries and keys have as many features that turn",
        "latent_weights: masked_softmax(scores, mask) → scores": "the exercise has no mask",
        "latent_weights: masked_softmax(scores, mask) → masked_softmax(mask, scores)": "the exercise has no mask",
    },
    "delta_rule": commuted(
        "delta_steps",
        "decay[:, t, None, None] * state",
        "state + beta[:, t, None, None] * k.mT @ (v - k @ state)",
        "beta[:, t, None, None] * k.mT",
    )
    | {
        "delta_steps: beta[:, t, None, None] * k.mT @ (v - k @ state) → "
        "beta[:, t, None, None] * k.mT * (v - k @ state)": "a column times a row, of which each size 1 is stretched",
        "delta_rule: key → query": "queries and keys have the same width",
        **dict.fromkeys(
            (f"delta_rule: query → {x}{n}" for x in ("key", "value", "beta", "decay") for n in ("", " (2)")),
            OF_ONE_TEXT,
        ),
        **dict.fromkeys((f"delta_steps: query → {x}" for x in ("key", "value", "beta", "decay")), OF_ONE_TEXT),
        **dict.fromkeys(
            (f"delta_steps: state → {x} (5)" for x in ("query", "key", "value", "beta", "decay")), NOTHING_TO_WRITE
        ),
        **dict.fromkeys(
            (f"delta_steps: value → {x} (2)" for x in ("state", "query", "key", "beta", "decay")), NOTHING_TO_WRITE
        ),
    },
    "sliding_window_mask": {
        "causal_mask: torch.ones(length, length, dtype=torch.bool, device=device) → "
        "torch.ones(length, length, dtype=torch.bool, device=device)": "the height and the width change places",
        "causal_mask: torch.ones(length, length, dtype=torch.bool, device=device) → "
        "torch.ones(length, length, dtype=torch.bool)": DEFAULT_DEVICE,
    },
    "bytes_per_token": commuted(
        "bytes_per_token",
        *("length * 2 * n_heads * d_head", "length * 2 * n_heads", "length * 2"),
        *("length * 2 * n_kv_heads * d_head", "length * 2 * n_kv_heads", "length * 2"),
        *("length * (d_latent + d_rope)", "d_latent + d_rope", "min(length, window) * 2 * n_kv_heads * d_head"),
        *("min(length, window) * 2 * n_kv_heads", "min(length, window) * 2"),
        *("n_heads * d_head * d_head", "n_heads * d_head", "2 * n_layers * in_a_layer", "2 * n_layers"),
    )
    | {"bytes_per_token: min(length, window) → min(window, length)": "a minimum does not depend on the order"},
    "mend_rolling_cache": {
        "mend_rolling_cache: torch.tensor([position]) → [position]": "the cases' `rotate` takes a list as well",
        **dict.fromkeys(
            (f"mend_rolling_cache: query → {other} (2)" for other in ("key", "value", "cache")),
            "all of them have heads of one width",
        ),
    },
}
