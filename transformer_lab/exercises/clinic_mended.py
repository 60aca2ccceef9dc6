"""The twelve functions of the bug clinic, mended: the references of lesson 14."""

import torch
from torch.nn import functional as F


def clinic_01(query, key, value):
    """Attention: (B, T, d), (B, S, d), (B, S, d_v) to output (B, T, d_v), weights (B, T, S)."""
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


def clinic_02(query, key, value, lengths):
    """Attention over padded sentences; sentence b is lengths[b] words, then padding."""
    positions = torch.arange(key.size(1))
    words = positions < lengths[:, None]  # (B, S), True = may attend
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words[:, None, :])


def clinic_03(query, key):
    """The weights of every head: (B, h, T, d_head) and (B, h, S, d_head) to (B, h, T, S)."""
    scale = query.size(-1) ** -0.5
    scores = query @ key.transpose(-2, -1) * scale
    return scores.softmax(-1)


def clinic_04(tokens, table, encoding):
    """Vectors (B, T, d) for ids (B, T): table (vocab, d), encoding (max_len, d)."""
    vectors = table[tokens] * table.size(1) ** 0.5
    return vectors + encoding[: tokens.size(1)]


def clinic_05(x, output, noise, rate, training):
    """A residual connection with dropout; `noise` is uniform between 0 and 1."""
    if training:
        kept = noise >= rate
        output = output * kept / (1 - rate)  # so that the mean stays
    return x + output


def clinic_06(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    """A post-norm decoder layer: self-attention, attention to the memory, feed-forward."""

    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_1)
    x = normalised(x + attend(x, memory), gain_2)
    return normalised(x + feed_forward(x), gain_3)


def clinic_07(logits, tokens):
    """The mean loss of a language model: logits (B, T, vocab) for ids (B, T)."""
    n_steps = tokens.size(1) - 1  # nothing follows the last token
    predicted = logits[:, :n_steps].flatten(0, 1)
    wanted = tokens[:, 1:].flatten()
    return F.cross_entropy(predicted, wanted)


def clinic_08(logits, targets, pad_id):
    """The mean loss over the words of a batch: logits (B, T, vocab), targets (B, T)."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    words = targets != pad_id
    return losses[words].mean()


def clinic_09(x, past, encoding):
    """One decoding step: the new token x (B, 1, d) attends to the past and itself.

    `past` (B, S, d) has its positions added, x has not. Returns output and new past.
    """
    new = x + encoding[past.size(1)]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


def clinic_10(saved, tokens, targets, rate):
    """Load a saved table (vocab, d) into a model with tied weights; take one gradient step.

    Returns the embedding and the output table after the step.
    """
    table = saved.detach().clone().requires_grad_()
    model = {"embedding": table, "output": table}  # one table, under both names
    logits = model["embedding"][tokens] @ model["output"].T
    F.cross_entropy(logits, targets).backward()
    return tuple((table - rate * table.grad).detach() for table in model.values())


def clinic_11(next_logits, bos_id, width, length):
    """Beam search for a sentence of `length` ids: each step keeps the `width` likeliest."""
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            log_probs = next_logits(ids).log_softmax(-1)
            for token, log_prob in enumerate(log_probs.tolist()):
                candidates.append(([*ids, token], score + log_prob))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[0][0]


def clinic_12(sentences, n_training):
    """Split sentences (N, T): the first n_training train; of the rest, the unseen validate."""
    training, rest = sentences[:n_training], sentences[n_training:]
    same = (rest[:, None] == training).all(-1)  # (rest, training)
    seen = same.any(1)
    return training, rest[~seen]
