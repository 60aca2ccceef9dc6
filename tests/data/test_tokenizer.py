"""Byte-pair encoding by hand, round trips, the replay of merges, parity with Hugging Face tokenizers, broken files."""

import inspect
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import tokenizers as hugging_face
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import refuses
from transformer_lab.data.tasks import number_names
from transformer_lab.data.tokenizer import WORD, Tokenizer, learn_merges, learn_merges_fast, merge_pair

both_ways = pytest.mark.parametrize("learn", [learn_merges, learn_merges_fast])
FIRST = 259  # the id of the first character: after padding, begin, end and 256 bytes


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [text for pair in number_names(n_train=2_000, n_test=1).train for text in pair]


@pytest.fixture(scope="module")
def tokenizer(texts) -> Tokenizer:
    return Tokenizer.train(texts, 200)


# Numbers worked by hand


@both_ways
def test_merges_of_the_papers_words(learn):
    """Sennrich et al. (2016), Algorithm 1, where · marks the end of a word."""
    words = {"low·": 5, "lower·": 2, "newest·": 6, "widest·": 3}
    # es, st and t· occur 9 times each, and e is the oldest of e, s, t; then t· and est, and t is older than es.
    assert learn(words, 5) == [("e", "s"), ("t", "·"), ("es", "t·"), ("l", "o"), ("lo", "w")]


def test_one_merge_by_hand():
    assert merge_pair(["z", "w", "a", "n", "z", "i", "g", "z", "w"], ("z", "w")) == [
        "zw",
        "a",
        "n",
        "z",
        "i",
        "g",
        "zw",
    ]
    assert merge_pair(["a", "a", "a", "b"], ("a", "a")) == ["aa", "a", "b"]
    assert merge_pair(["xa", "b", "b", "a"], ("a", "b")) == ["xa", "b", "b", "a"]
    assert merge_pair([], ("a", "b")) == []


def test_ids_of_a_small_tokenizer():
    tokenizer = Tokenizer("abc", [("b", "c"), ("a", "bc")])
    assert len(tokenizer) == FIRST + 5
    assert tokenizer.symbols[:3] == ["<pad>", "<bos>", "<eos>"]
    assert tokenizer.symbols[FIRST:] == ["a", "b", "c", "bc", "abc"]
    assert tokenizer.encode("abcab") == [FIRST + 4, FIRST, FIRST + 1]
    assert tokenizer.decode([1, FIRST + 4, FIRST, FIRST + 1, 2, 0]) == "abcab"
    assert (tokenizer.encode(""), tokenizer.decode([])) == ([], "")


def test_an_unseen_character_becomes_its_bytes():
    tokenizer = Tokenizer("a", [])
    assert tokenizer.encode("aé") == [FIRST, 3 + 0xC3, 3 + 0xA9]
    assert list(tokenizer.steps("aé")) == [["a", b"\xc3", b"\xa9"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ein und  zwei ", ["ein", " und", " ", " zwei", " "]),
        (" a\tb\n\nc", [" a", "\tb", "\n", "\nc"]),
    ],
)
def test_words_take_the_white_space_before_them(text, words):
    assert WORD.findall(text) == words


def test_no_merge_reaches_over_white_space():
    tokenizer = Tokenizer.train(["ab ab ab ab"], 10)
    assert tokenizer.merges == [("a", "b"), (" ", "ab")]
    assert [tokenizer.symbols[i] for i in tokenizer.encode("abab ab")] == ["ab", "ab", " ab"]


def test_steps_of_einundzwanzig():
    tokenizer = Tokenizer("adeginuwz", [("n", "d"), ("u", "nd"), ("i", "n"), ("e", "in"), ("z", "w")])
    assert [" ".join(symbols) for symbols in tokenizer.steps("einundzwanzig")] == [
        "e i n u n d z w a n z i g",
        "e i n u nd z w a n z i g",
        "e i n und z w a n z i g",
        "e in und z w a n z i g",
        "ein und z w a n z i g",
        "ein und zw a n z i g",
    ]


def test_of_equal_pairs_the_left_one_merges_first():
    assert list(Tokenizer("a", [("a", "a")]).steps("aaaaa")) == [
        ["a", "a", "a", "a", "a"],
        ["aa", "a", "a", "a"],
        ["aa", "aa", "a"],
    ]


@both_ways
def test_equally_frequent_pairs_merge_by_age(learn):
    assert learn({"cd": 1, "ab": 1}, 2) == [("a", "b"), ("c", "d")]
    assert learn({"ac": 1, "ab": 1}, 2) == [("a", "b"), ("a", "c")]
    # ab is younger than every character: z follows c before it follows ab
    assert learn({"ab": 3, "abz": 2, "cz": 2}, 3) == [("a", "b"), ("c", "z"), ("ab", "z")]


@both_ways
def test_a_word_that_occurs_no_times_teaches_nothing(learn):
    assert learn({"ab": 0, "cd": 1}, 5) == [("c", "d")]


def test_training_ends_when_each_word_is_one_symbol():
    assert Tokenizer.train(["ab", "ab", "c"], 100).merges == [("a", "b")]
    assert Tokenizer.train([], 100).merges == []
    assert Tokenizer.train(["", " "], 100).alphabet == " "


# Properties


def merged_one_by_one(tokenizer: Tokenizer, word: str) -> list[list[str]]:
    """The symbols before and after each merge: always the pair learned first, where it is leftmost."""
    steps = [[*word]]
    while known := [pair for pair in pairwise(steps[-1]) if pair in tokenizer.merges]:
        i = [*pairwise(steps[-1])].index(min(known, key=tokenizer.merges.index))
        steps.append([*steps[-1][:i], "".join(steps[-1][i : i + 2]), *steps[-1][i + 2 :]])
    return steps


@st.composite
def any_merges(draw) -> list[tuple[str, str]]:
    """Not learned from words, so that one symbol is often made in two ways, and the later way first."""
    symbols, merges = ["a", "b", "c"], {}
    for _ in range(draw(st.integers(1, 12))):
        pair = draw(st.tuples(st.sampled_from(symbols), st.sampled_from(symbols)))
        merges[pair] = True
        symbols += ["".join(pair)] * ("".join(pair) not in symbols)
    return list(merges)


words_of_few_letters = st.dictionaries(st.text("abc", min_size=1, max_size=12), st.integers(1, 9), max_size=8)


@given(words_of_few_letters, st.integers(0, 20))
@example({"aaaaa": 1, "aaaa": 2, "baa": 3}, 9)
def test_fast_merges_are_those_of_the_loop_over_all_words(words, n_merges):
    assert learn_merges_fast(words, n_merges) == learn_merges(words, n_merges)


def lessons_prose() -> list[str]:
    lines = (Path(__file__).parents[2] / "notebooks/source/01_attention.py").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("# ")]


@pytest.mark.parametrize(
    ("read", "n_merges"),
    [
        (lambda: [text for pair in number_names(n_train=150, n_test=1).train for text in pair], 100),
        (lambda: [inspect.getsource(json.decoder)], 100),
        (lessons_prose, 100),
        (lambda: ["abcab" * 2_000, "a" * 5_000], 50),
        (lambda: ["a\x00\x1c\x1f\u2028b \x85x <pad><unk> 🙂🙂e\u0301ß 🙂e"], 50),
        (lambda: ["", "a"], 5),
        (list, 5),
    ],
    ids=["number names", "Python", "prose", "long words", "odd characters", "one letter", "nothing"],
)
def test_fast_merges_of_texts_are_those_of_the_loop_over_all_words(read, n_merges):
    words = Counter(word for text in read() for word in WORD.findall(text))
    assert learn_merges_fast(words, n_merges) == learn_merges(words, n_merges)


TWO_WAYS = [("a", "b"), ("b", "c"), ("a", "bc"), ("abc", "c"), ("ab", "c")]


@given(any_merges(), st.text("abc", max_size=30))
@example(TWO_WAYS, "abcc" * 3)
def test_each_merge_is_the_first_learned_and_the_leftmost(merges, word):
    tokenizer = Tokenizer("abc", merges)
    steps = merged_one_by_one(tokenizer, word)
    assert list(tokenizer.steps(word)) == steps
    assert tokenizer.encode(word) == [tokenizer.ids[symbol] for symbol in steps[-1]]


@given(st.text())
@example("\r\n\t \x00 <eos>\u2028\u3000🙂e\u0301ß")
@example("<pad><bos>")
def test_any_text_comes_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.lists(st.text(), min_size=1, max_size=4), st.text(), st.integers(0, 30))
def test_any_text_comes_back_whatever_was_learned(texts, text, n_merges):
    tokenizer = Tokenizer.train(texts, n_merges)
    again = Tokenizer.from_json(tokenizer.to_json())
    for one in (text, *texts):
        assert tokenizer.decode(tokenizer.encode(one)) == one
        assert again.encode(one) == tokenizer.encode(one)
    assert (again.symbols, again.merges) == (tokenizer.symbols, tokenizer.merges)


def test_replaying_all_merges_in_order_gives_the_same_symbols(tokenizer, texts):
    for word in texts[1:60:2]:  # German names: each is one word
        symbols = list(word)
        for pair in tokenizer.merges:
            symbols = merge_pair(symbols, pair)
        *_, last = tokenizer.steps(word)
        assert last == symbols == [tokenizer.symbols[i] for i in tokenizer.encode(word)]


def test_steps_merge_one_place_at_a_time_and_can_be_kept(tokenizer):
    steps = list(tokenizer.steps("zweiundvierzigtausend"))
    assert [len(symbols) for symbols in steps] == [*range(21, 21 - len(steps), -1)]
    assert {"".join(symbols) for symbols in steps} == {"zweiundvierzigtausend"}


def test_a_text_cannot_contain_a_special_id(tokenizer):
    learned = Tokenizer("<pad>", [("<", "p"), ("<p", "a"), ("<pa", "d"), ("<pad", ">")])
    assert learned.encode("<pad>") == [FIRST + 8]
    assert learned.decode([FIRST + 8]) == "<pad>"
    assert min(tokenizer.encode("<pad> <bos><eos> <pad>")) > tokenizer.eos_id


def test_two_merges_may_make_one_symbol():
    tokenizer = Tokenizer("abc", [("b", "c"), ("a", "bc"), ("a", "b"), ("ab", "c"), ("abc", "c")])
    assert tokenizer.symbols[FIRST:] == ["a", "b", "c", "bc", "abc", "ab", "abcc"]
    assert tokenizer.encode("abcc") == [FIRST + 6]


def test_bytes_cut_in_the_middle_of_a_character_are_marked():
    tokenizer = Tokenizer("a", [])
    assert tokenizer.decode([FIRST, 3 + 0xC3, FIRST]) == "a\N{REPLACEMENT CHARACTER}a"


def test_the_cache_does_not_grow_without_end(tokenizer, monkeypatch):
    monkeypatch.setattr("transformer_lab.data.tokenizer.CACHED_WORDS", 3)
    tokenizer.cache.clear()
    ids = [tokenizer.encode(text) for text in ("eins zwei drei vier", "eins", "vier drei zwei eins")]
    assert len(tokenizer.cache) <= 3
    assert [tokenizer.decode(one) for one in ids] == ["eins zwei drei vier", "eins", "vier drei zwei eins"]


def test_what_a_caller_does_to_the_ids_stays_with_it(tokenizer):
    tokenizer.encode("eins").append(7)
    assert tokenizer.decode(tokenizer.encode("eins")) == "eins"
    assert 7 not in tokenizer.encode("eins")


# Parity with Hugging Face tokenizers


def written(symbol: str | bytes) -> str:
    """As Hugging Face writes it: a byte is <0xC3>."""
    return symbol if isinstance(symbol, str) else f"<0x{symbol[0]:02X}>"


def theirs_with_our_merges(tokenizer: Tokenizer) -> hugging_face.Tokenizer:
    vocab = {written(symbol): i for i, symbol in enumerate(tokenizer.symbols)}
    theirs = hugging_face.Tokenizer(hugging_face.models.BPE(vocab, tokenizer.merges, byte_fallback=True))
    theirs.pre_tokenizer = split_as_we_do()
    return theirs


def split_as_we_do() -> hugging_face.pre_tokenizers.PreTokenizer:
    return hugging_face.pre_tokenizers.Split(hugging_face.Regex(WORD.pattern), "isolated")


@pytest.mark.parametrize("n_merges", [0, 1, 30, 200, 1_000])
def test_ids_are_those_of_hugging_face(n_merges, texts):
    tokenizer = Tokenizer.train(texts, n_merges)
    theirs = theirs_with_our_merges(tokenizer)
    for text in (*texts, "  Übergröße, twenty-ONE\t\n €  ", "dreißig 30 🙂"):
        assert tokenizer.encode(text) == theirs.encode(text).ids


def test_a_word_of_100_000_letters_has_the_ids_of_hugging_face(texts):
    word = "".join(texts[1::2] * 3).replace(" ", "")[:100_000]
    tokenizer = Tokenizer.train(texts, 1_000)
    assert len(word) == 100_000
    assert tokenizer.encode(word) == theirs_with_our_merges(tokenizer).encode(word).ids
    assert len(Tokenizer("abc", TWO_WAYS).encode("abcc" * 25_000)) == 25_000


@given(
    st.lists(st.text("abc ", max_size=15), min_size=1, max_size=5), st.integers(0, 20), st.text("abcd ", max_size=30)
)
def test_ids_are_those_of_hugging_face_for_words_of_few_letters(texts, n_merges, text):
    tokenizer = Tokenizer.train(texts, n_merges)
    theirs = theirs_with_our_merges(tokenizer)
    for one in (text, *texts):
        assert tokenizer.encode(one) == theirs.encode(one).ids


# Files


def test_a_saved_tokenizer_comes_back(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.symbols, loaded.merges) == (tokenizer.symbols, tokenizer.merges)
    assert loaded.encode("dreißig €") == tokenizer.encode("dreißig €")
    assert "ü" in (tmp_path / "tokenizer.json").read_text(encoding="utf-8")  # a person can read it


NO_TOKENIZER = "a tokenizer must be JSON with its alphabet and merges ("
NO_TEXTS = "TypeError('the alphabet and the parts of a merge must be texts')"


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("", "JSONDecodeError"),
        ('{"alphabet": "ab", "mer', "JSONDecodeError"),
        ("[1, 2]", "TypeError"),
        ("{}", "KeyError('alphabet')"),
        ('{"alphabet": "ab"}', "KeyError('merges')"),
        ('{"alphabet": ["ab"], "merges": []}', NO_TEXTS),
        ('{"alphabet": "ab", "merges": [["a", 1]]}', NO_TEXTS),
        ('{"alphabet": "ab", "merges": [["a"]]}', "ValueError"),
        ('{"alphabet": "ab", "merges": 5}', "TypeError"),
        (
            '{"alphabet": "ab", "merges": [["a", "c"]]}',
            "a merge must join two symbols known before it (got ('a', 'c'))",
        ),
        ('{"alphabet": "aba", "merges": []}', "no character of the alphabet and no merge may occur twice"),
        ('{"alphabet": "ab", "merges": [["a", "b"], ["a", "b"]]}', "no merge may occur twice"),
    ],
)
def test_a_broken_tokenizer_is_refused(text, because, tmp_path):
    with pytest.raises(ValueError, match=re.escape(NO_TOKENIZER)) as caught:
        Tokenizer.from_json(text)
    assert because in str(caught.value)
    (tmp_path / "broken.json").write_text(text)
    with refuses(f"{tmp_path / 'broken.json'}: {NO_TOKENIZER}"):
        Tokenizer.load(tmp_path / "broken.json")


def test_a_file_of_bytes_is_refused(tmp_path):
    (tmp_path / "weights").write_bytes(b"\xff\x00\x80")
    with refuses(f"{tmp_path / 'weights'}: 'utf-8' codec can't decode byte 0xff"):
        Tokenizer.load(tmp_path / "weights")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_file_cut_off_anywhere_is_refused(share, tokenizer):
    text = tokenizer.to_json()
    with refuses(NO_TOKENIZER):
        Tokenizer.from_json(text[: int(share * len(text))])


# Error texts


def test_errors_name_the_rule():
    with refuses("n_merges (-1) must be at least 0"):
        Tokenizer.train(["a"], -1)
    with refuses("texts must be several texts, such as a list of them (got one: 'einundzwanzig')"):
        Tokenizer.train("einundzwanzig", 3)
    tokenizer = Tokenizer("a", [])
    for ids, found in (([3, 260], "3 to 260"), ([-1], "-1 to -1")):
        with refuses(f"ids must be from 0 to 259 (got {found})"):
            tokenizer.decode(ids)
    rule = r"must consist of characters, not of half a surrogate pair (got '\ud800' at 1)"
    for call, name in (
        (lambda: tokenizer.encode("a\ud800"), "a text"),
        (lambda: Tokenizer("a\ud800", []), "the alphabet"),
        (lambda: Tokenizer.train(["a\ud800"], 1), "the alphabet"),
    ):
        with refuses(f"{name} {rule}"):
            call()
    with refuses("a text must be a str (got bytes)"):
        tokenizer.encode(b"a")
