"""Lesson 03, what its exercises share: waves in two arrangements."""

import torch


def exponents(d_model):
    """2i / d_model for each pair."""
    return torch.arange(0, d_model, 2) / d_model


def interleaved(angle):
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def waves(length, exponent, base=10000.0, start=0):
    """A right encoding but for its exponents, its base or its first position."""
    return interleaved(torch.arange(start, start + length).unsqueeze(1) / base**exponent)
