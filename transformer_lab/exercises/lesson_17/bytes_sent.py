"""Lesson 17: predict `bytes_sent`."""

from torch import Generator

from transformer_lab.distributed import costs
from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict

NAMES = ("scheme", "n_ranks", "n_parameters", "n_layers", "n_tokens", "d_model")
SCHEMES = ("data", "tensor", "context", "pipeline")


def sizes_of(label: str, *values: str | int) -> Case:
    return Case(label, dict(zip(NAMES, values, strict=True)))


bytes_sent = Predict(
    costs.bytes_sent,
    lesson="17",
    minutes=15,
    difficulty=2,
    statement="""
    How many bytes do all ranks together send in one training step, forward and backward?

    Every number is a float32. A batch has `n_tokens` tokens in all, and a sum over the ranks is made in a ring. The
    schemes are those of the lesson:
    "data": the gradients of all `n_parameters` are summed over the ranks.
    "tensor": in each of `n_layers` layers, the output of attention and that of the feed-forward network are summed, and
    backwards the gradients of the inputs of both; each is n_tokens · d_model numbers.
    "context": in each layer, keys and values (d_model numbers each for a token) go n_ranks - 1 times to the next rank,
    forward; and as often backward, where their gradients go n_ranks times. Then the gradients of all parameters are
    summed as in "data".
    "pipeline": n_tokens · d_model numbers go from each rank to the next, and as many gradients come back.

    A single rank sends nothing. Return a whole number.
    """,
    returns=("bytes",),
    cases=(
        sizes_of("data, two ranks, one weight", "data", 2, 1, 1, 1, 1),
        sizes_of("data, four ranks", "data", 4, 1000, 2, 64, 8),
        sizes_of("tensor, two ranks, one layer", "tensor", 2, 1000, 1, 1, 1),
        sizes_of("tensor, four ranks", "tensor", 4, 1000, 3, 64, 8),
        sizes_of("context, two ranks, one layer", "context", 2, 7, 1, 1, 1),
        sizes_of("context, four ranks", "context", 4, 1000, 3, 64, 8),
        sizes_of("pipeline, two ranks", "pipeline", 2, 1000, 2, 1, 1),
        sizes_of("pipeline, three ranks", "pipeline", 3, 1000, 3, 64, 8),
        *(sizes_of(f"{scheme}, one rank", scheme, 1, 1000, 3, 64, 8) for scheme in SCHEMES),
        sizes_of("data, a model of 8 billion", "data", 8, 8_030_261_248, 32, 65_536, 4096),
        sizes_of("tensor, a model of 8 billion", "tensor", 8, 8_030_261_248, 32, 65_536, 4096),
        sizes_of("context, a model of 8 billion", "context", 8, 8_030_261_248, 32, 65_536, 4096),
        sizes_of("pipeline, a model of 8 billion", "pipeline", 8, 8_030_261_248, 32, 65_536, 4096),
    ),
    hints=(
        "A ring with two ranks and two numbers on each, on paper: how many numbers go over the wire until both have "
        "the sum? And with three ranks and three numbers?",
        "Which of the sizes matter to a scheme? More tokens give no more gradients of weights; more weights "
        "give no more activations.",
        "In each turn of context parallel, every key and value of the batch moves by one rank. How many numbers is "
        "that, and how many turns are there, forward and backward?",
    ),
)


def formula(
    scheme, n, parameters, layers, tokens, width, sums=2.0, activations=4, hops=None, borders=None, weights=True
):
    """The bytes, with each place where one can go wrong as an argument."""
    others, x = n - 1, tokens * width
    hops = 3 * n - 2 if hops is None else hops
    borders = others if borders is None else borders
    summed = sums * others
    numbers = {
        "data": summed * parameters,
        "tensor": layers * activations * summed * x,
        "context": (layers * hops * 2 * x if n > 1 else 0) + weights * summed * parameters,
        "pipeline": 2 * borders * x,
    }[scheme]
    return int(4 * numbers)


@bytes_sent.mistake(
    "You count a sum as one trip round the ring. It takes two: one to add up, and one to tell everybody the sum."
)
def one_trip(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, sums=1.0)


@bytes_sent.mistake("That is forward alone. Backward, gradients travel: in a tensor-parallel layer two more sums.")
def forward_alone(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    if scheme == "pipeline":
        return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, borders=(n_ranks - 1) / 2)
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, activations=2, hops=n_ranks - 1)


@bytes_sent.mistake("These are numbers, not bytes: a float32 has four.")
def numbers_not_bytes(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model) // 4


@bytes_sent.mistake("That is what *one* rank sends. What is asked for is all of them together.")
def one_rank(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model) // n_ranks


@bytes_sent.mistake(
    "Every rank sends all its numbers to every other. That also gives a sum, but a ring sends each number 2 (n - 1) "
    "times and not n (n - 1) times."
)
def everybody_to_everybody(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, sums=float(n_ranks))


@bytes_sent.mistake(
    "Context parallel needs the sum of the gradients, too: each rank has all the weights, and has seen a part of the"
    " text."
)
def context_without_the_sum(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, weights=False)


@bytes_sent.mistake(
    "In context parallel, the gradients of keys and values take *n* hops, one more than the keys and values: they must "
    "come home to the rank that the keys belong to."
)
def gradients_not_at_home(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, hops=3 * (n_ranks - 1))


@bytes_sent.mistake("A pipeline of n ranks has n - 1 borders: the last rank has nobody to send activations to.")
def a_border_too_many(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, borders=n_ranks)


@bytes_sent.mistake(
    "The ring of your sums has n steps each way. The part that a rank begins with need not be sent to itself: n - 1."
)
def a_step_too_many(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    sums = 2.0 * n_ranks / (n_ranks - 1) if n_ranks > 1 else 0.0
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, sums=sums)


@bytes_sent.mistake(
    "2 (n - 1) / n times the numbers is what *one* rank sends for a sum. All n ranks together send n times as much."
)
def one_rank_of_a_sum(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, sums=2.0 / n_ranks)


@bytes_sent.mistake(
    "In context parallel a token has a key *and* a value, d_model numbers each: twice as many go round as you count."
)
def keys_without_values(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, hops=(3 * n_ranks - 2) / 2)


@bytes_sent.mistake(
    "In context parallel each rank has an n-th of the tokens: in one hop all ranks together send each key and value "
    "once, and not n times."
)
def all_tokens_on_each_rank(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model):
    hops = n_ranks * (3 * n_ranks - 2)
    return formula(scheme, n_ranks, n_parameters, n_layers, n_tokens, d_model, hops=hops)


@bytes_sent.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    ranks, parameters, layers = number(generator, 2, 64), number(generator, 2, 10**9), number(generator, 2, 96)
    tokens, d_model = number(generator, 2, 10**6), 8 * number(generator, 2, 1024)
    values = (pick(generator, *SCHEMES), ranks, parameters, layers, tokens, d_model)
    return dict(zip(NAMES, values, strict=True))
