"""Softmax saturation of twenty queries and eight keys."""

import math

import torch

SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(1)
wide_query, wide_key = torch.randn(20, 1024), torch.randn(8, 1024)
"""
SHOW = {"saturation": "widgets.saturation(wide_query, wide_key)"}

data: dict = {}
exec(SET_UP, data)


def saturated(width=1024, scaled=False) -> dict:
    norms, weights = jacobians(width, scaled)
    typical = jacobians(1024, False)[0].median(dim=0).indices
    return {"weights": weights[typical].tolist(), "norm": norms.median().item(), "width": width}


def jacobians(width: int, scaled: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The norm of the Jacobian of each query, and its weights."""
    query, key = (data[name][:, :width].double() for name in ("wide_query", "wide_key"))
    p = (query @ key.T / (math.sqrt(width) if scaled else 1)).softmax(-1)
    return (torch.diag_embed(p) - p[:, :, None] * p[:, None, :]).flatten(1).norm(dim=1), p


START = {"saturation": saturated}
