"""Lesson 03: write the test `is_relative`."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.candidates import need_few, need_tensor
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest

Scores = Callable[[Tensor, Tensor], Tensor]


def positions_of(query: Tensor) -> Tensor:
    return torch.arange(query.size(0), dtype=torch.float64)


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """Each pair of features of a row turned by its angle, times 1, 1/4, 1/16 and 1/64."""
    angle = angles[:, None] * torch.tensor([1.0, 0.25, 0.0625, 0.015625], dtype=torch.float64)  # (T, 4)
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], 1)


def with_angles(query_angles: Callable[[Tensor], Tensor], key_angles: Callable[[Tensor], Tensor]) -> Scores:
    """Rotary scores, with these angles for the positions of queries and keys."""

    def scores(query: Tensor, key: Tensor) -> Tensor:
        at = positions_of(query)
        return (turned(query.double(), query_angles(at)) @ turned(key.double(), key_angles(at)).mT).to(query.dtype)

    return scores


def with_bias(bias: Callable[[Tensor, Tensor], Tensor]) -> Scores:
    """Plain dot products plus `bias(query positions (T, 1), key positions (1, T))`."""

    def scores(query: Tensor, key: Tensor) -> Tensor:
        at = positions_of(query)
        return (query.double() @ key.double().mT + bias(at[:, None], at[None])).to(query.dtype)

    return scores


def waves(x: Tensor) -> Tensor:
    """An absolute encoding added to the vectors."""
    angle = positions_of(x)[:, None] * torch.tensor([1.0, 0.25, 0.0625, 0.015625], dtype=torch.float64)
    return x.double() + torch.cat([angle.sin(), angle.cos()], 1)


def same(at: Tensor) -> Tensor:
    return at


RELATIVE: dict[str, Scores] = {
    "no positions at all: a dot product": with_bias(lambda t, s: 0 * t * s),
    "RoPE": with_angles(same, same),
    "RoPE, positions counted from 7": with_angles(lambda at: at + 7, lambda at: at + 7),
    "RoPE, turned the other way round": with_angles(lambda at: -at, lambda at: -at),
    "ALiBi: half a point less for each step of distance": with_bias(lambda t, s: -0.5 * (t - s).abs()),
    "a number for each distance, the same for all beyond 8": with_bias(lambda t, s: (t - s).clamp(-8, 8).sin()),
    "keys more than three positions back have a score lower by 9": with_bias(lambda t, s: -9.0 * (t - s > 3)),
}


ABSOLUTE: dict[str, Scores] = {
    "an encoding of each position is added to queries and keys": lambda query, key: (waves(query) @ waves(key).mT).to(
        query.dtype
    ),
    "RoPE, on the queries alone": with_angles(same, torch.zeros_like),
    "RoPE, the keys turned the other way: by the sum of the positions": with_angles(same, lambda at: -at),
    "RoPE, its angles divided by the length of the sentence": with_angles(
        lambda at: 6 * at / len(at), lambda at: 6 * at / len(at)
    ),
    "RoPE, turned by half as much in sentences of more than 16 tokens": with_angles(
        lambda at: at / (1 + (len(at) > 16)), lambda at: at / (1 + (len(at) > 16))
    ),
    "RoPE, positions start again at 0 after 16": with_angles(lambda at: at % 16, lambda at: at % 16),
    "RoPE, positions beyond 20 are all taken for 20": with_angles(
        lambda at: at.clamp(max=20), lambda at: at.clamp(max=20)
    ),
    "a later key has a higher score, by a fifth for each position": with_bias(lambda t, s: 0.2 * s),
    "a later key has a higher score, by a hundredth for each position": with_bias(lambda t, s: 0.01 * s),
    "the first token of all has a higher score": with_bias(lambda t, s: 3.0 * (s == 0)),
    "keys at even positions have a higher score": with_bias(lambda t, s: 1.0 * (s % 2 == 0)),
    "a key has a lower score, the farther it is from the end of the sentence": with_bias(
        lambda t, s: -0.2 * (s.max() - s)
    ),
}


def scores_take(query: Tensor, key: Tensor) -> tuple:
    for name, x in (("query", query), ("key", key)):
        need_tensor(name, x, "(T, 8)", lambda x: x.ndim == 2 and x.size(1) == 8 and x.numel() > 0, floats=True)
    if len(query) != len(key):
        raise ValueError(f"query and key must have as many rows (got {len(query)} and {len(key)})")
    need_few(len(query) ** 2)
    return query, key


@partial(
    WriteTheTest,
    lesson="03",
    minutes=20,
    difficulty=3,
    statement="""
    Write a test: True if the score of a query and a key depends on their positions only through the difference of the
    two, as with RoPE, and False if it depends on anything else about them, or on how many there are: the length of the
    sentence must not matter either.

    `scores(query, key)` takes two tensors (T, 8), a row for each position, for any T, and returns all scores (T, T). A
    score depends on its query, its key and their positions, and on no other token's vector.

    Your test is tried on scores of several kinds that are relative and on some that are not, each in its own way.
    Its score is the share of the others that it catches, minus the share of the relative ones that it refuses.
    """,
    returns=("is_relative",),
    cases=tuple(Case(label, {"scores": one}) for label, one in (RELATIVE | ABSOLUTE).items()),
    says_of_right=True,
    candidate="score function",
    takes=scores_take,
    hints=(
        "You hand over a sentence, not positions. How can the same tokens get new positions, all moved by the same "
        "amount?",
        "Other tokens in front of a sentence move it. Which block of the larger table of scores belongs to it?",
        "By how many positions do you move it, and in sentences of which length? Some choices miss what repeats after "
        "two, or begins after 16.",
        "Positions may also be counted from the end. And scores round: compare with a tolerance.",
    ),
)
def is_relative(scores):
    """Whether the scores of two tokens depend on their positions by the distance alone: put others before and behind.

    That moves all positions by as much, and leaves every distance as it is.
    """
    generator = torch.Generator().manual_seed(0)
    for length in (2, 6, 40):
        query, key = torch.randn(2, length, 8, generator=generator)
        alone = scores(query, key)
        for before, behind in ((1, 0), (0, 1), (30, 2)):
            first = torch.randn(2, before, 8, generator=generator)
            last = torch.randn(2, behind, 8, generator=generator)
            longer = scores(torch.cat([first[0], query, last[0]]), torch.cat([first[1], key, last[1]]))
            within = slice(before, before + length)
            if not torch.allclose(longer[within, within], alone, rtol=1e-4, atol=1e-4):
                return False
    return True


def keeps_its_scores(scores, length, before, behind):
    """Whether a sentence has the same scores with so many other tokens before and behind it."""
    generator = torch.Generator().manual_seed(length)
    query, key = torch.randn(2, length, 8, generator=generator)
    first, last = (torch.randn(2, n, 8, generator=generator) for n in (before, behind))
    longer = scores(torch.cat([first[0], query, last[0]]), torch.cat([first[1], key, last[1]]))
    within = slice(before, before + length)
    return torch.allclose(longer[within, within], scores(query, key), rtol=1e-4, atol=1e-4)


@is_relative.mistake("You compare nothing: your test calls all scores relative.")
def says_always_relative(scores):
    return True


@is_relative.mistake(
    "Your test calls no scores relative. If you compare scores of equal distance, their vectors must be equal as well: "
    "with another vector in each row the scores differ, wherever the rows stand."
)
def says_never_relative(scores):
    return False


@is_relative.mistake(
    "You put tokens in front only. A position that is counted from the *end* of the sentence is not moved by that: put "
    "tokens behind it as well."
)
def in_front_only(scores):
    moves = ((2, 1), (6, 1), (6, 30), (40, 3))
    return all(keeps_its_scores(scores, length, before, 0) for length, before in moves)


@is_relative.mistake(
    "You move the sentence by an even number of positions. What depends on whether a position is even stays unseen."
)
def moved_by_even_numbers(scores):
    moves = ((2, 2, 0), (6, 30, 0), (40, 30, 0), (40, 0, 2))
    return all(keeps_its_scores(scores, *move) for move in moves)


@is_relative.mistake("You try short sentences, and move them a little: what begins at position 16 stays unseen.")
def short_sentences_only(scores):
    return all(keeps_its_scores(scores, 4, *move) for move in ((1, 0), (3, 0), (0, 1), (2, 2)))


@is_relative.mistake(
    "You ask whether the scores are plain dot products. Positions may play a part, as long as "
    "only their difference does."
)
def positions_forbidden(scores):
    query, key = torch.randn(2, 40, 8)
    return torch.allclose(scores(query, key), query @ key.mT, rtol=1e-4, atol=1e-4)


@is_relative.mistake(
    "You ask whether queries and keys may change places. That is symmetry: a key three positions *back* may have "
    "another score than one three positions ahead, and both be relative."
)
def symmetry_instead(scores):
    x = torch.randn(40, 8)
    return torch.allclose(scores(x, x), scores(x, x).mT, rtol=1e-4, atol=1e-4)


@is_relative.mistake(
    "You compare early positions alone, and put tokens in front only: what begins at position 16, or is counted from "
    "the *end*, stays unseen."
)
def first_two_tokens_only(scores):
    x = torch.randn(2, 8)
    return all(
        torch.allclose(scores(torch.cat([y, x]), torch.cat([y, x]))[-2:, -2:], scores(x, x), rtol=1e-4, atol=1e-4)
        for y in (torch.randn(1, 8), torch.randn(2, 8))
    )


@is_relative.hidden_case
def hidden_right(generator: Generator) -> Arguments:
    start, speed = number(generator, 0, 50), number(generator, 2, 30) / 10

    def drawn_right(query: Tensor, key: Tensor) -> Tensor:
        """Turned in one plane, by the distance times a speed."""
        angle = speed * (start + torch.arange(query.size(0)).double())[:, None]
        rows = []
        for x in (query.double(), key.double()):
            a, b = x[:, :4], x[:, 4:]
            rows.append(torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], 1))
        return (rows[0] @ rows[1].mT).to(query.dtype)

    return {"scores": drawn_right}


@is_relative.hidden_case
def hidden_bias(generator: Generator) -> Arguments:
    share = number(generator, 1, 9) / 10

    def drawn_bias(query: Tensor, key: Tensor) -> Tensor:
        """The distance counts, and the query's own position, too."""
        at = torch.arange(query.size(0)).double()
        bias = at[:, None] * share - at[None] * 0.5
        return (query.double() @ key.double().mT + bias - 0.5 * at[:, None]).to(query.dtype)

    return {"scores": drawn_bias}


@is_relative.hidden_case
def hidden_rhythm(generator: Generator) -> Arguments:
    period = 2 * number(generator, 1, 2)

    def drawn_rhythm(query: Tensor, key: Tensor) -> Tensor:
        """Every so many keys one has a higher score."""
        at = torch.arange(query.size(0))
        return (query.double() @ key.double().mT + 2.0 * (at % period == 0)).to(query.dtype)

    return {"scores": drawn_rhythm}
