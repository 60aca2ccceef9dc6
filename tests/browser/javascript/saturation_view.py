"""What torch computes, for the tests of softmax saturation."""

import torch


def numbers() -> dict[str, list]:
    return {"widths": [width_case(width, scaled) for width in (1, 7, 1024) for scaled in (False, True)]}


def width_case(width: int, scaled: bool) -> dict:
    scores = torch.randn(8, width) @ torch.randn(width)
    weights = (scores.double() / (width**0.5 if scaled else 1)).softmax(-1)
    return {"scores": scores.tolist(), "width": width, "scaled": scaled, "weights": weights.tolist()}
