"""Right answers to the exercises of lesson 14, and the mutants of their references that compute the same."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.answers.reasons import COMMUTATIVE, FROM_THE_END, SUM, SYMMETRIC


def attention_by_einsum(query, key, value):
    weights = (torch.einsum("btd,bsd->bts", query, key) / math.sqrt(query.shape[-1])).softmax(2)
    return torch.einsum("bts,bsd->btd", weights, value), weights


def attention_by_exponentials(query, key, value):
    scores = query @ key.mT * query.size(2) ** -0.5
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    weights = powers / powers.sum(-1, keepdim=True)
    return weights @ value, weights


def attention_by_loop(query, key, value):
    weights = []
    for asked, offered in zip(query, key, strict=True):
        weights.append(torch.stack([(offered @ one / len(one) ** 0.5).softmax(0) for one in asked]))
    weights = torch.stack(weights)
    return weights.bmm(value), weights


def padded_by_less(query, key, value, lengths):
    words = torch.arange(key.size(1)) < lengths.unsqueeze(-1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words.unsqueeze(1))


def padded_by_minus_infinity(query, key, value, lengths):
    padding = torch.arange(key.shape[1])[None, None] >= lengths[:, None, None]
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(padding, float("-inf"))
    return scores.softmax(-1) @ value


def padded_by_loop(query, key, value, lengths):
    outputs = []
    for b, n in enumerate(lengths.tolist()):
        scores = query[b] @ key[b, :n].T / math.sqrt(query.size(-1))
        outputs.append(scores.softmax(-1) @ value[b, :n])
    return torch.stack(outputs)


def scaled_in_place(query, key):
    scores = query @ key.transpose(-2, -1)
    scores.mul_(query.size(-1) ** -0.5)
    return scores.softmax(-1)


def scaled_query(query, key):
    return ((query / math.sqrt(query.shape[-1])) @ key.mT).softmax(dim=3)


def scaled_by_einsum(query, key):
    return torch.softmax(torch.einsum("bhtd,bhsd->bhts", query, key) / query.size(3) ** 0.5, -1)


def embedded_by_functional(tokens, table, encoding):
    return F.embedding(tokens, table) * math.sqrt(table.size(-1)) + encoding[None, : tokens.size(1)]


def embedded_by_ids(tokens, table, encoding):
    positions = torch.arange(tokens.size(1)).expand_as(tokens)
    return table[tokens] * table.shape[1] ** 0.5 + encoding[positions]


def embedded_by_loop(tokens, table, encoding):
    rows = [[table[i] * table.size(1) ** 0.5 + encoding[t] for t, i in enumerate(row)] for row in tokens.tolist()]
    return torch.stack([torch.stack(row) for row in rows])


def dropped_by_early_return(x, output, noise, rate, training):
    if not training:
        return x + output
    return x + output.masked_fill(noise < rate, 0.0) / (1 - rate)


def dropped_by_where(x, output, noise, rate, training):
    if training:
        output = torch.where(noise >= rate, output / (1 - rate), torch.zeros_like(output))
    return output + x


def dropped_by_rate(x, output, noise, rate, training):
    rate = rate if training else 0.0
    return x + (noise >= rate).to(output.dtype) * output / (1 - rate)


def decoded_by_three_norms(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    x = gain_1 * F.layer_norm(x + attend(x, x), (x.size(-1),))
    x = gain_2 * F.layer_norm(x + attend(x, memory), (x.size(-1),))
    return gain_3 * F.layer_norm(x + feed_forward(x), (x.size(-1),))


def decoded_by_loop(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    sublayers = (lambda y: attend(y, y), lambda y: attend(y, memory), feed_forward)
    for sublayer, gain in zip(sublayers, (gain_1, gain_2, gain_3), strict=True):
        x = F.layer_norm(x + sublayer(x), x.shape[-1:], weight=gain)
    return x


def decoded_by_hand(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    def norm(y, gain):
        y = y - y.mean(-1, keepdim=True)
        return gain * y / (y.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    x = norm(x + attend(x, x), gain_1)
    x = norm(x + attend(x, memory), gain_2)
    return norm(x + feed_forward(x), gain_3)


def shifted_by_slices(logits, tokens):
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:])


def shifted_by_gather(logits, tokens):
    log_probs = logits.log_softmax(-1)[:, :-1]
    return -log_probs.gather(-1, tokens[:, 1:, None]).mean()


def shifted_by_module(logits, tokens):
    vocab = logits.size(-1)
    return nn.CrossEntropyLoss()(logits[:, :-1].reshape(-1, vocab), tokens[:, 1:].reshape(-1))


def words_by_ignore_index(logits, targets, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


def words_by_count(logits, targets, pad_id):
    losses = F.cross_entropy(logits.mT, targets, reduction="none")
    words = targets != pad_id
    return (losses * words).sum() / words.sum()


def words_by_selection(logits, targets, pad_id):
    words = targets != pad_id
    return F.cross_entropy(logits[words], targets[words])


def cached_by_slice(x, past, encoding):
    start = past.size(1)
    new = x + encoding[start : start + 1]
    past = torch.cat((past, new), 1)
    weights = (new @ past.mT / x.size(-1) ** 0.5).softmax(-1)
    return weights @ past, past


def cached_by_length(x, past, encoding):
    length = past.size(1) + x.size(1)
    past = torch.cat([past, x + encoding[length - 1]], dim=1)
    return F.scaled_dot_product_attention(past[:, -1:], past, past), past


def cached_by_einsum(x, past, encoding):
    new = encoding[past.shape[1]] + x
    keys = torch.cat([past, new], -2)
    weights = torch.einsum("bqd,bkd->bqk", new, keys).div(math.sqrt(keys.size(-1))).softmax(-1)
    return torch.einsum("bqk,bkd->bqd", weights, keys), keys


def tied_by_autograd(saved, tokens, targets, rate):
    table = saved.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(F.cross_entropy(table[tokens] @ table.T, targets), table)
    return table.detach() - rate * gradient, table.detach() - rate * gradient


def tied_by_modules(saved, tokens, targets, rate):
    embedding, output = nn.Embedding(*saved.shape), nn.Linear(saved.size(1), saved.size(0), bias=False)
    output.weight = embedding.weight
    with torch.no_grad():
        embedding.weight.copy_(saved)
    optimizer = torch.optim.SGD({id(p): p for p in [*embedding.parameters(), *output.parameters()]}.values(), lr=rate)
    with torch.enable_grad():
        F.cross_entropy(output(embedding(tokens)), targets).backward()
    optimizer.step()
    return embedding.weight.detach(), output.weight.detach()


def tied_by_loading_in_place(saved, tokens, targets, rate):
    model = {"embedding": torch.zeros_like(saved)}
    model["output"] = model["embedding"]
    for table in model.values():
        table.copy_(saved.detach())
    model["embedding"].requires_grad_()
    F.cross_entropy(model["embedding"][tokens] @ model["output"].T, targets).backward()
    return tuple((table - rate * table.grad).detach() for table in model.values())


def beams_as_pairs(next_logits, bos_id, width, length):
    beams = [(0.0, [bos_id])]
    for _ in range(length - 1):
        found = []
        for score, ids in beams:
            log_probs = torch.log_softmax(next_logits(ids), -1)
            found += [(score + log_probs[token].item(), [*ids, token]) for token in range(len(log_probs))]
        beams = sorted(found, reverse=True)[:width]
    return max(beams)[1]


def beams_as_tensors(next_logits, bos_id, width, length):
    beams, scores = [[bos_id]], torch.zeros(1, dtype=torch.float64)
    while len(beams[0]) < length:
        log_probs = torch.stack([next_logits(ids).double().log_softmax(-1) for ids in beams])
        total = (scores[:, None] + log_probs).flatten()
        scores, best = total.topk(min(width, len(total)))
        vocab = log_probs.size(1)
        beams = [[*beams[i // vocab], i % vocab] for i in best.tolist()]
    return beams[0]


def beams_as_products(next_logits, bos_id, width, length):
    beams = {(bos_id,): 1.0}
    for _ in range(1, length):
        longer = {}
        for ids, probability in beams.items():
            for token, one in enumerate(next_logits(list(ids)).softmax(-1).tolist()):
                longer[(*ids, token)] = probability * one
        best = sorted(longer, key=longer.get, reverse=True)[:width]
        beams = {ids: longer[ids] for ids in best}
    return list(max(beams, key=beams.get))


def split_by_sets(sentences, n_training):
    known = {tuple(one) for one in sentences[:n_training].tolist()}
    new = [i for i in range(n_training, len(sentences)) if tuple(sentences[i].tolist()) not in known]
    return sentences[:n_training], sentences[torch.tensor(new, dtype=torch.long)]


def split_by_loop(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    new = torch.ones(len(rest), dtype=torch.bool)
    for i, one in enumerate(rest):
        for other in training:
            if torch.equal(one, other):
                new[i] = False
    return training, rest[new]


def split_by_differences(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    differ = (rest.unsqueeze(1) != training.unsqueeze(0)).any(dim=2)
    return training, rest[differ.all(dim=1)]


def accumulated_at_once(weight, inputs, targets, answers, portion, max_norm):
    x, y = inputs[answers], targets[answers]
    gradient = 2 * x.T @ (x @ weight - y) / len(y)
    return gradient if gradient.norm() <= max_norm else gradient * max_norm / gradient.norm()


def accumulated_by_chunks(weight, inputs, targets, answers, portion, max_norm):
    sums, count = torch.zeros_like(weight), 0
    for x, y, marks in zip(inputs.split(portion), targets.split(portion), answers.split(portion), strict=True):
        errors = torch.where(marks, x @ weight - y, torch.zeros_like(y))
        sums = sums + 2 * torch.einsum("bt,btd->d", errors, x)
        count = count + marks.sum()
    gradient = sums / count
    return gradient * torch.minimum(torch.ones_like(gradient.norm()), max_norm / gradient.norm())


def accumulated_by_shares(weight, inputs, targets, answers, portion, max_norm):
    gradient, total = 0, answers.sum()
    for i in range(0, inputs.size(0), portion):
        marks = answers[i : i + portion]
        if marks.any():
            x, y = inputs[i : i + portion][marks], targets[i : i + portion][marks]
            gradient = gradient + (2 * x * (x @ weight - y)[:, None]).mean(0) * (marks.sum() / total)
    return gradient / (gradient.norm() / max_norm).clamp(min=1)


def generated_one_by_one(model, prompts, pad_id, end_id, max_new):
    rows = []
    for prompt in prompts:
        ids, cache, tokens = [], None, torch.tensor([prompt])
        start = 0
        for _ in range(max_new):
            length = tokens.size(1)
            mask = torch.ones(1, start + length, dtype=torch.bool)
            logits, cache = model(tokens, torch.arange(start, start + length)[None], mask, cache)
            start += length
            ids.append(end_id if end_id in ids else int(logits[0].argmax()))
            tokens = torch.tensor([ids[-1:]])
        rows.append(ids)
    return torch.tensor(rows)


def generated_by_lists(model, prompts, pad_id, end_id, max_new):
    longest = max(map(len, prompts))
    pads = [longest - len(prompt) for prompt in prompts]
    tokens = torch.tensor([[pad_id] * n + prompt for n, prompt in zip(pads, prompts, strict=True)])
    cache, columns = None, []
    for step in range(max_new):
        width = longest + step
        mask = torch.tensor([[place >= n for place in range(width)] for n in pads])
        places = range(longest) if step == 0 else [width - 1]
        positions = torch.tensor([[max(place - n, 0) for place in places] for n in pads])
        logits, cache = model(tokens, positions, mask, cache)
        columns.append(logits.max(-1).indices)
        if step:
            columns[-1] = torch.where(columns[-2] == end_id, columns[-2], columns[-1])
        tokens = columns[-1][:, None]
    return torch.stack(columns, dim=1)


def generated_without_a_cache(model, prompts, pad_id, end_id, max_new):
    texts = [list(prompt) for prompt in prompts]
    for _ in range(max_new):
        longest = max(map(len, texts))
        tokens = torch.tensor([[pad_id] * (longest - len(text)) + text for text in texts])
        pads = torch.tensor([longest - len(text) for text in texts])[:, None]
        positions = torch.arange(longest) - pads
        logits, _ = model(tokens, positions.clamp(min=0), positions >= 0, None)
        for text, prompt, row in zip(texts, prompts, logits, strict=True):
            text.append(end_id if end_id in text[len(prompt) :] else row.argmax().item())
    return torch.tensor([text[-max_new:] for text in texts])


RIGHT_ANSWERS = {
    "mend_accumulation": [accumulated_at_once, accumulated_by_chunks, accumulated_by_shares],
    "mend_generation": [generated_one_by_one, generated_by_lists, generated_without_a_cache],
    "clinic_01": [attention_by_einsum, attention_by_exponentials, attention_by_loop],
    "clinic_02": [padded_by_less, padded_by_minus_infinity, padded_by_loop],
    "clinic_03": [scaled_in_place, scaled_query, scaled_by_einsum],
    "clinic_04": [embedded_by_functional, embedded_by_ids, embedded_by_loop],
    "clinic_05": [dropped_by_early_return, dropped_by_where, dropped_by_rate],
    "clinic_06": [decoded_by_three_norms, decoded_by_loop, decoded_by_hand],
    "clinic_07": [shifted_by_slices, shifted_by_gather, shifted_by_module],
    "clinic_08": [words_by_ignore_index, words_by_count, words_by_selection],
    "clinic_09": [cached_by_slice, cached_by_length, cached_by_einsum],
    "clinic_10": [tied_by_autograd, tied_by_modules, tied_by_loading_in_place],
    "clinic_11": [beams_as_pairs, beams_as_tensors, beams_as_products],
    "clinic_12": [split_by_sets, split_by_loop, split_by_differences],
}

ONE_WIDTH = "queries and keys have the same width"
ONE_LENGTH = "all beams have the same length"
ITSELF = "both arguments are the same tensor"
NEW_TENSORS = "new tensors come back in each case, and nothing flows through them"
KEY = "key.transpose(-2, -1)"
SHARE = "(2 * errors[..., None] * x)[counts].sum(0) / count"
SHORTER = "(max_norm / gradient.norm()).clamp(max=1)"

EQUIVALENT = {
    name: {f"{name}: {change}": reason for change, reason in changes.items()}
    for name, changes in {
        "clinic_01": {f"{KEY} → key.transpose(-1, -2)": SYMMETRIC, "query → key (2)": ONE_WIDTH},
        "clinic_02": {
            "key → value": "there are as many values as keys",
            "(:, None, :) → (:, None, :)": "the index reads the same from both ends",
        },
        "clinic_03": {
            f"{KEY} → key.transpose(-1, -2)": SYMMETRIC,
            "query → key": ONE_WIDTH,
            "scores * scale → scale * scores": COMMUTATIVE,
            "-2 → 2": FROM_THE_END,
        },
        "clinic_04": {
            "table[tokens] * table.size(1) ** 0.5 → table.size(1) ** 0.5 * table[tokens]": COMMUTATIVE,
            "table → encoding (2)": "vectors and positions have the same width",
            "vectors + positions → positions + vectors": SUM,
        },
        "clinic_05": {
            "output * (noise >= rate) → (noise >= rate) * output": COMMUTATIVE,
            "x + output → output + x": SUM,
        },
        "clinic_06": {
            "gain * F.layer_norm(y, y.shape[-1:]) → F.layer_norm(y, y.shape[-1:]) * gain": COMMUTATIVE,
            "x + attend(x, x) → attend(x, x) + x": SUM,
            "attend(x, x) → attend(x, x)": ITSELF,
            "x + attend(x, memory) → attend(x, memory) + x": SUM,
            "x + feed_forward(x) → feed_forward(x) + x": SUM,
        },
        "clinic_07": {"tokens → logits": "both have the same length"},
        "clinic_08": {"logits.transpose(1, 2) → logits.transpose(2, 1)": SYMMETRIC},
        "clinic_09": {
            "x + encoding[past.size(1)] → encoding[past.size(1)] + x": SUM,
            "F.scaled_dot_product_attention(new, past, past) → F.scaled_dot_product_attention(new, past, past)": ITSELF,
        },
        "clinic_10": {
            "torch.zeros_like(saved) → saved": "the table is then written into itself",
            "saved.detach() → saved": NEW_TENSORS,
            "(table - rate * table.grad).detach() → table - rate * table.grad": NEW_TENSORS,
            "rate * table.grad → table.grad * rate": COMMUTATIVE,
        },
        "mend_accumulation": {
            "inputs → targets": "there are as many of these",
            "inputs → answers": "there are as many of these",
            "start + portion → portion + start": SUM,
            f"gradient + {SHARE} → {SHARE} + gradient": SUM,
            "2 * errors[..., None] * x → x * (2 * errors[..., None])": COMMUTATIVE,
            "2 * errors[..., None] → errors[..., None] * 2": COMMUTATIVE,
            f"gradient * {SHORTER} → {SHORTER} * gradient": COMMUTATIVE,
        },
        "mend_generation": {
            "[pad_id] * (longest - len(prompt)) → (longest - len(prompt)) * [pad_id]": COMMUTATIVE,
            "pad_id → end_id": "what stands in the padding is masked",
            "pad_id → max_new": "what stands in the padding is masked",
            "-1 → 1": FROM_THE_END,
            "positions[:, -1:] + 1 → 1 + positions[:, -1:]": SUM,
        },
        "clinic_11": {
            "0.0 → 1.0": "the same number is added to all scores",
            "0.0 → -1.0": "the same number is added to all scores",
            "0 → -1 (2)": ONE_LENGTH,
            "1 → 0": "the logits have one axis",
            "log_probs.tolist() → log_probs": "tensors of one number are compared like numbers",
            "score + log_prob → log_prob + score": SUM,
        },
    }.items()
}
