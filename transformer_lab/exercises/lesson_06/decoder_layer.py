"""Lesson 06: implement `decoder_layer`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, mask, number, pick, several, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_06.shared import (
    NORM_1,
    NORM_2,
    NORM_3,
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


def decoder_case(label: str, x, memory, tgt_mask, memory_mask, functions) -> Case:
    names = ("self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3")
    given = {"x": x, "memory": memory} | dict(zip(names, functions, strict=True))
    return Case(label, given | {"tgt_mask": tgt_mask, "memory_mask": memory_mask})


SIMPLE = (average, average, doubled, plus_one, halved, plus_one)


USUAL = (first_look, second_look, bent, NORM_1, NORM_2, NORM_3)


OTHER = (second_look, first_look, doubled, NORM_3, standardised, NORM_1)


decoder_layer = Exercise(
    transformer.decoder_layer,
    lesson="06",
    minutes=10,
    difficulty=2,
    statement="""
    One layer of the decoder, post-norm: self-attention, cross-attention, feed-forward, each as norm(x + sublayer(x)).

    x is (B, T, d_model), memory (B, S, d_model), the encoder's output. Both attentions are called as
    `attention(query, key, value, mask)` and return the output alone, no weights: `tgt_mask` is the mask of the
    self-attention, `memory_mask` that of the cross-attention, which looks at the memory. `norm_1`, `norm_2` and
    `norm_3` belong to the three sub-layers in this order.
    """,
    returns=("output",),
    cases=(
        decoder_case(
            "six simple functions", 4 * counting(1, 2, 3), 10 * counting(1, 3, 3), causal(2), words(3), SIMPLE
        ),
        decoder_case(
            "as many tokens as in the memory", normal(1, 4, 5), normal(1, 4, 5) + 1, causal(4), words(4), USUAL
        ),
        decoder_case("one token, one in the memory", normal(1, 1, 5), normal(1, 1, 5) - 1, causal(1), words(1), USUAL),
        decoder_case("T = 3, S = 5", normal(1, 3, 6), normal(1, 5, 6), causal(3), words(5), USUAL),
        decoder_case(
            "two sentences, padding in the memory", normal(2, 3, 5), normal(2, 4, 5), causal(3), words(4, 2), USUAL
        ),
        decoder_case(
            "padding on both sides, T = S",
            normal(2, 4, 7),
            normal(2, 4, 7) - 1,
            causal(4) & words(4, 3),
            words(2, 4),
            USUAL,
        ),
        decoder_case("other functions", normal(3, 7, 5), normal(3, 2, 5), causal(7), words(1, 2, 2), OTHER),
        decoder_case(
            "float64, not contiguous",
            normal(2, 7, 5, dtype=torch.float64).mT,
            normal(2, 7, 3, dtype=torch.float64).mT,
            causal(5),
            words(3, 2),
            USUAL,
        ),
    ),
    hints=(
        "There are three sub-layers: the target attends to itself, then the target attends to the memory, then "
        "feed-forward. Each has a residual connection and a norm of its own.",
        "In cross-attention the queries come from one sequence, and both keys and values from the other.",
        "Each attention has its own mask: one hides the target's future, the other the source's padding.",
        "Every sub-layer starts from what the one before has put out; so do the queries of the cross-attention.",
    ),
)


@decoder_layer.mistake("The order is reversed. The target attends to itself first, and then to the memory.")
def cross_attention_first(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + cross_attention(x, memory, memory, memory_mask))
    x = norm_2(x + self_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention is missing: the decoder never learns what the source says.")
def no_cross_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The two masks are swapped. `tgt_mask` belongs to the self-attention and hides the future; `memory_mask` "
    "hides the padding of the source."
)
def masks_exchanged(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, memory_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "`tgt_mask` is used in both attentions. The source has no future to hide: its mask is `memory_mask`."
)
def target_mask_on_both(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The self-attention gets no mask, so every position sees the very token that it must predict.")
def future_not_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("The cross-attention gets no mask, so the target attends to the padding of the source.")
def memory_not_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("Neither attention gets its mask, so the target sees its future and attends to padding.")
def neither_masked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x))
    x = norm_2(x + cross_attention(x, memory, memory))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The cross-attention's queries are the layer's *input*. They should be what comes out of the self-attention's "
    "block."
)
def queries_from_the_input(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x + self_attention(x, x, x, tgt_mask))
    y = norm_2(y + cross_attention(x, memory, memory, memory_mask))
    return norm_3(y + feed_forward(y))


@decoder_layer.mistake(
    "The roles are reversed: the queries come from the memory, and keys and values from the target. Queries come from "
    "the target, since each of its positions needs an output."
)
def memory_asks(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(memory, x, x, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "Only the keys come from the memory; the values are the target's own, so nothing of the source is fetched."
)
def values_from_the_target(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, x, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The cross-attention attends to the target again. Its keys and values must come from the memory."
)
def second_self_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, x, x, tgt_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The self-attention is used a second time, on the memory. Self- and cross-attention have weights of their own."
)
def one_attention_for_both(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + self_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "`norm_1` is also used after the cross-attention, and `norm_2` never, so `norm_2` would get no gradient."
)
def first_norm_reused(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_1(x + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("`norm_2` and `norm_3` are swapped: `norm_2` belongs to the cross-attention.")
def last_norms_exchanged(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + cross_attention(x, memory, memory, memory_mask))
    return norm_2(x + feed_forward(x))


@decoder_layer.mistake("The memory is added to the cross-attention's result. Add the sub-layer's own input instead, x.")
def memory_added(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(memory + cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The cross-attention has no residual connection, so that what the target has read of itself decides where it looks "
    "in the memory, and is not passed on."
)
def no_residual_around_cross_attention(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake(
    "The inputs are missing in all three sub-layers. Add what comes out to what went in, then normalise."
)
def without_residuals(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(self_attention(x, x, x, tgt_mask))
    x = norm_2(cross_attention(x, memory, memory, memory_mask))
    return norm_3(feed_forward(x))


@decoder_layer.mistake("The result of the feed-forward network is added to *itself*; its input is not part of the sum.")
def result_added_to_itself(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    x = feed_forward(x)
    return norm_3(x + x)


@decoder_layer.mistake(
    "Every residual connection starts at the layer's input. Each should start at the input of its own sub-layer."
)
def all_residuals_from_the_start(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x + self_attention(x, x, x, tgt_mask))
    y = norm_2(x + cross_attention(y, memory, memory, memory_mask))
    return norm_3(x + feed_forward(y))


@decoder_layer.mistake(
    "This is pre-norm: the norms come before the sub-layers. The paper's layer adds first and then normalises."
)
def norms_first(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    y = norm_1(x)
    x = x + self_attention(y, y, y, tgt_mask)
    x = x + cross_attention(norm_2(x), memory, memory, memory_mask)
    return x + feed_forward(norm_3(x))


@decoder_layer.mistake(
    "The norms come before the sub-layers, and you add the *normalised* x: x = norm(x), then x + sublayer(x). The "
    "paper's layer adds first and then normalises."
)
def normalised_inputs_added(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x)
    x = norm_2(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + cross_attention(x, memory, memory, memory_mask))
    return x + feed_forward(x)


@decoder_layer.mistake("The last norm is missing: the third sum is returned as it is.")
def no_last_norm(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask))
    return x + feed_forward(x)


@decoder_layer.mistake(
    "`out, _ = attention(…)` unpacks a batch of two sentences into its sentences, and fails with any other batch. The "
    "attentions given here return their output alone, without weights."
)
def outputs_unpacked(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    attended, _ = self_attention(x, x, x, tgt_mask)
    x = norm_1(x + attended)
    attended, _ = cross_attention(x, memory, memory, memory_mask)
    x = norm_2(x + attended)
    return norm_3(x + feed_forward(x))


@decoder_layer.mistake("There are no norms at all, so the numbers grow from layer to layer.")
def without_norms(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = x + self_attention(x, x, x, tgt_mask)
    x = x + cross_attention(x, memory, memory, memory_mask)
    return x + feed_forward(x)


@decoder_layer.mistake("The feed-forward network is missing: the layer ends after the cross-attention.")
def without_feed_forward(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    return norm_2(x + cross_attention(x, memory, memory, memory_mask))


@decoder_layer.mistake(
    "`[0]` takes the first *sentence* of the outputs. The attentions given here return their output alone, not a tuple."
)
def first_sentences_only(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask)[0])
    x = norm_2(x + cross_attention(x, memory, memory, memory_mask)[0])
    return norm_3(x + feed_forward(x))


FED_TOO_EARLY = (
    "The feed-forward network stands before the cross-attention. It comes last: first the target attends to itself, "
    "then to the memory, and then each position works on what it has gathered."
)


@decoder_layer.mistake(FED_TOO_EARLY)
def feed_forward_before_memory(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_2(x + feed_forward(x))
    return norm_3(x + cross_attention(x, memory, memory, memory_mask))


@decoder_layer.mistake(FED_TOO_EARLY)
def feed_forward_with_its_norm_before_memory(
    x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, tgt_mask, memory_mask
):
    x = norm_1(x + self_attention(x, x, x, tgt_mask))
    x = norm_3(x + feed_forward(x))
    return norm_2(x + cross_attention(x, memory, memory, memory_mask))


@decoder_layer.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, words), d_model = floats(generator), sizes(generator, 3), number(generator, 4, 9)
    looks = several(generator, 2, average, first_look, second_look)
    feed_forward = pick(generator, doubled, bent, plus_one)
    given: Arguments = {"x": normal(batch, length, d_model), "memory": normal(batch, words, d_model)}
    given |= dict(zip(("self_attention", "cross_attention"), looks, strict=True)) | {"feed_forward": feed_forward}
    tgt = mask(generator, *pick(generator, (length, length), (batch, length, length)))
    return given | norms(generator, 3) | {"tgt_mask": tgt, "memory_mask": mask(generator, batch, 1, words)}
