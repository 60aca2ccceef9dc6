"""Right answers to the exercises of lesson 09, and the mutants of their references that compute the same."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F

from tests.answers.reasons import COMMUTATIVE, IDS, SUM, widened


def loss_by_transposing(logits, tokens, pad_id):
    return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], ignore_index=pad_id)


def loss_by_gather(logits, tokens, pad_id):
    log_probs = logits.log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0]
    known = tokens[:, 1:] != pad_id
    return -(log_probs * known).sum() / known.sum()


def loss_by_padding_the_targets(logits, tokens, pad_id):
    targets = F.pad(tokens[:, 1:], (0, 1), value=pad_id)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


def loss_by_loop(logits, tokens, pad_id):
    losses = []
    for row, ids in zip(logits, tokens.tolist(), strict=True):
        for t, token in enumerate(ids[1:]):
            if token != pad_id:
                losses.append(row[t].logsumexp(0) - row[t, token])
    return torch.stack(losses).mean()


def perplexity_by_torch(token_log_probs):
    return token_log_probs.mean().neg().exp()


def perplexity_by_bits(token_log_probs):
    return 2 ** (-token_log_probs / math.log(2)).mean()


def perplexity_by_roots(token_log_probs):
    return torch.exp(-token_log_probs / len(token_log_probs)).prod()


def perplexity_by_dot_product(token_log_probs):
    share = torch.full_like(token_log_probs, -1 / len(token_log_probs))
    return torch.exp(share @ token_log_probs)


def perplexity_in_float64(token_log_probs):
    return (-token_log_probs.double().sum() / token_log_probs.numel()).exp().to(token_log_probs.dtype)


def bits_by_log2(nats, n_tokens, n_bytes):
    return nats * math.log2(math.e) / n_bytes


def bits_by_mean(nats, n_tokens, n_bytes):
    return nats / n_tokens / math.log(2) * n_tokens / n_bytes


def bits_by_numpy(nats, n_tokens, n_bytes):
    return np.float64(nats) / np.log(2) / n_bytes


def bits_by_base(nats, n_tokens, n_bytes):
    return math.log(math.exp(nats / n_bytes), 2)


def table_by_index_put(train, test, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    counts.index_put_((train[:-1], train[1:]), torch.ones(len(train) - 1), accumulate=True)
    return -(counts / counts.sum(1, keepdim=True)).log()[test[:-1], test[1:]].mean()


def table_by_bincount(train, test, vocab_size):
    pairs = train[:-1] * vocab_size + train[1:]
    counts = torch.bincount(pairs, minlength=vocab_size**2).view(vocab_size, vocab_size)
    logs = (counts + 1.0).log() - (counts.sum(1, keepdim=True) + vocab_size).log()
    return F.nll_loss(logs[test[:-1]], test[1:])


def table_by_counter(train, test, vocab_size):
    pairs, lefts = Counter(pairwise(train.tolist())), Counter(train[:-1].tolist())
    chances = [(pairs[a, b] + 1) / (lefts[a] + vocab_size) for a, b in pairwise(test.tolist())]
    return torch.tensor(-sum(map(math.log, chances)) / len(chances))


def table_mended(train, test, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    probabilities = (counts + 1) / (counts + 1).sum(1, keepdim=True)
    return -probabilities[test[:-1], test[1:]].log().mean()


def loss_by_share(losses):
    one, two, four = losses
    return four - (two - four) * ((two - four) / (one - two))


def loss_by_constants(losses):
    one, two, four = losses
    share = (two - four) / (one - two)
    floor = (one * four - two * two) / (one + four - 2 * two)
    return floor + (one - floor) * share**3


def loss_by_numpy(losses):
    gaps = -np.diff(losses)
    return losses[-1] - gaps[1] ** 2 / gaps[0]


def loss_by_exponent(losses):
    b = math.log2((losses[0] - losses[1]) / (losses[1] - losses[2]))
    return losses[2] - (losses[1] - losses[2]) * 2**-b


def perplexity_as_a_number(token_log_probs):
    return math.exp(-math.fsum(token_log_probs.tolist()) / len(token_log_probs))


def perplexity_as_numpy_s_number(token_log_probs):
    return np.exp(-token_log_probs.detach().cpu().numpy().mean())


RIGHT_ANSWERS = {
    "next_token_loss": [loss_by_transposing, loss_by_gather, loss_by_padding_the_targets, loss_by_loop],
    "perplexity": [
        perplexity_as_a_number,
        perplexity_as_numpy_s_number,
        perplexity_by_torch,
        perplexity_by_bits,
        perplexity_by_roots,
        perplexity_by_dot_product,
        perplexity_in_float64,
    ],
    "bits_per_byte": [bits_by_log2, bits_by_mean, bits_by_numpy, bits_by_base],
    "mend_bigram_loss": [table_by_index_put, table_by_bincount, table_by_counter, table_mended],
    "predict_loss": [loss_by_share, loss_by_constants, loss_by_numpy, loss_by_exponent],
}

OF_ONE_LENGTH = "a text without its first token is as long as one without its last"
ELEMENTS = "a tensor of one id is as good an index as the id"

EQUIVALENT = {
    "mend_bigram_loss": {
        "mend_bigram_loss: torch.zeros(vocab_size, vocab_size) → torch.zeros(vocab_size, vocab_size)": "both are one",
        "mend_bigram_loss: counts + 1 → 1 + counts": SUM,
        "mend_bigram_loss: zip(train[:-1].tolist(), train[1:].tolist(), strict=True) → "
        "zip(train[:-1].tolist(), train[1:].tolist())": OF_ONE_LENGTH,
        "mend_bigram_loss: True → False": OF_ONE_LENGTH,
        "mend_bigram_loss: train[:-1].tolist() → train[:-1]": ELEMENTS,
        "mend_bigram_loss: train[1:].tolist() → train[1:]": ELEMENTS,
    },
    "next_token_loss": widened(
        *("next_token_loss", "logits", "logits.flatten(0, 1).to(at_least_float32) → logits.flatten(0, 1)"),
    )
    | {"next_token_loss: truth.flatten().long() → truth.flatten()": IDS},
    "perplexity": widened(
        *("perplexity", "token_log_probs", "token_log_probs.mean(dtype=at_least_float32) → token_log_probs.mean()"),
    ),
    "predict_loss": {
        "predict_loss: losses[1] - losses[2] → losses[2] - losses[1]": "its square is the same",
        "predict_loss: second * second → second * second": COMMUTATIVE,
    },
}
