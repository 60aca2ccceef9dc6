"""Lesson 13: implement `residual_distribution`."""

import torch
from torch import Generator, Tensor

from transformer_lab.decoding import speculation
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Domain, Property
from transformer_lab.exercises.exercise import Exercise


def onto_distributions(x: Tensor) -> Tensor:
    """The nearest thing to x that is a distribution over the last axis."""
    positive = x.clamp(min=0)
    return positive / positive.sum(-1, keepdim=True)


def along_distributions(gradient: Tensor) -> Tensor:
    return gradient - gradient.mean(-1, keepdim=True)


def pair_case(label: str, p: list, q: list) -> Case:
    return Case(label, {"p": torch.tensor(p, device="cpu"), "q": torch.tensor(q, device="cpu")})


def random_pair(label: str, *axes: int, dtype: torch.dtype = torch.float32, spread: float = 1.5) -> Case:
    p, q = (spread * normal(2, *axes, dtype=dtype)).softmax(-1)
    return Case(label, {"p": p, "q": q})


SIMPLEX = Domain(onto_distributions, along_distributions)


residual_distribution = Exercise(
    speculation.residual_distribution,
    lesson="13",
    minutes=10,
    difficulty=2,
    statement="""
    What to draw from after a drafted token was rejected.

    `p` is the model's distribution of the next token, `q` the draft's: tensors (…, vocab) whose last axis sums to 1. A
    token x that was drawn from q has been rejected, which happens with probability 1 - min(1, p(x) / q(x)). Return the
    distribution (…, vocab) of the token that is written instead, so that all that is written, taken together, is
    distributed as p.

    Where p and q are equal, nothing can be rejected; return p there.
    """,
    returns=("residual",),
    cases=(
        pair_case("three tokens", [0.5, 0.3, 0.2], [0.8, 0.1, 0.1]),
        pair_case("the draft expects one token too little", [0.7, 0.2, 0.1], [0.1, 0.5, 0.4]),
        pair_case("no token in common", [0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.0, 0.5]),
        pair_case("equal", [0.25, 0.75], [0.25, 0.75]),
        pair_case(
            "one row of two is equal", [[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]], [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]
        ),
        random_pair("two rows", 2, 5),
        random_pair("a square", 4, 4),
        random_pair("a batch of texts", 2, 3, 6),
        random_pair("nearly sure", 3, 7, spread=6.0),
        random_pair("float64", 3, 4, dtype=torch.float64),
    ),
    properties=(
        Property("no probability is negative", lambda given, residual: bool((residual >= 0).all())),
        Property(
            "each distribution sums to 1",
            lambda given, residual: bool((residual.sum(-1) - 1).abs().max() < 1e-4),
        ),
        Property(
            "a token that the draft proposes often enough gets nothing",
            lambda given, residual: bool((residual[(given["q"] > given["p"])] == 0).all()),
        ),
    ),
    domains={"p": SIMPLEX, "q": SIMPLEX},
    hints=(
        "With which probability is token x drafted *and* accepted? q(x) · min(1, p(x) / q(x)) is the smaller of two "
        "numbers.",
        "How much of p(x) is then still missing? That is what has to come from the second draw.",
        "The missing amounts sum to the probability of a rejection. Given a rejection, they are divided by it. What if "
        "it is 0?",
    ),
)


def normalised(x):
    return x / x.sum(-1, keepdim=True)


@residual_distribution.mistake(
    "You draw from p anew. That is the common wrong variant: a token that the draft proposes often enough has all of "
    "its p already, and comes out too often. For p = (.5, .3, .2) and q = (.8, .1, .1) the result is (.65, .19, .16)."
)
def from_p_anew(p, q):
    return p


@residual_distribution.mistake(
    "You take the absolute difference. Tokens that the draft proposes too *often* need nothing more: they get 0."
)
def absolute_difference(p, q):
    difference = (p - q).abs()
    total = difference.sum(-1, keepdim=True)
    return torch.where(total > 0, difference / total, p)


@residual_distribution.mistake("That is what q has beyond p: it gets *rejected*. Missing is what *p* has beyond q.")
def exchanged(p, q):
    missing = (q - p).clamp(min=0)
    total = missing.sum(-1, keepdim=True)
    return torch.where(total > 0, missing / total, p)


@residual_distribution.mistake("The amounts that are missing do not sum to 1: divide them by their sum.")
def not_divided(p, q):
    missing = (p - q).clamp(min=0)
    return torch.where(missing.sum(-1, keepdim=True) > 0, missing, p)


@residual_distribution.mistake("Negative amounts are left in. A token that comes too often already gets 0.")
def negative_left_in(p, q):
    total = (p - q).clamp(min=0).sum(-1, keepdim=True)
    return torch.where(total > 0, (p - q) / total, p)


@residual_distribution.mistake(
    "Negative amounts are left in, and with them the differences sum to 0: you divide by nothing but rounding. A token "
    "that comes too often already gets 0."
)
def divided_by_nothing(p, q):
    return normalised(p - q)


@residual_distribution.mistake("You send the differences through a softmax. They are amounts: divide by their sum.")
def softmax_of_differences(p, q):
    return torch.where((p == q).all(-1, keepdim=True), p, (p - q).clamp(min=0).softmax(-1))


@residual_distribution.mistake(
    "Where p and q are equal, nothing is missing, and 0 / 0 is NaN. Rounding may bring that about: return p there."
)
def nan_where_equal(p, q):
    return normalised((p - q).clamp(min=0))


@residual_distribution.mistake("Where p and q are equal, zeros are left, and nothing can be drawn from them: return p.")
def zeros_where_equal(p, q):
    missing = (p - q).clamp(min=0)
    return missing / missing.sum(-1, keepdim=True).clamp(min=1e-9)


@residual_distribution.mistake("You ask whether *all* rows are equal. Each row of a batch is a case of its own.")
def all_rows_or_none(p, q):
    return p if torch.equal(p, q) else normalised((p - q).clamp(min=0))


@residual_distribution.mistake("You divide by the sum of *all* rows. Each distribution has its own: the last axis.")
def sum_of_all_rows(p, q):
    missing = (p - q).clamp(min=0)
    return torch.where(missing.sum(-1, keepdim=True) > 0, missing / missing.sum(), p)


@residual_distribution.mistake(
    "You return what both expect, min(p, q). That is what gets *accepted*; the question is what p still lacks."
)
def what_both_expect(p, q):
    return normalised(torch.minimum(p, q))


@residual_distribution.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, axes, vocabulary = floats(generator), leading(generator), number(generator, 3, 9)
    return {name: (2 * normal(*axes, vocabulary)).softmax(-1) for name in ("p", "q")}
