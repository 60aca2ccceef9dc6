"""Lesson 14: find the bug in `clinic_06`."""

from functools import partial

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_06(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    """A post-norm decoder layer: self-attention, attention to the memory, feed-forward."""

    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_1)
    x = normalised(x + attend(x, memory), gain_2)
    return normalised(x + feed_forward(x), gain_2)


def mean_of_memory(x: Tensor, memory: Tensor) -> Tensor:
    return x * 0.5 + memory.mean(1, keepdim=True)


def likest(x: Tensor, memory: Tensor) -> Tensor:
    return (x @ memory.transpose(-2, -1)).softmax(-1) @ memory


def bent(x: Tensor) -> Tensor:
    return 2 * x.relu()


def waved(x: Tensor) -> Tensor:
    return 3 * x.sin()


def decoder_case(label: str, batch: int, length: int, words: int, width: int, attend, feed_forward) -> Case:
    given = {"x": normal(batch, length, width), "memory": normal(batch, words, width)}
    given |= {"attend": attend, "feed_forward": feed_forward}
    gains = {f"gain_{i}": 1 + counting(width) * step for i, step in enumerate((0.5, -0.3, 0.2), start=1)}
    return Case(label, given | gains)


@partial(
    FindTheBug,
    broken=broken_clinic_06,
    defect=(
        "The last norm takes gain_2, which the norm before it has taken already. So gain_3 is used nowhere and gets no "
        "gradient, and gain_2 has to suit two norms at once."
    ),
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    A decoder layer of 2017: three sub-layers, and after each the sum is normalised, with a gain of its own. `attend`
    takes queries and memory, and works for both attentions.

    Symptom: the model trains, but one of its parameters never moves from the value that it was given at the start.
    """,
    returns=("x",),
    cases=(
        decoder_case("one position", 1, 1, 2, 3, mean_of_memory, bent),
        decoder_case("a sentence", 1, 3, 2, 4, likest, waved),
        decoder_case("a batch", 2, 3, 5, 6, mean_of_memory, waved),
        decoder_case("another attention", 3, 2, 4, 5, likest, bent),
    ),
    hints=(
        "Ask for the gradient of the sum of squares of the output with respect to each parameter. Which parameter has "
        "none?",
        "Count how often each name in the signature occurs in the body.",
    ),
)
def clinic_06(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    """A post-norm decoder layer: self-attention, attention to the memory, feed-forward."""

    def normalised(y, gain):
        return gain * F.layer_norm(y, y.shape[-1:])

    x = normalised(x + attend(x, x), gain_1)
    x = normalised(x + attend(x, memory), gain_2)
    return normalised(x + feed_forward(x), gain_3)


def layer_normalised(y, gain):
    return gain * F.layer_norm(y, y.shape[-1:])


def with_gains(x, memory, attend, feed_forward, gains):
    """The three sub-layers, each followed by the norm with one of the gains."""
    x = layer_normalised(x + attend(x, x), gains[0])
    x = layer_normalised(x + attend(x, memory), gains[1])
    return layer_normalised(x + feed_forward(x), gains[2])


@clinic_06.mistake("The third norm has its own gain now, but the second borrows it: gain_2 gets no gradient instead.")
def second_borrows_the_third(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return with_gains(x, memory, attend, feed_forward, (gain_1, gain_3, gain_3))


@clinic_06.mistake("The last norm takes the first gain instead of the second: gain_3 is still not used.")
def last_takes_the_first(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return with_gains(x, memory, attend, feed_forward, (gain_1, gain_2, gain_1))


@clinic_06.mistake(
    "All three gains get a gradient now, but in the wrong order: gain_2 sits after the feed-forward network, and "
    "gain_3 after the attention to the memory. A model trained elsewhere loads its gains into the wrong norms."
)
def two_gains_exchanged(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return with_gains(x, memory, attend, feed_forward, (gain_1, gain_3, gain_2))


@clinic_06.mistake(
    "gain_3 gets a gradient now, because it joins the second norm's gain at the end. That hides the symptom: the last "
    "norm still uses that gain, which has two tasks."
)
def third_gain_on_top(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return gain_3 * with_gains(x, memory, attend, feed_forward, (gain_1, gain_2, gain_2))


@clinic_06.mistake(
    "A fourth norm follows the third, both after the feed-forward network. Every gain gets a gradient, and that "
    "hides the symptom: the layer should have three norms."
)
def a_fourth_norm(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return layer_normalised(with_gains(x, memory, attend, feed_forward, (gain_1, gain_2, gain_2)), gain_3)


@clinic_06.mistake("The layer is pre-norm now: it normalises what enters a sub-layer, and not what leaves the layer.")
def before_each_sublayer(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    normed = layer_normalised(x, gain_1)
    x = x + attend(normed, normed)
    x = x + attend(layer_normalised(x, gain_2), memory)
    return x + feed_forward(layer_normalised(x, gain_3))


@clinic_06.mistake("What the feed-forward network returns is normalised alone, without the x that it was given.")
def last_residual_lost(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    x = layer_normalised(x + attend(x, x), gain_1)
    x = layer_normalised(x + attend(x, memory), gain_2)
    return layer_normalised(feed_forward(x), gain_3)


@clinic_06.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, words) = floats(generator, torch.float64), sizes(generator, 3)
    width = number(generator, 4, 9)
    given: Arguments = {"x": normal(batch, length, width), "memory": normal(batch, words, width)}
    given |= {"attend": pick(generator, mean_of_memory, likest)}
    given |= {"feed_forward": pick(generator, bent, waved)}
    return given | {f"gain_{i}": normal(width) for i in (1, 2, 3)}
