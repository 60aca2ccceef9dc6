"""By how much random matrices differ."""

import torch


def numbers() -> dict:
    one, other = torch.randn(2, 4, 5, dtype=torch.float64)
    return {
        "one": one.tolist(),
        "other": other.tolist(),
        "all": ((one - other).norm() / other.norm()).item(),
        "first": ((one - other)[:2].norm() / other[:2].norm()).item(),
    }
