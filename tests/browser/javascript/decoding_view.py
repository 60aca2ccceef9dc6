"""What the package computes, for the tests of the decoding explorer: sentences of a small model, and filters."""

import itertools

import torch

from transformer_lab import Transformer, TransformerConfig, beam, greedy
from transformer_lab.decoding import single
from transformer_lab.widgets.views.decoding.decoding_view import table_of

DEPTH, BOS, EOS, VOCAB = 4, 1, 2, 6


def numbers() -> dict[str, object]:
    settings = itertools.product([0.3, 1.0, 2.5], [1, 3, 7], [0.35, 0.8, 1.0])
    return {"tables": [table_case(seed) for seed in range(8)], "filters": [filter_case(*one) for one in settings]}


def table_case(seed: int) -> dict:
    """A table of a model with large random weights, so that its distributions are uneven; every other one is cut."""
    torch.manual_seed(seed)
    config = TransformerConfig(VOCAB, d_model=8, n_heads=2, d_ff=12, n_layers=1, max_len=DEPTH + 1, tie_weights=False)
    model = Transformer(config).eval().double()
    for parameter in model.parameters():
        parameter.data.mul_(2.0)
    src = torch.randint(3, VOCAB, (1, 5))

    def next_logits(ids):
        return model(src, torch.tensor([ids]))[0, -1]

    branching = 3 if seed % 2 else VOCAB
    ids, log_probs = table_of(next_logits, VOCAB, BOS, EOS, DEPTH, branching)
    options = {"bos_id": BOS, "eos_id": EOS, "max_length": DEPTH + 1}
    most_probable = greedy(model, src, **options)
    beams = {size: beam(model, src, **options, beam_size=size, length_penalty=0.0) for size in range(1, branching + 1)}
    found = {size: cut(ids[0].tolist()) for size, ids in beams.items()}
    return {
        "ids": ids.flatten().tolist(),
        "logProbs": log_probs.flatten().tolist(),
        "options": {"branching": branching, "depth": DEPTH, "eos": EOS},
        "greedy": with_total(next_logits, cut(most_probable[0].tolist())),
        "beams": {size: with_total(next_logits, sentence) for size, sentence in found.items()},
        "all": every_sentence(next_logits) if branching == VOCAB else None,
    }


def cut(ids: list[int]) -> list[int]:
    """Without bos, and without the padding after eos."""
    return ids[1 : ids.index(EOS) + 1] if EOS in ids else ids[1:]


@torch.no_grad()
def with_total(next_logits, sentence: list[int]) -> dict:
    ids = [BOS, *sentence]
    total = sum(next_logits(ids[:i]).log_softmax(-1)[ids[i]].item() for i in range(1, len(ids)))
    return {"ids": sentence, "total": total}


@torch.no_grad()
def every_sentence(next_logits) -> dict:
    """How many sentences there are, ended or of full length, and the best of them."""
    best, count, stack = -torch.inf, 0, [([BOS], 0.0)]
    while stack:
        ids, total = stack.pop()
        if ids[-1] == EOS or len(ids) == DEPTH + 1:
            best, count = max(best, total), count + 1
            continue
        log_probs = next_logits(ids).log_softmax(-1).tolist()
        stack += [([*ids, i], total + log_prob) for i, log_prob in enumerate(log_probs)]
    return {"count": count, "best": best}


def filter_case(temperature: float, k: int, p: float) -> dict:
    logits = 2 * torch.randn(7, dtype=torch.float64)
    scaled = logits / temperature
    cut = single.top_p_filter(single.top_k_filter(scaled, k), p)
    return {
        "settings": {"temperature": temperature, "k": k, "p": p},
        "logProbs": logits.log_softmax(-1).tolist(),
        "before": scaled.softmax(-1).tolist(),
        "kept": cut.isfinite().tolist(),
        "after": cut.softmax(-1).tolist(),
    }
