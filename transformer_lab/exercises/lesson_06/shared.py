"""Lesson 06, what its exercises share: sublayers and norms to try layers with."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import several
from transformer_lab.nn import attention


def weighted(scores, value, mask):
    """Values averaged by the softmax of scores; without a mask, over all of them."""
    weights = scores.softmax(-1) if mask is None else attention.masked_softmax(scores, mask)
    return weights @ value


def average(query, key, value, mask=None):
    """Gives each query the plain average of the values that it may attend to."""
    return weighted(0 * (query @ key.mT), value, mask)


def first_look(query, key, value, mask=None):
    return weighted(torch.tanh(query) @ (key.roll(1, -1) + 0.5).mT, 2 * value.roll(2, -1) + 1, mask)


def second_look(query, key, value, mask=None):
    return 3 * torch.tanh(weighted(query.roll(1, -1) @ torch.tanh(key).mT, value - 2, mask))


def doubled(x):
    """Doubles each number."""
    return 2 * x


def bent(x):
    return 3 * torch.relu(x.roll(1, -1)) - x.roll(2, -1) + 1


def plus_one(x):
    """Adds 1 to each number."""
    return x + 1


def halved(x):
    """Halves each number."""
    return x / 2


def standardised(x):
    return F.layer_norm(x, x.shape[-1:])


def learned_norm(number: int):
    """A layer norm whose weight and bias belong to it alone."""

    def norm(x):
        features = torch.arange(x.size(-1), dtype=x.dtype, device=x.device)
        return F.layer_norm(x, x.shape[-1:], 1 + features / (number + 1), number - features / 2)

    norm.__name__ = f"layer_norm_{number}"
    return norm


NORM_1, NORM_2, NORM_3 = map(learned_norm, (1, 2, 3))


def causal(length: int):
    return torch.ones(length, length, dtype=torch.bool, device="cpu").tril()


def words(*lengths: int):
    """(B, 1, S): True for the words of each sentence, False for the padding that fills it up to the longest."""
    return (torch.arange(max(lengths), device="cpu") < torch.tensor(lengths, device="cpu")[:, None])[:, None]


def norms(generator: Generator, count: int) -> dict[str, Callable]:
    known = (NORM_1, NORM_2, NORM_3, standardised)
    return {f"norm_{i}": norm for i, norm in enumerate(several(generator, count, *known), start=1)}
