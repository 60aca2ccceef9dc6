"""Lesson 16: predict `pass_at_k`."""

from math import comb

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict
from transformer_lab.training.after_pretraining import sampling


def counts_case(label: str, n: int, n_right: int, k: int) -> Case:
    return Case(label, {"n": n, "n_right": n_right, "k": k})


pass_at_k = Predict(
    sampling.pass_at_k,
    lesson="16",
    minutes=10,
    difficulty=2,
    statement="""
    You have n answers of a model to one problem, and n_right of them are right. What is the chance that among k of
    these n, picked at random and none twice, at least one is right?

    Return a number from 0 to 1. With 4 answers, 1 of them right, and k = 2 it is 0.5. (Averaged over fresh batches of n
    answers, this estimates without bias how often k answers of the model hold a right one.)
    """,
    returns=("chance",),
    cases=(
        counts_case("one pick", 4, 1, 1),
        counts_case("two picks of four", 4, 1, 2),
        counts_case("two right of four", 4, 2, 2),
        counts_case("all are picked", 4, 1, 4),
        counts_case("none is right", 5, 0, 3),
        counts_case("all are right", 5, 5, 1),
        counts_case("fewer wrong ones than picks", 6, 4, 3),
        counts_case("sixteen, and four picks", 16, 3, 4),
        counts_case("two hundred, and ten picks", 200, 7, 10),
    ),
    hints=(
        "The other way round: in how many ways can you pick k answers that are *all wrong*?",
        "Of n things, k can be picked in C(n, k) ways; Python has it as `math.comb`. How many of the n are wrong?",
    ),
)


@pass_at_k.mistake(
    "That is the chance if each pick is put back. None is picked twice, so the wrong ones run out: the true chance is "
    "higher, and an estimate by this formula too low."
)
def picked_with_replacement(n, n_right, k):
    return 1 - (1 - n_right / n) ** k


@pass_at_k.mistake(
    "That says whether *any* of the n is right, 0 or 1; `//`, which rounds a share down to 0, comes to the same. With "
    "fewer picks than n it may be missed."
)
def any_right(n, n_right, k):
    return float(n_right > 0)


@pass_at_k.mistake("That is the share of right answers, the chance of a single pick.")
def share_of_right_ones(n, n_right, k):
    return n_right / n


@pass_at_k.mistake("That is the chance that *none* of the picks is right. What is asked for is the opposite.")
def none_right(n, n_right, k):
    return comb(n - n_right, k) / comb(n, k)


@pass_at_k.mistake("That is the chance that *all* picks are right. One is enough.")
def all_right(n, n_right, k):
    return comb(n_right, k) / comb(n, k)


@pass_at_k.mistake("That is the chance that some pick is *wrong*: right and wrong are exchanged.")
def some_wrong(n, n_right, k):
    return 1 - comb(n_right, k) / comb(n, k)


@pass_at_k.mistake(
    "You add up the chances of the k picks. Where two of them may be right, that counts twice, and it can exceed 1."
)
def chances_added(n, n_right, k):
    return k * n_right / n


@pass_at_k.mistake("You count the picks with *exactly* one right answer. Those with two or more pass as well.")
def exactly_one(n, n_right, k):
    return n_right * comb(n - n_right, k - 1) / comb(n, k)


@pass_at_k.mistake("That is in per cent. A number from 0 to 1 is asked for.")
def in_per_cent(n, n_right, k):
    return 100 * (1 - comb(n - n_right, k) / comb(n, k))


@pass_at_k.mistake(
    "You add up the chances of the k picks, and stop at 1. Two of them may be right at once, which counts twice, also "
    "where the sum is below 1."
)
def chances_added_up_to_1(n, n_right, k):
    return min(1.0, k * n_right / n)


@pass_at_k.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n = number(generator, 6, 60)
    return {"n": n, "n_right": number(generator, 2, n - 2), "k": number(generator, 2, n // 2)}
