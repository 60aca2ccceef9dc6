"""Right answers to the exercises of lesson 08, and the mutants of their references that compute the same."""

import heapq

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import OF_HEADS, SUM, commuted, widened


def greedy_by_while(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        token = int(torch.argmax(torch.softmax(next_logits(ids), dim=-1)))
        ids = [*ids, token]
        if token == eos_id:
            return ids
    return ids


def greedy_by_recursion(next_logits, bos_id, eos_id, max_length, ids=()):
    ids = ids or [bos_id]
    if len(ids) >= max_length or (len(ids) > 1 and ids[-1] == eos_id):
        return ids
    values = next_logits(ids).tolist()
    return greedy_by_recursion(next_logits, bos_id, eos_id, max_length, [*ids, values.index(max(values))])


def greedy_with_a_tensor(next_logits, bos_id, eos_id, max_length):
    ids = torch.tensor([bos_id])
    for _ in range(1, max_length):
        _, best = next_logits(ids).max(dim=-1)
        ids = torch.cat([ids, best[None]])
        if best == eos_id:
            break
    return ids.tolist()


def greedy_by_topk(next_logits, bos_id, eos_id, max_length):
    ids = [bos_id]
    while len(ids) < max_length:
        ids.append(next_logits(ids).topk(1).indices.item())
        if ids[-1] == eos_id:
            break
    return ids


def top_k_by_scatter(logits, k):
    values, places = torch.topk(logits, k, dim=-1)
    return torch.full_like(logits, float("-inf")).scatter(-1, places, values)


def top_k_by_sort(logits, k):
    rank = logits.argsort(dim=-1, descending=True).argsort(dim=-1)
    return torch.where(rank < k, logits, -torch.inf)


def top_k_by_writing(logits, k):
    dropped = (-logits).argsort(dim=-1, stable=True)[..., k:]
    filtered = logits.clone()
    return filtered.scatter_(-1, dropped, float("-inf"))


def top_k_by_loop(logits, k):
    rows = []
    for row in logits.reshape(-1, logits.size(-1)):
        kept = set(sorted(range(len(row)), key=lambda i: row[i].item())[-k:])
        rows.append(torch.stack([row[i] if i in kept else row[i].detach() * 0 - torch.inf for i in range(len(row))]))
    return torch.stack(rows).reshape(logits.shape)


def top_p_by_scatter(logits, p):
    ordered, places = torch.sort(logits, descending=True, dim=-1)
    reached = F.softmax(ordered, dim=-1).cumsum(dim=-1)
    drop = (reached >= p) & (p < 1)
    drop[..., 1:] = drop[..., :-1].clone()
    drop[..., 0] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, places, drop), float("-inf"))


def top_p_by_counting(logits, p):
    """A token is dropped if those more probable than it have p already."""
    probabilities = logits.softmax(-1)
    more_probable = probabilities[..., None, :] > probabilities[..., :, None]
    before = (more_probable * probabilities[..., None, :]).sum(-1)
    return logits if p == 1 else torch.where(before < p, logits, -torch.inf)


def top_p_by_loop(logits, p):
    rows = []
    for row in logits.reshape(-1, logits.size(-1)):
        reached, filtered = 0.0, torch.full_like(row, float("-inf"))
        for i in row.argsort(descending=True).tolist():
            if reached >= p and p != 1:
                break
            reached += row.double().softmax(-1)[i].item()
            filtered[i] = row[i]
        rows.append(filtered)
    return torch.stack(rows).reshape(logits.shape)


def beam_by_heap(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, best = [(0.0, [bos_id])], (float("-inf"), [])
    for _ in range(max_length - 1):
        extensions = []
        for total, ids in live:
            extensions += [(total + x.item(), [*ids, token]) for token, x in enumerate(next_log_probs(ids))]
        live = []
        for extension in heapq.nlargest(beam_size, extensions):
            if extension[1][-1] == eos_id:
                best = max(best, extension)
            else:
                live.append(extension)
        if not live:
            break
    total, ids = max([best, *live])
    return ids, total


def beam_by_topk(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, totals, done = [[bos_id]], torch.zeros(1), []
    for _ in range(max_length - 1):
        if not live:
            break
        log_probs = torch.stack([next_log_probs(ids) for ids in live])
        vocab = log_probs.size(1)
        scores = (totals[:, None] + log_probs).flatten()
        values, places = scores.topk(min(beam_size, len(scores)))
        extended = [[*live[place // vocab], place % vocab] for place in places.tolist()]
        done += [(ids, value.item()) for ids, value in zip(extended, values, strict=True) if ids[-1] == eos_id]
        going_on = [i for i, ids in enumerate(extended) if ids[-1] != eos_id]
        live, totals = [extended[i] for i in going_on], values[going_on]
    return max([*done, *zip(live, totals.tolist(), strict=True)], key=lambda pair: pair[1])


def beam_that_stops_early(next_log_probs, bos_id, eos_id, beam_size, max_length):
    """Nothing live can overtake an ended sentence that is more probable already."""
    live, best = [([bos_id], 0.0)], None
    for _ in range(max_length - 1):
        extended = [([*ids, i], t + x) for ids, t in live for i, x in enumerate(next_log_probs(ids).tolist())]
        extended.sort(key=lambda pair: pair[1], reverse=True)
        ended = [pair for pair in extended[:beam_size] if pair[0][-1] == eos_id]
        live = [pair for pair in extended[:beam_size] if pair[0][-1] != eos_id]
        if ended and (best is None or ended[0][1] > best[1]):
            best = ended[0]
        if best and (not live or best[1] >= live[0][1]):
            return best
    return best if best and best[1] > live[0][1] else live[0]


def beam_by_numpy(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, ended = [([bos_id], np.float64(0))], []
    for _ in range(max_length - 1):
        extended = [([*ids, i], t + x) for ids, t in live for i, x in enumerate(next_log_probs(ids).numpy())]
        best = sorted(extended, key=lambda pair: pair[1])[-beam_size:]
        ended += [pair for pair in best if pair[0][-1] == eos_id]
        live = [pair for pair in best if pair[0][-1] != eos_id]
    return max(ended + live, key=lambda pair: pair[1])


def cached_by_torch(query, key, value, cache):
    keys = torch.cat((cache[0], key), dim=2)
    values = torch.cat((cache[1], value), dim=2)
    return F.scaled_dot_product_attention(query, keys, values), torch.stack((keys, values))


def cached_by_einsum(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([key, value])], -2)
    scores = torch.einsum("bhtd,bhsd->bhts", query, cache[0]) * query.shape[-1] ** -0.5
    return torch.einsum("bhts,bhsd->bhtd", torch.softmax(scores, -1), cache[1]), cache


def cached_by_filling(query, key, value, cache):
    *axes, length, d_head = cache.shape
    larger = cache.new_zeros(*axes, length + 1, d_head)
    larger[..., :length, :] = cache
    larger[0, ..., length:, :], larger[1, ..., length:, :] = key, value
    weights = torch.softmax(query @ larger[0].transpose(-1, -2) / d_head**0.5, dim=-1)
    return weights @ larger[1], larger


def cached_by_heads(query, key, value, cache):
    keys, values = torch.cat([cache[0], key], -2), torch.cat([cache[1], value], -2)
    output = torch.empty_like(query)
    for b in range(query.size(0)):
        for h in range(query.size(1)):
            scores = (keys[b, h].double() @ query[b, h, 0].double()) / query.size(-1) ** 0.5
            output[b, h, 0] = (scores.softmax(0) @ values[b, h].double()).to(query.dtype)
    return output, torch.stack([keys, values])


def positions_by_steps(prompt, new, cached):
    known, computed = 0, 0
    for step in range(new):
        computed += prompt + step - known
        known = prompt + step if cached else 0
    return computed


def positions_by_sum(prompt, new, cached):
    return prompt + (new - 1) if cached else sum(range(prompt, prompt + new))


def positions_by_formula(prompt, new, cached):
    return prompt + new - 1 if cached else (2 * prompt + new - 1) * new // 2


def top_p_by_examples(cut):
    inf = float("inf")
    logits = torch.tensor([[0.1, 0.5, 0.15, 0.25], [0.4, 0.05, 0.25, 0.3], [0.02, 0.03, 0.05, 0.9]]).log() + 3
    kept = {0.05: (1, 1, 1), 0.45: (1, 2, 1), 0.6: (2, 2, 1), 0.8: (3, 3, 1), 0.92: (4, 3, 2), 1.0: (4, 4, 4)}
    for p, counts in kept.items():
        smallest = torch.stack([row.sort(descending=True).values[n - 1] for row, n in zip(logits, counts, strict=True)])
        right = torch.where(logits >= smallest[:, None], logits, -inf)
        for given, wanted in ((cut(logits, p), right), (cut(logits[1], p), right[1])):
            if given.shape != wanted.shape or not torch.allclose(given, wanted):
                return False
    return True


def top_p_by_what_it_says(cut):
    torch.manual_seed(5)
    for shape in ((9,), (4, 6), (2, 2, 15)):
        for p in (0.03, 0.3, 0.5, 0.7, 0.97):
            logits = 3 * torch.randn(shape)
            given, q = cut(logits, p), logits.softmax(-1)
            kept = given > -torch.inf
            mass = (q * kept).sum(-1)
            least = q.masked_fill(~kept, 2).amin(-1)
            fine = kept.any(-1) & (mass > p - 1e-5) & (mass - least < p + 1e-5)
            fine &= (q.masked_fill(kept, 0).amax(-1) < least) & ((given == logits) | ~kept).all(-1)
            if not fine.all():
                return torch.tensor(False)
    return torch.tensor(True)


def top_p_by_a_right_one(cut):
    generator = torch.Generator().manual_seed(2)
    for size in (2, 7, 30):
        for p in (0.1, 0.4, 0.66, 0.9):
            logits = torch.randn(3, 2, size, generator=generator) * 2
            ordered, order = logits.sort(dim=-1, descending=True)
            q = ordered.softmax(-1)
            ordered = ordered.masked_fill(q.cumsum(-1) - q >= p, -torch.inf)
            if not torch.equal(torch.zeros_like(logits).scatter(-1, order, ordered), cut(logits, p)):
                return False
    return True


RIGHT_ANSWERS = {
    "greedy_decode": [greedy_by_while, greedy_by_recursion, greedy_with_a_tensor, greedy_by_topk],
    "top_k_filter": [top_k_by_scatter, top_k_by_sort, top_k_by_writing, top_k_by_loop],
    "top_p_filter": [top_p_by_scatter, top_p_by_counting, top_p_by_loop],
    "beam_search": [beam_by_heap, beam_by_topk, beam_that_stops_early, beam_by_numpy],
    "cached_attention": [cached_by_torch, cached_by_einsum, cached_by_filling, cached_by_heads],
    "positions_computed": [positions_by_steps, positions_by_sum, positions_by_formula],
    "is_top_p": [top_p_by_examples, top_p_by_what_it_says, top_p_by_a_right_one],
}

LAST_AXIS = "torch sorts along the last axis unless told otherwise"
EQUALS = "it does not matter which of several equals are kept"
DESCENDANTS = "what descends from an ended sentence is less probable than that, and so is whatever it pushes out"

LOGITS = "2 * torch.randn(shape, generator=generator)"
IS_TOP_P = {
    f"is_top_p: {change}": reason
    for reason, changes in {
        "any seed serves": (
            *("torch.Generator().manual_seed(0) → torch.Generator()", "0 → 1", "0 → -1"),
            "torch.randn(shape, generator=generator) → torch.randn(shape)",
        ),
        "other shapes serve as well, in any order": (
            *("((7,), (3, 5), (2, 3, 12)) → ((2, 3, 12), (3, 5), (7,))", "(3, 5) → (5, 3)", "7 → 8", "7 → 6"),
            *("(2, 3, 12) → (12, 3, 2)", "3 → 4", "3 → 2", "5 → 6", "5 → 4", "2 → 3", "2 → 1"),
            *("3 → 4 (2)", "3 → 2 (2)", "12 → 13", "12 → 11"),
        ),
        "other values of p serve as well, in any order": ("(0.05, 0.35, 0.6, 0.93) → (0.93, 0.6, 0.35, 0.05)",),
        "other logits serve as well, if no two are equal": (
            *(f"{LOGITS} + 1 → {other}" for other in (f"{LOGITS} - 1", f"1 + {LOGITS}")),
            *(f"{LOGITS} → {other}" for other in (LOGITS.replace("*", "/"), f"{LOGITS[4:]} * 2")),
            *("1 → 2", "1 → 0", "2 → 3 (2)", "2 → 1 (2)"),
        ),
        "no sum of probabilities comes near p": ("logits.double() → logits",),
        "no candidate raises an error": ("False → True",),
        "no candidate returns another shape": (
            *(f"given.shape != right.shape → given.shape {sign} right.shape" for sign in "<>"),
        ),
        "no finite number is near another": ("torch.allclose(given, right) → torch.allclose(right, given)",),
    }.items()
    for change in changes
}

EQUIVALENT = {
    "top_k_filter": {
        "top_k_filter: logits.argsort(dim=-1, descending=True, stable=True) → "
        "logits.argsort(descending=True, stable=True)": LAST_AXIS,
        "top_k_filter: logits.argsort(dim=-1, descending=True, stable=True) → "
        "logits.argsort(dim=-1, descending=True)": EQUALS,
        "top_k_filter: True → False (2)": EQUALS,
    },
    "top_p_filter": {
        **widened("top_p_filter", "logits", "logits.softmax(-1, dtype=at_least_float32) → logits.softmax(-1)"),
        "top_p_filter: logits.softmax(-1, dtype=at_least_float32).sort(dim=-1, descending=True, stable=True) → "
        "logits.softmax(-1, dtype=at_least_float32).sort(descending=True, stable=True)": LAST_AXIS,
        "top_p_filter: logits.softmax(-1, dtype=at_least_float32).sort(dim=-1, descending=True, stable=True) → "
        "logits.softmax(-1, dtype=at_least_float32).sort(dim=-1, descending=True)": EQUALS,
        "top_p_filter: True → False (2)": EQUALS,
    },
    "beam_search": {
        "beam_search: total + log_prob → log_prob + total": SUM,
        "beam_search: 0 → -1 (2)": "all live hypotheses have the same length",
        "beam_search: eos_id → next_log_probs (2)": DESCENDANTS,
        "beam_search: -1 → 1 (2)": DESCENDANTS,
        "beam_search: 1 → 2 (3)": DESCENDANTS,
        "beam_search: 1 → 0 (3)": DESCENDANTS,
        "beam_search: ended + live → live + ended": "no two sentences have the same total",
    },
    "cached_attention": OF_HEADS,
    "positions_computed": commuted(
        *("positions_computed", "prompt + new", "new * prompt + new * (new - 1) // 2", "new * prompt"),
        "new * (new - 1)",
    ),
    "is_top_p": IS_TOP_P,
}
