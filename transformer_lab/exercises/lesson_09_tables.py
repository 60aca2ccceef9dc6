"""Exercises of lesson 09 that write no model: a table of pairs with three defects, and a loss told in advance."""

import torch

from transformer_lab.exercises import references
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import FindTheBug, Predict


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


mend_bigram_loss = FindTheBug(
    references.mend_bigram_loss,
    lesson="09",
    minutes=20,
    difficulty=2,
    statement="""
    Mend a bigram table. It has three defects.

    The table is counted in `train`, with add-one smoothing: each pair of tokens counts once before any is seen. The
    function returns the mean of -ln p(next token) over the text `test`. Both texts are one-dimensional tensors of ids
    below `vocab_size`.

    What was observed:
      A test text of pure noise has a loss far below ln(vocab_size), however long the training text is.
      The probabilities of what follows a token add up to more than 1, and after a token never seen they are infinite.
      A table that knows nothing of 4 tokens should have a loss of 1.39. Here it would come out as 2.
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


def loss_case(label: str, *losses: float) -> Case:
    return Case(label, {"losses": list(losses)})


predict_loss = Predict(
    references.predict_loss,
    lesson="09",
    minutes=15,
    difficulty=2,
    statement="""
    Predict the loss of a training before you pay for it.

    Three trainings took n, 2n and 4n steps, and ended at the three `losses`. Suppose that the law is
    loss = floor + a · steps^-b, where you know none of the three constants. What is the loss after 8n steps?

    Work it out on paper first. Return it as a number.
    """,
    returns=("loss",),
    cases=(
        loss_case("each doubling takes off half of what the one before took", 3.0, 2.0, 1.5),
        loss_case("each takes off three quarters", 4.2, 2.6, 1.4),
        loss_case("each takes off nine tenths", 3.0, 2.0, 1.1),
        loss_case("a training that is nearly over", 1.30, 1.12, 1.09),
        loss_case("numbers like those of the lesson", 2.31, 1.86, 1.62),
    ),
    hints=(
        "Write the law down for n, 2n and 4n, and subtract. What falls out?",
        "How many times as large is a · (2n)^-b as a · n^-b? And a · (4n)^-b, measured by a · (2n)^-b?",
        "The first doubling takes off some amount, the second takes off a share of it. What does the third take off?",
    ),
)


@predict_loss.mistake("The third doubling takes off less than the second: its share of what the second took.")
def as_much_again(losses):
    return losses[2] - (losses[1] - losses[2])


@predict_loss.mistake(
    "You draw a straight line over the steps: 4n more steps, twice as many as between the last two. The curve flattens."
)
def straight_line(losses):
    return losses[2] - 2 * (losses[1] - losses[2])


@predict_loss.mistake(
    "You let the whole loss shrink by the share by which it shrank last. That is the law without a floor, and it "
    "promises too much: the floor does not shrink."
)
def without_a_floor(losses):
    return losses[2] * losses[2] / losses[1]


@predict_loss.mistake(
    "You let the whole loss shrink by its mean share from n to 4n. That is the law without a floor: the floor does not "
    "shrink."
)
def without_a_floor_on_average(losses):
    return losses[2] * (losses[2] / losses[0]) ** 0.5


@predict_loss.mistake("You halve what the last doubling took off. The share is a half only if b is 1: read it off.")
def half_of_it(losses):
    return losses[2] - (losses[1] - losses[2]) / 2


@predict_loss.mistake("The training goes on learning: four times as many steps brought more than twice as many did.")
def nothing_more(losses):
    return losses[2]


@predict_loss.mistake("This is the floor, the loss after infinitely many steps: the sum of all doublings to come.")
def the_floor(losses):
    first, second = losses[0] - losses[1], losses[1] - losses[2]
    return losses[2] - second * second / (first - second)


@predict_loss.mistake("This is the loss after 16n steps: you doubled once too often.")
def one_doubling_too_many(losses):
    first, second = losses[0] - losses[1], losses[1] - losses[2]
    return losses[2] - second * second / first - second**3 / first**2


@predict_loss.mistake("The share is upside down: the doublings take off less and less, not more and more.")
def upside_down(losses):
    return losses[2] - (losses[0] - losses[1])
