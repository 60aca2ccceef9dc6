"""Numbers for the tests of the training monitor: places that torch finds, and round numbers on a logarithmic axis."""

import torch


def numbers() -> dict[str, list]:
    steps = torch.tensor([1, 10, 20, 30])
    places = [{"x": x, "at": int(torch.searchsorted(steps, x, right=True)) - 1} for x in (0, 1, 9, 10, 31)]
    return {"steps": steps.tolist(), "places": places}
