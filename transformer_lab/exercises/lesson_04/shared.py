"""Lesson 04, what its exercises share: sublayers and norms to try a block with."""

import torch
import torch.nn.functional as F


def plus_ten(x):
    """Adds 10 to each number."""
    return x + 10


def doubled(x):
    """Doubles each number."""
    return 2 * x


def zeros(x):
    """Gives zeros, whatever it reads."""
    return 0 * x


def bent(x):
    return 3 * torch.tanh(x.roll(1, dims=-1)) + x.roll(2, dims=-1)


def squared(x):
    return x.square() + 1


def standardised(x):
    return F.layer_norm(x, x.shape[-1:])


def learned_norm(x):
    features = torch.arange(x.size(-1), dtype=x.dtype, device=x.device)
    return F.layer_norm(x, x.shape[-1:], 1 + features / 3, 1 - features / 2)
