"""Exercises of lesson 01 beyond functions to write: what the weights become, and a head set by hand."""

import itertools
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_lab.exercises import predictions, references
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Domain, Goal, Property
from transformer_lab.exercises.kinds import Predict, SetTheWeights
from transformer_lab.exercises.lesson_01 import WEIGHTS

TWO_ROWS = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]


def weights_case(label: str, weights: list, shift: float, factor: float) -> Case:
    tensor = torch.tensor(weights, dtype=torch.float64, device="cpu")
    return Case(label, {"weights": tensor, "shift": shift, "factor": factor})


new_weights = Predict(
    predictions.new_weights,
    lesson="01",
    minutes=10,
    difficulty=2,
    statement="""
    A softmax has made these weights, (…, S), of scores that you do not know. What do the weights become if `shift` is
    added to every score, and the sums are then multiplied by `factor`, which is positive?

    Work it out on paper. Nothing but the old weights is needed.
    """,
    returns=("new weights",),
    domains={"weights": WEIGHTS},
    cases=(
        weights_case("all scores grow by 100", [0.5, 0.3, 0.2], 100.0, 1.0),
        weights_case("all scores are doubled", [0.5, 0.3, 0.2], 0.0, 2.0),
        weights_case("all scores are halved", [0.64, 0.36], 0.0, 0.5),
        weights_case("both at once", [0.5, 0.3, 0.2], 7.0, 3.0),
        weights_case("two rows", TWO_ROWS, -4.0, 2.5),
        weights_case("a batch of one", [TWO_ROWS], 50.0, 0.25),
        weights_case("a single weight", [[1.0], [1.0]], 2.0, 5.0),
    ),
    properties=(
        Property(
            "each row of weights sums to 1",
            lambda given, weights: bool(((weights.sum(-1) - 1).abs() < 1e-9).all()),
        ),
    ),
    hints=(
        "Write down what softmax makes of one score, exp(s) over the sum. Now put s + shift in place of s: which "
        "factor do all exponentials have in common?",
        "And exp(factor · s)? It can be written with exp(s), and the old weights are exp(s) up to a common factor.",
        "In the end each row must sum to 1 again.",
    ),
)


def normalised(x):
    return x / x.sum(-1, keepdim=True)


@new_weights.mistake(
    "You add the shift to the *weights*. Added to the scores, it multiplies all exponentials of a row by the same "
    "number, which cancels: it changes nothing."
)
def shift_added_to_the_weights(weights, shift, factor):
    return normalised((weights + shift) ** factor)


@new_weights.mistake(
    "You multiply the *weights* by the factor, which cancels when they are divided by their sum. The factor of a score "
    "is an exponent of its weight."
)
def factor_of_the_weights(weights, shift, factor):
    return normalised(factor * weights)


@new_weights.mistake(
    "You have divided where the scores are multiplied: scores that are twice as large make the weights sharper, not "
    "more even."
)
def made_more_even(weights, shift, factor):
    return normalised(weights ** (1 / factor))


@new_weights.mistake("The powers are right, and do not sum to 1 yet.")
def not_normalised(weights, shift, factor):
    return weights**factor


@new_weights.mistake(
    "You treat the weights as if they were the scores: a softmax of weights is much more even. The scores are, up to a "
    "constant, the *logarithms* of the weights."
)
def softmax_of_the_weights(weights, shift, factor):
    return (factor * (weights + shift)).softmax(-1)


@new_weights.mistake("You divide by the sum over all rows. Each row is a softmax of its own, and sums to 1 by itself.")
def all_rows_together(weights, shift, factor):
    powers = weights**factor
    return powers / powers.sum()


@new_weights.mistake(
    "Large scores do not make a hard choice at once: the largest weight has not got everything. Compute the powers."
)
def all_to_the_largest(weights, shift, factor):
    return torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0) + 0 * weights


# ── set the weights ──


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


look_at_kind = SetTheWeights(
    references.look_at_kind,
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


@look_at_kind.mistake("W_Q is zero, so that all scores are 0: every word looks at all words alike.")
def looks_at_all_alike(words):
    return 0 * first_three(words), first_three(words)


@look_at_kind.mistake(
    "You keep the *last* three numbers of a word. Its kind stands in the first three: row i of the matrix says what "
    "becomes of number i."
)
def last_three_numbers(words):
    last = torch.eye(words.size(1))[:, -3:]
    return 20 * last, last


@look_at_kind.mistake("Here a word's other numbers count as well. All rows of the matrix after the third must be 0.")
def other_numbers_count(words):
    w = first_three(words)
    w[3:] = 1
    return 20 * w, w


@look_at_kind.mistake("Every word looks at nouns, kind 0, whatever its own kind is: all kinds have the same query.")
def all_look_at_nouns(words):
    w_q = torch.zeros(words.size(1), 3)
    w_q[:3, 0] = 40
    return w_q, first_three(words)


@look_at_kind.mistake("Every word looks at the *next* kind: the columns of W_Q and W_K have been shifted by one.")
def looks_at_the_next_kind(words):
    return 20 * first_three(words).roll(1, dims=1), first_three(words)


@look_at_kind.mistake("Only nouns find their kind. The other two kinds have a query of zeros, and look at all alike.")
def nouns_alone(words):
    w_q = torch.zeros(words.size(1), 3)
    w_q[0, 0] = 40
    return w_q, first_three(words)
