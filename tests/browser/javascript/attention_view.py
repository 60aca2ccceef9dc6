"""What torch computes, for the tests of the attention explorer; None stands for a masked place of a map."""

import itertools
import math

import torch

STAGES = ("scores", "scaled", "masked", "weights")


def numbers() -> dict[str, list]:
    return {
        "maps": [map_case(*options) for options in itertools.product(STAGES, [False, True], [0.3, 1, 4], [1, 3**0.5])]
    }


def map_case(stage: str, causal: bool, temperature: float, divisor: float) -> dict:
    T, S = (6, 6) if causal else (5, 7)
    scores = 2 * torch.randn(T, S)
    mask = torch.ones(T, S).tril().bool() if causal else torch.ones(T, S).bool()
    scaled = scores.double() / (divisor * temperature)
    masked = scaled.masked_fill(~mask, -math.inf)
    rows = {"scores": scores, "scaled": scaled, "masked": masked, "weights": masked.softmax(-1)}[stage].tolist()
    return {
        "name": f"{stage}, causal {causal}, temperature {temperature}, divisor {divisor:.2f}",
        "scores": scores.flatten().tolist(),
        "T": T,
        "S": S,
        "options": {"stage": stage, "divisor": divisor, "temperature": temperature, "causal": causal},
        "map": [[None if value == -math.inf else value for value in row] for row in rows],
    }
