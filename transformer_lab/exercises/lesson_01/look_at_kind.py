"""Lesson 01: set the weights of `look_at_kind`."""

import itertools
from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Domain, Goal
from transformer_lab.exercises.kinds import SetTheWeights


def kinds_of(words: Tensor) -> Tensor:
    """(T,): the kind of each word."""
    return words[:, :3].argmax(-1)


def attention_to_kinds(given: dict, w_q: Tensor, w_k: Tensor) -> Tensor:
    """The weights (1, T, T) of a head with these projections."""
    words = given["words"]
    queries, keys = words @ w_q, words @ w_k
    return (queries @ keys.mT / queries.size(-1) ** 0.5).softmax(-1)[None]


def lacks_its_kind(given: dict, weights: Tensor) -> str | None:
    kinds = kinds_of(given["words"])
    for t, row in enumerate(weights[0]):
        own = row[kinds == kinds[t]]
        if (total := own.sum().item()) < 0.9:
            rule = f"Word {t} is of kind {kinds[t]}, and must give at least 0.9 of its weight to words of that kind"
            return f"{rule}. It gives them {total:.2f}."
        if (gap := (own.max() - own.min()).item()) > 0.05:
            return f"Word {t} must give each word of its kind the same weight, to within 0.05. Two differ by {gap:.2f}."
    return None


def words_of(kinds: tuple[int, ...], others: Tensor) -> Tensor:
    """A row for each word: one-hot its kind, then numbers that say something else."""
    one_hot = F.one_hot(torch.tensor(kinds, device="cpu"), 3).float()
    return torch.cat([one_hot, others], 1)


def kind_cases() -> Iterator[Case]:
    """All sequences of two and three words of three kinds; then a sentence without other numbers, and a long one."""
    for length in (2, 3):
        for kinds in itertools.product(range(3), repeat=length):
            label = f"{length} words of the kinds {', '.join(map(str, kinds))}"
            yield Case(label, {"words": words_of(kinds, normal(length, 2))})
    for label, kinds, width in (
        ("no other numbers", (0, 1, 2, 1), 0),
        ("many other numbers", (2, 0, 1, 1, 0, 2, 2), 6),
    ):
        yield Case(label, {"words": words_of(kinds, 2 * normal(len(kinds), width))})


def with_one_kind(words: Tensor) -> Tensor:
    """Words near the given ones, each of exactly one kind."""
    return torch.cat([F.one_hot(kinds_of(words), 3).to(words.dtype), words[:, 3:]], 1)


@partial(
    SetTheWeights,
    lesson="01",
    minutes=10,
    difficulty=2,
    statement="""
    Set the weights of a head by hand, without training: `w_q` and `w_k`, (d_model, 3) each, such that every word gives
    at least 0.9 of its weight to the words of its own kind, itself included, and the same to each of them.

    `words` has a row for each word, (T, d_model). Its first three numbers are one-hot, a single 1 among zeros, and
    say of which kind the word is: noun, verb or other. All further numbers say something else, and must not matter;
    `words` is handed in for its width. Queries are `words @ w_q`, keys `words @ w_k`, and the weights are
    softmax(Q Kᵀ / √3).
    """,
    returns=("w_q", "w_k"),
    cases=tuple(kind_cases()),
    domains={"words": Domain(onto=with_one_kind, along=lambda gradient: gradient)},
    goal=Goal(attention_to_kinds, lacks_its_kind),
    hints=(
        "The score of two words should depend on their kinds alone. Which matrix keeps the first three numbers of a "
        "row, and drops all others?",
        "If query and key are the one-hot kinds, the score of two words of one kind is 1, and 0 otherwise. Is the "
        "softmax sharp enough for that?",
        "Make the queries longer by a factor, until exp(score) of one kind outweighs all words of other kinds.",
    ),
)
def look_at_kind(words):
    """The projections of a head by which a word attends to all words of its kind, which its first three numbers say."""
    d_model = words.size(1)
    kind = torch.eye(d_model)[:, :3]  # keeps the first three numbers, (d_model, 3)
    return 20 * kind, kind  # e^(20 / √3) for the words of the same kind, e^0 for all others


def first_three(words):
    return torch.eye(words.size(1))[:, :3]


@look_at_kind.mistake(
    "Words of one kind do get the higher scores, but are not far enough ahead of the others: multiply W_Q by a number."
)
def kinds_too_soft(words):
    return first_three(words), first_three(words)


@look_at_kind.mistake("The sign is reversed: every word avoids its own kind.")
def avoids_its_kind(words):
    return -20 * first_three(words), first_three(words)


@look_at_kind.mistake(
    "With any one query all keys have the same score, so that every word looks at all words alike: is W_Q or W_K zero, "
    "or the same for every kind?"
)
def looks_at_all_alike(words):
    return 0 * first_three(words), first_three(words)


@look_at_kind.mistake(
    "You keep the *last* three numbers of a word. Its kind stands in the first three: row i of the matrix says what "
    "becomes of number i."
)
def last_three_numbers(words):
    last = torch.eye(words.size(1))[:, -3:]
    return 20 * last, last


@look_at_kind.mistake(
    "Here a word's other numbers count as well. Leave the rows after the third at 0, in W_Q and in W_K."
)
def other_numbers_count(words):
    w = first_three(words)
    w[3:] = 1
    return 20 * w, w


@look_at_kind.mistake("Every word looks at nouns, kind 0, whatever its own kind is: all kinds have the same query.")
def all_look_at_nouns(words):
    w_q = torch.zeros(words.size(1), 3)
    w_q[:3, 0] = 40
    return w_q, first_three(words)


@look_at_kind.mistake(
    "Every word looks at the *next* kind: the columns of W_Q are shifted by one against those of W_K."
)
def looks_at_the_next_kind(words):
    return 20 * first_three(words).roll(1, dims=1), first_three(words)


@look_at_kind.mistake(
    "Only nouns find their kind. The scores of the other two kinds are all 0, and they look at all words "
    "alike: is a row of zeros left in W_Q or W_K?"
)
def nouns_alone(words):
    w_q = torch.zeros(words.size(1), 3)
    w_q[0, 0] = 40
    return w_q, first_three(words)


@look_at_kind.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    kinds = torch.randint(3, (number(generator, 2, 12),), generator=generator, device="cpu")
    others = torch.randn(len(kinds), number(generator, 0, 9), generator=generator)
    return {"words": torch.cat([torch.eye(3, device="cpu")[kinds], number(generator, 1, 3) * others], 1)}
