"""Lesson 09: implement `bits_per_byte`."""

from math import log

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import losses


def bits_case(label: str, nats: float, n_tokens: int, n_bytes: int) -> Case:
    return Case(label, {"nats": nats, "n_tokens": n_tokens, "n_bytes": n_bytes})


bits_per_byte = Exercise(
    losses.bits_per_byte,
    lesson="09",
    minutes=5,
    difficulty=1,
    statement="""
    How many bits does a model need for each byte of a text?

    `nats` is the loss of the *whole* text, -ln p added up over its `n_tokens` tokens, and `n_bytes` is how long the
    text is in UTF-8. A bit is ln 2 nats. An even guess among all 256 bytes needs 8.
    """,
    returns=("bits",),
    cases=(
        bits_case("ten tokens of one bit each, ten bytes", 10 * log(2), 10, 10),
        bits_case("ten tokens of one bit each, twenty bytes", 10 * log(2), 10, 20),
        bits_case("the same text in fewer tokens", 10 * log(2), 4, 20),
        bits_case("characters of two bytes each", 21.5, 10, 20),
        bits_case("a file", 353_211.0, 311_083, 311_084),
        bits_case("a file in tokens of four bytes", 250_000.0, 80_000, 311_084),
    ),
    hints=(
        "How many bits does the whole text take? `nats` is a total already.",
        "Then share them out: over the bytes, or over the tokens?",
        "Two models cut the same text into different tokens. Which of the three numbers is the same for both?",
    ),
)


@bits_per_byte.mistake(
    "These are bits per *token*. A longer token costs more, so models with different tokens could not be compared."
)
def bits_per_token(nats, n_tokens, n_bytes):
    return nats / log(2) / n_tokens


@bits_per_byte.mistake("You multiply by ln 2. A nat is more than a bit, 1 / ln 2 = 1.44 bits, so divide.")
def multiplied_by_ln_2(nats, n_tokens, n_bytes):
    return nats * log(2) / n_bytes


@bits_per_byte.mistake("These are nats per byte: the way from nats to bits, a division by ln 2, is missing.")
def nats_per_byte(nats, n_tokens, n_bytes):
    return nats / n_bytes


@bits_per_byte.mistake(
    "You take `nats` for the mean of a token, and multiply by their number. Here it is the total of the text."
)
def taken_for_a_mean(nats, n_tokens, n_bytes):
    return nats * n_tokens / log(2) / n_bytes


@bits_per_byte.mistake("You divide by the number of tokens, too. The total is shared out once, over the bytes.")
def divided_twice(nats, n_tokens, n_bytes):
    return nats / n_tokens / log(2) / n_bytes


@bits_per_byte.mistake("This is the share of the original size, as bytes per byte: a byte has 8 bits.")
def share_of_the_size(nats, n_tokens, n_bytes):
    return nats / log(2) / n_bytes / 8


@bits_per_byte.mistake("It is upside down: these are bytes per bit.")
def upside_down(nats, n_tokens, n_bytes):
    return n_bytes * log(2) / nats


@bits_per_byte.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n_tokens = number(generator, 2, 5000)
    nats = n_tokens * number(generator, 1, 500) / 100
    return {"nats": nats, "n_tokens": n_tokens, "n_bytes": n_tokens * number(generator, 2, 5) + 1}
