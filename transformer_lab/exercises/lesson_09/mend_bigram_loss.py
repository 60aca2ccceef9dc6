"""Lesson 09: find the bug in `mend_bigram_loss`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import FindTheBug


def broken_bigram_loss(train, test, vocab_size):
    text = torch.cat([train, test])
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(text[:-1].tolist(), text[1:].tolist(), strict=True):
        counts[left, right] += 1
    probabilities = (counts + 1) / counts.sum(1, keepdim=True)
    return -probabilities[test[:-1], test[1:]].log2().mean()


def table_case(label: str, train: list[int], test: list[int], vocab_size: int) -> Case:
    texts = {"train": torch.tensor(train, device="cpu"), "test": torch.tensor(test, device="cpu")}
    return Case(label, {**texts, "vocab_size": vocab_size})


def drawn(length: int, vocab_size: int, seed: int) -> list[int]:
    generator = torch.Generator("cpu").manual_seed(seed)
    return torch.randint(vocab_size, (length,), generator=generator, device="cpu").tolist()


@partial(
    FindTheBug,
    lesson="09",
    minutes=20,
    difficulty=2,
    statement="""
    Mend a bigram table. It has three defects.

    The table is counted in `train`, with add-one smoothing: each pair of tokens counts once before any is seen. The
    function returns the mean of -ln p(next token) over the text `test`. Both texts are one-dimensional tensors of ids
    below `vocab_size`.

    What was observed:
      With a vocabulary of 98 tokens and a training text of 10 000, a test of 1 000 has a lower loss when it is written
      ten times in a row.
      The probabilities of what follows a token add up to more than 1, and after a token never seen they are infinite.
      On a long text of 4 tokens in random order, the loss should be 1.39. Here it comes out as 2.
    """,
    returns=("loss",),
    cases=(
        table_case("a test of one pair that was seen", [0, 1, 0], [0, 1], 2),
        table_case("a test of one pair that was never seen", [0, 1, 0, 1], [0, 0], 2),
        table_case("a token that was never seen", [0, 1, 0, 1], [2, 3], 4),
        table_case("the order of a pair matters", [0, 1, 1, 2, 0, 1], [1, 2, 0, 1], 3),
        table_case("some of the vocabulary is in neither text", [0, 1, 2, 1, 2, 1], [1, 2, 1, 0], 6),
        table_case("a long training text", drawn(300, 5, 0), drawn(40, 5, 1), 5),
        table_case("a test longer than the training text", drawn(20, 7, 2), drawn(90, 7, 3), 7),
    ),
    hints=(
        "Take the first case, and count on paper: which pairs are in `train`, and what is each one's probability?",
        "Which texts may a table know before it is tested?",
        "Add-one smoothing adds 1 to each count of a row. By how much does that change the sum of the row?",
        "The loss is to be in nats. Which logarithm is that?",
    ),
    broken=broken_bigram_loss,
)
def mend_bigram_loss(train, test, vocab_size):
    """The mean loss of a test text, in nats, by a table of pairs with add-one smoothing that was counted in another."""
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    smoothed = counts + 1  # each pair once before any is seen
    probabilities = smoothed / smoothed.sum(1, keepdim=True)  # (vocab, vocab): each row sums to 1
    return -probabilities[test[:-1], test[1:]].log().mean()


def table_loss(train, test, vocab_size, with_test=False, row_sums=True, nats=True):
    """The reference, with some of the defects left in."""
    text = torch.cat([train, test]) if with_test else train
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(text[:-1].tolist(), text[1:].tolist(), strict=True):
        counts[left, right] += 1
    sums = (counts + 1 if row_sums else counts).sum(1, keepdim=True)
    logs = ((counts + 1) / sums)[test[:-1], test[1:]]
    return -(logs.log() if nats else logs.log2()).mean()


SEEN = "The table is still counted in the test, too: it has seen what it is asked for."


SUMS = "A row still adds up to more than 1: what was added to its counts is missing from its sum."


BITS = "The loss is still in bits, by the logarithm to the base 2."


@mend_bigram_loss.mistake(f"One of three is mended. {SUMS} {BITS}")
def only_the_split(train, test, vocab_size):
    return table_loss(train, test, vocab_size, row_sums=False, nats=False)


@mend_bigram_loss.mistake(f"One of three is mended. {SEEN} {BITS}")
def only_the_sums(train, test, vocab_size):
    return table_loss(train, test, vocab_size, with_test=True, nats=False)


@mend_bigram_loss.mistake(f"One of three is mended. {SEEN} {SUMS}")
def only_the_unit(train, test, vocab_size):
    return table_loss(train, test, vocab_size, with_test=True, row_sums=False)


@mend_bigram_loss.mistake(f"Two of three are mended. {SEEN}")
def all_but_the_split(train, test, vocab_size):
    return table_loss(train, test, vocab_size, with_test=True)


@mend_bigram_loss.mistake(f"Two of three are mended. {SUMS}")
def all_but_the_sums(train, test, vocab_size):
    return table_loss(train, test, vocab_size, row_sums=False)


@mend_bigram_loss.mistake(f"Two of three are mended. {BITS}")
def all_but_the_unit(train, test, vocab_size):
    return table_loss(train, test, vocab_size, nats=False)


@mend_bigram_loss.mistake(
    "The smoothing is gone, so that the rows add up to 1. But a pair that was never seen then has probability 0, and "
    "the loss is infinite: that removes the symptom and not the cause."
)
def without_smoothing(train, test, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    return -(counts / counts.sum(1, keepdim=True))[test[:-1], test[1:]].log().mean()


@mend_bigram_loss.mistake(
    "Each probability is cut to at most 1. The rows still do not add up to 1: divide by the sum of the smoothed counts."
)
def cut_to_one(train, test, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    return -((counts + 1) / counts.sum(1, keepdim=True)).clamp(max=1)[test[:-1], test[1:]].log().mean()


@mend_bigram_loss.mistake(
    "The sum of each row is taken for at least 1, so that nothing is infinite. The rows still do not add up to 1: "
    "divide by the sum of the smoothed counts."
)
def sums_of_at_least_one(train, test, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    return -((counts + 1) / counts.sum(1, keepdim=True).clamp(min=1))[test[:-1], test[1:]].log().mean()


@mend_bigram_loss.mistake(
    "You divide by the sum of the *whole* table. That is the probability of the pair, not that of a token given the "
    "one before it: divide each row by its own sum."
)
def share_of_all_pairs(train, test, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    return -(counts / counts.sum())[test[:-1], test[1:]].log().mean()


@mend_bigram_loss.mistake("You divide each *column* by its sum. The left token of a pair is given, and it is the row.")
def columns_sum_to_one(train, test, vocab_size):
    counts = torch.ones(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    return -(counts / counts.sum(0, keepdim=True))[test[:-1], test[1:]].log().mean()


@mend_bigram_loss.mistake("Each row is divided by its sum plus 1. But 1 was added to each of its `vocab_size` counts.")
def one_for_the_whole_row(train, test, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    return -((counts + 1) / (counts.sum(1, keepdim=True) + 1))[test[:-1], test[1:]].log().mean()


@mend_bigram_loss.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocab_size = number(generator, 3, 9)
    lengths = {"train": number(generator, 5, 60), "test": number(generator, 4, 60)}
    texts = {name: torch.randint(vocab_size, (n,), generator=generator) for name, n in lengths.items()}
    return texts | {"vocab_size": vocab_size}
