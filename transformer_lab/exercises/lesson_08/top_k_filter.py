"""Lesson 08: implement `top_k_filter`."""

import torch
from torch import Generator, Tensor

from transformer_lab.decoding import single
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_08.shared import UNTOUCHED


def kept_are_the_largest(given, filtered) -> bool:
    kept = filtered > -torch.inf
    smallest_kept = given["logits"].masked_fill(~kept, torch.inf).amin(-1)
    return bool((given["logits"].masked_fill(kept, -torch.inf).amax(-1) <= smallest_kept).all())


top_k_filter = Exercise(
    single.top_k_filter,
    lesson="08",
    minutes=5,
    difficulty=1,
    statement="""
    Keep the k largest logits of each row, and set all others to -inf.

    logits has shape (…, vocab), and so has the result. Exactly k are kept: of several equal logits, any will do.
    """,
    returns=("filtered",),
    cases=(
        *(Case(f"the {k} largest of four", {"logits": torch.tensor([1.0, 4.0, 2.0, 3.0]), "k": k}) for k in (2, 1, 3)),
        Case("all four", {"logits": torch.tensor([1.0, 4.0, 2.0, 3.0]), "k": 4}),
        Case("below 0", {"logits": torch.tensor([-1.0, -4.0, -2.0, -3.0, -5.0]), "k": 2}),
        Case("two rows", {"logits": torch.tensor([[9.0, 8.0, 7.0], [1.0, 3.0, 2.0]]), "k": 2}),
        Case("a batch", {"logits": normal(3, 7), "k": 4}),
        Case("three axes", {"logits": normal(2, 3, 5), "k": 2}),
        Case("float64, not contiguous", {"logits": normal(7, 4, dtype=torch.float64).mT, "k": 3}),
        Case(
            "more equal logits than there is room for",
            {"logits": torch.tensor([[2.0, 2.0, 2.0, 1.0], [3.0, 1.0, 3.0, 3.0]]), "k": 2},
            several=True,
        ),
    ),
    properties=(
        UNTOUCHED,
        Property("nothing that is dropped is larger than what is kept", kept_are_the_largest),
        Property(
            "k tokens are kept in each row", lambda given, f: bool(((f > -torch.inf).sum(-1) == given["k"]).all())
        ),
    ),
    hints=(
        "`torch.topk` finds the k largest of each row, largest first, and where they are.",
        "If you compare with the k-th largest value, you keep too many where others equal it. Positions are safer: "
        "make a mask of all True, and let `scatter` write False at the positions to keep.",
        "`masked_fill` puts -inf wherever a mask is True. After a softmax that is probability 0.",
    ),
)


def below_bar(logits: Tensor, k: int) -> Tensor:
    """True for what top-k drops; nothing for k = 0."""
    return logits < logits.topk(min(k, logits.size(-1))).values[..., -1:]


@top_k_filter.mistake(
    "The dropped tokens get 0, which is a logit like any other: softmax makes it e⁰ = 1 before it divides, so the "
    "token can still be drawn. Use -inf."
)
def zeros_outside(logits, k):
    return logits.masked_fill(below_bar(logits, k), 0.0)


@top_k_filter.mistake("The k *smallest* are kept.")
def smallest_kept(logits, k):
    return logits.masked_fill(below_bar(-logits, k), float("-inf"))


@top_k_filter.mistake("The mask is the wrong way round: the k largest get -inf, and all others are kept.")
def largest_dropped(logits, k):
    return logits.masked_fill(~below_bar(logits, k), float("-inf"))


@top_k_filter.mistake(
    "Only the k largest values are returned, so that nobody knows which tokens they belong to. Keep the shape."
)
def values_only(logits, k):
    return logits.topk(k).values


@top_k_filter.mistake(
    "The k-th largest logit itself is dropped. Where you compare with it, `>` keeps only what is above it, and `>=` "
    "keeps it as well."
)
def bar_dropped(logits, k):
    return logits.masked_fill(logits <= logits.topk(k).values[..., -1:], float("-inf"))


@top_k_filter.mistake(
    "All logits that equal the k-th largest are kept, so that a row with equal logits keeps more than k. Keep the "
    "positions that `topk` finds, instead of comparing values."
)
def all_equals_kept(logits, k):
    return logits.masked_fill(below_bar(logits, k), float("-inf"))


@top_k_filter.mistake("One token too many is kept.")
def one_too_many(logits, k):
    return logits.masked_fill(below_bar(logits, k + 1), float("-inf"))


@top_k_filter.mistake(
    "The k largest logits of the *whole tensor* are kept, so all rows share these k, and some may keep none. Each row "
    "has its own k largest."
)
def of_all_rows_together(logits, k):
    return logits.masked_fill(logits < logits.flatten().topk(k).values[-1], float("-inf"))


@top_k_filter.mistake("All rows are compared with the k-th largest logit of the *first* row. Each row needs its own.")
def bar_of_the_first_row(logits, k):
    return logits.masked_fill(
        logits < logits.flatten(0, -2)[0].topk(k).values[-1] if logits.ndim > 1 else below_bar(logits, k), float("-inf")
    )


@top_k_filter.mistake(
    "The k-th largest values have lost their last axis, so broadcasting does not compare each row with its own value. "
    "Keep the axis: `values[..., -1:]`."
)
def axis_of_the_bar_lost(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[..., -1], float("-inf"))


@top_k_filter.mistake(
    "Only the *largest* logit is kept, whatever k is. The k-th largest is the last value that `topk` returns."
)
def bar_too_high(logits, k):
    return logits.masked_fill(below_bar(logits, 1), float("-inf"))


@top_k_filter.mistake(
    "Probabilities are returned. The filter takes logits and returns logits; the softmax comes after it."
)
def k_probabilities(logits, k):
    return logits.masked_fill(below_bar(logits, k), float("-inf")).softmax(-1)


@top_k_filter.mistake(
    "The kept logits are turned into log probabilities. A softmax would give the same, but the task is to leave them "
    "as they are."
)
def k_normalised(logits, k):
    return logits.masked_fill(below_bar(logits, k), float("-inf")).log_softmax(-1)


@top_k_filter.mistake(
    "The dropped tokens get -1e9, a number like any other, and one that float16 can't hold. Use -inf."
)
def k_minus_a_billion(logits, k):
    return logits.masked_fill(below_bar(logits, k), -1e9)


@top_k_filter.mistake(
    "A mask of 0 and 1 is multiplied by -inf, and 0 · -inf is NaN (not a number), which spoils the logits to keep. "
    "Use `masked_fill` or `torch.where`."
)
def zero_times_infinity(logits, k):
    return logits + below_bar(logits, k) * float("-inf")


@top_k_filter.mistake("The result is sorted, so the logits no longer stand at the positions of their tokens.")
def left_sorted(logits, k):
    return top_k_filter.reference(logits, k).sort(-1, descending=True).values


@top_k_filter.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary = number(generator, 2, 12)
    return {"logits": floats(generator)(*leading(generator), vocabulary), "k": number(generator, 1, vocabulary)}
