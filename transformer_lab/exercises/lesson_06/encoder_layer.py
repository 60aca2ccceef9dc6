"""Lesson 06: implement `encoder_layer`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, mask, number, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_06.shared import (
    NORM_1,
    NORM_2,
    average,
    bent,
    causal,
    doubled,
    first_look,
    halved,
    norms,
    plus_one,
    second_look,
    standardised,
    words,
)
from transformer_lab.nn import transformer


def encoder_case(label: str, x, mask, functions=(first_look, bent, NORM_1, NORM_2)) -> Case:
    self_attention, feed_forward, norm_1, norm_2 = functions
    given = {"x": x, "self_attention": self_attention, "feed_forward": feed_forward, "norm_1": norm_1, "norm_2": norm_2}
    return Case(label, given | {"mask": mask})


encoder_layer = Exercise(
    transformer.encoder_layer,
    lesson="06",
    minutes=10,
    difficulty=2,
    statement="""
    One layer of the encoder, post-norm: self-attention, then feed-forward, each as norm(x + sublayer(x)).

    x is (B, T, d_model). `self_attention(query, key, value, mask)` returns the output alone, no weights;
    `mask` is what to hand it. `feed_forward`, `norm_1` (after attention) and `norm_2` (after feed-forward) take and
    return (B, T, d_model).
    """,
    returns=("output",),
    cases=(
        encoder_case(
            "two tokens, four simple functions", 2 * counting(1, 2, 3), words(2), (average, doubled, plus_one, halved)
        ),
        encoder_case("two norms that differ", counting(1, 2, 3), words(2), (average, doubled, NORM_1, NORM_2)),
        encoder_case("one token alone", normal(1, 1, 5), words(1)),
        encoder_case("two sentences, the second is shorter", normal(2, 3, 5), words(3, 2)),
        encoder_case("another mask", normal(2, 5, 6), causal(5)),
        encoder_case("other functions", normal(3, 2, 7), words(2, 1, 2), (second_look, doubled, NORM_2, standardised)),
        encoder_case("float64, not contiguous", normal(2, 7, 5, dtype=torch.float64).mT, words(5, 3)),
    ),
    hints=(
        "There are two sub-layers, attention and then feed-forward. Each has a residual connection and a norm of its "
        "own.",
        "Post-norm is the paper's order, from lesson 04: add the sub-layer's input to its result, then normalise.",
        "In *self*-attention, query, key and value are one and the same tensor; the mask comes fourth.",
        "The second sub-layer starts from what came out of the first, and so does its residual connection.",
    ),
)


@encoder_layer.mistake(
    "The inputs are missing: the result of each sub-layer is normalised alone. Add it to what went in first."
)
def no_residuals(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(feed_forward(norm_1(self_attention(x, x, x, mask))))


@encoder_layer.mistake("The attention has no residual connection: its result is normalised without x.")
def no_residual_around_attention(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "The feed-forward network has no residual connection: its result is normalised without its input."
)
def no_residual_around_feed_forward(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(feed_forward(norm_1(x + self_attention(x, x, x, mask))))


@encoder_layer.mistake(
    "The result of the feed-forward network is added to *itself*. There is a sum, but the input is not part of it."
)
def feed_forward_added_to_itself(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = feed_forward(norm_1(x + self_attention(x, x, x, mask)))
    return norm_2(x + x)


@encoder_layer.mistake("`norm_1` is used twice and `norm_2` never, so the weights of `norm_2` would get no gradient.")
def first_norm_twice(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


@encoder_layer.mistake("The two norms are swapped: `norm_1` belongs to the attention.")
def norms_exchanged(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_2(x + self_attention(x, x, x, mask))
    return norm_1(x + feed_forward(x))


@encoder_layer.mistake(
    "This is pre-norm: the norms come before the sub-layers. The paper's layer adds first and then normalises."
)
def pre_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x)
    x = x + self_attention(y, y, y, mask)
    return x + feed_forward(norm_2(x))


@encoder_layer.mistake("The norms are inside the sums: x + norm(sublayer(x)). Post-norm normalises the *sum*.")
def norms_inside_the_sums(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + norm_1(self_attention(x, x, x, mask))
    return x + norm_2(feed_forward(x))


@encoder_layer.mistake("There are no norms at all, so the numbers grow from layer to layer.")
def no_norms(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return x + feed_forward(x)


@encoder_layer.mistake(
    "The norms come before the sub-layers, and you add the *normalised* x: x = norm(x), then x + sublayer(x). The "
    "paper's layer adds first and then normalises."
)
def normalised_input_added(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x)
    x = norm_2(x + self_attention(x, x, x, mask))
    return x + feed_forward(x)


@encoder_layer.mistake(
    "`out, _ = self_attention(…)` unpacks a batch of two sentences into its sentences, and fails with any other "
    "batch. The attention given here returns its output alone, without weights."
)
def output_unpacked(x, self_attention, feed_forward, norm_1, norm_2, mask):
    attended, _ = self_attention(x, x, x, mask)
    x = norm_1(x + attended)
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake("The first norm is missing: the first sum is passed on as it is.")
def no_first_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake("The second norm is missing: the layer's last sum is returned as it is.")
def no_second_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask))
    return x + feed_forward(x)


@encoder_layer.mistake(
    "The mask is not passed on to the attention, so nothing is hidden, and the words attend to padding."
)
def mask_forgotten(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "`self_attention` takes four arguments: query, key, value and mask. In self-attention the first three are the same."
)
def attention_of_x_and_mask(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, mask))
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "`[0]` takes the first *sentence* of the output. The attention given here returns its output alone, not a tuple. "
    "With a batch of one sentence the slip does not show."
)
def first_sentence_only(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + self_attention(x, x, x, mask)[0])
    return norm_2(x + feed_forward(x))


@encoder_layer.mistake(
    "The second residual connection starts in front of the first norm. It should start behind it, at what the "
    "feed-forward network reads."
)
def second_residual_before_the_norm(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = x + self_attention(x, x, x, mask)
    return norm_2(x + feed_forward(norm_1(x)))


@encoder_layer.mistake(
    "The second residual connection starts at the *layer's* input. It should start at the input of its own sub-layer, "
    "which is the output of the first."
)
def second_residual_from_the_start(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(y))


@encoder_layer.mistake(
    "The feed-forward network reads the layer's input. It should read what comes out of the attention's block."
)
def feed_forward_of_the_input(x, self_attention, feed_forward, norm_1, norm_2, mask):
    y = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(y + feed_forward(x))


@encoder_layer.mistake("The order is reversed. Attention comes first, then feed-forward.")
def feed_forward_first(x, self_attention, feed_forward, norm_1, norm_2, mask):
    x = norm_1(x + feed_forward(x))
    return norm_2(x + self_attention(x, x, x, mask))


@encoder_layer.mistake("There is one residual connection around both sub-layers together. Each should have its own.")
def one_residual_around_both(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(x + feed_forward(norm_1(self_attention(x, x, x, mask))))


@encoder_layer.mistake("The feed-forward network is missing: attention alone is half a layer.")
def no_feed_forward(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_1(x + self_attention(x, x, x, mask))


@encoder_layer.mistake("The attention is missing, so no token looks at another.")
def no_attention(x, self_attention, feed_forward, norm_1, norm_2, mask):
    return norm_2(x + feed_forward(x))


@encoder_layer.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    batch, length, d_model = *sizes(generator, 2), number(generator, 4, 9)
    look = pick(generator, average, first_look, second_look)
    feed_forward = pick(generator, doubled, bent, plus_one)
    given = {"x": floats(generator)(batch, length, d_model), "self_attention": look, "feed_forward": feed_forward}
    shape = pick(generator, (length, length), (batch, 1, length), (batch, length, length))
    return given | norms(generator, 2) | {"mask": mask(generator, *shape)}
