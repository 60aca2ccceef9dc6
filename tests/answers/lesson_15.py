"""Right answers to the exercises of lesson 15, and the mutants of their references that compute the same."""

from collections import deque
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import DEFAULT_DEVICE, commuted


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


RIGHT_ANSWERS = {
    "sliding_window_mask": [
        *(window_by_distance, window_by_triangles, window_by_loop, window_by_diagonals, window_by_numpy),
        window_by_lists,
    ],
    "bytes_per_token": [bytes_by_cases, bytes_by_shapes, bytes_by_fractions, bytes_by_numpy],
    "mend_rolling_cache": [
        *(rolling_in_the_order_of_the_text, rolling_by_roll, rolling_by_distance, rolling_by_queue),
    ],
}

EQUIVALENT = {
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
