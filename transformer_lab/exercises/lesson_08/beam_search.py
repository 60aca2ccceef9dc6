"""Lesson 08: implement `beam_search`."""

from collections.abc import Callable

import torch
from torch import Generator

from transformer_lab.decoding import single
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_08.shared import a_model, chain, scattered

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


# bos 0, eos 1: the end has 0.3 at once; a sentence of three tokens has 0.6 · 0.8 · 0.55, nearly as much
long_one_nearly_wins = chain(
    "long_one_nearly_wins", [0.05, 0.3, 0.6, 0.05], [0.25] * 4, [0.05, 0.1, 0.05, 0.8], [0.05, 0.55, 0.25, 0.15]
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
        beam_case("a long sentence has nearly as much as a short one", long_one_nearly_wins, 0, 1, 2, 6),
        beam_case("ids that all matter", scattered(5, 1, 0.5, salt=1), 0, 1, 3, 8),
        beam_case("short sentences and long ones", scattered(5, 1, salt=1), 0, 1, 3, 8),
        beam_case("four tokens to choose from", scattered(4, 1, salt=18), 0, 1, 3, 8),
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


@beam_search.mistake(
    "There is never more than one hypothesis: that is greedy decoding, whatever `beam_size` says. Either one alone is "
    "kept, or each keeps only its own best extension, so that the first hypothesis never has more than one descendant."
)
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


@beam_search.mistake(
    "The first hypothesis that ends is returned, whatever comes after it. A better one may still be on its way."
)
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


@beam_search.mistake(
    "Where any hypothesis has ended, those still live can't win here. At `max_length` they count as well."
)
def live_ones_forgotten(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(ended or live, key=total_of)


@beam_search.mistake(
    "Where any hypothesis is still live at the end, those that were set aside are forgotten. The best of all totals "
    "wins."
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
    "You compare totals divided by the number of tokens after bos, which favours long sentences. That is a length "
    "penalty; here the plain total decides."
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


PENALTY = (
    "You compare totals divided by the length, or by a power of it, which favours long sentences. That is a length "
    "penalty; here the plain total decides."
)


@beam_search.mistake(PENALTY)
def divided_by_the_length(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(ended + live, key=lambda h: h[1] / len(h[0]))


@beam_search.mistake(PENALTY)
def divided_by_a_power_of_the_length(next_log_probs, bos_id, eos_id, beam_size, max_length):
    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length)
    return max(ended + live, key=lambda h: h[1] / len(h[0]) ** 0.6)


@beam_search.mistake(
    "The search ends with the first hypothesis that ends, although the best of all that are there wins. A better one "
    "may still be on its way: only `max_length`, or that none is live, ends the search."
)
def stopped_at_the_first_end(next_log_probs, bos_id, eos_id, beam_size, max_length):
    for length in range(1, max_length + 1):
        ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, length)
        if ended:
            break
    return max(ended + live, key=total_of)


@beam_search.mistake(
    "*Every* extension that ends in `eos_id` is set aside, however improbable it is beside the others. Only one that "
    "is among the `beam_size` best of its step is kept at all."
)
def every_end_set_aside(next_log_probs, bos_id, eos_id, beam_size, max_length):
    def keep(extensions: list[Hypothesis]) -> list[Hypothesis]:
        ends = [h for h in extensions if h[0][-1] == eos_id]
        return ends + [h for h in extensions if h[0][-1] != eos_id][:beam_size]

    ended, live = searched(next_log_probs, bos_id, eos_id, beam_size, max_length, keep=keep)
    return max(ended + live, key=total_of)


@beam_search.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    model, bos_id, eos_id = a_model(generator)
    size, length = number(generator, 2, 5), number(generator, 3, 8)
    return {"next_log_probs": model, "bos_id": bos_id, "eos_id": eos_id, "beam_size": size, "max_length": length}
