"""Wrong mends of the bug clinic, as somebody tries them who has not found the cause, or not all of it."""

import torch
from torch.nn import functional as F


def axis_of_the_features(query, key, value):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores.transpose(1, 2), dim=-1)
    return weights.transpose(1, 2) @ value, weights.transpose(1, 2)


def axis_right_values_scaled(query, key, value):
    scores = query @ key.transpose(-2, -1) / value.size(-1) ** 0.5
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


def axis_right_keys_averaged(query, key, value):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    weights = F.softmax(scores, dim=2)
    return weights.transpose(1, 2).transpose(1, 2) @ value, scores


def mask_of_the_queries(query, key, value, lengths):
    words = torch.arange(key.size(1)) < lengths[:, None] - 1
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words[:, None, :])


def mask_as_a_number(query, key, value, lengths):
    padding = torch.arange(key.size(1)) >= lengths[:, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=-padding[:, None, :].float())


def mask_after_the_attention(query, key, value, lengths):
    words = torch.arange(key.size(1)) < lengths[:, None]
    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1) * words[:, None, :]
    return weights @ value


def scaled_twice(query, key):
    scale = query.size(-1) ** -0.5
    scores = (query * scale) @ key.transpose(-2, -1)
    scores = scores.mul(scale)
    return scores.softmax(-1)


def scaled_by_the_keys(query, key):
    scale = key.size(-2) ** -0.5
    scores = query @ key.transpose(-2, -1)
    scores.mul_(scale)
    return scores.softmax(-1)


def positions_turned(tokens, table, encoding):
    vectors = table[tokens] * table.size(1) ** 0.5
    length = vectors.size(1)
    return vectors + encoding[:length].flip(0)


def positions_first_only(tokens, table, encoding):
    vectors = table[tokens] * table.size(1) ** 0.5
    length = vectors.size(1)
    return vectors + encoding[length - 1]


def unscaled_in_the_end(tokens, table, encoding):
    return table[tokens] + encoding[: tokens.size(1)]


def dropped_where_kept(x, output, noise, rate, training):
    if training:
        kept = noise < rate
        output = output * kept / (1 - rate)
    return x + output


def divided_by_the_rate(x, output, noise, rate, training):
    if training:
        output = output * (noise >= rate) / rate if rate else output
    return x + output


def gains_in_turn(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_2)
    x = normalised(x + attend(x, memory), gain_1)
    return normalised(x + feed_forward(x), gain_3)


def memory_without_residual(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_1)
    x = normalised(attend(x, memory), gain_2)
    return normalised(x + feed_forward(x), gain_3)


def shifted_by_two(logits, tokens):
    return F.cross_entropy(logits[:, :-2].flatten(0, 1), tokens[:, 2:].flatten())


def wanted_first_only(logits, tokens):
    predicted = logits[:, :-1].flatten(0, 1)
    return F.cross_entropy(predicted, tokens[:, :1].expand(-1, tokens.size(1) - 1).flatten())


def divided_by_words_and_one(logits, targets, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    words = targets != pad_id
    return (losses * words).sum() / (words.sum() + 1)


def padding_alone(logits, targets, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return losses[targets == pad_id].mean()


def position_from_the_end(x, past, encoding):
    new = x + encoding[-past.size(1) - 1]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


def position_added_twice(x, past, encoding):
    new = x + 2 * encoding[past.size(1)]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


def tied_before_the_load(saved, tokens, targets, rate):
    table = saved.detach().clone().requires_grad_()
    logits = table[tokens] @ table.detach().T
    F.cross_entropy(logits, targets).backward()
    new = (table - rate * table.grad).detach()
    return new, new


def step_without_rate(saved, tokens, targets, rate):
    table = saved.detach().clone().requires_grad_()
    F.cross_entropy(table[tokens] @ table.T, targets).backward()
    new = (table - table.grad).detach()
    return new, new


def scores_averaged(next_logits, bos_id, width, length):
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            log_probs = next_logits(ids).log_softmax(-1)
            for token, log_prob in enumerate(log_probs.tolist()):
                candidates.append(([*ids, token], score + log_prob))
        beams = sorted(candidates, key=lambda beam: beam[1])[:width]
    return beams[0][0]


def last_of_the_beam(next_logits, bos_id, width, length):
    beams = [([bos_id], 0.0)]
    while len(beams[0][0]) < length:
        candidates = []
        for ids, score in beams:
            log_probs = next_logits(ids).log_softmax(-1)
            for token, log_prob in enumerate(log_probs.tolist()):
                candidates.append(([*ids, token], score + log_prob))
        beams = sorted(candidates, key=lambda beam: beam[1], reverse=True)[:width]
    return beams[-1][0]


def first_training_sentence(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    seen = (rest == training[0]).all(-1)
    return training, rest[~seen]


def training_counted_too(sentences, n_training):
    training, rest = sentences[:n_training], sentences[n_training:]
    same = (rest[:, None] == sentences).all(-1)
    return training, rest[same.sum(1) < 2]


COLLECTED = {
    "clinic_01": [
        ("softmax still over the queries, written with transpositions", axis_of_the_features),
        ("axis right, scaled by the width of the values", axis_right_values_scaled),
        ("axis right, returns the scores", axis_right_keys_averaged),
    ],
    "clinic_02": [
        ("mask one too short", mask_of_the_queries),
        ("-1 is added where the padding is", mask_as_a_number),
        ("masked after the softmax", mask_after_the_attention),
    ],
    "clinic_03": [
        ("scaled twice", scaled_twice),
        ("scaled by the number of keys", scaled_by_the_keys),
    ],
    "clinic_04": [
        ("positions backwards", positions_turned),
        ("every token gets the last position", positions_first_only),
        ("√d lost", unscaled_in_the_end),
    ],
    "clinic_05": [("comparison turned round", dropped_where_kept), ("divided by the rate", divided_by_the_rate)],
    "clinic_06": [
        ("gains 1 and 2 exchanged", gains_in_turn),
        ("residual around the memory lost", memory_without_residual),
    ],
    "clinic_07": [("shifted by two", shifted_by_two), ("always the first token", wanted_first_only)],
    "clinic_08": [("one word too many in the count", divided_by_words_and_one), ("mean of the padding", padding_alone)],
    "clinic_09": [("positions from the end", position_from_the_end), ("position added twice", position_added_twice)],
    "clinic_10": [
        ("the output table gets no gradient", tied_before_the_load),
        ("the rate is not used", step_without_rate),
    ],
    "clinic_11": [("keeps the worst", scores_averaged), ("returns the last of the beam", last_of_the_beam)],
    "clinic_12": [
        ("compares with the first training sentence only", first_training_sentence),
        ("drops what repeats within validation, too", training_counted_too),
    ],
}
