"""Number names and toy tasks: worked by hand, fair splits, error texts."""

import random
from collections import Counter
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
import torch
from num2words import num2words

from tests.support import refuses, tensor
from transformer_lab.data import number_names as number_words
from transformer_lab.data import tasks
from transformer_lab.data.number_names import (
    kinds_of_numbers,
    lengths_of_numbers,
    number_name,
    number_names,
    split_numbers,
)
from transformer_lab.data.tasks import Vocabulary, pad, random_sequences
from transformer_lab.training.commands.options import parser

TOY_TASKS = [tasks.copy_alignment, tasks.reverse_alignment]


@pytest.fixture(scope="module")
def default_pairs() -> tasks.Pairs:
    return number_names()


# Numbers worked by hand


@pytest.mark.parametrize(
    ("number", "language", "name"),
    [
        (0, "en", "zero"),
        (21, "en", "twenty-one"),
        (21, "de", "einundzwanzig"),
        (345, "de", "dreihundertfünfundvierzig"),
        (80, "fr", "quatre-vingts"),
        (21, "ja", "二十一"),
    ],
)
def test_names_of_numbers(number, language, name):
    assert number_name(number, language) == name


def test_padding_fills_up_to_the_longest():
    padded = pad([[5], [], [7, 8, 9]], pad_id=4)
    assert padded.tolist() == [[5, 4, 4], [4, 4, 4], [7, 8, 9]]
    assert padded.dtype == torch.long


@pytest.mark.parametrize(("sequences", "shape"), [([], (0, 0)), ([[], []], (2, 0))])
def test_padding_of_nothing_has_two_axes(sequences, shape):
    assert pad(sequences, pad_id=0).shape == shape


def test_alignments_of_one_source():
    src = tensor([[7, 3, 9, 5]])
    assert tasks.copy_alignment(src).tolist() == [[0, 1, 2, 3]]
    assert tasks.reverse_alignment(src).tolist() == [[3, 2, 1, 0]]


def test_vocabulary_of_three_symbols():
    vocabulary = Vocabulary(["a", "b", "cd"])
    assert (len(vocabulary), vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id) == (6, 0, 1, 2)
    assert vocabulary.encode("cd a a b") == [5, 3, 3, 4]
    assert vocabulary.decode([1, 5, 3, 3, 4, 2, 0, 0]) == "cd a a b"
    assert (vocabulary.encode(""), vocabulary.decode([])) == ([], "")


@pytest.mark.parametrize(
    ("room", "shares"),
    [([10, 10, 10], [4, 4, 4]), ([90, 1, 91, 2], [4, 1, 5, 2]), ([0, 12, 12], [0, 6, 6]), ([1, 3, 8], [1, 3, 8])],
)
def test_shares_are_even_and_too_small_ones_used_up(room, shares):
    assert number_words.even_shares(12, room, "n") == shares


# Number names


@pytest.fixture(scope="module")
def default_split() -> list[dict[str, list[int]]]:
    return split_numbers(kinds_of_numbers(1_000_000), 10_000, 200, 1_000, random.Random(0))


def sizes(part: dict[str, list[int]]) -> list[int]:
    return [len(numbers) for numbers in part.values()]


def test_kinds_of_the_numbers_below_1200():
    kinds = kinds_of_numbers(1_200)
    assert list(kinds) == ["zero", "short", "round", "and", "3 digits", "4 digits"]
    assert kinds["zero"] == [0]
    assert kinds["short"] == [*range(1, 100), 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
    assert kinds["round"] == [1100]
    assert kinds["and"] == [*range(1001, 1100)]
    assert kinds["3 digits"][:2] == [101, 102]
    assert (kinds["3 digits"][-1], len(kinds["3 digits"])) == (999, 891)
    assert kinds["4 digits"] == [*range(1101, 1200)]
    assert kinds_of_numbers(2) == {"zero": [0], "short": [1]}


@pytest.mark.parametrize("kinds", [kinds_of_numbers, lengths_of_numbers])
@pytest.mark.parametrize("below", [1, 7, 10, 100, 101, 1_000, 12_345])
def test_each_number_is_of_one_kind(kinds, below):
    assert sorted(chain(*kinds(below).values())) == [*range(below)]


def test_default_data_has_the_promised_kinds(default_split, default_pairs):
    train, validation, test = default_split
    assert list(train) == ["zero", "short", "round", "and", "3 digits", "4 digits", "5 digits", "6 digits"]
    assert sizes(train) == [100, 1160, 1594, 1594, 770, 1594, 1594, 1594]
    assert sizes(validation) == [0, 6, 32, 33, 32, 32, 32, 33]
    assert sizes(test) == [0, 13, 179, 180, 89, 179, 180, 180]
    assert default_pairs.slices == {
        kind: [(number_name(number, "en"), number_name(number, "de")) for number in numbers]
        for kind, numbers in test.items()
        if numbers
    }
    assert sorted(chain(*default_pairs.slices.values())) == sorted(default_pairs.test)


def test_all_below_100_are_known_or_held_out_and_words_are_known(default_split):
    train, validation, test = default_split
    short = Counter(train["zero"] + train["short"])
    assert {*range(100), *range(100, 1_000, 100), *range(1_000, 10_000, 1_000), 10_000, 900_000} <= {
        *short,
        *validation["short"],
        *test["short"],
    }
    assert {*range(21), *range(30, 100, 10), *range(100, 1_000, 100)} <= {*short}
    assert Counter(short.values()) == {100: 1, 10: 116}
    assert sum(number % 1_000 == 0 for number in train["round"]) > 150
    assert sum(number % 1_000 == 0 for number in test["round"]) > 5


def test_the_old_split_has_its_blind_spot():
    train, _, test = split_numbers(lengths_of_numbers(1_000_000), 10_000, 0, 1_000, random.Random(0))
    assert sizes(train) == [10, 81, 810, 3033, 3033, 3033]
    assert sizes(test) == [0, 9, 90, 300, 300, 301]
    assert sum(number % 1_000 == 0 for number in chain(*train.values())) < 20
    assert sum(number % 1_000 == 0 for number in chain(*test.values())) < 3


def test_the_longest_numbers_may_be_few():
    train, validation, test = split_numbers(kinds_of_numbers(1_200), 1_100, 12, 50, random.Random(0))
    assert (sizes(train), sizes(validation), sizes(test)) == (
        [11, 96, 1, 87, 818, 87],
        [0, 3, 0, 3, 3, 3],
        [0, 10, 0, 9, 22, 9],
    )


def test_kinds_are_mixed_in_any_stretch_of_the_data(default_pairs):
    for pairs in (default_pairs.train, default_pairs.validation, default_pairs.test):
        assert 10 < sum("thousand" in source for source, _ in pairs[:50]) < 50


def test_training_validation_and_test_have_no_number_and_no_text_in_common(default_pairs, default_split):
    numbers = [{*chain(*part.values())} for part in default_split]
    assert sum(map(len, numbers)) == len(set().union(*numbers))
    parts = (default_pairs.train, default_pairs.validation, default_pairs.test)
    assert [len(part) for part in parts] == [10_000, 200, 1_000]
    assert [len({*part}) for part in parts] == [10_000 - 99 - 9 * 116, 200, 1_000]
    for side in (0, 1):
        texts = [{pair[side] for pair in part} for part in parts]
        assert sum(map(len, texts)) == len(set().union(*texts))


def test_each_word_of_the_test_is_in_the_training(default_pairs):
    def words(pairs):
        return {word for source, _ in pairs for word in source.replace("-", " ").replace(",", "").split()}

    assert words(default_pairs.validation) | words(default_pairs.test) <= words(default_pairs.train)


def test_the_seed_decides():
    def draw(seed):
        return number_names(n_train=30, n_test=20, seed=seed)

    assert draw(5) == draw(5)
    assert draw(5) != draw(6)


def test_languages_are_chosen_in_one_line():
    pairs = number_names("fr", "it", n_train=40, n_test=3, below=50)
    assert (pairs.source, pairs.target) == ("fr", "it")
    assert sorted(pairs.train)[-1] == ("zéro", "zero")
    assert [*map(len, (pairs.train, pairs.validation, pairs.test))] == [40, 0, 3]


@pytest.mark.parametrize("source", ["az", "tet"])  # 990 000 and 991 000 have one name in Azerbaijani
def test_two_numbers_of_one_name_are_not_split_over_training_and_test(source):
    if source not in tasks.languages():
        pytest.skip(f"this num2words does not know {source}")
    pairs = number_names(source, "id")
    texts = [{text for text, _ in part} for part in (pairs.train, pairs.validation, pairs.test)]
    assert sum(map(len, texts)) == len(set().union(*texts))
    assert len(pairs.train) > 9_900


@pytest.mark.parametrize("language", sorted(set(tasks.languages()) - {"am"}))
def test_each_language_names_numbers_of_all_lengths(language):
    pairs = number_names(language, "en", n_train=300, n_test=100)
    assert all(isinstance(text, str) and text.strip() for text, _ in pairs.train + pairs.test)


@pytest.mark.parametrize("language", tasks.languages())
def test_a_name_is_that_of_num2words_itself(language):
    numbers = [*range(120), 999] if language == "am" else [*range(120), *range(999, 10**6, 76_923), 10**6 - 1, 10**6]
    for number in numbers:
        assert number_name(number, language) == " ".join(num2words(number, lang=language).split())


def some_names(language: str) -> dict[int, str]:
    """All words there are, alone and before and behind a thousand."""
    thousands = [number * 1000 + rest for number in range(1, 1000) for rest in (0, 1, 250)]
    return {number: number_name(number, language) for number in (*range(1000), *thousands)}


@pytest.mark.parametrize("language", sorted(set(tasks.languages()) - {"am"}))
def test_no_name_has_a_space_too_many_and_two_numbers_have_two_names_but_where_we_say_so(language):
    names = some_names(language)
    assert {name for name in names.values() if name != " ".join(name.split()) or not name} == set()
    shared = len(names) - len({*names.values()})
    assert shared == 0 or (language in ("az", "tet", "tr") and tasks.wrong_names(language))


@pytest.mark.skipif(version("num2words") != "0.5.14", reason="WRONG was found in num2words 0.5.14")
def test_what_num2words_gets_wrong_is_said():
    for language, (number, given, right) in number_words.WRONG.items():
        assert num2words(number, lang=language) == given
        assert tasks.wrong_names(language).endswith(f" in {language}: {number} is {given}, and should be {right}")
    right = {"en", "en_IN", "en_NG", "fi", "fr", "fr_DZ", "ja", "ko", "pl", "pt", "pt_BR", "ru"}  # all as in CLDR
    assert [tasks.wrong_names(language) for language in sorted(right)] == [None] * len(right)


def test_readme_and_help_name_the_languages_that_num2words_gets_wrong():
    names = {
        **{"ar": "Arabic", "az": "Azerbaijani", "cs": "Czech", "da": "Danish", "de": "German", "hu": "Hungarian"},
        **{"it": "Italian", "kn": "Kannada", "no": "Norwegian", "sv": "Swedish", "tet": "Tetum", "tr": "Turkish"},
        **dict.fromkeys(number_words.SPANISH, "Spanish"),
        **{"fr_BE": "French of Belgium", "fr_CH": "Switzerland"},
    }
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    sentence = readme.partition("a part of the names wrong in ")[2].partition(";")[0]
    assert {language for language, name in names.items() if name in sentence} == {*names} == {*number_words.WRONG}
    assert ", ".join(number_words.WRONG) in parser().format_help()


def test_what_another_num2words_gets_right_is_not_called_wrong(monkeypatch):
    monkeypatch.setitem(number_words.WRONG, "fr", (201, "deux cents un", "deux cent un"))
    assert tasks.wrong_names("fr") is None


# Toy tasks


@pytest.mark.parametrize("align", TOY_TASKS)
def test_targets_follow_their_alignment(align):
    src, tgt, alignment = random_sequences(align, n=5, length=3, n_symbols=7)
    assert src.shape == tgt.shape == alignment.shape == (5, 3)
    for source, target, positions in zip(src.tolist(), tgt.tolist(), alignment.tolist(), strict=True):
        assert target == [source[position] for position in positions]
        assert target == {"copy": source, "reverse": source[::-1], "sort": sorted(source)}[align.__name__.split("_")[0]]


def test_symbols_follow_the_special_ids_and_none_occurs_twice():
    src = random_sequences(tasks.copy_alignment, n=200, length=5, n_symbols=5).src
    assert src.sort(dim=1).values.tolist() == [[3, 4, 5, 6, 7]] * 200
    assert src.unique(dim=0).size(0) > 60  # of 120 orders


def test_toy_data_are_decided_by_the_seed():
    def draw(seed):
        return random_sequences(tasks.reverse_alignment, n=4, length=3, n_symbols=9, seed=seed).src.tolist()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@pytest.mark.parametrize("align", TOY_TASKS)
def test_alignments_stay_on_the_device_of_their_source(align):
    src = tensor([[5, 3, 4]])
    assert align(src).device == src.device


# Error texts


def test_an_unknown_language_is_told_the_known_ones():
    known = ", ".join(tasks.languages())
    for language in ("tlh", "deutsch", ""):
        for arguments in ((language, "de"), ("en", language)):
            with refuses(f"num2words does not know the language {language!r}; it knows {known}"):
                number_names(*arguments)
        with refuses(f"num2words does not know the language {language!r}; it knows {known}"):
            number_name(3, language)


def test_a_number_without_a_name():
    with refuses("num2words has no name for 1100 in 'am': try a smaller `below`"):
        number_name(1100, "am")
    assert len(number_names("am", "de", n_train=100, n_test=10, below=1_000).train) == 100


def test_more_numbers_than_there_are():
    with refuses("n_test (10) must be from 0 to 9, as many numbers as there are to draw from"):
        number_names(n_train=1, n_test=10, below=100)
    with refuses("n_train (92) must be from 0 to 91, as many numbers as there are to draw from"):
        number_names(n_train=92, n_test=8, below=100)
    with refuses("n_train (-1) must be at least 0"):
        number_names(n_train=-1, n_test=9, below=100)
    with refuses("below (0) must be at least 1"):
        number_names(n_train=0, n_test=0, below=0)


def test_sequences_longer_than_there_are_symbols():
    with refuses("length (4) must be at most n_symbols (3): no symbol occurs twice"):
        random_sequences(tasks.copy_alignment, n=2, length=4, n_symbols=3)


def test_sequences_of_a_negative_length_or_number():
    with refuses("length (-1) must be at least 0"):  # a slice up to -1 would leave out the last symbol
        random_sequences(tasks.copy_alignment, n=2, length=-1, n_symbols=3)
    with refuses("n (-2) must be at least 0"):
        random_sequences(tasks.copy_alignment, n=-2, length=1, n_symbols=3)


def test_vocabulary_refuses_what_it_could_not_read_back():
    for symbol in ("", "a b", " a"):
        with refuses(f"a symbol must be a text without white space (got {symbol!r})"):
            Vocabulary(["x", symbol])
    with refuses("symbols must differ (got ['a', 'b', 'a'])"):
        Vocabulary(["a", "b", "a"])
    with refuses("a text must consist of the symbols a b (got 'c')"):
        Vocabulary(["a", "b"]).encode("a c")
    with refuses("a symbol must be a text without white space (got 7)"):
        Vocabulary([7])


@pytest.mark.parametrize(("ids", "wrong"), [([-1], "-1"), ([3, 5], "5"), ([[3, 4]], "[3, 4]"), ("34", "'3'")])
def test_ids_that_are_not_in_the_vocabulary(ids, wrong):
    with refuses(f"ids must be from 0 to 4 (got {wrong})"):
        Vocabulary(["a", "b"]).decode(ids)
