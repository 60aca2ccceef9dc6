"""Number names in two languages, from num2words: pairs for training, validation and test, drawn by kind of number."""

import random
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from transformer_lab.checks import check_least


@dataclass(frozen=True)
class Pairs:
    """Pairs `(source text, target text)` to train on, to monitor training with (validation), and for the final test.

    `slices` holds the test once more, by the kind of number. `source` and `target` are the languages.
    """

    source: str
    target: str
    train: list[tuple[str, str]]
    validation: list[tuple[str, str]]
    test: list[tuple[str, str]]
    slices: dict[str, list[tuple[str, str]]]


SPANISH = ("es", "es_CO", "es_CR", "es_GT", "es_NI", "es_VE")
# Of each language that num2words 0.5.14 is known to get wrong in part: a number, its name, and what it should be. 1 725
# numbers of each were compared with the rules of Unicode's CLDR, as ICU 72 applies them, where those have the language
# (Kannada repeats words, and Tetum gives two numbers one name); what differs by habit alone is not called wrong.
WRONG: dict[str, tuple[int, str, str]] = {
    "ar": (101_000, "مائة و ألف ألف", "مائة و واحد ألف"),
    "az": (11_000, "on min", "on bir min"),  # so it is called what 10 000 is called
    "cs": (200, "dvěstě", "dvě stě"),
    "da": (60, "treds", "tres"),
    "de": (101_000, "einhunderteinstausend", "einhunderteintausend"),
    **dict.fromkeys(SPANISH, (31_000, "treinta y uno mil", "treinta y un mil")),
    **dict.fromkeys(("fr_BE", "fr_CH"), (201, "deux cents un", "deux cent un")),
    "hu": (102, "százkét", "százkettő"),
    "it": (118, "centodicotto", "centodiciotto"),
    "kn": (200_000, "ಎರಡು ಒಂದು ಲಕ್ಷ", "ಎರಡು ಲಕ್ಷ"),  # "two one lakh"
    "no": (21_000, "tjueen tusen", "tjueett tusen"),
    "sv": (40, "förtio", "fyrtio"),
    "tet": (111_000, "rihun atus ida sanulu resin ida", "another name than that of 110001"),
    "tr": (101_001, "yüzbinbir", "yüzbirbinbir"),  # so it is called what 100 001 is called
}


def languages() -> list[str]:
    """All languages that num2words can count in."""
    from num2words import CONVERTER_CLASSES  # imported late: the package alone does not need it

    return sorted(CONVERTER_CLASSES)


def number_name(number: int, language: str) -> str:
    """A number in words: `number_name(21, "de")` is "einundzwanzig".

    Raises:
        ValueError: num2words does not know the language, or not this number in it.
    """
    from num2words import CONVERTER_CLASSES

    if language not in CONVERTER_CLASSES:
        raise ValueError(f"num2words does not know the language {language!r}; it knows {', '.join(languages())}")
    converter = converter_below_a_million(language) if number < 10**6 else CONVERTER_CLASSES[language]
    try:
        return " ".join(converter.to_cardinal(number).split())  # some of Telugu end in a space
    except Exception as error:  # each language fails in its own way
        raise ValueError(f"num2words has no name for {number} in {language!r}: try a smaller `below`") from error


def wrong_names(language: str) -> str | None:
    """A warning with an example if num2words gets names of a language wrong in the installed version, or None."""
    number, given, right = WRONG.get(language, (0, "", ""))
    if not right or number_name(number, language) != given:
        return None
    return f"num2words gets some names wrong in {language}: {number} is {given}, and should be {right}"


@cache
def converter_below_a_million(language: str) -> Any:
    """num2words' converter for a language, without its words for larger numbers.

    It tries its words from the largest down, for each part of a number. So the names are the same, and ten thousand
    pairs are there in a fifth of the time.
    """
    from num2words import CONVERTER_CLASSES

    converter = copy(CONVERTER_CLASSES[language])
    if hasattr(converter, "cards"):
        converter.cards = {number: word for number, word in converter.cards.items() if number <= 10**6}
    return converter


WORDS = {*range(21), *(digit * 10**zeros for digit in range(1, 10) for zeros in range(1, 19))}
SHARES = {"zero": 0.01, "short": 0.001}  # of the training, for each number of these kinds; of others, one pair


def kinds_of_numbers(below: int) -> dict[str, list[int]]:
    """The numbers from 0 to `below` - 1, grouped by the kind of their names.

    "zero", whose word is in no other name; "short" are others below 100, and a digit before zeros (100, 900 000);
    "round" are other multiples of 100; "and" have no hundreds behind their thousands (2 034: "two thousand and
    thirty-four"); the rest go by their digits.
    """
    hundreds = range(100, below, 100)
    kinds = {"zero": [0], "short": [*range(1, min(below, 100)), *(n for n in hundreds if n in WORDS)]}
    kinds["round"] = [n for n in hundreds if n not in WORDS]
    kinds["and"] = numbers_between(range(1_000, below, 1_000), below)
    for digits in range(3, len(str(below - 1)) + 1):
        starts = range(10 ** (digits - 1), min(below, 10**digits), 100)
        kinds[f"{digits} digits"] = numbers_between((n for n in starts if n < 1_000 or n % 1_000), below)
    return {kind: numbers for kind, numbers in kinds.items() if numbers}


def numbers_between(hundreds: Iterable[int], below: int) -> list[int]:
    """The 99 numbers after each of these multiples of 100, as far as they are below `below`."""
    return [*chain.from_iterable(range(n + 1, min(n + 100, below)) for n in hundreds)]


def lengths_of_numbers(below: int) -> dict[str, list[int]]:
    """The numbers from 0 to `below` - 1 grouped by length alone: a split with a blind spot, since few are round."""
    starts = [0, *(10**digits for digits in range(1, len(str(below - 1))))]
    return {f"length {len(str(start))}": [*range(start, min(below, start * 10 or 10))] for start in starts}


def number_names(
    source: str = "en",
    target: str = "de",
    *,
    n_train: int = 10_000,
    n_validation: int | None = None,
    n_test: int = 1_000,
    below: int = 1_000_000,
    kinds: Callable[[int], dict[str, list[int]]] = kinds_of_numbers,
    seed: int = 0,
) -> Pairs:
    """Names of random numbers from 0 to `below` - 1; no number is in two of training, validation and test.

    Of numbers drawn evenly below a million, 90 % have six digits, 1 % are round and 0.01 % are below 100. So they are
    drawn by kind, as many of each as there are. By default the training has 1 594 of most kinds, 770 of three digits,
    each of 116 short ones ten times, and zero 100 times; the test has 179 or 180 of most kinds, 89 of three digits and
    13 short ones. At most a tenth of a kind is tested on, a twentieth is for validation (in all n_test // 5, unless
    said), and never a number up to 20 or of a digit and zeros: each word should occur in the training.
    `kinds=lengths_of_numbers` goes by digits alone: a split with a blind spot. `WRONG` lists the languages of which
    num2words gets some names wrong.

    Raises:
        ValueError: num2words does not know a language, or not all these numbers in it; a number of pairs is negative or
            too large; below is not above 0.
    """
    n_validation = n_test // 5 if n_validation is None else n_validation
    check_least(1, below=below)
    check_least(0, n_train=n_train, n_validation=n_validation, n_test=n_test)
    generator = random.Random(seed)
    parts = split_numbers(kinds(below), n_train, n_validation, n_test, generator)
    seen: set[str] = set()  # num2words gives some numbers the same name in Azerbaijani, Tetum and Turkish
    named = []
    for part in reversed(parts):  # the test first: what is in it is left out elsewhere
        pairs = {n: (number_name(n, source), number_name(n, target)) for n in chain(*part.values())}
        named.append({kind: [pairs[n] for n in numbers if pairs[n][0] not in seen] for kind, numbers in part.items()})
        seen |= {text for text, _ in pairs.values()}
    slices = {kind: pairs for kind, pairs in named[0].items() if pairs}
    train, validation, test = ([*chain(*part.values())] for part in reversed(named))
    for mixed in (train, validation, test):
        generator.shuffle(mixed)
    return Pairs(source, target, train, validation, test, slices)


def split_numbers(
    kinds: dict[str, list[int]], n_train: int, n_validation: int, n_test: int, generator: random.Random
) -> list[dict[str, list[int]]]:
    """Split numbers into training, validation and test by kind, as `number_names` describes."""
    free = [one if WORDS.isdisjoint(one) else [n for n in one if n not in WORDS] for one in kinds.values()]
    room = [min(len(numbers) // 10, len(spare) // 2) for numbers, spare in zip(kinds.values(), free, strict=True)]
    tested = even_shares(n_test, room, "n_test")
    watched = even_shares(n_validation, [most // 2 for most in room], "n_validation")
    times = [max(1, round(SHARES.get(kind, 0) * n_train)) for kind in kinds]
    kept = [len(numbers) - t - w for numbers, t, w in zip(kinds.values(), tested, watched, strict=True)]
    taken = even_shares(n_train, [n * often for n, often in zip(kept, times, strict=True)], "n_train")
    train, validation, test = {}, {}, {}
    for i, (kind, numbers) in enumerate(kinds.items()):
        held_out = generator.sample(free[i], tested[i] + watched[i])
        test[kind], validation[kind] = held_out[: tested[i]], held_out[tested[i] :]
        hidden = {*held_out}
        drawn = generator.sample(numbers, min(taken[i] + len(held_out), len(numbers)))
        others = [number for number in drawn if number not in hidden]
        train[kind] = (others * times[i])[: taken[i]]
    return [train, validation, test]


def even_shares(total: int, room: list[int], name: str) -> list[int]:
    """Divide `total` into parts as even as `room` allows: a part that is too small is used up."""
    if not 0 <= total <= sum(room):
        raise ValueError(f"{name} ({total}) must be from 0 to {sum(room)}, as many numbers as there are to draw from")
    shares: dict[int, int] = {}
    for part in sorted(range(len(room)), key=room.__getitem__):
        shares[part] = min(room[part], (total - sum(shares.values())) // (len(room) - len(shares)))
    return [shares[part] for part in range(len(room))]
