"""Tiles of two over six queries and six keys, and a causal walk in tiles of three that do not divide the length."""

import math

import torch

SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(5)
tile_scores = 2 * torch.randn(6, 6)
tile_words = ["the", "<b>cat</b>", "sat", "on", "a", "mat"]
more_scores = 3 * torch.randn(7, 7)
"""
SHOW = {
    "tiles": "widgets.tiles(tile_scores, tile_words, tile_words)",
    "causal tiles": "widgets.tiles(more_scores, tile=3, d_head=8, causal=True)",
    "tiles of other shape": "widgets.tiles(more_scores[:4, :5], tile=2)",
}

data: dict = {}
exec(SET_UP, data)


def walk(T: int, S: int, tile: int, causal: bool) -> list[tuple[range, range]]:
    """All tiles that hold a score that may be seen, row by row."""
    tiles = [
        (range(t, min(t + tile, T)), range(s, min(s + tile, S))) for t in range(0, T, tile) for s in range(0, S, tile)
    ]
    return [(rows, cols) for rows, cols in tiles if not causal or cols[0] <= rows[-1]]


def shown(
    scores: torch.Tensor, tile: int, step: int = 0, causal: bool = False, d_head: int = 64, length: int = 1024
) -> dict:
    """What the view shows, by torch's logsumexp of all keys up to this tile."""
    rows, cols = walk(*scores.shape, tile, causal)[step]
    visible = scores.double()
    if causal:
        visible = visible.masked_fill(torch.ones_like(visible).triu(1).bool(), -math.inf)
    some = visible[rows.start : rows.stop, : cols.stop]  # (t, keys so far)
    nothing = torch.full((len(rows),), -math.inf)
    before = visible[rows.start : rows.stop, : cols.start].amax(1) if cols.start else nothing
    maximum = some.amax(1)
    desk, sheet = 4 * (4 * tile * d_head + tile * tile + 2 * tile), 4 * length**2
    return {
        "tile": tile,
        "step": step,
        "rows": [rows.start, rows.stop],
        "columns": [cols.start, cols.stop],
        "maximum": maximum.tolist(),
        "total": torch.exp(some.logsumexp(1) - maximum).tolist(),
        "factor": torch.exp(before - maximum).tolist(),
        "bytes": desk,
        "whole": 4 * scores.numel(),
        "length": length,
        "side": {"desk": math.sqrt(min(1, desk / sheet)), "sheet": math.sqrt(min(1, sheet / desk))},
    }


START = {
    # In the middle of the walk, where a sum is mended.
    "tiles": lambda: shown(data["tile_scores"], 2, 4),
    "causal tiles": lambda: shown(data["more_scores"], 3, 4, causal=True, d_head=8),
    "tiles of other shape": lambda: shown(data["more_scores"][:4, :5], 2, 4),
}
