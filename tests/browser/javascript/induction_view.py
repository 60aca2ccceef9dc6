"""What torch computes, for the tests of the induction explorer."""

import json

import torch

from tests.view_examples.induction import data, explored
from transformer_lab.analysis import induction_score
from transformer_lab.widgets.shared.sent_model import sent
from transformer_lab.widgets.shared.view import copied, packed, with_tensors

GONE = ((), ((0, 1),), ((1, 0),), ((0, 0), (1, 1)))


def numbers() -> dict:
    models = {"induction": ("heads_lm", "twice", 2), "induction of attention alone": ("bare_lm", "once", 3)}
    weights = torch.randn(1, 14, 14).masked_fill(torch.ones(14, 14, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)
    return {
        "models": [case(name, *names) for name, names in models.items()],
        "weights": weights[0].tolist(),
        "score": induction_score(weights, 7).item(),
        "before": weights[0].diagonal(-1).mean().item(),
    }


def case(name: str, model: str, tokens: str, n_heads: int) -> dict:
    carried = with_tensors(sent(data[model]), copied)
    heads = [(layer, head) for layer in range(2) for head in range(n_heads)]
    return {
        "sent": json.loads(json.dumps(carried, default=packed)),
        "tokens": data[tokens],
        "runs": [run(name, gone, heads) for gone in GONE],
    }


def run(name: str, gone: tuple, heads: list) -> dict:
    """The weights of every head, and the losses, with some heads gone; None stands for NaN."""
    shown = [explored(name, at=head, gone=gone) for head in heads]
    maps = [[[None if x != x else x for x in row] for row in one["map"]] for one in shown]
    return {"gone": [f"{layer}.{head}" for layer, head in gone], "maps": maps, "losses": shown[0]["losses"]} | {
        "changed": shown[0]["changed"]
    }
