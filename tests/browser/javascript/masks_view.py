"""What torch computes, for the tests of the mask playground."""

import torch

from transformer_lab.nn.attention import masked_softmax
from transformer_lab.widgets.views.masks.masks_view import PATTERNS, mask_of


def numbers() -> dict[str, list]:
    settings = [(pattern, window, prefix) for pattern in PATTERNS for window, prefix in ((1, 0), (2, 3), (7, 7))]
    return {
        "patterns": [pattern_case(*setting, T) for setting in settings for T in (5, 7)],
        "painted": [painted_case(T) for T in (2, 5, 7)],
    }


def pattern_case(pattern: str, window: int, prefix: int, T: int) -> dict:
    padding = [s in (1, T - 1) for s in range(T)]
    settings = {"pattern": pattern, "window": window, "prefix": prefix, "padding": padding}
    mask = mask_of(pattern, T, window, prefix) & ~torch.tensor(padding)
    return {"settings": settings, "mask": mask.tolist()}


def painted_case(T: int) -> dict:
    """A mask as somebody may paint it: one row sees nothing, another only one key."""
    scores, mask = 3 * torch.randn(T, T), torch.rand(T, T) < 0.5
    mask[T // 2], mask[0] = False, torch.arange(T) == T - 1
    weights = masked_softmax(scores.double(), mask)
    leaks = mask.triu(1)
    leaks[:, :2] = False  # two tokens are known
    return {
        "scores": scores.flatten().tolist(),
        "mask": mask.tolist(),
        "weights": weights.tolist(),
        "twoLayers": (mask.int() @ mask.int() > 0).tolist(),
        "leaks": leaks.nonzero().tolist(),
        "leaked": (weights[leaks].sum() / weights.sum()).item(),
        "blind": (~mask.any(-1)).nonzero().flatten().tolist(),
        "heard": [[t, s] for t, s in mask.nonzero().tolist() if s == T - 1],
        "wasted": (weights[:, T - 1].sum() / weights.sum()).item(),
    }
