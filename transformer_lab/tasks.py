"""What the models learn on: number names in two languages, and three toy tasks whose right attention is known."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True)
class Pairs:
    """`(source text, target text)` for training, and others for testing; `source` and `target` are the languages."""

    source: str
    target: str
    train: list[tuple[str, str]]
    test: list[tuple[str, str]]


def languages() -> list[str]:
    """Every language that num2words can count in."""
    from num2words import CONVERTER_CLASSES  # imported late: the package alone does not need it

    return sorted(CONVERTER_CLASSES)


def number_name(number: int, language: str) -> str:
    """The number in words: `number_name(21, "de")` is "einundzwanzig".

    Raises:
        ValueError: num2words does not know the language, or not this number in it.
    """
    from num2words import CONVERTER_CLASSES, num2words

    if language not in CONVERTER_CLASSES:
        raise ValueError(f"num2words does not know the language {language!r}; it knows {', '.join(languages())}")
    try:
        return num2words(number, lang=language)
    except Exception as error:  # each language fails in its own way
        raise ValueError(f"num2words has no name for {number} in {language!r}: try smaller numbers") from error


def number_names(
    source: str = "en",
    target: str = "de",
    *,
    n_train: int = 10_000,
    n_test: int = 1_000,
    below: int = 1_000_000,
    seed: int = 0,
) -> Pairs:
    """Names of random numbers from 0 to `below` - 1; no name of the test is among those of the training.

    Of numbers drawn evenly below a million, 90 % have six digits and 0.1 % fewer than four. So the numbers are drawn by
    their length, as many of each as there are: by default, the training has all 10 of one digit, 81 of two, 810 of
    three and 3 033 of each length above; the test has 9, 90, 300, 300 and 301 of two to six digits. At most a tenth of
    the numbers of a length are tested on, and none of one digit: each word should occur in the training.

    Raises:
        ValueError: num2words does not know a language, or not all these numbers in it; n_train or n_test is too large.
    """
    train, test = split_numbers(n_train, n_test, below, random.Random(seed))
    test_pairs = [(number_name(number, source), number_name(number, target)) for number in test]
    seen = {text for text, _ in test_pairs}  # num2words gives a few numbers the same name in Azerbaijani and in Tetum
    train_pairs = [(number_name(number, source), number_name(number, target)) for number in train]
    return Pairs(source, target, [pair for pair in train_pairs if pair[0] not in seen], test_pairs)


def split_numbers(n_train: int, n_test: int, below: int, generator: random.Random) -> tuple[list[int], list[int]]:
    """Numbers below `below` for training and others for testing, drawn by length as `number_names` says."""
    starts = [0, *(10**digits for digits in range(1, len(str(below - 1))))]
    lengths = sorted((range(start, min(below, start * 10 or 10)) for start in starts), key=len)
    held_out = even_shares(n_test, [0 if 0 in numbers else len(numbers) // 10 for numbers in lengths], "n_test")
    room = [len(numbers) - share for numbers, share in zip(lengths, held_out, strict=True)]
    train, test = [], []
    for numbers, n_held_out, n_kept in zip(lengths, held_out, even_shares(n_train, room, "n_train"), strict=True):
        drawn = generator.sample(numbers, n_held_out + n_kept)
        test += drawn[:n_held_out]
        train += drawn[n_held_out:]
    generator.shuffle(train)
    generator.shuffle(test)
    return train, test


def even_shares(total: int, room: list[int], name: str) -> list[int]:
    """`total` in parts as even as `room`, which rises, lets them be: a part that is too small is used up."""
    if not 0 <= total <= sum(room):
        raise ValueError(f"{name} ({total}) must be from 0 to {sum(room)}, as many numbers as there are to draw from")
    shares: list[int] = []
    for i, most in enumerate(room):
        shares.append(min(most, (total - sum(shares)) // (len(room) - i)))
    return shares


class Vocabulary:
    """Ids for a few symbols, with the interface of a tokenizer; in a text, one space stands between two symbols.

    Ids 0, 1 and 2 are for padding, for the begin and for the end of a sequence; the symbols follow in their order.

    Raises:
        ValueError: a symbol is empty, contains white space or occurs twice; a text has an unknown symbol.
    """

    pad_id, bos_id, eos_id = 0, 1, 2

    def __init__(self, symbols: Sequence[str]):
        for symbol in symbols:
            if symbol.split() != [symbol]:
                raise ValueError(f"a symbol must be a text without white space (got {symbol!r})")
        if len(set(symbols)) < len(symbols):
            raise ValueError(f"symbols must differ (got {list(symbols)})")
        self.symbols = list(symbols)
        self.ids = {symbol: i for i, symbol in enumerate(symbols, start=self.eos_id + 1)}

    def __len__(self) -> int:
        return self.eos_id + 1 + len(self.symbols)

    def encode(self, text: str) -> list[int]:
        """The ids of the symbols, without begin and end."""
        unknown = [symbol for symbol in text.split() if symbol not in self.ids]
        if unknown:
            raise ValueError(f"a text must consist of the symbols {' '.join(self.symbols)} (got {unknown[0]!r})")
        return [self.ids[symbol] for symbol in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        """The symbols of the ids, padding, begin and end left out."""
        return " ".join(self.symbols[i - self.eos_id - 1] for i in ids if i > self.eos_id)


def pad(sequences: Sequence[Sequence[int]], pad_id: int) -> Int[Tensor, "B T"]:
    """Lists of ids as one tensor, each filled up with `pad_id` to the length of the longest."""
    longest = max(map(len, sequences), default=0)
    rows = [[*ids, *[pad_id] * (longest - len(ids))] for ids in sequences]
    return torch.tensor(rows, dtype=torch.long).view(len(sequences), longest)


# Toy tasks. A target is its source in another order, so the order *is* the right attention: `alignment[b, t]` is the
# source position that target position t must look at.


def copy_alignment(src: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Each target position looks at the same position of the source."""
    return torch.arange(src.size(1), device=src.device).expand_as(src)


def reverse_alignment(src: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """The first target position looks at the last of the source, and so on."""
    return copy_alignment(src).flip(-1)


def sort_alignment(src: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """The first target position looks at the smallest id of the source, and so on."""
    return src.argsort(dim=-1, stable=True)


class Sequences(NamedTuple):
    """Sources, their targets, and for each target position the source position that it comes from."""

    src: Int[Tensor, "B T"]
    tgt: Int[Tensor, "B T"]
    alignment: Int[Tensor, "B T"]


def random_sequences(
    align: Callable[[Tensor], Tensor], n: int, length: int, n_symbols: int, *, seed: int = 0
) -> Sequences:
    """`n` random sources for a toy task: `random_sequences(reverse_alignment, n=64, length=7, n_symbols=10)`.

    The ids of the symbols follow those of padding, begin and end, which are left out: 3 to n_symbols + 2. No symbol
    occurs twice in a source, so that one place and no other is right to look at.

    Raises:
        ValueError: length is above n_symbols.
    """
    if length > n_symbols:
        raise ValueError(f"length ({length}) must be at most n_symbols ({n_symbols}): no symbol occurs twice")
    generator = torch.Generator("cpu").manual_seed(seed)  # the same numbers on every device
    order = torch.rand(n, n_symbols, generator=generator, device="cpu").argsort(dim=-1)
    src = order[:, :length] + Vocabulary.eos_id + 1
    alignment = align(src)
    return Sequences(src, src.gather(1, alignment), alignment)
