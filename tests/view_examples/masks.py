"""The mask playground over five tokens, the last of them padding, and one that starts without a mask."""

import torch

SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(2)
mask_scores = torch.randn(5, 5)
padded = ["Je", "suis", "<b>un</b>", "étudiant", "pad"]
"""
SHOW = {
    "masks": "widgets.mask_playground(mask_scores, padded)",
    "no mask": "widgets.mask_playground(mask_scores[:4, :4], padded[:4], pattern='everything')",
}

data: dict = {}
exec(SET_UP, data)


def playground(allowed: torch.Tensor, alarms: list[str], known: int = 0) -> dict:
    """What the view shows for a mask: torch's softmax over -inf, zeros for a row of NaN."""
    scores = data["mask_scores"][: len(allowed), : len(allowed)].double()
    weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1).nan_to_num(0.0)
    leaked = weights.triu(1)[:, known:].sum() / weights.sum()
    return {"weights": weights.tolist(), "allowed": allowed.tolist(), "leaked": leaked.item(), "alarms": alarms}


def causal() -> torch.Tensor:
    """The mask of the first example: causal, and nobody sees the padding."""
    allowed = torch.ones(5, 5).tril().bool()
    allowed[:, 4] = False
    return allowed


def leak(share: str, more: int) -> str:
    pairs = f", and {more} more {'pairs' if more > 1 else 'pair'}" if more else ""
    return f"Leaks the future: Je (1) sees suis (2){pairs}; {share} % of all weight lies there."


def no_mask() -> dict:
    shown = playground(torch.ones(4, 4).bool(), [])
    return shown | {"alarms": [leak(f"{100 * shown['leaked']:.1f}", 5)]}


START = {"masks": lambda: playground(causal(), []), "no mask": no_mask}
