"""Attention explored: from queries and keys, with a causal mask, and given weights."""

import math

import torch

# Names that HTML or a script could trip over are among the tokens.
SET_UP = r"""
import torch
from transformer_lab import widgets

torch.manual_seed(0)
queries = ["the", "cat", "sat", "<b>down</b>", "now"]
keys = ["die", "Katze", "</script>", "& \"sie\"", "saß", "jetzt", "."]
words = ["I", "am", "who", "I", "am", "."]
query, key = torch.randn(5, 3), torch.randn(7, 3)
own_query, own_key, own_value = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 2)
weights = torch.randn(2, 3, 6, 6).softmax(-1)
"""
SHOW = {
    "steps": "widgets.attention_steps(query, key, queries, keys)",
    "causal": "widgets.attention_steps(own_query, own_key, *[queries[:4]] * 2, True, own_value, ['a', '<b>'])",
    "given": "widgets.attention(weights, words, words)",
}

data: dict = {}
exec(SET_UP, data)


def steps_map(name="steps", stage="weights", temperature=1.0, scaled=True, causal=False) -> list[list[float]]:
    query, key = (data["query"], data["key"]) if name == "steps" else (data["own_query"], data["own_key"])
    scores = (query @ key.T).double()
    scaled_scores = scores / (math.sqrt(3) if scaled else 1) / temperature
    forbidden = scores.new_ones(scores.shape).triu(1).bool() & causal
    stages = {
        "scores": scores,
        "scaled": scaled_scores,
        "masked": scaled_scores.masked_fill(forbidden, math.nan),
        "weights": scaled_scores.masked_fill(forbidden, -math.inf).softmax(-1),
    }
    return stages[stage].tolist()


def causal_output(**how) -> list[list[float]]:
    weights = torch.tensor(steps_map("causal", **how), dtype=torch.float64)
    return (weights @ data["own_value"].double()).tolist()


def given_map(layer=0, head=0, temperature=1.0, causal=False) -> list[list[float]]:
    powers = data["weights"][layer, head].double().pow(1 / temperature)
    powers = powers.tril() if causal else powers
    return (powers / powers.sum(-1, keepdim=True)).tolist()


START = {"steps": steps_map, "causal": lambda: steps_map("causal", causal=True), "given": given_map}
