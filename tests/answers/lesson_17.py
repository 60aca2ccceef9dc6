"""Right answers to the exercises of lesson 17, and the mutants of their references that compute the same."""

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import SUM, SYMMETRIC, commuted
from transformer_lab import merge_partial


def ring_by_receivers(chunks):
    n = len(chunks)
    state, result = [row[:] for row in chunks], []
    for s in range(n - 1):
        state = [
            [state[r][c] + state[r - 1][c] if c == (r - 1 - s) % n else state[r][c] for c in range(n)] for r in range(n)
        ]
        result.append(state)
    for s in range(n - 1):
        state = [[state[r - 1][c] if c == (r - s) % n else state[r][c] for c in range(n)] for r in range(n)]
        result.append(state)
    return result


def ring_by_messages(chunks):
    """First all that is sent, then all that is received."""
    n, result = len(chunks), []
    state = {(r, c): chunks[r][c] for r in range(n) for c in range(n)}
    for s in range(2 * (n - 1)):
        if s < n - 1:
            messages = [((r + 1) % n, (r - s) % n, state[r, (r - s) % n]) for r in range(n)]
            for receiver, c, number in messages:
                state[receiver, c] += number
        else:
            back = s - (n - 1)
            messages = [((r + 1) % n, (r - back + 1) % n, state[r, (r - back + 1) % n]) for r in range(n)]
            for receiver, c, number in messages:
                state[receiver, c] = number
        result.append([[state[r, c] for c in range(n)] for r in range(n)])
    return result


def ring_by_numpy(chunks):
    n = len(chunks)
    held, ranks, result = np.array(chunks), np.arange(len(chunks)), []
    for s in range(n - 1):
        sent = held[ranks, (ranks - s) % n].copy()
        held[(ranks + 1) % n, (ranks - s) % n] += sent
        result.append(held.tolist())
    for s in range(n - 1):
        sent = held[ranks, (ranks - s + 1) % n].copy()
        held[(ranks + 1) % n, (ranks - s + 1) % n] = sent
        result.append(held.tolist())
    return result


def split_by_chunk(w_up, w_down, n):
    return torch.stack(w_up.chunk(n, dim=1)), torch.stack(w_down.chunk(n, dim=0))


def split_by_slices(w_up, w_down, n):
    width = w_up.shape[1] // n
    ups = [w_up[:, r * width : (r + 1) * width] for r in range(n)]
    return torch.stack(ups), torch.stack([w_down[r * width : (r + 1) * width] for r in range(n)])


def split_by_view(w_up, w_down, n):
    d_model, d_ff = w_up.shape
    return w_up.reshape(d_model, n, d_ff // n).permute(1, 0, 2), w_down.reshape(n, d_ff // n, d_model)


def split_by_einsum(w_up, w_down, n):
    return torch.einsum("dnf->ndf", w_up.unflatten(1, (n, -1))), w_down.unflatten(0, (n, w_down.size(0) // n))


def attended(query, key, value):
    scores = query @ key.T / query.shape[-1] ** 0.5
    lse = torch.logsumexp(scores, dim=-1)
    return torch.exp(scores - lse[:, None]) @ value, lse


def ring_by_lists(queries, keys, values):
    """Rank by rank, with lists that are turned."""
    n = len(queries)
    held = [(keys[r], values[r]) for r in range(n)]
    have = [attended(queries[r], *held[r]) for r in range(n)]
    steps = [torch.stack([output for output, _ in have])]
    for _ in range(n - 1):
        held = [held[-1], *held[:-1]]
        have = [merge_partial(*have[r], *attended(queries[r], *held[r])) for r in range(n)]
        steps.append(torch.stack([output for output, _ in have]))
    return torch.stack(steps)


def ring_at_once(queries, keys, values):
    """No merging: attention to all keys that a rank has met."""
    n = len(queries)
    rows = []
    for s in range(n):
        met = [[(r - i) % n for i in range(s + 1)] for r in range(n)]
        rows.append(
            torch.stack(
                [
                    F.scaled_dot_product_attention(
                        queries[r], torch.cat([keys[i] for i in met[r]]), torch.cat([values[i] for i in met[r]])
                    )
                    for r in range(n)
                ]
            )
        )
    return torch.stack(rows)


def ring_by_sums(queries, keys, values):
    """A maximum, a sum and an output that are mended: the online softmax."""
    scale = queries.shape[-1] ** -0.5
    scores = scale * queries @ keys.mT
    maximum = scores.amax(-1, keepdim=True)
    weights = torch.exp(scores - maximum)
    total, output = weights.sum(-1, keepdim=True), weights @ values
    steps = [output / total]
    for s in range(1, len(queries)):
        scores = scale * queries @ torch.roll(keys, s, 0).mT
        larger = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        mend, weights = torch.exp(maximum - larger), torch.exp(scores - larger)
        total = mend * total + weights.sum(-1, keepdim=True)
        output = mend * output + weights @ torch.roll(values, s, 0)
        maximum = larger
        steps.append(output / total)
    return torch.stack(steps)


def bytes_by_cases(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    if n_ranks == 1:
        return 0
    ring = 2 * (n_ranks - 1)
    if scheme == "data":
        return 4 * ring * n_parameters
    if scheme == "tensor":
        return 4 * n_layers * 4 * ring * n_tokens * d_model
    if scheme == "pipeline":
        return 4 * ring * n_tokens * d_model
    turns = (n_ranks - 1) + (n_ranks - 1) + n_ranks
    return 4 * (n_layers * turns * 2 * n_tokens * d_model + ring * n_parameters)


def bytes_by_steps(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    """Message by message, as floating-point numbers would not hold them."""
    numbers = 0
    for _ in range(n_ranks - 1):
        if scheme in ("data", "context"):
            numbers += n_parameters + n_parameters
        if scheme == "tensor":
            numbers += sum(2 * n_tokens * d_model for _ in range(4 * n_layers))
        if scheme == "context":
            numbers += 2 * n_layers * (2 * n_tokens * d_model)  # forward and backward
            numbers += n_layers * (2 * n_tokens * d_model)
        if scheme == "pipeline":
            numbers += 2 * n_tokens * d_model
    if scheme == "context" and n_ranks > 1:
        numbers += n_layers * 2 * n_tokens * d_model  # the gradients come home
    return numbers * 4


def bytes_by_table(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    x, others = n_tokens * d_model, n_ranks - 1
    home = n_ranks if others else 0
    table = {"data": 2 * others * n_parameters, "tensor": 8 * n_layers * others * x, "pipeline": 2 * others * x}
    table["context"] = 2 * n_layers * x * (2 * others + home) + table["data"]
    return np.int64(4 * table[scheme])


def regression_by_rows(weight, inputs, targets, centres, drop, seed):
    """A row at a time, as each rank would meet its own."""
    n, gradient = centres.size(0), 0
    generators = [torch.Generator().manual_seed(seed + rank) for rank in range(n)]
    masks = [torch.rand(inputs[r::n].shape, generator=g) >= drop for r, g in enumerate(generators)]
    for i, (row, target) in enumerate(zip(inputs, targets, strict=True)):
        x = torch.where(masks[i % n][i // n], (row - centres[0]) / (1 - drop), torch.zeros_like(row))
        gradient = gradient + 2 * (torch.dot(x, weight) - target) * x
    return gradient / len(targets)


def regression_by_shares(weight, inputs, targets, centres, drop, seed):
    """The mean of a rank counts by its share of the rows."""
    n = len(centres)
    gradient = torch.zeros_like(weight)
    for rank in range(n):
        x, y = inputs[rank::n], targets[rank::n]
        if len(x) == 0:
            continue
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed + rank)) >= drop
        x = (x - centres[0]) * kept / (1 - drop)
        gradient = gradient + (2 * x * (x @ weight - y)[:, None]).mean(0) * (len(x) / len(inputs))
    return gradient


def regression_at_once(weight, inputs, targets, centres, drop, seed):
    """All masks first, then one product for the whole batch."""
    n = len(centres)
    kept = torch.zeros(inputs.shape, dtype=torch.bool)
    for r in range(n):
        g = torch.Generator().manual_seed(seed + r)
        kept[r::n] = torch.rand(inputs[r::n].shape, generator=g) >= drop
    x = (inputs - centres[:1]) * kept / (1 - drop)
    return 2 * x.T @ (x @ weight - targets) / len(inputs)


RIGHT_ANSWERS = {
    "all_reduce_ring": (ring_by_receivers, ring_by_messages, ring_by_numpy),
    "split_columns_rows": (split_by_chunk, split_by_slices, split_by_view, split_by_einsum),
    "ring_attention": (ring_by_lists, ring_at_once, ring_by_sums),
    "bytes_sent": (bytes_by_cases, bytes_by_steps, bytes_by_table),
    "mend_data_parallel": (regression_by_rows, regression_by_shares, regression_at_once),
}
AS_MANY = "there are as many of these"
NOT_ASKED = "sharded training is not asked for"

EQUIVALENT = {
    "all_reduce_ring": commuted(
        "all_reduce_ring",
        "2 * (n - 1)",
        "sender - turn + (not adds)",
        "held[sender][chunk] + (held[rank][chunk] if adds else 0)",
    ),
    "split_columns_rows": {
        "split_columns_rows: w_up.unflatten(1, (n, -1)).transpose(0, 1) → "
        "w_up.unflatten(1, (n, -1)).transpose(1, 0)": SYMMETRIC,
    },
    "ring_attention": commuted(
        "merge_partial", "share * output_a + (1 - share) * output_b", "share * output_a", "(1 - share) * output_b"
    )
    | {
        "ring_attention: queries → keys": AS_MANY,
        "ring_attention: queries → values": AS_MANY,
        "attend: key.transpose(-2, -1) → key.transpose(-1, -2)": SYMMETRIC,
        "attend: query → key (2)": "queries and keys have the same width",
        "attend: lse.clamp(min=torch.finfo(lse.dtype).min) → lse": "without a mask, every query sees a key",
        "merge_partial: torch.logaddexp(lse_a, lse_b) → torch.logaddexp(lse_b, lse_a)": SUM,
    },
    "bytes_sent": commuted(
        "bytes_sent",
        *("n_tokens * d_model", "2 * others * n_parameters", "3 * others * n_parameters"),
        *("n_layers * 4 * 2 * others * activations", "2 * others * n_parameters", "2 * others * activations"),
        *("2 * others", "3 * others", "n_layers * 4 * 2 * others", "2 * others", "2 * others"),
        *("n_layers * 4 * 2", "n_layers * 4", "n_layers * (3 * n_ranks - 2) * 2 * activations"),
        *("n_layers * (3 * n_ranks - 2) * 2", "n_layers * (3 * n_ranks - 2)", "3 * n_ranks", "n_bytes * numbers"),
    )
    | {
        f"bytes_sent: {mutant}": NOT_ASKED
        for mutant in (
            *("3 * others * n_parameters → 3 * others / n_parameters", "3 → 4", "3 → 2"),
            *(f"n_parameters → {x} (2)" for x in ("scheme", "n_ranks", "n_layers", "n_tokens", "d_model")),
        )
    },
    "mend_data_parallel": commuted(
        "mend_data_parallel",
        *("seed + rank", "(x - centres[0]) * kept", "2 * x * errors[:, None]", "2 * x"),
        "gradient + (2 * x * errors[:, None]).sum(0) / len(inputs)",
    )
    | {"mend_data_parallel: inputs → targets (2)": AS_MANY},
}
