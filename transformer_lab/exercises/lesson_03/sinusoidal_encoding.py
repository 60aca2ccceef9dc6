"""Lesson 03: implement `sinusoidal_encoding`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_03.shared import exponents, interleaved, waves
from transformer_lab.nn import positions


def encoding_case(label: str, length: int, d_model: int) -> Case:
    return Case(label, {"length": length, "d_model": d_model})


sinusoidal_encoding = Exercise(
    positions.sinusoidal_encoding,
    lesson="03",
    minutes=10,
    difficulty=1,
    statement="""
    Make the table of the encoding, (length, d_model): row `pos` holds sin(pos · ω_i) in column 2i and
    cos(pos · ω_i) in column 2i + 1.

    ω_i = 10000^(-2i / d_model). Positions count from 0; d_model is even.
    """,
    returns=("encoding",),
    cases=(
        encoding_case("three positions, four features", 3, 4),
        encoding_case("position 0 alone", 1, 6),
        encoding_case("a single pair of features", 5, 2),
        encoding_case("more features than positions", 7, 10),
        encoding_case("more positions than features", 30, 20),
    ),
    properties=(
        Property(
            "position 0 is 0, 1, 0, 1, …: the sine and the cosine of 0",
            lambda given, encoding: bool((encoding[0].unflatten(0, (-1, 2)) - torch.tensor([0, 1])).abs().max() < 1e-5),
        ),
        Property(
            "in each pair of features the squares sum to 1",
            lambda given, encoding: bool(((encoding.unflatten(1, (-1, 2)) ** 2).sum(-1) - 1).abs().max() < 1e-5),
        ),
    ),
    hints=(
        "Make a column of positions and a row of frequencies, one for each pair of features: their product holds every "
        "angle.",
        "Pair i has the frequency 10000 to the power of -2i / d_model. Both features of a pair share it.",
        "You have two tensors of (length, d_model / 2), sines and cosines. Which two operations interleave their "
        "columns: sine, cosine, sine, cosine?",
    ),
)


def by_feature(length, exponent):
    """Sines and cosines in turn, with an exponent for each feature."""
    angle = torch.arange(length).unsqueeze(1) / 10000.0**exponent
    return torch.where(torch.arange(len(exponent)) % 2 == 0, angle.sin(), angle.cos())


@sinusoidal_encoding.mistake(
    "All frequencies are 1. Are they missing, or is there a `//`? It divides whole numbers: dim // d_model is 0 for "
    "every feature. Only two different columns are left, and positions 0 and 44 (about 7 turns) nearly coincide."
)
def floor_division(length, d_model):
    return by_feature(length, (torch.arange(d_model) // d_model).float())


@sinusoidal_encoding.mistake(
    "Odd features have a frequency of their own, from dim / d_model. A cosine shares the frequency of the sine on its "
    "left: the exponent is 2i / d_model for both, where i = dim // 2. Otherwise no rotation shifts the encoding."
)
def a_frequency_for_each_feature(length, d_model):
    return by_feature(length, torch.arange(d_model) / d_model)


@sinusoidal_encoding.mistake(
    "All sines are in the left half and all cosines in the right. The paper interleaves them: sine, cosine, sine, …"
)
def halves(length, d_model):
    angle = torch.arange(length).unsqueeze(1) / 10000.0 ** exponents(d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@sinusoidal_encoding.mistake("The positions count from 1. The first position is 0: its row is 0, 1, 0, 1, …")
def counted_from_one(length, d_model):
    return waves(length, exponents(d_model), start=1)


@sinusoidal_encoding.mistake("Sine and cosine are swapped: sines belong in the even columns, 0, 2, 4, …")
def sine_and_cosine_swapped(length, d_model):
    return waves(length, exponents(d_model)).unflatten(1, (-1, 2)).flip(-1).flatten(1)


@sinusoidal_encoding.mistake("The base is 1000. The paper has 10000; with four features the second pair gets 1/100.")
def base_1000(length, d_model):
    return waves(length, exponents(d_model), base=1000.0)


@sinusoidal_encoding.mistake(
    "The position is multiplied by 10000^(2i / d_model) and must be divided by it: later features turn more slowly."
)
def frequency_upside_down(length, d_model):
    return waves(length, -exponents(d_model))


@sinusoidal_encoding.mistake(
    "The exponent is i / d_model, half of what it should be: i counts pairs, so the paper has 2i. As it is, the "
    "slowest feature turns once in 630 positions at most, not in nearly 63 000."
)
def exponent_halved(length, d_model):
    return waves(length, exponents(d_model) / 2)


@sinusoidal_encoding.mistake(
    "The factor 2 of 2i / d_model is there twice. If your index already runs 0, 2, 4, …, it *is* 2i."
)
def exponent_doubled(length, d_model):
    return waves(length, exponents(d_model) * 2)


@sinusoidal_encoding.mistake(
    "The last pair has the frequency 1/10000: you divide i by the number of pairs minus 1. Some programs do that, but "
    "the paper's exponent, 2i / d_model, never reaches 1."
)
def last_frequency_reached(length, d_model):
    pairs = d_model // 2
    return waves(length, torch.arange(pairs) / max(pairs - 1, 1))


@sinusoidal_encoding.mistake("The angles are converted as if they were degrees. They are radians already.")
def degrees(length, d_model):
    return interleaved(torch.deg2rad(torch.arange(length).unsqueeze(1) / 10000.0 ** exponents(d_model)))


@sinusoidal_encoding.mistake(
    "The cosine has the frequency of the *next* pair: 2(i + 1) / d_model where the sine beside it has 2i / d_model. "
    "Both features of a pair share one frequency, or no rotation shifts the encoding."
)
def cosine_of_the_next_pair(length, d_model):
    return by_feature(length, (torch.arange(d_model) + torch.arange(d_model) % 2) / d_model)


@sinusoidal_encoding.mistake(
    "The exponents are doubled, and the cosine has one of its own: 2i / d_model and 2(i + 1) / d_model with an i that "
    "already runs 0, 2, 4, … Such an i *is* the paper's 2i, and the cosine shares it."
)
def doubled_and_a_frequency_for_each_feature(length, d_model):
    return by_feature(length, 2 * torch.arange(d_model) / d_model)


@sinusoidal_encoding.mistake("There are only sines. Without the cosine beside it, no matrix can shift a sine.")
def only_sines(length, d_model):
    return (torch.arange(length).unsqueeze(1) / 10000.0 ** exponents(d_model)).sin().repeat_interleave(2, dim=1)


@sinusoidal_encoding.mistake("It is transposed: (d_model, length). Rows are positions, columns are features.")
def transposed(length, d_model):
    return waves(length, exponents(d_model)).T


@sinusoidal_encoding.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"length": number(generator, 2, 60), "d_model": 2 * number(generator, 1, 40)}
