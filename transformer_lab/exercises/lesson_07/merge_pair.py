"""Lesson 07: implement `merge_pair`."""

from itertools import pairwise

import torch
from torch import Generator

from transformer_lab.data import tokenizer
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise


def merge_case(label: str, symbols: str, pair: str) -> Case:
    """Symbols and a pair of them, written with bars between: "ab|c" is ["ab", "c"]."""
    return Case(label, {"symbols": symbols.split("|"), "pair": tuple(pair.split("|"))})


merge_pair = Exercise(
    tokenizer.merge_pair,
    lesson="07",
    minutes=5,
    difficulty=1,
    statement="""
    One merge of byte-pair encoding: wherever the two symbols of `pair` are neighbours, they become one symbol.

    `symbols` is a list of texts, `pair` a tuple of two. Go from left to right and use each symbol once: with the pair
    ("a", "a"), ["a", "a", "a"] becomes ["aa", "a"]. Return a new list.
    """,
    returns=("symbols",),
    cases=(
        merge_case("the pair occurs once", "u|n|d", "n|d"),
        merge_case("the pair occurs twice", "z|w|a|n|z|i|g|z|w|e|i", "z|w"),
        merge_case("the pair does not occur", "e|i|n|s", "u|n"),
        merge_case("both symbols occur, in the other order only", "d|u|n", "n|u"),
        merge_case("four equal symbols", "a|a|a|a", "a|a"),
        merge_case("three equal symbols", "a|a|a", "a|a"),
        merge_case("five equal symbols among others", "b|a|a|a|a|a|b|a", "a|a"),
        merge_case("longer symbols", "ein|und|zwan|zig", "und|zwan"),
        merge_case("the text contains the pair, the symbols do not", "xa|b|a|bx|ab", "a|b"),
        merge_case("other symbols with the same letters", "ab|c|a|bc", "a|bc"),
        merge_case("a symbol that already is the joined pair", "ab|a|b|ab|b|a", "a|b"),
        merge_case("a symbol is a space", "a| |b| |a|b", " |b"),
        merge_case("one symbol", "a", "a|b"),
        Case("no symbol", {"symbols": [], "pair": ("a", "b")}),
    ),
    hints=(
        "Go through the symbols from left to right and build a new list. When do two symbols become one entry?",
        "Look back: if the last entry of your new list is the left half of the pair, the symbol may be the right half.",
        "A joined symbol is longer than either half, so it can't be mistaken for one of them.",
    ),
)


@merge_pair.mistake(
    "You compare joined texts. The symbols ab and c spell the same letters as a and bc, but they are another pair."
)
def joined_texts_compared(symbols, pair):
    merged, i = [], 0
    while i < len(symbols):
        found = i + 1 < len(symbols) and symbols[i] + symbols[i + 1] == "".join(pair)
        merged.append("".join(pair) if found else symbols[i])
        i += 2 if found else 1
    return merged


@merge_pair.mistake("The right half is left over: after a merge, continue *two* symbols further on.")
def right_half_left_behind(symbols, pair):
    merged = []
    for i, symbol in enumerate(symbols):
        merged.append("".join(pair) if tuple(symbols[i : i + 2]) == pair else symbol)
    return merged


@merge_pair.mistake(
    "A symbol is used twice: in a a a, the middle one is the right half of the first pair, and you also use it as the "
    "left half of a second pair."
)
def used_twice(symbols, pair):
    pairs = list(pairwise(symbols))
    merged = []
    for i, symbol in enumerate(symbols):
        if i < len(pairs) and pairs[i] == pair:
            merged.append("".join(pair))
        elif i == 0 or pairs[i - 1] != pair:
            merged.append(symbol)
    return merged


@merge_pair.mistake(
    "You look at how the last entry *ends*. But xa, which ends in a, is a different symbol from a: the whole entry "
    "must be the left half."
)
def end_of_a_symbol_merged(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and merged[-1].endswith(pair[0]) and symbol == pair[1]:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake("Only the first occurrence is merged, but the pair may occur more than once.")
def first_place_only(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return list(symbols)


@merge_pair.mistake(
    "You replace in the joined text, which ignores where longer symbols begin: the symbols xa and b have an a before "
    "the b in their text, although no symbol is a."
)
def replaced_in_the_text(symbols, pair):
    return "|".join(symbols).replace("|".join(pair), "".join(pair)).split("|") if symbols else []


@merge_pair.mistake("You go from right to left, so a a a becomes a aa. The convention is left to right: aa a.")
def right_to_left(symbols, pair):
    merged = []
    for symbol in reversed(symbols):
        if merged and (symbol, merged[0]) == pair:
            merged[0] = symbol + merged[0]
        else:
            merged.insert(0, symbol)
    return merged


@merge_pair.mistake("The last symbol is lost unless it is merged, because a loop over pairs ends one symbol early.")
def last_symbol_lost(symbols, pair):
    merged, i = [], 0
    while i < len(symbols) - 1:
        found = (symbols[i], symbols[i + 1]) == pair
        merged.append("".join(pair) if found else symbols[i])
        i += 2 if found else 1
    return merged


@merge_pair.mistake("The order matters: the pair (n, u) is not u n, but you merge both.")
def in_either_order(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) in (pair, pair[::-1]):
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake("Your list contains the pair itself, a tuple. It must contain one text, the two symbols joined.")
def not_joined(symbols, pair):
    merged = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] = pair
        else:
            merged.append(symbol)
    return merged


@merge_pair.mistake(
    "You look at every second position only, so that you miss a pair that begins in between. Go on by two after a "
    "merge, and otherwise by one."
)
def every_other_place(symbols, pair):
    merged = []
    for i in range(0, len(symbols), 2):
        two = symbols[i : i + 2]
        merged += ["".join(pair)] if tuple(two) == pair else two
    return merged


@merge_pair.mistake(
    "You return one text, with spaces between the symbols. Return a list, because a symbol may contain a space itself."
)
def one_text(symbols, pair):
    return " ".join(merge_pair.reference(symbols, pair))


@merge_pair.mistake(
    "You join the symbols with spaces, replace in that text, and split it again. So the end of a longer symbol is "
    "taken for the left half, as in xa b, and a symbol that is a space itself is torn apart."
)
def replaced_between_spaces(symbols, pair):
    return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" ")


@merge_pair.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    alphabet = ("a", "b", "ab", "c", "bc")[: number(generator, 2, 5)]
    picks = torch.randint(len(alphabet), (number(generator, 5, 40),), generator=generator)
    left, right = torch.randint(len(alphabet), (2,), generator=generator)
    return {"symbols": [alphabet[i] for i in picks], "pair": (alphabet[left], alphabet[right])}
