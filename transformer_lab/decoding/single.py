"""From logits to one sentence, for any model: greedy choice, beam search, and the filters used in sampling.

A model is a function here. `next_logits(ids)` takes the list of the ids so far and returns the logits of the next
token, (vocab,). For a batch of sentences and a Transformer that remembers what it has read, see `batched`.
Wherever a token is chosen, logits that are no numbers are refused with a ValueError.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_lab.checks import check_least

NEG_INF = float("-inf")  # the logarithm of probability 0


def check_logits(logits: Float[Tensor, "*axes vocab"], whose: str = "the model's logits") -> None:
    """Raise a ValueError unless the largest logit of each row is a finite number; -inf may mark excluded tokens.

    That is one pass over the logits, since the largest is NaN if any is. It waits for the GPU, as a draw does anyway.
    """
    largest = logits.amax(-1)
    if (~largest.isfinite()).any():
        held = "NaN" if largest.isnan().any() else "inf" if largest.isposinf().any() else "-inf alone"
        cause = "its weights may be NaN, or too large for their type"
        raise ValueError(f"logits must be numbers, not all of them -inf: {whose} hold {held} ({cause})")


def tempered(logits: Float[Tensor, "*axes vocab"], temperature: float) -> Float[Tensor, "*axes vocab"]:
    """logits / temperature up to a constant: the largest becomes 0, so that no quotient overflows float32."""
    logits = logits.float()
    return (logits - logits.amax(-1, keepdim=True)) / temperature


def greedy_decode(next_logits: Callable[[list[int]], Tensor], bos_id: int, eos_id: int, max_length: int) -> list[int]:
    """Generate a sentence token by token, choosing the most probable token each time.

    The list of ids starts with `bos_id`, ends with `eos_id` if that was reached, and has at most `max_length` ids, bos
    counted. (`bos_id` and `eos_id` may be the same number, as in GPT-2.)

    Raises:
        ValueError: max_length is below 1.
    """
    check_least(1, max_length=max_length)
    ids = [bos_id]
    for _ in range(max_length - 1):
        logits = next_logits(ids)
        check_logits(logits)
        ids.append(int(logits.argmax()))
        if ids[-1] == eos_id:
            break
    return ids


def beam_search(
    next_log_probs: Callable[[list[int]], Tensor], bos_id: int, eos_id: int, beam_size: int, max_length: int
) -> tuple[list[int], float]:
    """Search for the most probable sentence with several hypotheses at once; returns `(ids, total)`.

    `next_log_probs(ids)` returns the log probabilities of the next token, (vocab,). Each step keeps the `beam_size`
    best extensions of all live hypotheses. One that ends in `eos_id` leaves the beam and is set aside. The search ends
    at `max_length` ids, bos counted, or when none is live. The best total wins, among those set aside and those still
    live; there is no length penalty. The total is the sum of the log probabilities.

    Raises:
        ValueError: beam_size or max_length is below 1.
    """
    check_least(1, beam_size=beam_size, max_length=max_length)
    live, ended = [([bos_id], 0.0)], []  # hypotheses: (ids, total)
    while live and len(live[0][0]) < max_length:
        extensions = [
            ([*ids, token], total + log_prob)
            for ids, total in live
            for token, log_prob in enumerate(next_log_probs(ids).tolist())
        ]
        check_logits(torch.tensor([total for _, total in extensions]), "the model's log probabilities")
        best = sorted(extensions, key=lambda hypothesis: -hypothesis[1])[:beam_size]
        ended += [(ids, total) for ids, total in best if ids[-1] == eos_id]
        live = [(ids, total) for ids, total in best if ids[-1] != eos_id]
    return max(ended + live, key=lambda hypothesis: hypothesis[1])


def top_k_filter(logits: Float[Tensor, "*axes vocab"], k: int) -> Float[Tensor, "*axes vocab"]:
    """Keep the k largest logits of each row, and set all others to -inf (Fan, Lewis & Dauphin, 2018, arXiv:1805.04833).

    Among equal logits those of smaller ids are kept.

    Raises:
        ValueError: k is not a whole number of 1 or more.
    """
    check_least(1, top_k=k)
    order = logits.argsort(dim=-1, descending=True, stable=True)  # `topk` may keep any of several equals
    dropped = torch.ones_like(logits, dtype=torch.bool).scatter(-1, order[..., :k], False)
    return logits.masked_fill(dropped, NEG_INF)


def top_p_filter(logits: Float[Tensor, "*axes vocab"], p: float) -> Float[Tensor, "*axes vocab"]:
    """Keep, in each row, the smallest set of tokens whose probabilities together reach p; set all others to -inf.

    The set is the *nucleus*: the most probable tokens, as many as it takes; among equal ones those of smaller ids.
    Holtzman et al., 2020, arXiv:1904.09751, section 3.1, equations 2 and 3.

    Raises:
        ValueError: p is not above 0 and at most 1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p ({p}) must be above 0 and at most 1")
    if p == 1:
        return logits
    at_least_float32 = torch.promote_types(logits.dtype, torch.float32)
    probabilities, order = logits.softmax(-1, dtype=at_least_float32).sort(dim=-1, descending=True, stable=True)
    from_here = probabilities.flip(-1).cumsum(-1).flip(-1)  # the probability of a token and all behind it
    dropped = from_here <= 1 - p  # what stands before them reaches p; a sum from the small end is exact for p near 1
    dropped[..., 0] = False
    return logits.masked_fill(dropped.scatter(-1, order, dropped), NEG_INF)
