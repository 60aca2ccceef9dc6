"""Wrong answers to the exercises of lesson 15, written by whoever wrote the exercises: not collected blindly."""

import math

import torch
from torch.nn import functional as F


def window_triu_of_window(length, window):
    return torch.ones(length, length, dtype=torch.bool).tril().triu(-window)


def window_tril_for_triu(length, window):
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return causal & torch.ones(length, length, dtype=torch.bool).tril(-window)


def window_loop_from_zero(length, window):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for t in range(length):
        mask[t, t - window + 1 : t + 1] = True
    return mask


def window_rows_and_columns(length, window):
    t, s = torch.arange(length)[None, :], torch.arange(length)[:, None]
    return (s <= t) & (s > t - window)


def norm_of_the_last_two(query, key, weight_q, weight_k, eps):
    q = query / (query.pow(2).mean((-2, -1), keepdim=True) + eps).sqrt()
    k = key / (key.pow(2).mean((-2, -1), keepdim=True) + eps).sqrt()
    return q * weight_q, k * weight_k


def norm_by_layer_norm(query, key, weight_q, weight_k, eps):
    d = (query.size(-1),)
    return F.layer_norm(query, d, weight_q, eps=eps), F.layer_norm(key, d, weight_k, eps=eps)


def norm_to_length_one(query, key, weight_q, weight_k, eps):
    return F.normalize(query, dim=-1) * weight_q, F.normalize(key, dim=-1) * weight_k


def norm_of_the_query_for_both(query, key, weight_q, weight_k, eps):
    def norm(x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

    return norm(query, weight_q), norm(query, weight_k)


def latent_scale_of_the_query(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    q = torch.cat([query_nope @ w_uk.transpose(-1, -2), query_rope], -1)
    k = torch.cat([latent, key_rope], -1).unsqueeze(1)
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), dim=-1)
    return weights @ latent.unsqueeze(1) @ w_uv


def latent_scaled_before_adding(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** -0.5
    scores = torch.einsum("bhtn,hln,bsl->bhts", query_nope, w_uk, latent) * scale
    scores = scores + torch.einsum("bhtr,bsr->bhts", query_rope, key_rope)
    return torch.einsum("bhts,bsl,hlv->bhtv", scores.softmax(-1), latent, w_uv)


def latent_softmax_apart(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** -0.5
    one = (query_nope @ w_uk.mT @ latent[:, None].mT * scale).softmax(-1)
    other = (query_rope @ key_rope[:, None].mT * scale).softmax(-1)
    return (one + other) @ latent[:, None] @ w_uv


def latent_sum_of_heads(query_nope, query_rope, latent, key_rope, w_uk, w_uv):
    scale = (query_nope.size(-1) + query_rope.size(-1)) ** -0.5
    absorbed = torch.einsum("bhtn,hln->bhtl", query_nope, w_uk)
    scores = torch.einsum("bhtl,bsl->bhts", absorbed, latent) + torch.einsum("bhtr,bsr->bts", query_rope, key_rope)
    return (scores * scale).softmax(-1) @ latent[:, None] @ w_uv


def delta_without_new_state(query, key, value, beta, decay):
    state = torch.zeros(key.size(0), key.size(2), value.size(2), dtype=key.dtype)
    out = []
    for t in range(key.size(1)):
        faded = decay[:, t, None, None] * state
        error = value[:, t] - torch.einsum("bk,bkv->bv", key[:, t], state)
        state = faded + beta[:, t, None, None] * key[:, t, :, None] * error[:, None]
        out.append(torch.einsum("bk,bkv->bv", query[:, t], state))
    return torch.stack(out, 1)


def delta_key_asks(query, key, value, beta, decay):
    state = torch.zeros(key.size(0), key.size(2), value.size(2), dtype=key.dtype)
    out = []
    for t in range(key.size(1)):
        state = decay[:, t, None, None] * state
        error = value[:, t] - torch.einsum("bk,bkv->bv", key[:, t], state)
        state = state + beta[:, t, None, None] * key[:, t, :, None] * error[:, None]
        out.append(torch.einsum("bk,bkv->bv", key[:, t], state))
    return torch.stack(out, 1)


def delta_writes_the_query(query, key, value, beta, decay):
    state = torch.zeros(key.size(0), key.size(2), value.size(2), dtype=key.dtype)
    out = []
    for t in range(key.size(1)):
        state = decay[:, t, None, None] * state
        error = value[:, t] - torch.einsum("bk,bkv->bv", key[:, t], state)
        state = state + beta[:, t, None, None] * query[:, t, :, None] * error[:, None]
        out.append(torch.einsum("bk,bkv->bv", query[:, t], state))
    return torch.stack(out, 1)


def delta_decays_the_write(query, key, value, beta, decay):
    state = torch.zeros(key.size(0), key.size(2), value.size(2), dtype=key.dtype)
    out = []
    for t in range(key.size(1)):
        error = value[:, t, None] - key[:, t, None] @ state
        state = decay[:, t, None, None] * (state + beta[:, t, None, None] * key[:, t, :, None] @ error)
        out.append(query[:, t, None] @ state)
    return torch.cat(out, 1)


def delta_stacked_in_front(query, key, value, beta, decay):
    state = torch.zeros(key.size(0), key.size(2), value.size(2), dtype=key.dtype)
    out = []
    for t in range(key.size(1)):
        state = decay[:, t, None, None] * state
        error = value[:, t, None] - key[:, t, None] @ state
        state = state + beta[:, t, None, None] * key[:, t, :, None] @ error
        out.append(query[:, t, None] @ state)
    return torch.stack(out)


def rolling_modulo_of_the_next(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    slots = torch.arange(window)
    slot = position % window
    cache = torch.where((slots == slot)[:, None], torch.stack([key, value]), cache)
    positions = torch.where(slots <= slot, position - slot + slots, position - slot + slots + window)
    scores = rotate(query, torch.tensor([position])) @ rotate(cache[0], positions).mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(slots > position, float("-inf"))
    return scores.softmax(-1) @ cache[1], cache


def rolling_query_by_slot(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    slots = torch.arange(window)
    slot = position % window
    cache = torch.where((slots == slot)[:, None], torch.stack([key, value]), cache)
    scores = rotate(query, torch.tensor([slot])) @ rotate(cache[0], slots).mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(slots > position, float("-inf"))
    return scores.softmax(-1) @ cache[1], cache


def rolling_values_turned(query, key, value, cache, position, rotate):
    back = (position - torch.arange(cache.size(-2))) % cache.size(-2)
    cache = torch.where((back == 0)[:, None], torch.stack([key, value]), cache)
    keys, values = rotate(cache, position - back)
    scores = rotate(query, torch.tensor([position])) @ keys.mT / query.size(-1) ** 0.5
    return scores.masked_fill(back > position, float("-inf")).softmax(-1) @ values, cache


def rolling_written_into(query, key, value, cache, position, rotate):
    back = (position - torch.arange(cache.size(-2))) % cache.size(-2)
    cache[..., position % cache.size(-2), :] = torch.stack([key, value])[..., 0, :]
    scores = rotate(query, torch.tensor([position])) @ rotate(cache[0], position - back).mT / query.size(-1) ** 0.5
    return scores.masked_fill(back > position, float("-inf")).softmax(-1) @ cache[1], cache


def bytes_window_by_minimum(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    if kind == "mha":
        return 4 * n_layers * n_heads * d_head
    if kind in ("gqa", "window"):
        held = min(length, window) if kind == "window" else length
        return 4 * n_layers * n_kv_heads * d_head * held
    return 2 * n_layers * (d_latent + d_rope) if kind == "mla" else 2 * n_layers * n_heads * d_head**2


def bytes_state_of_groups(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    heads = n_heads if kind == "mha" else n_kv_heads
    numbers = {"mla": d_latent + d_rope, "state": heads * d_head**2 / length}.get(kind, 2 * heads * d_head)
    return 2 * n_layers * numbers * (min(length, window) / length if kind == "window" else 1)


def bytes_rounded_down(kind, n_layers, n_heads, n_kv_heads, d_head, d_latent, d_rope, window, length):
    heads = n_heads if kind == "mha" else n_kv_heads
    numbers = {"mla": length * (d_latent + d_rope), "state": n_heads * d_head**2}
    held = min(length, window) if kind == "window" else length
    return 2 * n_layers * numbers.get(kind, held * 2 * heads * d_head) // length


COLLECTED = {
    "sliding_window_mask": [
        ("one position too many", window_triu_of_window),
        ("only what lies outside the window", window_tril_for_triu),
        ("a slice with a negative start", window_loop_from_zero),
        ("rows and columns exchanged", window_rows_and_columns),
    ],
    "qk_norm": [
        ("over positions and features", norm_of_the_last_two),
        ("LayerNorm", norm_by_layer_norm),
        ("length 1", norm_to_length_one),
        ("the key is never read", norm_of_the_query_for_both),
    ],
    "latent_attention": [
        ("scaled by the absorbed width", latent_scale_of_the_query),
        ("one part is scaled", latent_scaled_before_adding),
        ("two softmaxes", latent_softmax_apart),
        ("turned features summed over heads", latent_sum_of_heads),
    ],
    "delta_rule": [
        ("the error of the state before it faded", delta_without_new_state),
        ("the key asks", delta_key_asks),
        ("the query is written", delta_writes_the_query),
        ("what is written fades", delta_decays_the_write),
        ("stacked along a new axis", delta_stacked_in_front),
    ],
    "mend_rolling_cache": [
        ("the older half is placed after the query", rolling_modulo_of_the_next),
        ("all by slots", rolling_query_by_slot),
        ("values are turned", rolling_values_turned),
        ("written into the input", rolling_written_into),
    ],
    "bytes_per_token": [
        ("not divided where it stops growing", bytes_window_by_minimum),
        ("a state for each group", bytes_state_of_groups),
        ("rounded down", bytes_rounded_down),
    ],
}
