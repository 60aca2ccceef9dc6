"""How long the data of lessons 07 and 08 take: number names, merges learned from them, texts encoded and decoded.

    pytest tests/benchmarks/test_tokenizer_speed.py

The aims: the default number names within 3 s, 200 merges within 1 s, encoding at 1 MB/s or more. A first pass over the
training texts meets 10 000 German words for the first time; the second finds them in the cache. Beside Hugging Face's
tokenizers (Rust, one thread): at most 3 times the time for 4 000 merges, and for a word of 100 000 letters. None is
asserted, since time is the machine's as much as the code's.
"""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread, as ours

import time
from collections.abc import Callable
from itertools import chain
from statistics import median

import pytest

from tests.data.test_tokenizer import merges_learned_by_theirs, theirs_with_our_merges
from transformer_lab.data.tasks import number_names
from transformer_lab.data.tokenizer import Tokenizer

ROUNDS = 5


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [*chain(*number_names().train)]


def rounds(benchmark, function, before=None) -> None:
    """Time the function a few times, after `before`."""
    benchmark.pedantic(function, setup=before, rounds=ROUNDS, warmup_rounds=1)


def report(benchmark, capsys, what: str, texts: list[str] | None = None) -> None:
    """Print the median, and how many megabytes of these texts a second that is."""
    if benchmark.stats:  # none under --benchmark-disable
        seconds = benchmark.stats.stats.median
        speed = f", {sum(len(text.encode()) for text in texts) / 1e6 / seconds:.1f} MB/s" if texts else ""
        with capsys.disabled():
            print(f"\n{what}: {seconds:.3f} s{speed}")


def test_default_number_names(benchmark, capsys):
    rounds(benchmark, number_names)
    report(benchmark, capsys, "11 000 number names in two languages")


def test_learning_200_merges(texts, benchmark, capsys):
    rounds(benchmark, lambda: Tokenizer.train(texts, 200))
    report(benchmark, capsys, f"200 merges learned from {len(texts)} texts", texts)


@pytest.mark.parametrize("cached", [False, True], ids=["new words", "words in the cache"])
def test_encoding(cached, texts, benchmark, capsys):
    tokenizer = Tokenizer.train(texts, 200)
    rounds(benchmark, lambda: [tokenizer.encode(text) for text in texts], None if cached else tokenizer.cache.clear)
    report(benchmark, capsys, f"encoding, {'words in the cache' if cached else 'new words'}", texts)


def test_decoding(texts, benchmark, capsys):
    tokenizer = Tokenizer.train(texts, 200)
    ids = [tokenizer.encode(text) for text in texts]
    rounds(benchmark, lambda: [tokenizer.decode(one) for one in ids])
    assert [tokenizer.decode(one) for one in ids] == texts
    report(benchmark, capsys, "decoding", texts)


def cpu_ratio(ours: Callable[[], list], theirs: Callable[[], list]) -> float:
    """The median of our CPU time over theirs, in rounds of one after the other; both must give the same."""
    ratios = []
    for _ in range(ROUNDS):
        start = time.process_time()
        one = ours()
        middle = time.process_time()
        other = theirs()
        ratios.append((middle - start) / (time.process_time() - middle))
        assert one == other
    return median(ratios)


@pytest.mark.parametrize("n_merges", [120, 1_000, 4_000])
def test_merges_beside_hugging_face(n_merges, texts, capsys):
    ratio = cpu_ratio(
        lambda: Tokenizer.train(texts, n_merges).merges, lambda: merges_learned_by_theirs(texts, n_merges)
    )
    with capsys.disabled():
        print(f"\n{n_merges} merges learned, beside Hugging Face: ratio {ratio:.2f}")


@pytest.mark.parametrize("letters", ["number names", "a"])
def test_a_word_of_100_000_letters_beside_hugging_face(letters, texts, capsys):
    word = ("".join(texts).replace(" ", "") if letters == "number names" else letters * 100_000)[:100_000]
    tokenizer = Tokenizer.train(texts, 4_000)
    theirs = theirs_with_our_merges(tokenizer)
    ratio = cpu_ratio(lambda: tokenizer.merge(word), lambda: theirs.encode(word).ids)
    with capsys.disabled():
        print(f"\na word of 100 000 letters ({letters}), beside Hugging Face: ratio {ratio:.2f}")
