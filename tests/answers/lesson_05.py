"""Right answers to the exercises of lesson 05, and the mutants of their references that compute the same."""

import torch

from transformer_lab import masks


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
}

SAME_SIZE = "both axes have the same size"
PALINDROME = "the index reads the same from both ends"

EQUIVALENT = {
    "causal_mask": {
        "line 6: torch.ones(length, length, dtype=torch.bool) → "
        "torch.ones(length, length, dtype=torch.bool)": SAME_SIZE,
    },
    "padding_mask": {"line 6: (:, None, None, :) → (:, None, None, :)": PALINDROME},
    "decoder_mask": {
        "line 7: torch.ones(length, length, dtype=torch.bool, device=tokens.device) → "
        "torch.ones(length, length, dtype=torch.bool, device=tokens.device)": SAME_SIZE,
        "line 7: torch.ones(length, length, dtype=torch.bool, device=tokens.device) → "
        "torch.ones(length, length, dtype=torch.bool)": "within a check, new tensors lie where the arguments lie",
        "line 8: causal & (tokens != pad_id)[:, None, None, :] → "
        "(tokens != pad_id)[:, None, None, :] & causal": "a & b is b & a",
        "line 8: (:, None, None, :) → (:, None, None, :)": PALINDROME,
    },
}
