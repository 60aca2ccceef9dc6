"""What torch computes, for the tests of the tiles."""

import torch

from tests.view_examples.tiles import shown, walk


def numbers() -> dict[str, list]:
    cases = []
    for T, S, tile, causal in ((6, 6, 2, False), (7, 5, 3, False), (7, 7, 3, True), (5, 5, 1, True), (4, 4, 8, True)):
        scores = 5 * torch.randn(T, S)
        steps = range(len(walk(T, S, tile, causal)))
        cases.append(
            {
                "shape": [T, S, tile, causal],
                "scores": scores.tolist(),
                "steps": [shown(scores, tile, step, causal) for step in steps],
            }
        )
    return {"cases": cases}
