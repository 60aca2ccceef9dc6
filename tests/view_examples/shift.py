"""A shift as a rotation, and the same view opened at its tab for rotary positions."""

import torch

from transformer_lab import rotate, shift_matrix, sinusoidal_encoding

SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(3)
one_query, one_key = torch.randn(8), torch.randn(8)
"""
SHOW = {"shift": "widgets.shift(one_query, one_key)", "rope": "widgets.shift(one_query, one_key, tab='RoPE')"}

data: dict = {}
exec(SET_UP, data)


def shifted(position=3, offset=5) -> dict:
    table = sinusoidal_encoding(position + max(offset, 0) + 1, 8, "cpu", torch.float64)
    moved = shift_matrix(offset, 8, dtype=torch.float64).cpu() @ table[position]
    target = table[position + offset]
    return arrows(table[position], moved, target)


def broken(position=3, offset=5) -> dict:
    """The same with a table whose features each have a frequency of their own."""
    speed = 10000.0 ** (-torch.arange(8, dtype=torch.float64, device="cpu") / 8)
    even = torch.arange(8, device="cpu") % 2 == 0
    before, target = (torch.where(even, (p * speed).sin(), (p * speed).cos()) for p in (position, position + offset))
    return arrows(before, shift_matrix(offset, 8, dtype=torch.float64).cpu() @ before, target)


def arrows(before, moved, target) -> dict:
    residual = (moved - target).abs().max().item()
    return {"tab": "shift", "before": before.tolist(), "moved": moved.tolist(), "target": target.tolist()} | {
        "residual": residual
    }


def rotated(query=12, key=5) -> dict:
    q, k = (rotate(data[name].double()[None], at)[0] for name, at in (("one_query", query), ("one_key", key)))
    return {"tab": "RoPE", "query": q.tolist(), "key": k.tolist(), "score": torch.dot(q, k).item()}


START = {"shift": shifted, "rope": rotated}
