"""Decoding from a fixed table: one model's distribution after each prefix, and what each method generates from it."""

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_lab.plots.checks import Tokens, Values, label, to_tensor
from transformer_lab.widgets.shared.view import View
from transformer_lab.widgets.views.decoding.decoding_picture import greedy_rows, tree

MOST_NUMBERS = 12_000
NextLogits = Callable[[list[int]], Values]


def decoding(
    next_logits: NextLogits,
    tokens: Tokens,
    *,
    bos_id: int,
    eos_id: int,
    depth: int = 4,
    branching: int | None = None,
) -> View:
    """Explore greedy choice, sampling and beam search, step by step, over a table of next-token distributions.

    `next_logits(ids)` gives the logits (vocab,) after the ids of a beginning, which starts with `bos_id`; `tokens` are
    the names of the vocabulary. All beginnings of up to `depth` tokens after bos are worked out here, so that the view
    needs no model: max_length is depth + 1 in the terms of `greedy`. `branching` keeps the most probable tokens after
    each beginning only, for a large vocabulary: the view then offers beams and top-k up to that size, for which this
    changes nothing.

        widgets.decoding(lambda ids: model(src, torch.tensor([ids]))[0, -1], names, bos_id=1, eos_id=2, branching=4)

    Raises:
        ValueError: the logits are not (vocab,), or hold NaN; depth is below 1; branching is below 2 or above the
            vocabulary; the table gets more than 12000 numbers.
    """
    tokens, vocab = list(map(str, tokens)), len(tokens)
    branching = vocab if branching is None else branching
    if depth < 1:
        raise ValueError(f"depth ({depth}) must be at least 1")
    if not 2 <= branching <= vocab:
        raise ValueError(f"branching ({branching}) must be at least 2 and at most the vocabulary ({vocab})")
    ids, log_probs = table_of(next_logits, vocab, bos_id, eos_id, depth, branching)
    state = {"ids": ids, "log_probs": log_probs, "tokens": tokens, "eos": eos_id, "depth": depth}
    said = summary(ids, log_probs, tokens, eos_id)
    return View("decoding", state, said, lambda: tree(ids, log_probs, tokens, eos_id))


@torch.no_grad()
def table_of(
    next_logits: NextLogits, vocab: int, bos_id: int, eos_id: int, depth: int, branching: int
) -> tuple[Tensor, Tensor]:
    """For each prefix, its `branching` most probable next tokens and their log probabilities.

    Both are (beginnings, branching). Beginnings stand in the order of their length; those of one length, in the order
    of the beginnings they extend, and then from the most probable token down. So the table needs no addresses.
    """
    level = [[bos_id]]
    ids: list[Tensor] = []
    log_probs: list[Tensor] = []
    for length in range(depth):
        longer = []
        for beginning in level:
            if (len(ids) + 1) * branching > MOST_NUMBERS:
                raise ValueError(
                    f"the table must have at most {MOST_NUMBERS} numbers (at depth {length + 1} with {branching} "
                    f"tokens after each beginning it has more: lower depth or branching)"
                )
            best = best_of(to_tensor(next_logits(list(beginning))), vocab, branching)
            ids.append(best.indices)
            log_probs.append(best.values)
            longer += [
                [*beginning, token]
                for token, log_prob in zip(best.indices.tolist(), best.values.tolist(), strict=True)
                if token != eos_id and log_prob > -torch.inf
            ]
        level = longer
    return torch.stack(ids), torch.stack(log_probs)


def best_of(logits: Tensor, vocab: int, branching: int) -> torch.return_types.topk:
    """The log probabilities of the most probable tokens, in descending order, and their ids."""
    if tuple(logits.shape) != (vocab,):
        raise ValueError(f"next_logits must give one logit for each of the {vocab} tokens (got {tuple(logits.shape)})")
    if logits.isnan().any():
        raise ValueError("logits must not be NaN")
    return logits.detach().cpu().double().log_softmax(-1).topk(branching)


def summary(ids: Tensor, log_probs: Tensor, tokens: Tokens, eos_id: int) -> str:
    """A one-line summary with the greedy sentence."""
    sentence, total = greedy_of(ids, log_probs, eos_id)
    said = " ".join(label(tokens[i]) for i in sentence)
    return (
        f"Decoding over a table of {len(ids)} beginnings: the greedy sentence is “{said}”, log probability {total:.2f}."
    ).replace("-", "−")


def greedy_of(ids: Tensor, log_probs: Tensor, eos_id: int) -> tuple[list[int], float]:
    """The greedy path through the table: the token ids after bos, and their log probability."""
    rows = greedy_rows(ids, log_probs, eos_id)
    return ids[rows, 0].tolist(), float(log_probs[rows, 0].sum())
