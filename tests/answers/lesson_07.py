"""Right answers to the exercises of lesson 07, and the mutants of their references that compute the same."""

import math

import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE
from transformer_lab import training


def merge_by_index(symbols, pair):
    merged, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            merged.append(pair[0] + pair[1])
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


def merge_in_a_copy(symbols, pair):
    symbols, i = list(symbols), 0
    while i < len(symbols) - 1:
        if tuple(symbols[i : i + 2]) == pair:
            symbols[i : i + 2] = ["".join(pair)]
        i += 1
    return symbols


def merge_by_recursion(symbols, pair):
    if len(symbols) < 2:
        return symbols[:]
    if (symbols[0], symbols[1]) == pair:
        return ["".join(pair), *merge_by_recursion(symbols[2:], pair)]
    return [symbols[0], *merge_by_recursion(symbols[1:], pair)]


def merge_by_iterator(symbols, pair):
    merged, rest = [], iter(symbols)
    held = next(rest, None)
    for symbol in rest:
        if held is not None and (held, symbol) == pair:
            merged.append(held + symbol)
            held = None
        else:
            merged += [held] if held is not None else []
            held = symbol
    return merged + ([held] if held is not None else [])


def shift_by_roll(tokens, bos_id):
    inputs = tokens.roll(1, dims=1)
    inputs[:, 0] = bos_id
    return inputs


def shift_by_pad(tokens, bos_id):
    return F.pad(tokens, (1, -1), value=bos_id)


def shift_into_an_empty_table(tokens, bos_id):
    inputs = torch.empty_like(tokens)
    inputs[:, 0] = bos_id
    inputs[:, 1:] = tokens[:, :-1]
    return inputs


def shift_lists(tokens, bos_id):
    return torch.tensor([[bos_id, *row[:-1]] for row in tokens.tolist()])


def loss_by_torch(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad_id, label_smoothing=smoothing)


def loss_by_truth(logits, targets, smoothing, pad_id):
    vocab = logits.size(-1)
    truth = F.one_hot(targets, vocab) * (1 - smoothing) + smoothing / vocab
    words = (targets != pad_id).to(logits.dtype)
    losses = -(truth * F.log_softmax(logits, -1)).sum(-1)
    return (losses * words).sum() / words.sum()


def loss_by_two_cross_entropies(logits, targets, smoothing, pad_id):
    words = targets != pad_id
    hard = F.cross_entropy(logits[words], targets[words])
    even = torch.full_like(logits[words], 1 / logits.size(-1))
    return (1 - smoothing) * hard + smoothing * F.cross_entropy(logits[words], even)


def loss_by_loop(logits, targets, smoothing, pad_id):
    losses = []
    for row, target in zip(logits.flatten(0, 1), targets.flatten().tolist(), strict=True):
        if target != pad_id:
            surprise = row.logsumexp(0) - row
            losses.append((1 - smoothing) * surprise[target] + smoothing * surprise.mean())
    return torch.stack(losses).mean()


def loss_by_kl_div(logits, targets, smoothing, pad_id):
    vocab, words = logits.size(-1), targets != pad_id
    truth = torch.full_like(logits[words], smoothing / vocab)
    truth.scatter_add_(1, targets[words][:, None], torch.full_like(truth[:, :1], 1 - smoothing))
    divergence = F.kl_div(logits[words].log_softmax(-1), truth, reduction="batchmean")
    return divergence + torch.special.entr(truth).sum(-1).mean()


def rate_by_cases(step, d_model, warmup_steps):
    if step < warmup_steps:
        return step / (math.sqrt(d_model) * warmup_steps * math.sqrt(warmup_steps))
    return 1 / math.sqrt(d_model * step)


def rate_by_peak(step, d_model, warmup_steps):
    peak = (d_model * warmup_steps) ** -0.5
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)


def rate_by_torch(step, d_model, warmup_steps):
    both = torch.tensor([step**-0.5, step * warmup_steps**-1.5], dtype=torch.float64)
    return both.min().item() / math.sqrt(d_model)


RIGHT_ANSWERS = {
    "merge_pair": [merge_by_index, merge_in_a_copy, merge_by_recursion, merge_by_iterator],
    "shift_right": [training.shift_right, shift_by_roll, shift_by_pad, shift_into_an_empty_table, shift_lists],
    "label_smoothing_loss": [
        training.label_smoothing_loss,
        loss_by_torch,
        loss_by_truth,
        loss_by_two_cross_entropies,
        loss_by_loop,
        loss_by_kl_div,
    ],
    "warmup_rate": [training.warmup_rate, rate_by_cases, rate_by_peak, rate_by_torch],
}

EQUIVALENT = {
    "label_smoothing_loss": {
        "line 9: -(1 - smoothing) * of_targets → of_targets * -(1 - smoothing)": COMMUTATIVE,
        "line 9: smoothing * log_probabilities.mean(dim=-1) → log_probabilities.mean(dim=-1) * smoothing": COMMUTATIVE,
    },
    "warmup_rate": {
        "line 6: d_model ** (-0.5) * min(step ** (-0.5), step * warmup_steps ** (-1.5)) → "
        "min(step ** (-0.5), step * warmup_steps ** (-1.5)) * d_model ** (-0.5)": COMMUTATIVE,
        "line 6: min(step ** (-0.5), step * warmup_steps ** (-1.5)) → "
        "min(step * warmup_steps ** (-1.5), step ** (-0.5))": "the smaller of two does not depend on their order",
        "line 6: step * warmup_steps ** (-1.5) → warmup_steps ** (-1.5) * step": COMMUTATIVE,
    },
}
