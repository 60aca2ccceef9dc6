"""Exercises of lesson 03: the sinusoidal encoding, the rotation that shifts it, and rotary positions."""

import torch

from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import positions


def encoding_case(label: str, length: int, d_model: int) -> Case:
    return Case(label, {"length": length, "d_model": d_model})


sinusoidal_encoding = Exercise(
    positions.sinusoidal_encoding,
    lesson="03",
    minutes=10,
    difficulty=1,
    statement="""
    (length, d_model): row `pos` holds sin(pos · ω_i) in column 2i and cos(pos · ω_i) in column 2i + 1.

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


def shift_case(label: str, offset: int, d_model: int) -> Case:
    return Case(label, {"offset": offset, "d_model": d_model})


shift_matrix = Exercise(
    positions.shift_matrix,
    lesson="03",
    minutes=15,
    difficulty=2,
    statement="""
    (d_model, d_model): the matrix M with M @ encoding[p] == encoding[p + offset] for every position p.

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


# ── rotary positions ──


def lengths_of_pairs(x):
    return x.unflatten(-1, (-1, 2)).norm(dim=-1)


rotate = Exercise(
    positions.rotate,
    lesson="03",
    minutes=15,
    difficulty=2,
    statement="""
    Rotary positions: the row of position p is turned, each pair of neighbouring features by the angle p · ω_i.

    (x_2i, x_2i+1) → (x_2i cos pω_i - x_2i+1 sin pω_i,  x_2i sin pω_i + x_2i+1 cos pω_i)

    x is (…, T, d_head), such as the queries of all heads; d_head is even, and ω_i = 10000^(-2i / d_head). The first row
    has position 0. Returns the same shape.
    """,
    returns=("rotated",),
    cases=(
        Case("two positions, one pair", {"x": torch.tensor([[1.0, 0.0], [1.0, 0.0]], device="cpu")}),
        Case("three positions, two pairs", {"x": counting(3, 4)}),
        Case("position 0 alone", {"x": normal(1, 6)}),
        Case("more features than positions", {"x": normal(3, 8)}),
        Case("more positions than features", {"x": normal(40, 4)}),
        Case("a batch", {"x": normal(2, 5, 6)}),
        Case("a batch and heads", {"x": normal(2, 3, 5, 4)}),
        Case("as many heads as positions", {"x": normal(2, 4, 4, 6)}),
    ),
    properties=(
        Property(
            "the first row, position 0, stays as it is",
            lambda given, rotated: torch.allclose(rotated[..., 0, :], given["x"][..., 0, :], atol=1e-5),
        ),
        Property(
            "no pair changes its length: it is only turned",
            lambda given, rotated: torch.allclose(lengths_of_pairs(rotated), lengths_of_pairs(given["x"]), atol=1e-4),
        ),
    ),
    hints=(
        "You need a table of angles (T, d_head / 2), position times frequency, and its cosines and sines.",
        "`x[..., 0::2]` are the first features of all pairs. What are the second ones? Both fit the table.",
        "You have the two halves of each new pair. Which two operations deal them out in turn, so that they are "
        "neighbours again?",
    ),
)


def table_of_angles(x):
    omega = 10000.0 ** (-torch.arange(0, x.size(-1), 2, device=x.device).double() / x.size(-1))
    return torch.arange(x.size(-2), device=x.device).double()[:, None] * omega


def turned(x, angle):
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@rotate.mistake(
    "You pair feature i with feature i + d_head / 2, as some models do. Here neighbours are pairs: 0 and 1, 2 and 3, …"
)
def halves_are_pairs(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


@rotate.mistake(
    "The pairs are turned rightly and then put together as halves, all first features and then all second ones. Deal "
    "them out in turn."
)
def put_together_as_halves(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], -1)


@rotate.mistake("You turn the other way round: the signs of the two sines have changed places.")
def other_way_round(x):
    return turned(x, -table_of_angles(x))


@rotate.mistake("The first row has position 0 and stays as it is. You count from 1.")
def first_row_turned(x):
    omega = 10000.0 ** (-torch.arange(0, x.size(-1), 2, device=x.device).double() / x.size(-1))
    return turned(x, torch.arange(1, x.size(-2) + 1, device=x.device).double()[:, None] * omega)


@rotate.mistake(
    "The positions run along the wrong axis: they are the last axis but one, whatever stands before it. With heads, "
    "the second axis counts the heads."
)
def positions_on_the_second_axis(x):
    if x.ndim < 3:
        return turned(x, table_of_angles(x))
    return turned(x.transpose(1, -2), table_of_angles(x.transpose(1, -2))).transpose(1, -2)


@rotate.mistake("You turn the rows of the first axis. Positions are the last axis but one; a batch stands before it.")
def positions_on_the_first_axis(x):
    return turned(x.transpose(0, -2), table_of_angles(x.transpose(0, -2))).transpose(0, -2)


@rotate.mistake("Each pair has its own frequency, 10000^(-2i / d_head). You turn all of them by p.")
def all_pairs_alike(x):
    return turned(x, torch.arange(x.size(-2), device=x.device).double()[:, None].expand(-1, x.size(-1) // 2))


@rotate.mistake("The exponent is -2i / d_head: you leave out the 2, so that neighbouring pairs turn too much alike.")
def two_left_out(x):
    omega = 10000.0 ** (-torch.arange(x.size(-1) // 2, device=x.device).double() / x.size(-1))
    return turned(x, torch.arange(x.size(-2), device=x.device).double()[:, None] * omega)


@rotate.mistake("The exponent of 10000 is negative: each pair turns *slower* than the one before it.")
def faster_and_faster(x):
    omega = 10000.0 ** (torch.arange(0, x.size(-1), 2, device=x.device).double() / x.size(-1))
    return turned(x, torch.arange(x.size(-2), device=x.device).double()[:, None] * omega)


@rotate.mistake("Both new features have a minus. A rotation has one: x cos - y sin, and x sin *plus* y cos.")
def two_minuses(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin - odd * cos], -1).flatten(-2)


@rotate.mistake(
    "The second feature of a pair is computed from the *new* first one. Keep the old one until both are there."
)
def new_in_place_of_old(x):
    angle = table_of_angles(x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    even = even * cos - odd * sin
    return torch.stack([even, even * sin + odd * cos], -1).flatten(-2)


@rotate.mistake("The encoding is *added*. Rotary positions turn the vector instead, and add nothing.")
def encoding_added(x):
    angle = table_of_angles(x)
    return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2).to(x.dtype)
