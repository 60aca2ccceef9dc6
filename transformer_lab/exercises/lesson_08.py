"""Exercises of lesson 08: greedy decoding, top-k and top-p, beam search, and attention with a cache."""

from collections.abc import Callable
from math import log

import torch
from torch import Tensor

from transformer_lab.decoding import single
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention

ENDLESS = 40  # no case asks for so many tokens


def named(name: str, distribution: Callable[[list[int]], Tensor]) -> Callable[[list[int]], Tensor]:
    """A model to decode from, under a name to show; it stops a loop that does not end."""

    def model(ids):  # a list, or whatever an answer keeps its ids in
        if len(ids) > ENDLESS:
            raise RuntimeError(f"the sentence has more than {ENDLESS} tokens: what ends the loop?")
        return distribution(ids)

    model.__name__ = name
    return model


def chain(name: str, *rows: list[float]) -> Callable[[list[int]], Tensor]:
    """A model whose next token depends on the last one only: row i holds the probabilities after token i."""
    table = torch.tensor(rows, dtype=torch.float64, device="cpu").log()
    return named(name, lambda ids: table[int(ids[-1])].clone())


def scattered(vocab: int, eos_id: int, sharpness: float = 1.0, salt: int = 0) -> Callable[[list[int]], Tensor]:
    """A model without rhyme or reason, which looks at every id and their order; the end comes after some five ids."""

    def distribution(ids):
        seed = salt + sum((int(token) + 1) * 31**place for place, token in enumerate(ids))
        logits = torch.randn(vocab, generator=torch.Generator("cpu").manual_seed(seed % 2**31), device="cpu").double()
        logits[eos_id] += len(ids) - 5
        return (sharpness * logits).log_softmax(-1)

    return named("scattered", distribution)


FALLING = [0.4, 0.3, 0.2, 0.1]  # no two tokens are equally probable, lest there be two right answers

# bos 0, eos 1: after 0 mostly 2, after 2 mostly 3, after 3 mostly the end
three_steps = chain("three_steps", [0.1, 0.2, 0.6, 0.1], FALLING, [0.1, 0.2, 0.1, 0.6], [0.1, 0.5, 0.2, 0.2])
for_ever = chain("for_ever", [0.1, 0.2, 0.6, 0.1], FALLING, [0.1, 0.2, 0.4, 0.3], FALLING)
at_once = chain("at_once", [0.2, 0.6, 0.1, 0.1], *3 * [FALLING])
bos_again = chain("bos_again", [0.1, 0.2, 0.6, 0.1], FALLING, [0.5, 0.1, 0.2, 0.2], FALLING)
one_id_for_both = chain("one_id_for_both", [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.6, 0.1, 0.3])


def greedy_case(label: str, next_logits: Callable, bos_id: int, eos_id: int, max_length: int) -> Case:
    return Case(label, {"next_logits": next_logits, "bos_id": bos_id, "eos_id": eos_id, "max_length": max_length})


greedy_decode = Exercise(
    single.greedy_decode,
    lesson="08",
    minutes=10,
    difficulty=1,
    statement="""
    Write a sentence token by token, each time the most probable one.

    `next_logits(ids)` takes the list of the ids so far and returns the logits of the next token, shape (vocab,).
    Return the list of ids, Python ints: it starts with `bos_id`, ends with `eos_id` if that was reached, and has at
    most `max_length` ids, bos counted. (`bos_id` and `eos_id` may be the same number, as in GPT-2.)
    """,
    returns=("ids",),
    cases=(
        greedy_case("0 is mostly followed by 2, 2 by 3, 3 by the end, 1", three_steps, 0, 1, 9),
        greedy_case("the end comes at once", at_once, 0, 1, 5),
        greedy_case("2 is mostly followed by 2, for ever", for_ever, 0, 1, 5),
        greedy_case("room for bos only", three_steps, 0, 1, 1),
        greedy_case("the end is just reached", three_steps, 0, 1, 4),
        greedy_case("the end is just not reached", three_steps, 0, 1, 3),
        greedy_case("bos comes again: that is no end", bos_again, 0, 1, 6),
        greedy_case("bos and eos are one id, as in GPT-2", one_id_for_both, 0, 0, 7),
        greedy_case("other ids", three_steps, 3, 0, 6),
        greedy_case("the next token depends on all before it", scattered(5, 2), 4, 2, 12),
        greedy_case("seven tokens to choose from", scattered(7, 6, salt=1), 1, 6, 15),
        greedy_case("one more", scattered(6, 5, salt=2), 2, 5, 10),
    ),
    hints=(
        "Start with a list that holds `bos_id`. In a loop: ask for the logits after the ids so far, take the token "
        "with the largest, append it.",
        "Hand *all* ids so far to `next_logits`. No softmax is needed: the largest logit has the largest probability.",
        "bos counts: after it there is room for one less than `max_length`. Stop when you have appended `eos_id`.",
    ),
)


def written(choose: Callable[[list[int]], int], bos_id: int, eos_id: int | None, tokens: int) -> list[int]:
    """bos and up to so many tokens, by any choice."""
    ids = [bos_id]
    while len(ids) <= tokens:
        ids.append(choose(ids))
        if ids[-1] == eos_id:
            break
    return ids


def most_probable(next_logits: Callable) -> Callable[[list[int]], int]:
    return lambda ids: next_logits(ids).argmax().item()


@greedy_decode.mistake("`bos_id` is missing at the start of the result.")
def without_bos(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, max_length - 1)[1:]


@greedy_decode.mistake(
    "`eos_id` is missing at the end: the loop stops before it is appended. It belongs to the sentence."
)
def without_eos(next_logits, bos_id, eos_id, max_length):
    ids = written(most_probable(next_logits), bos_id, eos_id, max_length - 1)
    return ids[:-1] if len(ids) > 1 and ids[-1] == eos_id else ids


@greedy_decode.mistake(
    "There are `max_length` tokens after bos. bos counts as well, so only `max_length - 1` may follow."
)
def bos_not_counted(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, max_length)


@greedy_decode.mistake("The loop ends one token early: a sentence of `max_length` ids is allowed.")
def one_token_short(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, max(max_length - 2, 0))


@greedy_decode.mistake("The loop does not stop at `eos_id`: the sentence goes on after its end.")
def past_the_end(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, None, max_length - 1)


@greedy_decode.mistake("Nothing but `eos_id` ends the loop: without it the sentence grows beyond `max_length`.")
def no_limit(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, 10 * ENDLESS)


@greedy_decode.mistake(
    "The result is filled up to `max_length` with `eos_id`. A batch needs that; here the list ends at the first one."
)
def filled_up_with_eos(next_logits, bos_id, eos_id, max_length):
    ids = written(most_probable(next_logits), bos_id, eos_id, max_length - 1)
    return ids + [eos_id] * (max_length - len(ids))


@greedy_decode.mistake(
    "`next_logits` gets only the last id. A Transformer remembers nothing from one call to the next: hand over all ids."
)
def last_id_only(next_logits, bos_id, eos_id, max_length):
    return written(lambda ids: next_logits(ids[-1:]).argmax().item(), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake(
    "`next_logits` gets nothing but bos at every step. What was chosen is never fed back, so the same token is chosen "
    "again and again."
)
def never_fed_back(next_logits, bos_id, eos_id, max_length):
    return written(lambda ids: next_logits([bos_id]).argmax().item(), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake("It takes the *least* probable token: argmin instead of argmax, or an ascending sort.")
def least_probable(next_logits, bos_id, eos_id, max_length):
    return written(lambda ids: next_logits(ids).argmin().item(), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake(
    "The loop looks at the last id *before* it has chosen one. Where bos and eos are the same id, as in GPT-2, it "
    "never begins. Look at the token that was appended last."
)
def bos_taken_for_the_end(next_logits, bos_id, eos_id, max_length):
    if bos_id == eos_id:
        return [bos_id]
    return written(most_probable(next_logits), bos_id, eos_id, max_length - 1)


# Filters

FOUR = torch.tensor([0.1, 0.5, 0.15, 0.25], device="cpu").log()


def all_but_minus_infinity_untouched(given, filtered) -> bool:
    kept = filtered > -torch.inf
    return bool(kept.any(-1).all()) and torch.equal(filtered[kept], given["logits"][kept])


def kept_are_the_largest(given, filtered) -> bool:
    kept = filtered > -torch.inf
    smallest_kept = given["logits"].masked_fill(~kept, torch.inf).amin(-1)
    return bool((given["logits"].masked_fill(kept, -torch.inf).amax(-1) <= smallest_kept).all())


UNTOUCHED = Property("what is kept keeps its logit, and each row keeps a token", all_but_minus_infinity_untouched)


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


@top_k_filter.mistake(
    "Only the k largest values are returned, so that nobody knows which tokens they belong to. Keep the shape."
)
def values_only(logits, k):
    return logits.topk(k).values


@top_k_filter.mistake(
    "The k-th largest logit itself is dropped: `>` keeps only what is above it, `>=` keeps it as well."
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
    "The k largest logits of the *whole tensor* are kept, so some rows keep more than k and some none. Each row has "
    "its own k largest."
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
    "The logits are compared with the *largest* one, so only one token is kept. The k-th largest is the last value "
    "that `topk` returns."
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


# Beam search

# bos 0, eos 1: greedy ends with 0.5 · 0.4; by way of 3, the less probable start, a sentence has 0.4 · 0.9
garden_path = chain(
    "garden_path",
    [0.04, 0.02, 0.5, 0.4, 0.04],
    [0.2] * 5,
    [0.1, 0.4, 0.1, 0.15, 0.25],
    [0.02, 0.9, 0.03, 0.01, 0.04],
    [0.1, 0.6, 0.1, 0.05, 0.15],
)

# bos 0, eos 1: the end has 0.25 at once; two ways by 2 have 0.6 · 0.45 at first, and less than 0.25 in the end
two_better_starts = chain("two_better_starts", [0.1, 0.25, 0.6, 0.05], [0.25] * 4, [0.45, 0.05, 0.05, 0.45], [0.25] * 4)


# bos 0, eos 1: the end has 0.1 at once; then 3 has 0.4 and 4 has 0.36, after which the end is all but certain
second_best_wins = chain(
    "second_best_wins",
    [0.02, 0.1, 0.8, 0.05, 0.03],
    [0.2] * 5,
    [0.01, 0.02, 0.02, 0.5, 0.45],
    [0.24, 0.26, 0.21, 0.15, 0.14],
    [0.03, 0.9, 0.04, 0.02, 0.01],
)

# bos 0, eos 1: two sentences end early, with 0.1 and 0.24; the best, with 0.43, is on its way
best_ends_last = chain(
    "best_ends_last", [0.06, 0.1, 0.8, 0.04], [0.25] * 4, [0.06, 0.3, 0.04, 0.6], [0.04, 0.9, 0.05, 0.01]
)


def beam_case(label: str, model: Callable, bos_id: int, eos_id: int, beam_size: int, max_length: int) -> Case:
    sizes = {"beam_size": beam_size, "max_length": max_length}
    return Case(label, {"next_log_probs": model, "bos_id": bos_id, "eos_id": eos_id, **sizes})


beam_search = Exercise(
    single.beam_search,
    lesson="08",
    minutes=25,
    difficulty=3,
    statement="""
    Search for the most probable sentence with several hypotheses at once; return its `(ids, total)`.

    `next_log_probs(ids)` takes the list of ids so far and returns the log probabilities of the next token, (vocab,).
    Each step keeps the `beam_size` best extensions of all live hypotheses. One that ends in `eos_id` leaves the beam
    and is set aside. The search ends at `max_length` ids, bos counted, or when none is live. The best total wins,
    among those set aside and those still live; there is no length penalty. The total is the sum of the log
    probabilities, a Python float.
    """,
    returns=("ids", "total"),
    cases=(
        beam_case("first 2 (0.5) or 3 (0.4); after 2 the end has 0.4, after 3 it has 0.9", garden_path, 0, 1, 2, 6),
        beam_case("a beam of one is greedy", garden_path, 0, 1, 1, 6),
        beam_case("room for bos only", garden_path, 0, 1, 2, 1),
        beam_case("no time to end", garden_path, 0, 1, 2, 2),
        beam_case("two better starts push a sentence out", two_better_starts, 0, 1, 2, 4),
        beam_case("one ends early, and the second of those that go on wins", second_best_wins, 0, 1, 2, 5),
        beam_case("two have ended, the best has not", best_ends_last, 0, 1, 2, 5),
        beam_case("ids that all matter", scattered(5, 1, 0.5, salt=1), 0, 1, 3, 8),
        beam_case("room for five ids", scattered(5, 1, 0.5), 0, 1, 3, 5),
        beam_case("other ids", scattered(7, 4, 0.5), 6, 4, 2, 5),
        beam_case("eos is the last of the vocabulary", scattered(5, 4), 0, 4, 2, 8),
        beam_case("a sharper model", scattered(6, 2, 2.0, salt=1), 3, 2, 4, 8),
        beam_case("a wide beam", scattered(7, 4, 0.5, salt=2), 6, 4, 6, 8),
        beam_case("a beam as wide as all that is possible", scattered(3, 2), 0, 2, 27, 4),
    ),
    hints=(
        "A hypothesis is a list of ids and its total. At first there is one: `[bos_id]` with total 0. A list of "
        "such pairs is the beam, a second one holds those set aside.",
        "A step: extend *each* live hypothesis by *every* token, add the token's log probability to the total, sort "
        "all these extensions together, and keep the `beam_size` best.",
        "Of those kept, the ones that end in `eos_id` go to the list set aside; each of them has used up one of the "
        "`beam_size` places of this step. At the end, look for the best total in both lists.",
    ),
)


Hypothesis = tuple[list[int], float]


def total_of(hypothesis: Hypothesis) -> float:
    return hypothesis[1]


def extensions_of(live: list[Hypothesis], next_log_probs: Callable) -> list[Hypothesis]:
    """Every live hypothesis with every token, the best first."""
    every = [([*ids, i], total + x) for ids, total in live for i, x in enumerate(next_log_probs(ids).tolist())]
    return sorted(every, key=total_of, reverse=True)


def searched(next_log_probs, bos_id, eos_id, beam_size, max_length, *, keep=None, extend=extensions_of):
    """`(set aside, live)` at the end of a search, with another rule for what a step keeps or how it extends."""
    live, ended = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        extensions = extend(live, next_log_probs)
        best = keep(extensions) if keep else extensions[:beam_size]
        ended += [h for h in best if h[0][-1] == eos_id]
        live = [h for h in best if h[0][-1] != eos_id]
    return ended, live


@beam_search.mistake("Only the best hypothesis goes on: that is greedy decoding, whatever `beam_size` says.")
def greedy_in_disguise(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, 1, max_length)
    return max(ended + live, key=total_of)


@beam_search.mistake(
    "Each hypothesis keeps its own best extension. But the extensions of all hypotheses compete with one another: a "
    "good hypothesis may have several descendants, and a bad one none."
)
def no_competition(next_log_probs, bos_id, eos_id, beam_size, max_length):
    def extend(live: list[Hypothesis], model: Callable) -> list[Hypothesis]:
        if len(live[0][0]) == 1:
            return extensions_of(live, model)[:beam_size]
        return [extensions_of([hypothesis], model)[0] for hypothesis in live]

    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length, extend=extend)
    return max(ended + live, key=total_of)


@beam_search.mistake(
    "The log probabilities are not added up: each step compares only its own, and forgets those before it."
)
def last_step_only(next_log_probs, bos_id, eos_id, beam_size, max_length):
    def extend(live: list[Hypothesis], model: Callable) -> list[Hypothesis]:
        return extensions_of([(ids, 0.0) for ids, _ in live], model)

    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length, extend=extend)
    return max(ended + live, key=total_of)


@beam_search.mistake("Hypotheses that have ended are extended further, so what comes after `eos_id` counts as well.")
def ended_ones_go_on(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, None, beam_size, max_length)
    return max(ended + live, key=total_of)


@beam_search.mistake(
    "An extension that ends in `eos_id` does not count as one of the `beam_size`: that many others are kept as well. "
    "Some programs do that; here the `beam_size` best are chosen first, and those that end are among them."
)
def ends_take_no_place(next_log_probs, bos_id, eos_id, beam_size, max_length):
    def keep(extensions: list[Hypothesis]) -> list[Hypothesis]:
        going_on = [h for h in extensions if h[0][-1] != eos_id][:beam_size]
        return going_on + [h for h in extensions[: 2 * beam_size] if h[0][-1] == eos_id]

    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length, keep=keep)
    return max(ended + live, key=total_of)


@beam_search.mistake("The search stops with the first hypothesis that ends. A better one may still be on its way.")
def first_end_wins(next_log_probs, bos_id, eos_id, beam_size, max_length):
    for length in range(1, max_length + 1):
        ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, length)
        if ended:
            return max(ended, key=total_of)
    return max(live, key=total_of)


@beam_search.mistake(
    "The beam shrinks with each hypothesis that ends. But every step keeps `beam_size` extensions: a hypothesis that "
    "has ended used up a place in an earlier step."
)
def beam_shrinks(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, ended = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length:
        best = extensions_of(live, next_log_probs)[: max(beam_size - len(ended), 0)]
        ended += [h for h in best if h[0][-1] == eos_id]
        live = [h for h in best if h[0][-1] != eos_id]
    return max(ended + live, key=total_of)


@beam_search.mistake(
    "The search stops when `beam_size` hypotheses have ended. One that is still live may be better than all of them."
)
def enough_have_ended(next_log_probs, bos_id, eos_id, beam_size, max_length):
    live, ended = [([bos_id], 0.0)], []
    while live and len(live[0][0]) < max_length and len(ended) < beam_size:
        best = extensions_of(live, next_log_probs)[:beam_size]
        ended += [h for h in best if h[0][-1] == eos_id]
        live = [h for h in best if h[0][-1] != eos_id]
    return max(ended + live, key=total_of)


@beam_search.mistake("Only hypotheses that have ended can win here. At `max_length`, those still live count as well.")
def live_ones_forgotten(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(ended or live, key=total_of)


@beam_search.mistake(
    "Only what is in the beam at the end can win: the hypotheses that were set aside before are forgotten."
)
def ended_ones_forgotten(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(live or ended, key=total_of)


@beam_search.mistake(
    "A hypothesis that has ended stays in the beam, and better beginnings push it out. They may turn out worse in the "
    "end, so set aside what has ended, and keep it."
)
def ended_ones_pushed_out(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = [], [([bos_id], 0.0)]
    while live and len(live[0][0]) < max_length:
        best = sorted(ended + extensions_of(live, next_log_probs), key=total_of, reverse=True)[:beam_size]
        ended = [h for h in best if h[0][-1] == eos_id]
        live = [h for h in best if h[0][-1] != eos_id]
    return max(ended + live, key=total_of)


@beam_search.mistake(
    "The totals are divided by the lengths at the end, which favours long sentences. That is a length penalty; here "
    "the plain total decides."
)
def mean_instead_of_total(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(ended + live, key=lambda h: h[1] / max(len(h[0]) - 1, 1))


@beam_search.mistake(
    "The *smallest* totals are kept. Log probabilities are negative, so the best total is the largest one, the nearest "
    "to 0."
)
def worst_kept(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(
        next_log_probs, bos_id, eos_id, beam_size, max_length, keep=lambda extensions: extensions[-beam_size:]
    )
    return min(ended + live, key=total_of)


@beam_search.mistake("`max_length` tokens follow bos. bos counts as well, so only `max_length - 1` may follow.")
def beam_one_too_long(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length + 1)
    return max(ended + live, key=total_of)


@beam_search.mistake("`next_log_probs` gets only the last id. Hand over all ids of the hypothesis.")
def beam_of_last_ids(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(lambda ids: next_log_probs(ids[-1:]), bos_id, eos_id, beam_size, max_length)
    return max(ended + live, key=total_of)


@beam_search.mistake("The total is returned as a probability. Return the sum of the logarithms as it is.")
def probability_returned(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ids, total = beam_search.reference(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return ids, torch.tensor(total, dtype=torch.float64).exp().item()


@beam_search.mistake("bos is missing at the start of the ids.")
def beam_without_bos(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ids, total = beam_search.reference(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return ids[1:], total


@beam_search.mistake("eos is missing at the end of the ids.")
def beam_without_eos(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ids, total = beam_search.reference(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return (ids[:-1] if ids[-1] == eos_id else ids), total


# Attention with a cache


def step_case(label: str, batch: int, heads: int, length: int, d_head: int, dtype=torch.float32) -> Case:
    """One new position after `length` old ones."""
    query, key, value = normal(3, batch, heads, 1, d_head, dtype=dtype)
    return Case(
        label,
        {"query": query, "key": key, "value": value, "cache": normal(2, batch, heads, length, d_head, dtype=dtype)},
    )


def grown_at_its_end(given, output, cache) -> bool:
    old, length = given["cache"], given["cache"].size(-2)
    return torch.equal(cache[..., :length, :], old) and torch.equal(
        cache[..., length:, :], torch.stack([given["key"], given["value"]])
    )


cached_attention = Exercise(
    attention.cached_attention,
    lesson="08",
    minutes=10,
    difficulty=2,
    statement="""
    One step of self-attention with a cache: return `(output, cache)`, with the cache grown by one position.

    query, key and value belong to the new position alone: (B, h, 1, d_head), projected already. `cache` holds the keys
    and the values of the S positions before it, as one tensor of shape (2, B, h, S, d_head): `cache[0]` the keys,
    `cache[1]` the values; at the first position S is 0. The output is (B, h, 1, d_head), attention (§3.2.1) over all
    S + 1 positions.
    """,
    returns=("output", "cache"),
    cases=(
        Case(
            "the third position of a sentence; each value is 1 at its own position, else 0",
            {
                "query": torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]]),
                "key": torch.tensor([[[[log(2.0), 0.0, 0.0, 0.0]]]]),
                "value": torch.tensor([[[[0.0, 0.0, 1.0, 0.0]]]]),
                "cache": torch.tensor(
                    [
                        [[[[log(3.0), 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]],
                        [[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]],
                    ]
                ),
            },
        ),
        Case(
            "the first position: the cache is empty",
            {name: counting(1, 1, 1, 2) + i for i, name in enumerate(("query", "key", "value"))}
            | {"cache": torch.empty(2, 1, 1, 0, 2)},
        ),
        step_case("the second position", 1, 1, 1, 3),
        step_case("one head, one position before", 3, 1, 1, 4),
        step_case("a batch", 2, 3, 5, 7),
        step_case("two heads", 3, 2, 4, 5),
        step_case("an empty cache, a batch", 2, 3, 0, 5),
        step_case("float64", 2, 3, 7, 4, dtype=torch.float64),
    ),
    properties=(Property("the cache keeps what it had, and has the new key and value behind it", grown_at_its_end),),
    hints=(
        "First let the cache grow by the new key and value, then attend to all of it: a position may attend to itself.",
        "If you stack key and value, the result has the axes of the cache, with one position. Along which axis must "
        "`torch.cat` join the two?",
        "The rest is attention for one query, softmax(q Kᵀ / √d_head) V. It needs no mask, because all that is in the "
        "cache lies in the past.",
    ),
)


def grown(key: Tensor, value: Tensor, cache: Tensor) -> Tensor:
    return torch.cat([cache, torch.stack([key, value])], dim=-2)


def attended(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1) @ values


@cached_attention.mistake(
    "The query attends only to the new position, so the cache is never used and the output is the new value."
)
def cache_not_used(query, key, value, cache):
    return attended(query, key, value), grown(key, value, cache)


@cached_attention.mistake(
    "The query attends only to the old positions. But a position may attend to itself: let the cache grow first."
)
def itself_not_seen(query, key, value, cache):
    return attended(query, *cache), grown(key, value, cache)


@cached_attention.mistake("The cache is returned as it came in, so the next step does not know this position.")
def cache_not_grown(query, key, value, cache):
    return attended(query, *grown(key, value, cache)), cache


@cached_attention.mistake(
    "The new position is put in *front* of the old ones. The output is the same, but the cache is out of order: a mask "
    "or a window would take the newest position for the oldest."
)
def grown_in_front(query, key, value, cache):
    cache = torch.cat([torch.stack([key, value]), cache], dim=-2)
    return attended(query, *cache), cache


@cached_attention.mistake("Keys and values are exchanged: `cache[0]` holds the keys, `cache[1]` the values.")
def exchanged(query, key, value, cache):
    values, keys = grown(key, value, cache)
    return attended(query, keys, values), grown(key, value, cache)


@cached_attention.mistake("Value and key are stored the wrong way round: the keys come first.")
def stored_exchanged(query, key, value, cache):
    cache = grown(value, key, cache)
    return attended(query, *cache), cache


@cached_attention.mistake("The scores are not divided by √d_head.")
def cache_without_scale(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT).softmax(-1) @ values, cache


@cached_attention.mistake(
    "`is_causal=True` aligns its triangle with the *first* key, so that one query sees that key alone. The newest "
    "position may see everything, so no mask is needed."
)
def causal_from_the_first_key(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return torch.nn.functional.scaled_dot_product_attention(query, keys, values, is_causal=True), cache


@cached_attention.mistake("The new position replaces the last one, so the cache is as long as before.")
def last_one_replaced(query, key, value, cache):
    cache = grown(key, value, cache[..., :-1, :])
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The oldest position is dropped when a new one comes. That is a sliding window; here the cache grows."
)
def oldest_dropped(query, key, value, cache):
    cache = grown(key, value, cache[..., 1:, :])
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The softmax runs over the queries. There is only one, so each weight is 1. It must run over the keys, dim=-1."
)
def cache_softmax_over_queries(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT / query.size(-1) ** 0.5).softmax(-2) @ values, cache


@cached_attention.mistake("The *query* is stored where the key belongs. Queries are used once and need no cache.")
def query_stored(query, key, value, cache):
    cache = grown(query, value, cache)
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The cache grows along the axis of the heads. In a tensor of (2, B, h, S, d_head) the positions are the last axis "
    "but one, dim=-2."
)
def grown_along_heads(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([key, value])], dim=2)
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The scores are divided by the square root of the number of positions, which grows, and not by √d_head."
)
def scaled_by_the_length(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT / keys.size(-2) ** 0.5).softmax(-1) @ values, cache
