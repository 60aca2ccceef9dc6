"""Smoothed n-gram tables, which predict the next token from the last few alone: a baseline for language models."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_lab.checks import check_least

Counts = tuple[np.ndarray, np.ndarray]  # codes of n-grams, sorted, and a number for each


class NGrams:
    """Interpolated Kneser-Ney smoothing with three discounts (Chen & Goodman, 1999, equations 25 to 28).

    p(w | h) = max(c(h w) - D, 0) / c(h) + what the discounts left over / c(h) · p(w | h')

    h are the order - 1 tokens before w, h' is h without its first, and c counts in the text; of shorter n-grams it
    counts how many different tokens precede them, so that a token which follows one word alone is not expected
    everywhere. D depends on c(h w): one, two, or more. Below the shortest lies an even distribution. An n-gram is
    stored as one number, its tokens being the digits.

    Raises:
        ValueError: order is below 1; vocab_size^order is 2^63 or more; the text is shorter than order.
    """

    def __init__(self, tokens: Int[Tensor, " n"], vocab_size: int, order: int):
        check_least(1, order=order, vocab_size=vocab_size)
        if vocab_size**order >= 2**63:
            raise ValueError(f"vocab_size^order must be below 2^63 (got {vocab_size}^{order})")
        if len(tokens) < order:
            raise ValueError(f"a text must have at least as many tokens as the order (got {len(tokens)}, {order})")
        self.vocab_size, self.order = vocab_size, order
        text = tokens.cpu().numpy().astype(np.int64)
        grams, counts = counted(codes(text, vocab_size, order))
        self.levels = [Level(grams, counts, vocab_size)]  # from the longest n-grams to single tokens
        for n in range(order - 1, 0, -1):
            first = codes(text[: n + 1], vocab_size, n + 1)  # a longer one may end in each of the others alone
            seen, _ = counted(np.append(grams, first))
            grams, counts = counted(seen % vocab_size**n)
            self.levels.append(Level(grams, counts, vocab_size))

    def __len__(self) -> int:
        """The number of stored n-grams, of all lengths."""
        return sum(len(level.grams) for level in self.levels)

    def token_log_probs(self, tokens: Int[Tensor, " n"]) -> Float[Tensor, " n-1"]:
        """ln p of each token but the first, given the order - 1 tokens before it, or as many as there are."""
        text = tokens.cpu().numpy().astype(np.int64)
        found = np.empty(len(text) - 1)
        for t in range(1, min(self.order - 1, len(text))):
            found[t - 1] = self.probabilities(codes(text[: t + 1], self.vocab_size, t + 1), t + 1)[0]
        if len(text) >= self.order and self.order > 1:
            found[self.order - 2 :] = self.probabilities(codes(text, self.vocab_size, self.order), self.order)
        elif self.order == 1:
            found[:] = self.probabilities(text[1:], 1)
        return torch.from_numpy(np.log(found)).float()

    def next_probabilities(self, tokens: Int[Tensor, " n"]) -> Float[Tensor, " vocab"]:
        """The distribution of the token that follows these tokens."""
        last = tokens.tolist()[max(0, len(tokens) - self.order + 1) :] if self.order > 1 else []
        context = 0
        for token in last:
            context = context * self.vocab_size + token
        grams = context * self.vocab_size + np.arange(self.vocab_size, dtype=np.int64)
        return torch.from_numpy(self.probabilities(grams, len(last) + 1)).float()

    def probabilities(self, grams: np.ndarray, n: int) -> np.ndarray:
        """The probability of the last token of each n-gram, given the others."""
        p = np.full(len(grams), 1 / self.vocab_size)
        for length in range(1, n + 1):
            p = self.levels[self.order - length].interpolated(grams % self.vocab_size**length, p)
        return p


class Level:
    """The n-grams of one length: their discounted counts, and for each context the totals needed to normalise them."""

    def __init__(self, grams: np.ndarray, counts: np.ndarray, vocab_size: int):
        self.vocab_size, self.grams = vocab_size, grams
        discounts = discounts_of(counts)[np.minimum(counts, 3)]
        self.kept = counts - discounts
        contexts = grams // vocab_size
        first = np.flatnonzero(np.diff(contexts, prepend=-1))  # they are sorted, as the n-grams are
        self.contexts = contexts[first]
        self.totals, self.left_over = np.add.reduceat(counts, first), np.add.reduceat(discounts, first)

    def interpolated(self, grams: np.ndarray, shorter: np.ndarray) -> np.ndarray:
        """The probability of each n-gram's last token, interpolated with `shorter`, that given shorter contexts."""
        contexts = grams // self.vocab_size
        total = looked_up(self.contexts, self.totals, contexts)
        mass = looked_up(self.grams, self.kept, grams) + looked_up(self.contexts, self.left_over, contexts) * shorter
        return np.where(total > 0, mass / np.maximum(total, 1), shorter)


def codes(text: np.ndarray, vocab_size: int, n: int) -> np.ndarray:
    """Encode each n-gram of a text as a number whose digits are its tokens."""
    found = np.zeros(len(text) - n + 1, dtype=np.int64)
    for i in range(n):
        found = found * vocab_size + text[i : len(text) - n + 1 + i]
    return found


def counted(found: np.ndarray) -> Counts:
    """The distinct codes, sorted, and the count of each. (Without counts, numpy hashes, which is slow.)"""
    return np.unique(found, return_counts=True)


def discounts_of(counts: np.ndarray) -> np.ndarray:
    """The discount of counts 0, 1, 2 and 3 or more, from how many n-grams occur once, twice, three and four times.

    D_i = i - (i + 1) · Y · n_{i+1} / n_i,  Y = n_1 / (n_1 + 2 n_2)        (Chen & Goodman, 1999, equation 26)

    In a text so short that one of these does not occur, it is a half.
    """
    n1, n2, n3, n4 = (int((counts == i).sum()) for i in (1, 2, 3, 4))
    if not min(n1, n2, n3, n4):
        return np.array([0.0, 0.5, 0.5, 0.5])
    y = n1 / (n1 + 2 * n2)
    found = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    return np.clip(found, [0, 0.05, 0.05, 0.05], [0, 0.95, 1.95, 2.95])


def looked_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Look up the value of each wanted key in the sorted keys; unknown keys give 0."""
    i = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[i] == wanted, values[i], 0)
