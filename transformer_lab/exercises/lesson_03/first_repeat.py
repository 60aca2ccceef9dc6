"""Lesson 03: predict `first_repeat`."""

import math
from functools import partial
from math import gcd, lcm, prod

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def repeat_case(label: str, periods: list[int], with_cosine: bool = True) -> Case:
    return Case(label, {"periods": periods, "with_cosine": with_cosine})


@partial(
    Predict,
    lesson="03",
    minutes=10,
    difficulty=2,
    statement="""
    An encoding of clock hands whose periods are whole numbers: pair i turns once in periods[i] positions, so that the
    vector of position p holds sin(2π p / periods[i]) for each i and, if `with_cosine`, cos(2π p / periods[i]) as well.

    Position 0 can't be told from a later position that has the same vector. Which is the first such position? Return
    it as a whole number. (Each period is at least 2.)
    """,
    returns=("position",),
    cases=(
        repeat_case("one hand", [5]),
        repeat_case("two hands", [2, 3]),
        repeat_case("one period divides the other", [4, 12]),
        repeat_case("neither divides the other", [4, 6]),
        repeat_case("three hands", [6, 10, 15]),
        repeat_case("a sine alone, even", [8], False),
        repeat_case("a sine alone, odd", [5], False),
        repeat_case("two sines", [4, 6], False),
        repeat_case("sines, even and odd", [3, 4, 10], False),
        repeat_case("many hands", [7, 8, 9, 10, 12]),
    ),
    hints=(
        "Write down the positions at which each hand points up again, for periods 4 and 6. When do *both*?",
        "A sine alone is 0 twice in each turn. But positions are whole numbers, and half of 5 is 2.5.",
    ),
)
def first_repeat(periods, with_cosine):
    """The first position after 0 that has the vector of position 0, where pair i turns once in periods[i] positions.

    All hands must have come round: the least common multiple. A sine alone is 0 after half a turn as well.
    """
    turns = periods if with_cosine else [period // math.gcd(period, 2) for period in periods]
    return math.lcm(*turns)


def halves(periods, with_cosine):
    """After how many positions each hand looks as it did at position 0."""
    return periods if with_cosine else [period // gcd(period, 2) for period in periods]


THE_LONGEST = (
    "You take the longest period. When that hand has come round, the others need not have: they must *all* point where "
    "they began."
)


@first_repeat.mistake(THE_LONGEST)
def the_longest(periods, with_cosine):
    return max(halves(periods, with_cosine))


@first_repeat.mistake(THE_LONGEST)
def the_longest_of_whole_turns(periods, with_cosine):
    return max(periods)


THE_SHORTEST = "You take the shortest period. The other hands have moved on by then, and tell the two positions apart."


@first_repeat.mistake(THE_SHORTEST)
def the_shortest(periods, with_cosine):
    return min(halves(periods, with_cosine))


@first_repeat.mistake(THE_SHORTEST)
def the_shortest_of_whole_turns(periods, with_cosine):
    return min(periods)


THE_PRODUCT = (
    "You multiply the periods. All hands have come round then, but where two periods have a common divisor, they did "
    "before."
)


@first_repeat.mistake(THE_PRODUCT)
def the_product(periods, with_cosine):
    return prod(halves(periods, with_cosine))


@first_repeat.mistake(THE_PRODUCT)
def the_product_of_whole_turns(periods, with_cosine):
    return prod(periods)


THE_SUM = (
    "You add the periods up. A sum is seldom a multiple of each of its terms, so some hand has not come round by then."
)


@first_repeat.mistake(THE_SUM)
def the_sum(periods, with_cosine):
    return sum(halves(periods, with_cosine))


@first_repeat.mistake(THE_SUM)
def the_sum_of_whole_turns(periods, with_cosine):
    return sum(periods)


THE_COMMON_DIVISOR = (
    "You take the largest common *divisor* of the periods. Where all hands have come round is a common *multiple*."
)


@first_repeat.mistake(THE_COMMON_DIVISOR)
def the_common_divisor(periods, with_cosine):
    return gcd(*halves(periods, with_cosine))


@first_repeat.mistake(THE_COMMON_DIVISOR)
def the_common_divisor_of_whole_turns(periods, with_cosine):
    return gcd(*periods)


@first_repeat.mistake(
    "You ask for a whole turn of each hand. A sine alone has the value of position 0 after half a turn already: that "
    "is what the cosine is for."
)
def whole_turns_always(periods, with_cosine):
    return lcm(*periods)


@first_repeat.mistake(
    "You halve every period. With its cosine a hand points *down* after half a turn, and its vector is a different one."
)
def half_turns_always(periods, with_cosine):
    return lcm(*halves(periods, False))


@first_repeat.mistake(
    "You halve the result. Half a turn of each hand must be a whole number of positions, hand by hand, and half of 5 "
    "is 2.5."
)
def half_of_the_result(periods, with_cosine):
    return lcm(*periods) if with_cosine else max(1, lcm(*periods) // 2)


@first_repeat.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    periods = [number(generator, 2, 15) for _ in range(number(generator, 2, 4))]
    return {"periods": periods, "with_cosine": pick(generator, False, True)}
