"""What torch computes, for the tests of ui.js; None stands for what JSON can't say: a score of -inf."""

import math

import torch

from transformer_lab.widgets.shared.view import packed

P = [
    *torch.randn(5, 7, generator=torch.Generator().manual_seed(1), dtype=torch.double).mul(3).softmax(-1),
    torch.tensor([1.0, 0.0, 0.0], dtype=torch.double),
    torch.tensor([0.5, 0.5, 0.0], dtype=torch.double),
    torch.full((8,), 1 / 8, dtype=torch.double),
]
TENSORS = [
    torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(2)),
    torch.randn(5, 3, generator=torch.Generator().manual_seed(3)).T,
    torch.tensor([0.0, -0.0, 1e-45, -1e-38, 3.4028234663852886e38, 1 / 3]),
    torch.tensor([[1.5, -2.25]], dtype=torch.bfloat16, requires_grad=True),
]


def numbers() -> dict[str, list]:
    return {
        "softmax": softmax_cases(),
        "entropy": [{"p": p.tolist(), "bits": (torch.special.entr(p).sum() / math.log(2)).item()} for p in P],
        "packed": [{"packed": packed(x), "numbers": x.flatten().tolist(), "shape": list(x.shape)} for x in TENSORS],
        "floats": [1.5, -2.25, 0.0],
    }


def softmax_cases() -> list[dict]:
    cases = {
        "large scores": ([1000.0, 1001.0, -1000.0, 999.0], [True] * 4),
        "very large scores": ([-1e30, 1e30, 1e30], [True] * 3),
        "masked entries": ([0.5, -2.0, 3.0, 1.0], [True, False, True, True]),
        "the largest is masked": ([0.5, 5000.0, 0.25], [True, False, True]),
        "minus infinity is no weight": ([0.5, -math.inf, 1.5], [True] * 3),
        "nothing allowed": ([1.0, 2.0, 3.0], [False] * 3),
        "nothing but minus infinity": ([-math.inf, -math.inf], [True] * 2),
        "one score": ([-7.0], [True]),
    }
    return [softmax_case(name, torch.tensor(s, dtype=torch.double), torch.tensor(a)) for name, (s, a) in cases.items()]


def softmax_case(name: str, scores: torch.Tensor, allowed: torch.Tensor) -> dict:
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1).nan_to_num(0.0)
    finite = [None if score == -math.inf else score for score in scores.tolist()]
    return {"name": name, "scores": finite, "allowed": allowed.tolist(), "weights": weights.tolist()}
