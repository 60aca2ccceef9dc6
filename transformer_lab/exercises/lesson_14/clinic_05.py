"""Lesson 14: find the bug in `clinic_05`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, leading, number, pick
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.engine.specification import Domain, Property
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_05(x, output, noise, rate, training):
    """A residual connection with dropout; `noise` is uniform between 0 and 1."""
    if training:
        output = output / (1 - rate)  # so that the mean stays
    kept = noise >= rate
    return x + output * kept


def dropout_case(label: str, shape: tuple[int, ...], rate: float, training: bool) -> Case:
    noise = (torch.arange(normal(*shape).numel(), device="cpu").reshape(shape) * 7 % 10 + 0.5) / 10
    return Case(
        label, {"x": normal(*shape), "output": normal(*shape) + 1, "noise": noise, "rate": rate, "training": training}
    )


@partial(
    FindTheBug,
    broken=broken_clinic_05,
    defect=(
        "Dividing depends on `training`, and dropping does not. So evaluation drops numbers, too, other ones on each "
        "call, and nothing makes up for those that are missing."
    ),
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    A residual connection with dropout: in training each number of `output` is dropped with probability `rate`, where
    `noise` is below it, and the others are divided by 1 - rate. `noise` is drawn outside, so that the function can be
    tested.

    Symptom: in evaluation (`training` is False) the same input gives a different result on each call, and on average
    too little of `output` is left.
    """,
    returns=("x",),
    cases=(
        dropout_case("evaluation", (2, 3), 0.6, False),
        dropout_case("training", (2, 3), 0.5, True),
        dropout_case("training, a low rate", (2, 3, 4), 0.1, True),
        dropout_case("evaluation, a low rate", (2, 3, 4), 0.2, False),
        dropout_case("training, nothing is dropped", (3, 4), 0.0, True),
    ),
    domains={"noise": Domain(onto=lambda noise: noise.clamp(0, 0.999), along=lambda gradient: gradient)},
    properties=(
        Property(
            "in evaluation the noise makes no difference",
            lambda given, x: given["training"] or torch.allclose(x, given["x"] + given["output"]),
        ),
    ),
    hints=(
        "Dropout consists of two steps, dropping and dividing. Which of the two depends on `training`?",
        "Call it in evaluation with two different `noise`. Whatever differs has no business there.",
    ),
)
def clinic_05(x, output, noise, rate, training):
    """A residual connection with dropout; `noise` is uniform between 0 and 1."""
    if training:
        output = output / (1 - rate)  # so that the mean stays
        output = output * (noise >= rate)
    return x + output


@clinic_05.mistake("Dropout is gone altogether: training drops nothing.")
def never_dropped(x, output, noise, rate, training):
    return x + output


@clinic_05.mistake(
    "Evaluation no longer depends on the noise, but has too little of `output`. The division in training keeps the "
    "mean already; multiplying by 1 - rate belongs to the dropout that does *not* divide."
)
def scaled_in_evaluation(x, output, noise, rate, training):
    return x + (output * (noise >= rate) / (1 - rate) if training else output * (1 - rate))


@clinic_05.mistake("In training the numbers that are kept are no longer divided by 1 - rate.")
def not_divided(x, output, noise, rate, training):
    return x + (output * (noise >= rate) if training else output)


@clinic_05.mistake(
    "You fix the noise, so that each call drops the same numbers. The result no longer changes, and that hides half of "
    "the symptom, but too little of `output` is left: in evaluation nothing may be dropped at all."
)
def same_noise_each_time(x, output, noise, rate, training):
    if not training:
        noise = torch.linspace(0, 1, output.numel()).reshape(output.shape)
        return x + output * (noise >= rate)
    return x + output * (noise >= rate) / (1 - rate)


@clinic_05.mistake(
    "Evaluation scales `output` as training does, though nothing was dropped there that would have to be made up for."
)
def divided_in_evaluation(x, output, noise, rate, training):
    kept = (noise >= rate) if training else torch.ones_like(noise)
    return x + output * kept / (1 - rate)


@clinic_05.mistake(
    "The whole sum is dropped in training, x with it. Only the sub-layer's output should be: x is the way around it."
)
def sum_dropped(x, output, noise, rate, training):
    return (x + output) * (noise >= rate) / (1 - rate) if training else x + output


@clinic_05.mistake("In training you keep the share `rate` and divide by it, but `rate` is the share that is dropped.")
def rate_is_kept(x, output, noise, rate, training):
    return x + (output * (noise < rate) / rate if training else output)


@clinic_05.mistake("The condition is turned round: it drops in evaluation, and never in training.")
def turned_round(x, output, noise, rate, training):
    return x + output if training else x + output * (noise >= rate) / (1 - rate)


@clinic_05.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, shape = floats(generator), (*leading(generator), number(generator, 5, 9))
    noise = torch.rand(shape, generator=generator, device="cpu")
    given: Arguments = {"x": normal(*shape), "output": normal(*shape), "noise": noise}
    return given | {"rate": number(generator, 1, 9) / 10, "training": pick(generator, True, False)}
