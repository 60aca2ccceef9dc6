"""Right answers to the exercises of lesson 07, and the mutants of their references that compute the same."""

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE, IDS, TYPES, widened


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


def rate_by_numpy(step, d_model, warmup_steps):
    return np.minimum(step**-0.5, step * warmup_steps**-1.5) / np.sqrt(d_model)


def rate_by_torch(step, d_model, warmup_steps):
    both = torch.tensor([step**-0.5, step * warmup_steps**-1.5], dtype=torch.float64)
    return both.min().item() / math.sqrt(d_model)


def step_with_ignore_index(weights, tokens, rate, pad_id):
    weights = weights.detach().clone().requires_grad_()
    loss = F.cross_entropy(weights[tokens[:, :-1]].mT, tokens[:, 1:], ignore_index=pad_id)
    loss.backward()
    return weights.detach() - rate * weights.grad, loss.detach()


def step_by_optimizer(weights, tokens, rate, pad_id):
    table = torch.nn.Parameter(weights.detach().clone())
    optimizer = torch.optim.SGD([table], lr=rate)
    words = tokens[:, 1:] != pad_id
    loss = -table.log_softmax(-1)[tokens[:, :-1][words], tokens[:, 1:][words]].mean()
    loss.backward()
    optimizer.step()
    return table.detach(), loss.detach()


def step_without_autograd(weights, tokens, rate, pad_id):
    words = tokens[:, 1:] != pad_id
    inputs, targets = tokens[:, :-1][words], tokens[:, 1:][words]
    logs = weights[inputs].log_softmax(-1)
    error = logs.exp() - F.one_hot(targets, weights.size(1))
    gradient = torch.zeros_like(weights).index_add(0, inputs, error / len(targets))
    return weights - rate * gradient, -logs.gather(1, targets[:, None]).mean()


def step_by_loop(weights, tokens, rate, pad_id):
    pairs = [(a, b) for row in tokens.tolist() for a, b in pairwise(row) if b != pad_id]
    moved, total = weights.clone(), 0
    for a, b in pairs:
        chances = weights[a].softmax(0)
        total = total - chances[b].log()
        error = chances.clone()
        error[b] -= 1
        moved[a] -= rate * error / len(pairs)
    return moved, total / len(pairs)


def merges_by_lists(words, n_merges):
    """The words as pairs of symbols and count; ages in a dict."""
    split = [([*word], times) for word, times in words.items()]
    age = {c: i for i, c in enumerate(sorted({c for word in words for c in word}))}
    merges = []
    for _ in range(n_merges):
        counts = defaultdict(int)
        for symbols, times in split:
            for left, right in pairwise(symbols):
                counts[left, right] += times
        if not counts:
            return merges
        most = max(counts.values())
        equal = [pair for pair, count in counts.items() if count == most]
        equal.sort(key=lambda pair: [age[symbol] for symbol in pair])
        merges.append(equal[0])
        age["".join(equal[0])] = len(age)
        split = [(merge_by_index(symbols, equal[0]), times) for symbols, times in split]
    return merges


def merges_by_ids(words, n_merges):
    """Symbols are numbered as they are made, so that tuples of numbers compare by age."""
    names = sorted(set("".join(words)))
    split = {word: [names.index(c) for c in word] for word in words}
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for word in words:
            counts.update({pair: words[word] * n for pair, n in Counter(pairwise(split[word])).items()})
        if not counts:
            break
        _, (left, right) = min((-count, pair) for pair, count in counts.items())
        merges.append((names[left], names[right]))
        names.append(names[left] + names[right])
        for ids in split.values():
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == (left, right):
                    ids[i : i + 2] = [len(names) - 1]
                i += 1
    return merges


def merges_by_recursion(words, n_merges):
    def go(split, known, left):
        pairs = [pair for symbols, times in split for pair in pairwise(symbols) for _ in range(times)]
        if not left or not pairs:
            return []
        best = sorted(set(pairs), key=lambda p: (-pairs.count(p), known.index(p[0]), known.index(p[1])))[0]
        split = [(merge_in_a_copy(symbols, best), times) for symbols, times in split]
        return [best, *go(split, [*known, best[0] + best[1]], left - 1)]

    return go([(list(word), times) for word, times in words.items()], sorted(set().union(*words)), n_merges)


def again_by_rates(step, warmup_steps):
    rate = step * warmup_steps**-1.5
    return rate**-2


def again_by_ratio(step, warmup_steps):
    return warmup_steps * (warmup_steps / step) ** 2


def again_by_bisection(step, warmup_steps):
    low, high = float(warmup_steps), 2.0 * warmup_steps**3
    for _ in range(200):
        middle = (low + high) / 2
        if middle**-0.5 > step * warmup_steps**-1.5:
            low = middle
        else:
            high = middle
    return high


def again_by_logarithms(step, warmup_steps):
    return np.exp(3 * np.log(warmup_steps) - 2 * np.log(step))


RIGHT_ANSWERS = {
    "learn_merges": [merges_by_lists, merges_by_ids, merges_by_recursion],
    "mend_training_step": [step_with_ignore_index, step_by_optimizer, step_without_autograd, step_by_loop],
    "merge_pair": [merge_by_index, merge_in_a_copy, merge_by_recursion, merge_by_iterator],
    "shift_right": [shift_by_roll, shift_by_pad, shift_into_an_empty_table, shift_lists],
    "label_smoothing_loss": [
        loss_by_torch,
        loss_by_truth,
        loss_by_two_cross_entropies,
        loss_by_loop,
        loss_by_kl_div,
    ],
    "warmup_rate": [rate_by_cases, rate_by_peak, rate_by_torch, rate_by_numpy],
    "same_rate_again": [again_by_rates, again_by_ratio, again_by_bisection, again_by_logarithms],
}

NO_GRAPH = "who asks for no gradient sees no difference"

EQUIVALENT = {
    "learn_merges": {"learn_merges: list(word) → word": "the neighbours in a text are its characters, too"},
    "mend_training_step": {
        "mend_training_step: weights.detach() → weights": NO_GRAPH,
        "mend_training_step: weights.detach() → weights (2)": NO_GRAPH,
        "mend_training_step: loss.detach() → loss": NO_GRAPH,
        "mend_training_step: rate * gradient → gradient * rate": COMMUTATIVE,
    },
    "label_smoothing_loss": widened(
        *("label_smoothing_loss", "logits", "logits.flatten(0, 1).to(at_least_float32) → logits.flatten(0, 1)"),
    )
    | {
        "label_smoothing_loss: logits → targets": TYPES,
        "label_smoothing_loss: targets.flatten().long() → targets.flatten()": IDS,
    },
    "warmup_rate": {
        "warmup_rate: d_model ** (-0.5) * min(step ** (-0.5), step * warmup_steps ** (-1.5)) → "
        "min(step ** (-0.5), step * warmup_steps ** (-1.5)) * d_model ** (-0.5)": COMMUTATIVE,
        "warmup_rate: min(step ** (-0.5), step * warmup_steps ** (-1.5)) → "
        "min(step * warmup_steps ** (-1.5), step ** (-0.5))": "the smaller of two does not depend on their order",
        "warmup_rate: step * warmup_steps ** (-1.5) → warmup_steps ** (-1.5) * step": COMMUTATIVE,
    },
}
