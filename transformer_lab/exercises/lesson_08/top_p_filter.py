"""Lesson 08: implement `top_p_filter`."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from transformer_lab.decoding import single
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_08.shared import UNTOUCHED
from transformer_lab.exercises.lesson_08.top_k_filter import top_k_filter

FOUR = torch.tensor([0.1, 0.5, 0.15, 0.25], device="cpu").log()
BEYOND_1 = torch.tensor([[8.75, -8.0, 1.0, 3.5], [-10.0, 9.25, 3.25, -5.0], [-8.25, 4.5, 9.5, 4.25]], device="cpu")


top_p_filter = Exercise(
    single.top_p_filter,
    lesson="08",
    minutes=15,
    difficulty=2,
    statement="""
    Keep, in each row, the smallest set of tokens whose probabilities reach p together; set all others to -inf.

    logits has shape (…, vocab), and so has the result; 0 < p <= 1. The set is the *nucleus*: the most probable tokens,
    as many as it takes. p = 1 keeps every token, however improbable.
    """,
    returns=("filtered",),
    cases=(
        *(
            Case(f"probabilities 0.1, 0.5, 0.15, 0.25; p = {p}", {"logits": FOUR, "p": p})
            for p in (0.7, 0.4, 0.8, 0.95)
        ),
        Case("p = 1 keeps all", {"logits": FOUR, "p": 1.0}),
        Case("p = 1 keeps all, however improbable", {"logits": torch.tensor([3.0, -200.0, 0.0, -30.0]), "p": 1.0}),
        Case("p = 1 keeps all, where rounded sums exceed 1", {"logits": BEYOND_1, "p": 1.0}),
        Case("p near 0 keeps one", {"logits": FOUR, "p": 0.01}),
        Case("the same logits, 3 higher", {"logits": FOUR + 3, "p": 0.7}),
        Case(
            "two rows, one flat and one steep",
            {"logits": torch.tensor([[0.4, 0.1, 0.3, 0.2], [0.0, 5.0, 1.0, 2.0]]), "p": 0.6},
        ),
        Case("a batch", {"logits": 2 * normal(3, 7), "p": 0.85}),
        Case("three axes", {"logits": normal(2, 3, 5), "p": 0.5}),
        Case("float64, not contiguous", {"logits": 2 * normal(7, 4, dtype=torch.float64).mT, "p": 0.65}),
    ),
    properties=(
        UNTOUCHED,
        Property(
            "the tokens that are kept reach p together",
            lambda given, f: bool(((given["logits"].softmax(-1) * (f > -torch.inf)).sum(-1) > given["p"] - 1e-5).all()),
        ),
    ),
    hints=(
        "Work with probabilities, largest first: `sort(descending=True)` returns them with their positions.",
        "`cumsum` adds up the probabilities up to each token. The token that takes the sum past p is still needed, so "
        "keep a token if the sum *before* it is below p. Does a rounded sum keep every token where p is 1?",
        "Now you know in sorted order what to keep. Bring that back to the order of the vocabulary: with the sorted "
        "positions and `scatter`, or with `gather` and the argsort of these positions.",
    ),
)


def outside(logits: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
    """-inf for the tokens that `drop` names, given the probabilities in descending order."""
    probabilities, order = logits.softmax(-1).sort(-1, descending=True)
    return logits.masked_fill(drop(probabilities).gather(-1, order.argsort(-1)), float("-inf"))


def beyond(probabilities: Tensor, p: float) -> Tensor:
    return probabilities.cumsum(-1) - probabilities >= p


@top_p_filter.mistake(
    "The token that takes the sum past p is dropped, so the set does not reach p. Where one token alone has more than "
    "p, nothing is left."
)
def last_one_dropped(logits, p):
    return outside(logits, lambda sorted_: sorted_.cumsum(-1) > p)


@top_p_filter.mistake(
    "The token that takes the sum past p is dropped, unless it is the first, so the set does not reach p. Compare p "
    "with the sum *before* each token."
)
def last_one_dropped_but_the_first(logits, p):
    return outside(logits, lambda sorted_: (sorted_.cumsum(-1) > p) & (sorted_ < sorted_[..., :1]))


@top_p_filter.mistake(
    "At p = 1 every token must stay. But rounded probabilities may add up to 1 before the last token, and then the "
    "rest is dropped: treat p = 1 separately."
)
def rounded_sum_reaches_1(logits, p):
    return outside(logits, lambda sorted_: beyond(sorted_, p))


@top_p_filter.mistake(
    "At p = 1 every token must stay. But rounded probabilities may add up to *more* than 1 before the last token, and "
    "then the rest is dropped: treat p = 1 separately."
)
def rounded_sum_exceeds_1(logits, p):
    return outside(logits, lambda sorted_: sorted_.cumsum(-1) - sorted_ > p)


@top_p_filter.mistake("The mask is the wrong way round: the tokens to keep get -inf, and all others are kept.")
def nucleus_dropped(logits, p):
    return logits.masked_fill(top_p_filter.reference(logits, p) > -torch.inf, float("-inf"))


@top_p_filter.mistake("One token more is kept than is needed to reach p.")
def nucleus_too_large(logits, p):
    return outside(logits, lambda s: torch.cat([torch.zeros_like(s[..., :1]).bool(), beyond(s, p)[..., :-1]], dim=-1))


@top_p_filter.mistake(
    "The sum starts with the *least* probable token, because the sort is ascending: so the tail is kept."
)
def from_the_tail(logits, p):
    probabilities, order = logits.softmax(-1).sort(-1)
    return logits.masked_fill(beyond(probabilities, p).gather(-1, order.argsort(-1)), float("-inf"))


@top_p_filter.mistake(
    "The mask is in sorted order and the logits are not, so it hits the wrong tokens. Bring it back to the order of "
    "the vocabulary first."
)
def mask_left_sorted(logits, p):
    return logits.masked_fill(beyond(logits.softmax(-1).sort(-1, descending=True).values, p), float("-inf"))


@top_p_filter.mistake(
    "`gather` with the sorted positions sorts once more, instead of undoing the sort. Use `scatter` with these "
    "positions, or `gather` with their argsort."
)
def gathered_instead_of_scattered(logits, p):
    probabilities, order = logits.softmax(-1).sort(-1, descending=True)
    return logits.masked_fill(beyond(probabilities, p).gather(-1, order), float("-inf"))


@top_p_filter.mistake(
    "The logits are returned in sorted order, so they no longer stand at the positions of their tokens."
)
def logits_left_sorted(logits, p):
    ordered = logits.sort(-1, descending=True).values
    return ordered.masked_fill(beyond(ordered.softmax(-1), p), float("-inf"))


@top_p_filter.mistake("The *logits* are added up. They are not probabilities: take the softmax first.")
def sum_of_logits(logits, p):
    ordered, order = logits.sort(-1, descending=True)
    return logits.masked_fill(beyond(ordered, p).gather(-1, order.argsort(-1)), float("-inf"))


@top_p_filter.mistake(
    "Each probability is compared with p by itself. It is their *sum*, largest first, that must reach p."
)
def each_against_p(logits, p):
    return logits.masked_fill(logits.softmax(-1) < p, float("-inf"))


@top_p_filter.mistake(
    "p is the share of the *probability* to keep. Here a share of 1 - p is kept, and p is thrown away."
)
def share_thrown_away(logits, p):
    return outside(logits, lambda sorted_: beyond(sorted_, 1 - p))


@top_p_filter.mistake(
    "p is used as a share of the *vocabulary*, which is a kind of top-k. In top-p the number of tokens differs from "
    "row to row."
)
def share_of_the_vocabulary(logits, p):
    return top_k_filter.reference(logits, max(1, round(p * logits.size(-1))))


@top_p_filter.mistake(
    "The softmax runs over the first axis, the batch. Each row is a distribution of its own: use dim=-1."
)
def softmax_over_the_batch(logits, p):
    probabilities, order = logits.softmax(0).sort(-1, descending=True)
    return logits.masked_fill(beyond(probabilities, p).gather(-1, order.argsort(-1)), float("-inf"))


@top_p_filter.mistake(
    "The dropped tokens get 0, which softmax turns into e⁰ = 1, so they can still be drawn. Use -inf."
)
def p_zeros_outside(logits, p):
    kept = top_p_filter.reference(logits, p)
    return kept.masked_fill(kept == -torch.inf, 0.0)


@top_p_filter.mistake(
    "Probabilities are returned. The filter takes logits and returns logits; the softmax comes after it."
)
def p_probabilities(logits, p):
    return top_p_filter.reference(logits, p).softmax(-1)


@top_p_filter.mistake(
    "The kept logits are turned into log probabilities. A softmax would give the same, but the task is to leave them "
    "as they are."
)
def p_normalised(logits, p):
    return top_p_filter.reference(logits, p).log_softmax(-1)


@top_p_filter.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    logits = 2 * floats(generator)(*leading(generator), number(generator, 2, 12))
    return {"logits": logits, "p": number(generator, 1, 99) / 100}
