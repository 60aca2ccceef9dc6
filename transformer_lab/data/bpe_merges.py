"""Merges of byte-pair encoding: applying one, and learning all from words, for which `tokenizer` has a fast twin."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise


def merge_pair(symbols: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """Apply one merge: wherever the two symbols of `pair` are neighbours, they become one symbol.

    Go from left to right and use each symbol once: with the pair ("a", "a"), ["a", "a", "a"] becomes ["aa", "a"].
    """
    merged: list[str] = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def learn_merges(words: Mapping[str, int], n_merges: int) -> list[tuple[str, str]]:
    """Learn merges: the most frequent pair of neighbours is merged, then the most frequent one after that, and so on.

    `words` says how often each word occurs. Of equally frequent pairs, the one whose left symbol is oldest is merged,
    then the one whose right symbol is: characters in the order of their code points, then merges as they were learned.
    There are fewer merges if each word has become a single symbol.
    """
    split = {word: list(word) for word, times in words.items() if times}  # the symbols of each word
    known = sorted(set().union(*words))  # symbols, the oldest first
    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges:
        counts: Counter[tuple[str, str]] = Counter()
        for word, symbols in split.items():
            for pair in pairwise(symbols):
                counts[pair] += words[word]
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], known.index(pair[0]), known.index(pair[1])))
        merges.append(best)
        known.append("".join(best))
        split = {word: merge_pair(symbols, best) for word, symbols in split.items()}
    return merges
