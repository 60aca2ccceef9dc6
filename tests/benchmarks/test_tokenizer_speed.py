"""How long the data of lessons 07 and 08 take: number names, merges learned from them, texts encoded and decoded.

    pytest tests/benchmarks/test_tokenizer_speed.py

The aims: the default number names within 3 s, 200 merges within 1 s, encoding at 1 MB/s or more. A first pass over the
training texts meets 10 000 German words for the first time; the second finds them in the cache. None is asserted, since
time is the machine's as much as the code's.
"""

from itertools import chain

import pytest

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
