"""Lesson 13: predict `tokens_per_pass`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def pass_case(acceptance: float, n_draft: int) -> Case:
    label = f"{n_draft} drafted, each stands with probability {acceptance}"
    return Case(label, {"acceptance": acceptance, "n_draft": n_draft})


@partial(
    Predict,
    lesson="13",
    minutes=10,
    difficulty=2,
    statement="""
    How many tokens does one pass of the model write, on average, in speculative decoding?

    In each round `n_draft` tokens are drafted. Suppose that each of them, if it comes to be judged, stands with
    probability `acceptance`, from 0 to 1, both included, whatever the others do. The first that is rejected is
    replaced by another token, and those after it are thrown away. If none is rejected, one more token is written at
    no extra cost. Return the mean number of tokens that a round writes.

    Work it out on paper first: with one drafted token, then with two.
    """,
    returns=("tokens",),
    cases=(
        pass_case(0.5, 1),
        pass_case(0.5, 2),
        pass_case(0.8, 3),
        pass_case(1.0, 4),
        pass_case(0.0, 3),
        pass_case(0.7, 4),
        pass_case(0.9, 8),
        pass_case(0.25, 5),
    ),
    hints=(
        "How many tokens are written at least, and how many at most?",
        "With which probability is the *second* drafted token written? Two things must have happened.",
        "The mean of a count is the sum of the probabilities of its parts: that a first token is written, a second, …",
    ),
)
def tokens_per_pass(acceptance, n_draft):
    """How many tokens one pass of the model writes on average, where each drafted one stands with that probability.

    The i-th drafted token is written if it and all before it stand; one more is written in any case.
    """
    return sum(acceptance**i for i in range(n_draft + 1))


@tokens_per_pass.mistake(
    "You add up the drafted tokens that would stand, and one more. But a token after a rejected one is thrown away, "
    "however good it is."
)
def without_throwing_away(acceptance, n_draft):
    return 1 + n_draft * acceptance


@tokens_per_pass.mistake(
    "You add up the drafted tokens that would stand. After a rejected one all are thrown away; and one token is "
    "written in any case."
)
def drafted_alone(acceptance, n_draft):
    return n_draft * acceptance


@tokens_per_pass.mistake("The token that the model writes itself is missing: every pass writes at least one.")
def without_the_model_s_own(acceptance, n_draft):
    return sum(acceptance**i for i in range(1, n_draft + 1)) + 0.0


@tokens_per_pass.mistake(
    "You leave out the token that comes at no extra cost when all drafted ones stand: up to n_draft + 1 are written."
)
def nothing_for_nothing(acceptance, n_draft):
    return sum(acceptance**i for i in range(n_draft)) + 0.0


@tokens_per_pass.mistake("That is one term too many: n_draft drafted tokens and one of the model's are n_draft + 1.")
def one_term_too_many(acceptance, n_draft):
    return sum(acceptance**i for i in range(n_draft + 2)) + 0.0


@tokens_per_pass.mistake(
    "You count all drafted tokens or none. A round in which the third is rejected has written the first two."
)
def all_or_none(acceptance, n_draft):
    return 1 + n_draft * acceptance**n_draft


@tokens_per_pass.mistake("That is the number of a draft without an end, 1 / (1 - acceptance). This one stops.")
def without_an_end(acceptance, n_draft):
    return 1 / (1 - acceptance)


@tokens_per_pass.mistake(
    "You multiply acceptance^k by k, as if it were the chance that *exactly* k tokens stand. It is the chance that the "
    "first k stand, whatever comes after them."
)
def first_k_taken_for_exactly_k(acceptance, n_draft):
    return sum(k * acceptance**k for k in range(1, n_draft + 2)) + 0.0


@tokens_per_pass.mistake("You count as if every drafted token stood.")
def all_stand(acceptance, n_draft):
    return float(n_draft + 1)


@tokens_per_pass.mistake(
    "The probabilities are exchanged: `acceptance` is the chance that a token *stands*, not that it is rejected."
)
def exchanged_probabilities(acceptance, n_draft):
    return sum((1 - acceptance) ** i for i in range(n_draft + 1)) + 0.0


@tokens_per_pass.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"acceptance": number(generator, 5, 95) / 100, "n_draft": number(generator, 1, 12)}
