"""A small translator, which the page runs by itself; and by how much random matrices differ."""

import torch

from tests.browser.javascript.machine_overview import numbers as of_translator


def numbers() -> dict:
    one, other = torch.randn(2, 4, 5, dtype=torch.float64)
    return of_translator() | {
        "one": one.tolist(),
        "other": other.tolist(),
        "all": ((one - other).norm() / other.norm()).item(),
        "first": ((one - other)[:2].norm() / other[:2].norm()).item(),
    }
