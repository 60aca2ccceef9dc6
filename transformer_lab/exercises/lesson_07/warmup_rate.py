"""Lesson 07: implement `warmup_rate`."""

from torch import Generator

from transformer_lab import training
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise


def rate_case(label: str, step: int, d_model: int, warmup_steps: int) -> Case:
    return Case(label, {"step": step, "d_model": d_model, "warmup_steps": warmup_steps})


warmup_rate = Exercise(
    training.warmup_rate,
    lesson="07",
    minutes=5,
    difficulty=1,
    statement="""
    The learning rate at a step, counted from 1: it climbs for warmup_steps steps, then falls as 1/√step.

    rate = d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)        (§5.3, equation 3)
    """,
    returns=("rate",),
    cases=(
        rate_case("the first of four steps of warm-up", 1, 4, 4),
        rate_case("half-way up", 2, 4, 4),
        rate_case("the peak", 4, 4, 4),
        rate_case("after four times as many steps, half the peak", 16, 4, 4),
        rate_case("a wider model", 4, 16, 4),
        rate_case("a warm-up of one step", 9, 25, 1),
        rate_case("step 1 of the paper's base model", 1, 512, 4000),
        rate_case("step 4 000, its peak", 4000, 512, 4000),
        rate_case("step 100 000, its last", 100_000, 512, 4000),
    ),
    hints=(
        "The rate is the smaller of two numbers: one grows with the step, the other falls as 1/√step. Where do they "
        "meet?",
        "x to the power of -0.5 is 1/√x.",
        "At the last step of the warm-up both are 1/√warmup_steps. What slope takes the growing one from 0 to there?",
    ),
)


@warmup_rate.mistake("You take the *larger* of the two, so the rate starts high, falls, and then climbs without end.")
def larger_of_the_two(step, d_model, warmup_steps):
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "The rate is highest at step 1, so nothing climbs. Either the term that grows with the step is missing, or it is "
    "never the smaller of the two: its factor must be small, warmup_steps to the power of *minus* 1.5."
)
def without_warm_up(step, d_model, warmup_steps):
    return d_model**-0.5 * step**-0.5


@warmup_rate.mistake("The rate climbs and never falls. After the warm-up it must fall as 1/√step.")
def never_falls(step, d_model, warmup_steps):
    return d_model**-0.5 * step * warmup_steps**-1.5


@warmup_rate.mistake("After the warm-up the rate stays at its peak. It must fall as 1/√step.")
def stays_at_the_peak(step, d_model, warmup_steps):
    return d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake("The factor 1/√d_model, for the width of the model, is missing.")
def width_ignored(step, d_model, warmup_steps):
    return min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "You multiply by √d_model instead of 1/√d_model: in the formula, wider models get a *smaller* rate."
)
def grows_with_the_width(step, d_model, warmup_steps):
    return d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@warmup_rate.mistake(
    "You count the steps from 0 and add one. Here the first step is already number 1, as in the paper."
)
def counted_from_zero(step, d_model, warmup_steps):
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup_steps**-1.5)


@warmup_rate.mistake(
    "The exponent of warmup_steps must be -1.5. With -0.5 the climb is warmup_steps times too steep and ends too early."
)
def climbs_too_fast(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@warmup_rate.mistake(
    "The climb ends at 1/√d_model, far above where the fall begins: the rate jumps down after the warm-up. Both must "
    "meet at 1/√(d_model · warmup_steps)."
)
def climb_and_fall_do_not_meet(step, d_model, warmup_steps):
    return d_model**-0.5 * (step / warmup_steps if step <= warmup_steps else step**-0.5)


@warmup_rate.mistake(
    "The peak is 1. That would be a factor for a scheduler with a base rate of its own, but the rate itself is wanted."
)
def relative_to_the_peak(step, d_model, warmup_steps):
    return min(step / warmup_steps, (warmup_steps / step) ** 0.5)


@warmup_rate.mistake(
    "After the warm-up the rate falls as 1/step, so that four times as many steps quarter it. They should halve it."
)
def falls_too_fast(step, d_model, warmup_steps):
    return (d_model * warmup_steps) ** -0.5 * min(step / warmup_steps, warmup_steps / step)


@warmup_rate.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    warmup_steps = number(generator, 2, 8000)
    step = number(generator, 1, 4 * warmup_steps)
    return {"step": step, "d_model": number(generator, 1, 1024), "warmup_steps": warmup_steps}
