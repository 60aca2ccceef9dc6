"""Lesson 07: predict `same_rate_again`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def rate_case(label: str, step: int, warmup_steps: int) -> Case:
    return Case(label, {"step": step, "warmup_steps": warmup_steps})


@partial(
    Predict,
    lesson="07",
    minutes=10,
    difficulty=2,
    statement="""
    With the schedule of equation 3 the learning rate grows until step `warmup_steps`, and falls from there on. Every
    rate of the warm-up but the peak is reached once more on the way down. When?

    `step` is a step of the warm-up, from 1 to `warmup_steps`. Return the later step that has the same rate (at the
    peak, that step itself), as a float: it need not be a whole number.
    """,
    returns=("later step",),
    cases=(
        rate_case("half way up", 2000, 4000),
        rate_case("at the peak", 4000, 4000),
        rate_case("a quarter of the way up", 100, 400),
        rate_case("the first step", 1, 10),
        rate_case("just before the peak", 399, 400),
        rate_case("three quarters", 300, 400),
        rate_case("no whole number", 7, 30),
    ),
    hints=(
        "Write down the rate before the peak and the rate after it. The factor with d_model cancels.",
        "Set the two equal: step · warmup_steps^(-1.5) on the one side, the later step to the power of -0.5 on the "
        "other. Then solve for the later step.",
        "Check the peak: for step = warmup_steps both must be the same step.",
    ),
)
def same_rate_again(step, warmup_steps):
    """The step after the peak at which the rate is what it was at `step`, during the warm-up.

    step · w^-1.5 = t^-0.5, so that t = w³ / step².
    """
    return warmup_steps**3 / step**2


@same_rate_again.mistake(
    "You assume that the rate falls as fast as it has grown. It falls with the root of the step, much more slowly: "
    "it is at half its peak half-way through the warm-up, and again after *four* times the warm-up."
)
def as_fast_down_as_up(step, warmup_steps):
    return float(2 * warmup_steps - step)


@same_rate_again.mistake("That would be so if the rate fell as 1 / step. It falls as 1 / √step.")
def falls_as_one_over_the_step(step, warmup_steps):
    return warmup_steps**2 / step


@same_rate_again.mistake("You have taken a root where a square belongs: a rate of 1 / √t is half as large at 4 t.")
def root_for_square(step, warmup_steps):
    return warmup_steps * (warmup_steps / step) ** 0.5


@same_rate_again.mistake("You count from the peak. Steps are counted from the beginning, in both halves.")
def counted_from_the_peak(step, warmup_steps):
    return warmup_steps**3 / step**2 - warmup_steps


@same_rate_again.mistake(
    "The units do not match: at the peak this is not `warmup_steps`. Its power must be larger by 1 than that of `step`."
)
def a_power_too_few(step, warmup_steps):
    return warmup_steps**2 / step**2


@same_rate_again.mistake(
    "The later step stands under a root. Squaring frees it, and puts step² below; you have divided by step once."
)
def step_not_squared(step, warmup_steps):
    return warmup_steps**3 / step


@same_rate_again.mistake("You have turned the fraction over: an early step has a small rate, reached again very late.")
def turned_over(step, warmup_steps):
    return step**2 / warmup_steps


@same_rate_again.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    warmup_steps = number(generator, 10, 8000)
    return {"step": number(generator, 2, warmup_steps - 1), "warmup_steps": warmup_steps}
