"""Four heads side by side, with what each adds; and two layers of three heads, without."""

import math

import torch

SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(2)
heads_queries, heads_keys = ["I", "am", "who", "<i>", "am", "."], ["ich", "bin", "wer", "ich", "bin"]
four_heads, six_heads = torch.randn(4, 6, 5).softmax(-1), (2 * torch.randn(2, 3, 5, 5)).softmax(-1)
head_parts = torch.randn(4, 6, 7)
"""
SHOW = {
    "heads": "widgets.heads(four_heads, heads_queries, heads_keys, contributions=head_parts)",
    "heads of two layers": "widgets.heads(six_heads, heads_keys, heads_keys)",
}

data: dict = {}
exec(SET_UP, data)


def compared(name="heads", head=0, minus=None, sort="number", temperature=1.0, without=None) -> dict:
    stack = data["four_heads" if name == "heads" else "six_heads"].double().flatten(0, -3)
    stack = stack.pow(1 / temperature)
    stack /= stack.sum(-1, keepdim=True)
    entropy = (torch.special.entr(stack).sum(-1) / math.log(2)).mean(-1)
    t, s = torch.linspace(0, 1, stack.size(1)), torch.linspace(0, 1, stack.size(2))
    diagonality = (stack * (1 - (t[:, None] - s).abs())).sum(-1).mean(-1)
    order = {"number": torch.arange(len(stack)), "entropy": entropy.argsort(), "diagonality": (-diagonality).argsort()}
    shown = stack[head] if minus is None else stack[head] - stack[minus]
    values = {"map": shown, "order": order[sort], "entropy": entropy, "diagonality": diagonality}
    if without is not None:
        parts = data["head_parts"].double()
        values["share"] = parts[without].norm(dim=-1) / parts.sum(0).norm(dim=-1)
    return {key: value.tolist() for key, value in values.items()}


START = {"heads": compared, "heads of two layers": lambda: compared("heads of two layers")}
