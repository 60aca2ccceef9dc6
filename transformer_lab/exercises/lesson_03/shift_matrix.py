"""Lesson 03: implement `shift_matrix`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_03.shared import exponents, waves
from transformer_lab.nn import positions


def shift_case(label: str, offset: int, d_model: int) -> Case:
    return Case(label, {"offset": offset, "d_model": d_model})


shift_matrix = Exercise(
    positions.shift_matrix,
    lesson="03",
    minutes=15,
    difficulty=2,
    statement="""
    Make the matrix M, (d_model, d_model), with M @ encoding[p] == encoding[p + offset] for every position p.

    The encoding is that of `sinusoidal_encoding`: sine and cosine in turn. The offset may be 0 or negative.
    """,
    returns=("matrix",),
    cases=(
        shift_case("one step, a single pair of features", 1, 2),
        shift_case("one step, four features", 1, 4),
        shift_case("no step", 0, 4),
        shift_case("two steps back", -2, 4),
        shift_case("five steps, six features", 5, 6),
        shift_case("thirty steps, twenty features", 30, 20),
    ),
    properties=(
        Property(
            "the matrix takes the encoding of position 3 to that of position 3 + offset",
            lambda given, matrix: torch.allclose(
                matrix @ rows_of(3, given["d_model"]), rows_of(3 + given["offset"], given["d_model"]), atol=1e-4
            ),
        ),
        Property(
            "a rotation keeps lengths: M Mᵀ is the identity",
            lambda given, matrix: torch.allclose(matrix @ matrix.T, torch.eye(given["d_model"]), atol=1e-4),
        ),
    ),
    hints=(
        "Look at one pair of features first. Express sin(a + b) and cos(a + b) in terms of sin a, cos a, sin b and cos "
        "b: the factors of sin a and cos a are the entries of a 2 × 2 matrix.",
        "The pairs do not mix: along the diagonal the matrix has a 2 × 2 block for each pair, and zeros elsewhere.",
        "Test it on position 0, whose pairs are all (0, 1): the right column of each block must be the encoding of "
        "`offset`.",
    ),
)


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
    "It rotates in the wrong direction: it takes position p to p - offset. Put the minus sign on the other sine. (In "
    "the rotation matrix of textbooks the cosine comes first; here the pair is sine, cosine.)"
)
def wrong_way_round(offset, d_model):
    return blocks(angles(-offset, d_model))


@shift_matrix.mistake("Both sines are positive. One needs a minus sign: cos(a + b) = cos a cos b − sin a sin b.")
def no_minus_sign(offset, d_model):
    matrix = blocks(angles(offset, d_model))
    return matrix.triu() - matrix.tril(-1)


@shift_matrix.mistake(
    "The minus sign is on a cosine. Each block is then a reflection, not a rotation: its determinant is −1, and "
    "a shift by 0 changes the encoding."
)
def mirror(offset, d_model):
    cos, sin = angles(offset, d_model).cos(), angles(offset, d_model).sin()
    return torch.block_diag(*torch.stack([cos, sin, sin, -cos], dim=-1).reshape(-1, 2, 2))


@shift_matrix.mistake("Sine and cosine are swapped in the blocks: the cosine belongs on the diagonal.")
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
    "It rolls the features, which reorders the numbers of one position. A shift must change the angle of each pair."
)
def rolled_identity(offset, d_model):
    return torch.eye(d_model).roll(offset, dims=0)


@shift_matrix.mistake(
    "It fits one position only: an outer product that takes position 0 to `offset`. One matrix must work for every p."
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


@shift_matrix.mistake("The angles are converted as if they were degrees. They are radians already.")
def shifted_by_degrees(offset, d_model):
    return blocks(torch.deg2rad(angles(offset, d_model)))


@shift_matrix.mistake(
    "The sign of the offset is lost: two steps back become two steps ahead. Sines are odd, sin(−a) = −sin a, so let "
    "the offset keep its sign."
)
def absolute_offset(offset, d_model):
    return blocks(angles(abs(offset), d_model))


@shift_matrix.mistake(
    "A negative offset gives the identity, as a loop over `range(offset)` would: it has no round then, and nothing "
    "moves. A step back is the transpose of a step ahead."
)
def never_back(offset, d_model):
    return blocks(angles(max(offset, 0), d_model))


@shift_matrix.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"offset": number(generator, -30, 30), "d_model": 2 * number(generator, 1, 20)}
