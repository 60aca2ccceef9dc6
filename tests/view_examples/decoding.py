"""Decoding over a small grammar, whole, and with the three best tokens after each beginning; there greedy loses."""

import torch

SET_UP = r"""
import torch
from transformer_lab import widgets

grammar_words = ["<bos>", "<eos>", "the", "a", "cat", "<b>dog</b>", "sleeps"]
never = float("-inf")
grammar_logits = {  # logits of the next token by the one before
    0: [never, -1.0, 2.0, 1.7, 0.0, -0.5, -2.0],
    2: [never, -2.0, -1.0, -0.6, 0.9, 0.7, 0.2],
    3: [never, -2.5, -1.3, -2.1, 3.0, 0.4, -0.9],
    4: [never, 0.8, -0.7, -1.1, -1.6, -0.2, 1.9],
    5: [never, 1.1, -0.3, -0.8, -0.4, -1.9, 1.3],
    6: [never, 2.6, 0.1, 0.3, -0.6, -0.1, -1.4],
}

def bigram(ids):
    return torch.tensor(grammar_logits[ids[-1]])
"""
SHOW = {
    "decoding": "widgets.decoding(bigram, grammar_words, bos_id=0, eos_id=1)",
    "decoding of the best": "widgets.decoding(bigram, grammar_words, bos_id=0, eos_id=1, depth=5, branching=3)",
}

data: dict = {}
exec(SET_UP, data)


def log_probs(ids: list[int]) -> torch.Tensor:
    return data["bigram"](ids).double().log_softmax(-1)


def begun(ids: list[int], branching=7) -> dict:
    """What the view shows at the step before the last, the third at most: the sentence is found, but not yet seen."""
    whole, begun = chosen(ids, branching=branching), chosen(ids[: min(len(ids) - 1, 4)], branching=branching)
    return begun | {name: whole[name] for name in ("sentences", "totals")}


def chosen(ids: list[int], mode="greedy", branching=7, kept=None) -> dict:
    """What the view shows at the last step of a sentence: the distribution that its last token came from."""
    best = log_probs(ids[:-1]).topk(branching)
    kept = torch.ones(branching, dtype=torch.bool) if kept is None else kept
    total = sum(log_probs(ids[:i])[ids[i]].item() for i in range(1, len(ids)))
    return {
        "mode": mode,
        "step": len(ids) - 1,
        "tokens": [data["grammar_words"][i] for i in best.indices.tolist()],
        "probabilities": best.values.exp().tolist(),
        "kept": kept.tolist(),
        "sentences": [sentence(ids)],
        "totals": [total],
    }


def sentence(ids: list[int]) -> str:
    return " ".join(data["grammar_words"][i] for i in ids[1:])


def greedy(length: int) -> list[int]:
    ids = [0]
    while len(ids) < length and ids[-1] != 1:
        ids.append(log_probs(ids).argmax().item())
    return ids


START = {
    "decoding": lambda: begun(greedy(5)),
    "decoding of the best": lambda: begun(greedy(6), branching=3),
}
