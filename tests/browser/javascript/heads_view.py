"""What torch computes, for the tests of heads side by side; None stands for a score of -inf."""

import math

import torch


def numbers() -> dict[str, list]:
    stacks = [torch.randn(5, 7).softmax(-1), torch.eye(6), torch.full((4, 4), 0.25), torch.tensor([[0.3, 0.7]])]
    return {"heads": [head_case(stack.double(), temperature) for stack in stacks for temperature in (0.5, 1.0, 3.0)]}


def head_case(weights: torch.Tensor, temperature: float) -> dict:
    map_ = weights.pow(1 / temperature)
    map_ /= map_.sum(-1, keepdim=True)
    (rows, columns), t, s = weights.shape, torch.linspace(0, 1, len(weights)), torch.linspace(0, 1, weights.size(1))
    return {
        "scores": [None if score == -math.inf else score for score in weights.log().flatten().tolist()],
        "T": rows,
        "S": columns,
        "temperature": temperature,
        "map": map_.tolist(),
        "entropy": (torch.special.entr(map_).sum(-1) / math.log(2)).mean().item(),
        "diagonality": (map_ * (1 - (t[:, None] - s).abs())).sum(-1).mean().item(),
    }
