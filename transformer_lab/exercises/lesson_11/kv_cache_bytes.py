"""Lesson 11: predict `kv_cache_bytes`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def cache_case(label: str, *sizes: int) -> Case:
    names = ("n_layers", "n_kv_heads", "d_head", "length", "batch", "bytes_per_number")
    return Case(label, dict(zip(names, sizes, strict=True)))


@partial(
    Predict,
    lesson="11",
    minutes=5,
    difficulty=1,
    statement="""
    How many bytes does the cache of a decoder hold, when it has read `length` tokens of each of `batch` texts?

    It keeps what attention needs of the past: in each of `n_layers` layers, for each token and each of `n_kv_heads`
    heads that keys and values have, vectors of `d_head` numbers. A number takes `bytes_per_number` bytes.

    Return a whole number. For Llama 2 with 7 billion weights (32 layers, 32 heads of 128, 2 bytes) and one text of 4096
    tokens it is 2 147 483 648.
    """,
    returns=("bytes",),
    cases=(
        cache_case("one number in each vector, one token", 1, 1, 1, 1, 1, 1),
        cache_case("two layers", 2, 1, 1, 1, 1, 1),
        cache_case("three heads of five, two bytes", 1, 3, 5, 1, 1, 2),
        cache_case("seven tokens", 2, 3, 5, 7, 1, 4),
        cache_case("a batch of three", 2, 3, 4, 7, 3, 4),
        cache_case("Llama 2, 7 billion weights", 32, 32, 128, 4096, 1, 2),
        cache_case("Llama 3, 8 billion weights", 32, 8, 128, 8192, 1, 2),
        cache_case("Llama 3, 70 billion weights, sixteen texts", 80, 8, 128, 8192, 16, 2),
        cache_case("nothing read yet", 12, 12, 64, 0, 1, 2),
    ),
    hints=(
        "Begin with one token, one layer and one head. Which vectors does a later token ask for?",
        "All the other sizes are factors. Does any of them come in twice?",
    ),
)
def kv_cache_bytes(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    """Bytes of the keys and the values of all positions that a decoder has read, in all layers."""
    numbers_of_a_token = 2 * n_layers * n_kv_heads * d_head  # a key and a value for each head that has its own
    return numbers_of_a_token * length * batch * bytes_per_number


@kv_cache_bytes.mistake("That is half of it: *keys and values* are both kept.")
def one_of_the_two(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return n_layers * n_kv_heads * d_head * length * batch * bytes_per_number


@kv_cache_bytes.mistake("You keep queries as well. A query is asked once, by its own token: no later one needs it.")
def with_queries(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 3 * n_layers * n_kv_heads * d_head * length * batch * bytes_per_number


@kv_cache_bytes.mistake("That is for one layer. Each layer has keys and values of its own.")
def one_layer(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 2 * n_kv_heads * d_head * length * batch * bytes_per_number


@kv_cache_bytes.mistake("That is for one head. Each of the n_kv_heads has keys and values of its own.")
def one_head(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 2 * n_layers * d_head * length * batch * bytes_per_number


@kv_cache_bytes.mistake("That is for one text. Those of a batch have nothing in common.")
def one_text(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 2 * n_layers * n_kv_heads * d_head * length * bytes_per_number


@kv_cache_bytes.mistake("These are numbers, not bytes: each takes `bytes_per_number`.")
def numbers_not_bytes(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 2 * n_layers * n_kv_heads * d_head * length * batch


@kv_cache_bytes.mistake("These are bits. A byte has eight, and bytes are asked for.")
def bits(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 16 * n_layers * n_kv_heads * d_head * length * batch * bytes_per_number


@kv_cache_bytes.mistake(
    "In your answer it grows with the *square* of the length. So does the number of scores, but no score is "
    "kept; what is kept is a key and a value for each token."
)
def square_of_the_length(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 2 * n_layers * n_kv_heads * d_head * length**2 * batch * bytes_per_number


@kv_cache_bytes.mistake("That is what *one* token adds. All of the `length` tokens are kept.")
def one_token(n_layers, n_kv_heads, d_head, length, batch, bytes_per_number):
    return 2 * n_layers * n_kv_heads * d_head * batch * bytes_per_number


@kv_cache_bytes.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    heads = {"n_kv_heads": number(generator, 2, 32), "d_head": 2 * number(generator, 2, 64)}
    read = {"length": number(generator, 2, 100_000), "batch": number(generator, 2, 64)}
    return {"n_layers": number(generator, 2, 96)} | heads | read | {"bytes_per_number": pick(generator, 2, 4)}
