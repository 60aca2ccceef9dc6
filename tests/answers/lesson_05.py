"""Right answers to the exercises of lesson 05, and the mutants of their references that compute the same."""

import numpy as np
import torch

from tests.answers.reasons import DEFAULT_DEVICE, commuted
from transformer_lab.nn import masks


def causal_by_comparison(length):
    positions = torch.arange(length)
    return positions[None, :] <= positions[:, None]


def causal_by_loop(length):
    return torch.tensor([[key <= query for key in range(length)] for query in range(length)])


def causal_by_negation(length):
    return ~torch.triu(torch.ones(length, length), diagonal=1).bool()


def causal_by_cumsum(length):
    return torch.eye(length).cumsum(0) > 0


def padding_by_unsqueeze(tokens, pad_id):
    return tokens.ne(pad_id).unsqueeze(1).unsqueeze(2)


def padding_by_reshape(tokens, pad_id):
    return (~torch.eq(tokens, pad_id)).reshape(len(tokens), 1, 1, -1)


def padding_by_loop(tokens, pad_id):
    return torch.tensor([[[[token != pad_id for token in sentence]]] for sentence in tokens.tolist()])


def decoder_by_parts(tokens, pad_id):
    return masks.causal_mask(tokens.size(1)) & masks.padding_mask(tokens, pad_id)


def decoder_by_tril(tokens, pad_id):
    words = tokens != pad_id
    return words[:, None, None, :].expand(-1, 1, tokens.shape[1], -1).tril()


def decoder_by_loop(tokens, pad_id):
    mask = torch.zeros(len(tokens), 1, tokens.size(1), tokens.size(1), dtype=torch.bool)
    for b, sentence in enumerate(tokens.tolist()):
        for query in range(len(sentence)):
            for key in range(query + 1):
                mask[b, 0, query, key] = sentence[key] != pad_id
    return mask


def decoder_by_negation(tokens, pad_id):
    positions = torch.arange(tokens.size(-1))
    future = positions > positions[:, None]
    return ~(future | (tokens == pad_id)[:, None, None, :])


def softmax_by_minus_infinity(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).nan_to_num(0.0)


def softmax_by_where(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(torch.where(mask, scores, lowest), -1) * mask


def softmax_in_float32(scores, mask):
    wide = scores if scores.dtype == torch.float64 else scores.float()
    return (wide.masked_fill(mask.logical_not(), -1e9).softmax(-1) * mask).to(scores.dtype)


def softmax_by_hand(scores, mask):
    largest = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = (scores - largest).masked_fill(~mask, float("-inf")).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total == 0, torch.ones_like(total), total)


def softmax_by_loop(scores, mask):
    rows, allowed = scores.reshape(-1, scores.size(-1)), mask.expand(scores.shape).reshape(-1, scores.size(-1))
    done = []
    for row, may in zip(rows, allowed, strict=True):
        weights = torch.zeros_like(row)
        weights[may] = row[may].softmax(0)
        done.append(weights)
    return torch.stack(done).reshape(scores.shape)


def leaks_by_truncation(layer):
    for length in (2, 3, 40):
        for size in (1, 50):
            x = size * torch.randn(3, length, 16)
            whole = layer(x)
            for t in range(1, length):
                short = layer(x[:, :t])
                if (whole[:, :t] - short).abs().max() > 1e-5 * (1 + short.abs().max()):
                    return True
    return False


def leaks_by_one_position(layer):
    torch.manual_seed(3)
    for length in (2, 4, 30):
        x = torch.randn(2, length, 16)
        y = layer(x)
        for t in range(1, length):
            for size in (-1, 1, 300):
                changed = x.clone()
                changed[:, t] += size * torch.rand(16)
                if not torch.allclose(layer(changed)[:, :t], y[:, :t], atol=1e-5):
                    return torch.tensor(True)
    return torch.tensor(False)


def leaks_by_numpy(layer):
    found = False
    for length in (2, 6, 32):
        for scale in (1.0, 80.0):
            x = torch.randn(5, length, 16)
            for t in range(1, length):
                other = torch.cat([x[:, :t], scale * torch.randn(5, length - t, 16)], 1)
                one, two = layer(x).numpy()[:, :t], layer(other).numpy()[:, :t]
                found = found or not np.allclose(one, two, atol=1e-6)
    return np.bool_(found)


def pairs_by_loop(lengths):
    count, longest = 0, max(lengths)
    for n in lengths:
        for query in range(longest):
            count += min(query + 1, n)
    return count


def pairs_by_mask(lengths):
    longest = max(lengths)
    words = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return int((words[:, None, :].expand(-1, longest, -1).tril()).sum())


def pairs_by_columns(lengths):
    return sum(max(lengths) - key for n in lengths for key in range(n))


def pairs_by_numpy(lengths):
    n = np.array(lengths)
    return (n * n.max() - n * (n - 1) // 2).sum()


RIGHT_ANSWERS = {
    "causal_mask": [causal_by_comparison, causal_by_loop, causal_by_negation, causal_by_cumsum],
    "padding_mask": [padding_by_unsqueeze, padding_by_reshape, padding_by_loop],
    "decoder_mask": [decoder_by_parts, decoder_by_tril, decoder_by_loop, decoder_by_negation],
    "masked_softmax": [
        softmax_by_minus_infinity,
        softmax_by_where,
        softmax_in_float32,
        softmax_by_hand,
        softmax_by_loop,
    ],
    "leaks": [leaks_by_truncation, leaks_by_one_position, leaks_by_numpy],
    "visible_pairs": [pairs_by_loop, pairs_by_mask, pairs_by_columns, pairs_by_numpy],
}

CAUSAL = {
    "causal_mask: torch.ones(length, length, dtype=torch.bool, device=device) → "
    "torch.ones(length, length, dtype=torch.bool, device=device)": "both axes have the same size",
    "causal_mask: torch.ones(length, length, dtype=torch.bool, device=device) → "
    "torch.ones(length, length, dtype=torch.bool)": DEFAULT_DEVICE,
}
PADDING = {"padding_mask: (:, None, None, :) → (:, None, None, :)": "the index reads the same from both ends"}

CHANGED = "size * torch.randn(4, length - t, 16, generator=generator)"
COMPARED = "torch.allclose(layer(changed)[:, :t], before[:, :t], rtol=1e-05, atol=1e-06)"
LEAKS = {
    f"leaks: {change}": reason
    for reason, changes in {
        "any seed serves": (
            *("torch.Generator().manual_seed(0) → torch.Generator()", "0 → 1", "0 → -1"),
            "torch.randn(4, length, 16, generator=generator) → torch.randn(4, length, 16)",
            "torch.randn(4, length - t, 16, generator=generator) → torch.randn(4, length - t, 16)",
        ),
        "other lengths serve as well, in any order": (
            *("(2, 5, 33) → (33, 5, 2)", "2 → 3", "2 → 1", "5 → 6", "5 → 4", "33 → 34", "33 → 32", "1 → 0"),
        ),
        "other changes serve as well, if some are large": (
            *("(1.0, 100.0) → (100.0, 1.0)", "1.0 → 2.0", "1.0 → 0.0", "100.0 → 101.0", "100.0 → 99.0"),
            *(f"{CHANGED} → {CHANGED.replace('*', '/')}", "torch.randn(4, length - t, 16, generator=generator) → 4"),
            f"{CHANGED} → torch.randn(4, length - t, 16, generator=generator) * size",
        ),
        "a change of 100 is seen by any comparison": (
            f"{COMPARED} → torch.allclose(before[:, :t], layer(changed)[:, :t], rtol=1e-05, atol=1e-06)",
            f"{COMPARED} → {COMPARED.replace(', rtol=1e-05', '')}",
            f"{COMPARED} → {COMPARED.replace(', atol=1e-06', '')}",
            "1e-05 → 1.00001",
        ),
    }.items()
    for change in changes
}

EQUIVALENT = {
    "leaks": LEAKS,
    "causal_mask": CAUSAL,
    "padding_mask": PADDING,
    "masked_softmax": {"masked_softmax: mask | blind → blind | mask": "a | b is b | a"},
    "decoder_mask": CAUSAL
    | PADDING
    | {
        "decoder_mask: padding_mask(tokens, pad_id) & causal_mask(tokens.size(1), tokens.device) → "
        "causal_mask(tokens.size(1), tokens.device) & padding_mask(tokens, pad_id)": "a & b is b & a",
        "decoder_mask: padding_mask(tokens, pad_id) → padding_mask(pad_id, tokens)": "a ≠ b is b ≠ a",
    },
    "visible_pairs": commuted(
        "visible_pairs", "n * (n + 1) // 2 + (longest - n) * n", "(longest - n) * n", "n * (n + 1)", "n + 1"
    ),
}
