"""What torch computes, for the tests of the arcs."""

import torch


def numbers() -> dict[str, list]:
    return {"looks": [look(sharpness) for sharpness in (0.0, 0.35, 1.0, 4.0)]}


def look(sharpness: float) -> dict:
    weights, values = (2 * torch.randn(5, 5)).softmax(-1), torch.randn(5, 3)
    weights[2] = torch.tensor([0.0, 0.5, 0.0, 0.25, 0.25])
    row = weights[2].double()
    powers = row.pow(sharpness).where(row > 0, 0)
    row = powers / powers.sum()
    return {
        "weights": weights.tolist(),
        "values": values.tolist(),
        "sharpness": sharpness,
        "row": row.tolist(),
        "after": (row @ values.double()).tolist(),
    }
