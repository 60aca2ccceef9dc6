"""What torch computes, for the tests of the maps of layers and heads."""

import torch


def numbers() -> dict[str, list]:
    weights = torch.randn(2, 3, 4, 5).softmax(-1)
    chosen = [(layer, head) for layer in (0, 1) for head in (None, 0, 2)]
    maps = [{"layer": layer, "head": head, "map": mapped(weights[layer], head)} for layer, head in chosen]
    return {"weights": weights.flatten().tolist(), "shape": list(weights.shape), "maps": maps}


def mapped(heads: torch.Tensor, head: int | None) -> list[list[float]]:
    return (heads.double().mean(0) if head is None else heads[head]).tolist()
