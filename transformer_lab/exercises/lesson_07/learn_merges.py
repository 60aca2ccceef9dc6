"""Lesson 07: implement `learn_merges`."""

from collections import Counter
from functools import partial
from itertools import pairwise

import torch
from torch import Generator

from transformer_lab.data import tokenizer
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise


def words_case(label: str, words: dict[str, int], n_merges: int) -> Case:
    return Case(label, {"words": words, "n_merges": n_merges})


learn_merges = Exercise(
    tokenizer.learn_merges,
    lesson="07",
    minutes=30,
    difficulty=3,
    statement="""
    Learn the merges of byte-pair encoding: find the pair of neighbours that occurs most often, merge it in every word,
    and again, until there are `n_merges` merges or each word is a single symbol. Return the list of pairs.

    `words` is a dict from words to how often each occurs; at first the symbols of a word are its characters. Of equally
    frequent pairs, take the one whose left symbol was created first, and among these the one whose right symbol was.
    The characters count as created first, in the order of their code points; then come the merged symbols, in the
    order in which they were made.
    """,
    returns=("merges",),
    cases=(
        words_case("one word, one merge", {"ab": 1}, 1),
        words_case("a word that occurs twice", {"ab": 1, "cd": 2}, 1),
        words_case("a merge of a merge", {"abc": 3, "ab": 1}, 2),
        words_case("fewer merges than asked for", {"ab": 2, "c": 1}, 5),
        words_case("no merges asked for", {"ab": 2}, 0),
        words_case("no words", {}, 3),
        words_case("equally frequent: the left symbols differ", {"cd": 1, "ab": 1}, 2),
        words_case("equally frequent: the right symbols differ", {"ac": 1, "ab": 1}, 2),
        words_case("equally frequent: one symbol is a merged one", {"ab": 3, "abz": 2, "cz": 2}, 3),
        words_case("equally frequent: one right symbol is a merged one", {"ab": 3, "zab": 2, "zc": 2}, 3),
        words_case("equally frequent: both left symbols are merged ones", {"abb": 4, "ccc": 4}, 4),
        words_case("equal letters side by side", {"aaaaa": 1, "baa": 2}, 4),
        words_case("a pair within a word counts each time", {"ababab": 1, "cd": 2}, 2),
        words_case("the paper's words", {"low·": 5, "lower·": 2, "newest·": 6, "widest·": 3}, 10),
    ),
    hints=(
        "Keep for each word the list of its symbols. Each round counts all pairs, picks one, merges it in each list.",
        "A pair in a word that occurs five times counts five times. And `pairwise` gives the neighbours of a list.",
        "To pick a pair, take the minimum by three things in turn: the negative count, the number of the left symbol "
        "in the order of creation, and that of the right one. Which number does a new symbol get?",
        "To merge a pair within a word is an exercise of its own: `merge_pair`.",
    ),
)


def joined(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def by_age(counts, known, pair):
    return -counts[pair], known.index(pair[0]), known.index(pair[1])


def learned(words, n_merges, times=lambda n: n, rank=by_age, join=joined, most=None):
    """The right loop, one part of which may be another: how words count, how pairs are ranked, how they are joined."""
    split, known, merges = {word: list(word) for word in words}, sorted(set().union(*words)), []
    while len(merges) < n_merges:
        counts = Counter()
        for word, symbols in split.items():
            for pair in pairwise(symbols):
                counts[pair] += times(words[word])
        if not counts or (most and max(counts.values()) < most):
            break
        best = min(counts, key=partial(rank, counts, known))
        merges.append(best)
        known.append("".join(best))
        split = {word: join(symbols, best) for word, symbols in split.items()}
    return merges


@learn_merges.mistake("Each word counts once, however often it occurs: add `words[word]`, not 1.")
def words_counted_once(words, n_merges):
    return learned(words, n_merges, times=lambda n: 1)


@learn_merges.mistake(
    "You count the pairs once and take the most frequent of these. Each merge makes new pairs and takes others away: "
    "count again after each."
)
def counted_once_for_all(words, n_merges):
    counts = Counter()
    for word, times in words.items():
        for pair in pairwise(word):
            counts[pair] += times
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


@learn_merges.mistake(
    "Of equally frequent pairs you take the one that you met first. Take the one whose symbols were created first."
)
def first_met(words, n_merges):
    return learned(words, n_merges, rank=lambda counts, known, pair: -counts[pair])


@learn_merges.mistake(
    "Of equally frequent pairs you take the first in the alphabet. For characters that is right; but a merged "
    "symbol was created after all of them, whatever its letters are."
)
def in_alphabetical_order(words, n_merges):
    return learned(words, n_merges, rank=lambda counts, known, pair: (-counts[pair], *pair))


@learn_merges.mistake(
    "Of equally frequent pairs you take the one whose symbols were created *last*. Take the one whose symbols were "
    "created first."
)
def youngest_first(words, n_merges):
    rank = lambda counts, known, pair: (-counts[pair], -known.index(pair[0]), -known.index(pair[1]))  # noqa: E731
    return learned(words, n_merges, rank=rank)


@learn_merges.mistake("You take the pair that is rarest. Take the most frequent one.")
def rarest_first(words, n_merges):
    return learned(words, n_merges, rank=lambda counts, known, p: (counts[p], known.index(p[0]), known.index(p[1])))


@learn_merges.mistake(
    "The merges come back as texts. Each must be a pair, the left symbol and the right one: from the text alone nobody "
    "can tell where it was joined."
)
def texts_in_place_of_pairs(words, n_merges):
    return ["".join(pair) for pair in learned(words, n_merges)]


@learn_merges.mistake(
    "You stop when the most frequent pair occurs once. Go on merging until each word is a single symbol or there are "
    "`n_merges`."
)
def stops_at_single_pairs(words, n_merges):
    return learned(words, n_merges, most=2)


@learn_merges.mistake("You do not stop when no pair is left: each word may be a single symbol before `n_merges`.")
def never_out_of_pairs(words, n_merges):
    merges = learned(words, n_merges)
    if len(merges) < n_merges:
        max([])
    return merges


@learn_merges.mistake("One merge too many: there must be `n_merges` of them.")
def one_too_many(words, n_merges):
    return learned(words, n_merges + 1)


@learn_merges.mistake(
    "You merge only the first place of a pair in each word. It must be merged wherever it occurs, or it is found again."
)
def merged_once_in_a_word(words, n_merges):
    def join(symbols, pair):
        found = [i for i, two in enumerate(pairwise(symbols)) if two == pair]
        return [*symbols[: found[0]], "".join(pair), *symbols[found[0] + 2 :]] if found else symbols

    return learned(words, n_merges, join=join)


@learn_merges.mistake(
    "A pair counts once in a word, however often it occurs there: in ababab, (a, b) must count three times."
)
def once_in_a_word(words, n_merges):
    split, known, merges = {word: list(word) for word in words}, sorted(set().union(*words)), []
    while len(merges) < n_merges:
        counts = Counter()
        for word, symbols in split.items():
            for pair in set(pairwise(symbols)):
                counts[pair] += words[word]
        if not counts:
            break
        best = min(counts, key=partial(by_age, counts, known))
        merges.append(best)
        known.append("".join(best))
        split = {word: joined(symbols, best) for word, symbols in split.items()}
    return merges


@learn_merges.mistake(
    "Of equally frequent pairs you take the *last* in the alphabet: `max` by (count, pair) compares the texts of the "
    "symbols. Take the pair whose symbols were created first."
)
def last_in_the_alphabet(words, n_merges):
    backwards = lambda symbol: (*(-ord(letter) for letter in symbol), 1)  # noqa: E731
    rank = lambda counts, known, pair: (-counts[pair], *map(backwards, pair))  # noqa: E731
    return learned(words, n_merges, rank=rank)


@learn_merges.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    letters, words = "abcdez·", {}
    for _ in range(number(generator, 3, 12)):
        picks = torch.randint(number(generator, 2, len(letters)), (number(generator, 1, 9),), generator=generator)
        words["".join(letters[i] for i in picks)] = number(generator, 1, 9)
    return {"words": words, "n_merges": number(generator, 3, 12)}
