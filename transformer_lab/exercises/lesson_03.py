"""Exercises of lesson 03: the sinusoidal encoding, and the rotation that shifts it."""

import torch

from transformer_lab import positions
from transformer_lab.exercises.exercise import Law, exercise
from transformer_lab.exercises.running import Case


def encoding_case(label: str, length: int, d_model: int) -> Case:
    return Case(label, {"length": length, "d_model": d_model})


@exercise(
    lesson="03",
    returns=("encoding",),
    package=positions.sinusoidal_encoding,
    cases=(
        encoding_case("three positions, four features", 3, 4),
        encoding_case("position 0 alone", 1, 6),
        encoding_case("a single pair of features", 5, 2),
        encoding_case("more features than positions", 7, 10),
        encoding_case("more positions than features", 30, 20),
    ),
    laws=(
        Law(
            "position 0 is 0, 1, 0, 1, …: the sine and the cosine of 0",
            lambda given, encoding: bool((encoding[0].unflatten(0, (-1, 2)) - torch.tensor([0, 1])).abs().max() < 1e-5),
        ),
        Law(
            "in each pair of features the squares sum to 1",
            lambda given, encoding: bool(((encoding.unflatten(1, (-1, 2)) ** 2).sum(-1) - 1).abs().max() < 1e-5),
        ),
    ),
    hints=(
        "Make a column of positions and a row of frequencies, one for each pair of features: their product holds every "
        "angle.",
        "Pair i has the frequency 10000 to the power of -2i / d_model. Both features of a pair share it.",
        "You have two tensors of (length, d_model / 2), sines and cosines. Which two operations deal their columns out "
        "in turn: sine, cosine, sine, cosine?",
    ),
)
def sinusoidal_encoding(length, d_model):
    """(length, d_model): row `pos` holds sin(pos · ω_i) in column 2i and cos(pos · ω_i) in column 2i + 1.

    ω_i = 10000^(-2i / d_model). Positions count from 0; d_model is even.
    """
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = torch.arange(length).unsqueeze(1) * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def exponents(d_model):
    """2i / d_model for each pair."""
    return torch.arange(0, d_model, 2) / d_model


def interleaved(angle):
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def waves(length, exponent, base=10000.0, start=0):
    """A right encoding but for its exponents, its base or its first position."""
    return interleaved(torch.arange(start, start + length).unsqueeze(1) / base**exponent)


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
    "All sines stand in the left half and all cosines in the right. The paper deals them out in turn: sine, cosine, …"
)
def halves(length, d_model):
    angle = torch.arange(length).unsqueeze(1) / 10000.0 ** exponents(d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@sinusoidal_encoding.mistake("The positions count from 1. The first position is 0: its row is 0, 1, 0, 1, …")
def counted_from_one(length, d_model):
    return waves(length, exponents(d_model), start=1)


@sinusoidal_encoding.mistake("Sine and cosine have changed places: sines belong in the even columns, 0, 2, 4, …")
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
    "The last pair has the frequency 1/10000: you divide i by the number of pairs minus 1. Some programs do; the "
    "paper's exponent, 2i / d_model, never reaches 1."
)
def last_frequency_reached(length, d_model):
    pairs = d_model // 2
    return waves(length, torch.arange(pairs) / max(pairs - 1, 1))


@sinusoidal_encoding.mistake("The angles are taken for degrees. `torch.sin` wants radians, and so does the paper.")
def degrees(length, d_model):
    return interleaved(torch.deg2rad(torch.arange(length).unsqueeze(1) / 10000.0 ** exponents(d_model)))


@sinusoidal_encoding.mistake("There are only sines. Without the cosine beside it, no matrix can shift a sine.")
def only_sines(length, d_model):
    return (torch.arange(length).unsqueeze(1) / 10000.0 ** exponents(d_model)).sin().repeat_interleave(2, dim=1)


@sinusoidal_encoding.mistake("It is transposed: (d_model, length). Rows are positions, columns are features.")
def transposed(length, d_model):
    return waves(length, exponents(d_model)).T


def shift_case(label: str, offset: int, d_model: int) -> Case:
    return Case(label, {"offset": offset, "d_model": d_model})


@exercise(
    lesson="03",
    returns=("matrix",),
    package=positions.shift_matrix,
    cases=(
        shift_case("one step, a single pair of features", 1, 2),
        shift_case("one step, four features", 1, 4),
        shift_case("no step", 0, 4),
        shift_case("two steps back", -2, 4),
        shift_case("five steps, six features", 5, 6),
        shift_case("thirty steps, twenty features", 30, 20),
    ),
    laws=(
        Law(
            "the matrix takes the encoding of position 3 to that of position 3 + offset",
            lambda given, matrix: torch.allclose(
                matrix @ rows_of(3, given["d_model"]), rows_of(3 + given["offset"], given["d_model"]), atol=1e-4
            ),
        ),
        Law(
            "a rotation keeps lengths: M Mᵀ is the identity",
            lambda given, matrix: torch.allclose(matrix @ matrix.T, torch.eye(given["d_model"]), atol=1e-4),
        ),
    ),
    hints=(
        "Look at one pair of features first. Write sin(a + b) and cos(a + b) by sin a, cos a, sin b and cos b: the "
        "factors of sin a and cos a are the entries of a 2 × 2 matrix.",
        "The pairs know nothing of each other: along the diagonal the matrix has a 2 × 2 block for each, and zeros "
        "elsewhere.",
        "Test it on position 0, whose pairs are all (0, 1): the right column of each block must be the encoding of "
        "`offset`.",
    ),
)
def shift_matrix(offset, d_model):
    """(d_model, d_model): the matrix M with M @ encoding[p] == encoding[p + offset] for every position p.

    The encoding is that of `sinusoidal_encoding`: sine and cosine in turn. The offset may be 0 or negative.
    """
    even = torch.arange(0, d_model, 2)
    odd = even + 1
    angle = offset * 10000.0 ** (-even / d_model)
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = matrix[odd, odd] = angle.cos()
    matrix[even, odd], matrix[odd, even] = angle.sin(), -angle.sin()
    return matrix


def rows_of(position, d_model):
    """The encoding of one position, which may be negative."""
    return waves(1, exponents(d_model), start=position)[0]


def blocks(angle):
    """A rotation by each angle along the diagonal."""
    cos, sin = angle.cos(), angle.sin()
    return torch.block_diag(*torch.stack([cos, sin, -sin, cos], dim=-1).reshape(-1, 2, 2))


def angles(offset, d_model):
    return offset / 10000.0 ** exponents(d_model)


@shift_matrix.mistake(
    "It turns the wrong way round: it takes position p to p - offset. Put the minus sign on the other sine. (In the "
    "textbooks' rotation the cosine comes first; here the pair is sine, cosine.)"
)
def wrong_way_round(offset, d_model):
    return blocks(angles(-offset, d_model))


@shift_matrix.mistake("Both sines are positive. One needs a minus sign: cos(a + b) = cos a cos b − sin a sin b.")
def no_minus_sign(offset, d_model):
    matrix = blocks(angles(offset, d_model))
    return matrix.triu() - matrix.tril(-1)


@shift_matrix.mistake(
    "The minus sign stands at a cosine. That is a mirror, not a rotation: its determinant is −1, and a shift by "
    "0 does not leave everything as it is."
)
def mirror(offset, d_model):
    cos, sin = angles(offset, d_model).cos(), angles(offset, d_model).sin()
    return torch.block_diag(*torch.stack([cos, sin, sin, -cos], dim=-1).reshape(-1, 2, 2))


@shift_matrix.mistake("Sine and cosine have changed places in the blocks: the cosine belongs on the diagonal.")
def sines_on_the_diagonal(offset, d_model):
    cos, sin = angles(offset, d_model).cos(), angles(offset, d_model).sin()
    return torch.block_diag(*torch.stack([sin, cos, -cos, sin], dim=-1).reshape(-1, 2, 2))


@shift_matrix.mistake("It is the identity: nothing moves. Each pair of features must turn by offset · ω.")
def identity(offset, d_model):
    return torch.eye(d_model)


@shift_matrix.mistake(
    "The layout is that of an encoding whose sines fill the left half. Here sine and cosine of a pair are neighbours, "
    "so that its 2 × 2 block lies on the diagonal."
)
def layout_of_halves(offset, d_model):
    cos, sin = torch.diag(angles(offset, d_model).cos()), torch.diag(angles(offset, d_model).sin())
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


@shift_matrix.mistake("Every pair turns by the same angle. Pair i turns by offset · 10000^(-2i / d_model).")
def one_frequency(offset, d_model):
    return blocks(offset * torch.ones(d_model // 2))


@shift_matrix.mistake("It always shifts by one position: `offset` is not used.")
def always_one_step(offset, d_model):
    return blocks(angles(1, d_model))


@shift_matrix.mistake("The offset counts twice: each pair turns by offset² · ω.")
def offset_squared(offset, d_model):
    return blocks(angles(offset * offset, d_model))


@shift_matrix.mistake(
    "It rolls features: that moves the columns of *one* position. Another position means another angle in each pair."
)
def rolled_identity(offset, d_model):
    return torch.eye(d_model).roll(offset, dims=0)


@shift_matrix.mistake(
    "It fits one position only: an outer product that takes position 0 to `offset`. One matrix must do for every p."
)
def fits_position_0_only(offset, d_model):
    return torch.outer(rows_of(offset, d_model), rows_of(0, d_model)) * 2 / d_model


@shift_matrix.mistake("The sines beside the diagonal are missing: features are scaled by a cosine, not turned.")
def cosines_only(offset, d_model):
    return torch.diag(angles(offset, d_model).cos().repeat_interleave(2))


@shift_matrix.mistake(
    "Each feature has a frequency of its own. Both features of a pair turn by the same angle, with 2i in the exponent."
)
def a_frequency_for_each_row(offset, d_model):
    angle = offset / 10000.0 ** (torch.arange(d_model) / d_model)
    cos, sin = torch.diag(angle.cos()), angle.sin()
    for i in range(0, d_model, 2):
        cos[i, i + 1], cos[i + 1, i] = sin[i], -sin[i + 1]
    return cos


@shift_matrix.mistake("The exponent is i / d_model, half of what it should be: i counts pairs, so the paper has 2i.")
def half_the_exponent(offset, d_model):
    return blocks(offset / 10000.0 ** (exponents(d_model) / 2))


@shift_matrix.mistake("The angles are taken for degrees; `torch.sin` wants radians.")
def shifted_by_degrees(offset, d_model):
    return blocks(torch.deg2rad(angles(offset, d_model)))
