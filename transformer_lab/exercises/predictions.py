"""References of exercises that ask for a prediction: what is worked out on paper, as a function."""

import math


def new_weights(weights, shift, factor):
    """The weights (…, S) that `factor * (score + shift)` makes of the scores behind these weights.

    A shift multiplies all exponentials of a row alike, and cancels. A factor is an exponent: e^(f s) = (e^s)^f.
    """
    powers = weights**factor  # (…, S): a row of weights is a row of exponentials, but for a factor
    return powers / powers.sum(-1, keepdim=True)


def place_in_heads(token, feature, length, d_model, n_heads):
    """Where `split_heads` puts a feature of a token: `(head, row, column)`. The sentence's length plays no part."""
    head, column = divmod(feature, d_model // n_heads)
    return head, token, column


def first_repeat(periods, with_cosine):
    """The first position after 0 that has the vector of position 0, where pair i turns once in periods[i] positions.

    All hands must have come round: the least common multiple. A sine alone is 0 after half a turn as well.
    """
    turns = periods if with_cosine else [period // math.gcd(period, 2) for period in periods]
    return math.lcm(*turns)


def visible_pairs(lengths):
    """How many entries of a decoder's mask are True, for sentences of these lengths, padded to the longest.

    Query t of a sentence of n words sees min(t + 1, n) keys; the queries of padding see all n words.
    """
    longest = max(lengths)
    return sum(n * (n + 1) // 2 + (longest - n) * n for n in lengths)


def same_rate_again(step, warmup_steps):
    """The step after the peak at which the rate is what it was at `step`, during the warm-up.

    step · w^-1.5 = t^-0.5, so that t = w³ / step².
    """
    return warmup_steps**3 / step**2


def positions_computed(prompt, new, cached):
    """How many positions a decoder computes to write `new` tokens behind a prompt.

    The last token is written, and never read. With a cache each position is computed once, without one in every step.
    """
    if cached:
        return prompt + new - 1
    return new * prompt + new * (new - 1) // 2


def tokens_per_pass(acceptance, n_draft):
    """How many tokens one pass of the model writes on average, where each drafted one stands with that probability.

    The i-th drafted token is written if it and all before it stand; one more is written in any case.
    """
    return sum(acceptance**i for i in range(n_draft + 1))


def count_paths(heads):
    """How many paths lead from the embedding to the logits of an attention-only model with so many heads a layer.

    A layer leaves each path as it is, by the residual connection, and lets it branch through each of its heads.
    """
    paths = 1
    for count in heads:
        paths = paths + paths * count
    return paths


def kv_cache_bytes(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    """Bytes of the keys and the values of all positions that a decoder has read, in all layers."""
    numbers_of_a_token = 2 * n_layers * n_kv_heads * d_head  # a key and a value for each head that has its own
    return numbers_of_a_token * length * batch * bytes_per_number
