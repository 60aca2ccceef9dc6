"""Exercises of lesson 14, the bug clinic: six defects of a model; `lesson_14_around` has those of what surrounds it."""

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_lab.exercises import clinic_broken, clinic_mended
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Domain, Property
from transformer_lab.exercises.kinds import FindTheBug

# ── 01: softmax over the wrong axis ──


def attention_case(label: str, batch: int, queries: int, keys: int, width: int = 4, value_width: int = 3) -> Case:
    given = {"query": normal(batch, queries, width), "key": normal(batch, keys, width)}
    return Case(label, given | {"value": normal(batch, keys, value_width)})


clinic_01 = FindTheBug(
    clinic_mended.clinic_01,
    broken=clinic_broken.clinic_01,
    lesson="14",
    minutes=5,
    difficulty=1,
    statement="""
    Attention, as in lesson 01. All shapes are right.

    Symptom: the mean of values that are all 1 must be 1, but the outputs range from 0.35 to 1.13. A single query gets
    the sum of all values, whatever it asks.
    """,
    returns=("output", "weights"),
    cases=(
        attention_case("one query, two keys", 1, 1, 2, 2, 2),
        attention_case("two queries, three keys", 1, 2, 3),
        attention_case("a batch", 3, 4, 5),
        attention_case("as many queries as keys", 2, 4, 4),
    ),
    properties=(
        Property(
            "the weights of each query sum to 1",
            lambda given, output, weights: torch.allclose(weights.sum(-1), torch.ones(())),
        ),
    ),
    hints=(
        "Print the sums of the weights along each axis. Which sums are 1, and which should be?",
        "Each query shares out one unit of attention among the keys. On which axis of (B, T, S) do the keys lie?",
    ),
)


def scaled_scores(query, key):
    return query @ key.transpose(-2, -1) / query.size(-1) ** 0.5


@clinic_01.mistake("That is the axis of the batch: the sentences now compete with each other for attention.")
def over_the_batch(query, key, value):
    weights = scaled_scores(query, key).softmax(0)
    return weights @ value, weights


@clinic_01.mistake(
    "The symptom is gone and the cause is not: every row is divided by its sum, after a softmax over the queries. The "
    "rows sum to 1, but how much a query attends to a key still depends on what the other queries ask."
)
def rows_normalised_afterwards(query, key, value):
    weights = scaled_scores(query, key).softmax(1)
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


@clinic_01.mistake(
    "Only the symptom is gone: the *output* is divided by the sum of the weights. The weights are still wrong."
)
def output_normalised(query, key, value):
    weights = scaled_scores(query, key).softmax(1)
    return weights @ value / weights.sum(-1, keepdim=True), weights


@clinic_01.mistake("The softmax runs over queries and keys together: all the weights of a sentence sum to 1.")
def over_queries_and_keys(query, key, value):
    scores = scaled_scores(query, key)
    weights = scores.flatten(1).softmax(-1).view_as(scores)
    return weights @ value, weights


@clinic_01.mistake(
    "The axis is right now, but the scale is lost: the scores must be divided by the root of their width."
)
def right_axis_without_the_scale(query, key, value):
    weights = (query @ key.transpose(-2, -1)).softmax(-1)
    return weights @ value, weights


@clinic_01.mistake(
    "Two softmaxes do not repair each other: the second makes nearly even weights of what the first returns."
)
def second_softmax(query, key, value):
    weights = scaled_scores(query, key).softmax(1).softmax(-1)
    return weights @ value, weights


# ── 02: a mask of the wrong meaning ──


def padded_case(label: str, lengths: list[int], queries: int, keys: int, width: int = 4) -> Case:
    batch = len(lengths)
    given = {"query": normal(batch, queries, width), "key": normal(batch, keys, width)}
    given |= {"value": normal(batch, keys, width + 1), "lengths": torch.tensor(lengths, device="cpu")}
    return Case(label, given)


clinic_02 = FindTheBug(
    clinic_mended.clinic_02,
    broken=clinic_broken.clinic_02,
    lesson="14",
    minutes=5,
    difficulty=1,
    statement="""
    Attention over a batch of padded sentences. Each has at least one word.

    Symptom: other numbers in the *padding* change the output, other numbers in the *words* do not. A
    sentence without padding gives only zeros, or NaN, depending on the version of torch.
    """,
    returns=("output",),
    cases=(
        padded_case("two words and a pad", [2], 1, 3, 2),
        padded_case("no padding", [3], 2, 3, 2),
        padded_case("one word", [1, 4], 2, 4),
        padded_case("a batch", [5, 2, 3], 4, 6),
    ),
    hints=(
        "Print the mask for one short sentence. Where is it True?",
        "Torch has two conventions. What does True mean in `F.scaled_dot_product_attention`, and what in "
        "`nn.MultiheadAttention`?",
    ),
)


def padding_of(key, lengths):
    return (torch.arange(key.size(1)) >= lengths[:, None])[:, None, :]


@clinic_02.mistake(
    "Sentences without padding come out right now, and that hides the symptom that strikes the eye. In all others the "
    "words are still masked, and the padding is attended to."
)
def whole_sentences_without_mask(query, key, value, lengths):
    whole = (lengths == key.size(1))[:, None, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding_of(key, lengths) | whole)


@clinic_02.mistake("There is no mask any more: every query attends to the padding as well as to the words.")
def mask_dropped(query, key, value, lengths):
    return F.scaled_dot_product_attention(query, key, value)


@clinic_02.mistake(
    "A mask of numbers is *added* to the scores. 1.0 for words and 0.0 for padding favours the words a little, and "
    "hides nothing."
)
def ones_are_added(query, key, value, lengths):
    words = ~padding_of(key, lengths)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words.to(query.dtype))


@clinic_02.mistake(
    "The values of the padding are 0 now, so that other numbers there make no difference. But the padding still takes "
    "its share of the attention, and the output shrinks. That hides the symptom and keeps the cause."
)
def padded_values_are_zero(query, key, value, lengths):
    words = ~padding_of(key, lengths)
    return F.scaled_dot_product_attention(query, key, value * words.transpose(1, 2))


@clinic_02.mistake(
    "Keys and values of the padding are 0 now. A key of 0 has the score 0, not the lowest: it still takes its share."
)
def padded_keys_are_zero(query, key, value, lengths):
    words = (~padding_of(key, lengths)).transpose(1, 2)
    return F.scaled_dot_product_attention(query, key * words, value * words)


@clinic_02.mistake("The polarity is right, but the mask reaches one too far: it lets the first pad through.")
def first_pad_allowed(query, key, value, lengths):
    words = torch.arange(key.size(1)) <= lengths[:, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=words[:, None, :])


# ── 03: the scale is missing ──

clinic_03 = FindTheBug(
    clinic_mended.clinic_03,
    broken=clinic_broken.clinic_03,
    lesson="14",
    minutes=5,
    difficulty=1,
    statement="""
    The attention weights of several heads. Every row sums to 1.

    Symptom: with d_head = 256 nearly all of the attention goes to one key, in every head, before any training; and
    little gradient reaches the scores. With d_head = 1 all is well.
    """,
    returns=("weights",),
    cases=(
        Case("two queries of width 4", {"query": counting(1, 1, 2, 4) / 4, "key": counting(1, 1, 2, 4) / 2}),
        Case("width 1", {"query": normal(1, 2, 3, 1), "key": normal(1, 2, 4, 1)}),
        Case("two heads", {"query": normal(1, 2, 3, 9), "key": normal(1, 2, 5, 9)}),
        Case("a batch", {"query": normal(3, 2, 4, 16), "key": normal(3, 2, 6, 16)}),
    ),
    properties=(
        Property(
            "the weights of each query sum to 1",
            lambda given, weights: torch.allclose(weights.sum(-1), torch.ones(())),
        ),
    ),
    hints=(
        "Print the standard deviation of the scores line by line, for random queries and keys of width 256. What "
        "should it be before the softmax?",
        "Does every line of the function change what it returns?",
        "A tensor's method whose name ends with an underscore changes the tensor. What do the others do?",
    ),
)


@clinic_03.mistake("The scores are divided by the width itself. It must be its *square root*: now they are too even.")
def divided_by_the_width(query, key):
    return (query @ key.transpose(-2, -1) / query.size(-1)).softmax(-1)


@clinic_03.mistake("The scores are *multiplied* by the root of the width: the weights become sharper still.")
def multiplied_by_the_root(query, key):
    return (query @ key.transpose(-2, -1) * query.size(-1) ** 0.5).softmax(-1)


@clinic_03.mistake(
    "The width of all heads together is in the scale. Each head's dot product is a sum of d_head terms only."
)
def scaled_by_all_heads(query, key):
    d_model = query.size(1) * query.size(-1)
    return (query @ key.transpose(-2, -1) * d_model**-0.5).softmax(-1)


@clinic_03.mistake("The *weights* are scaled, after the softmax. They are as sharp as before, and no longer sum to 1.")
def weights_scaled(query, key):
    return (query @ key.transpose(-2, -1)).softmax(-1) * query.size(-1) ** -0.5


@clinic_03.mistake(
    "You divide by the measured standard deviation of the scores. The symptom is gone; but a head that has learned "
    "to be sharp is made soft again, and one sentence changes the weights of another."
)
def scores_standardised(query, key):
    scores = query @ key.transpose(-2, -1)
    return (scores / scores.std()).softmax(-1)


@clinic_03.mistake(
    "Queries and keys are brought to length 1. That hides the symptom: the scores lie between -1 and 1 now, and no "
    "head can ever become sharp."
)
def cosines(query, key):
    return (F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)).softmax(-1)


@clinic_03.mistake(
    "The scores are clamped. That hides the symptom: all large scores become equal, and no gradient flows through them."
)
def scores_clamped(query, key):
    return (query @ key.transpose(-2, -1)).clamp(-3, 3).softmax(-1)


# ── 04: positions on the axis of the batch ──


def embedding_case(label: str, tokens: list[list[int]], width: int = 3) -> Case:
    ids = torch.tensor(tokens, device="cpu")
    return Case(label, {"tokens": ids, "table": normal(6, width), "encoding": normal(8, width)})


clinic_04 = FindTheBug(
    clinic_mended.clinic_04,
    broken=clinic_broken.clinic_04,
    lesson="14",
    minutes=8,
    difficulty=1,
    statement="""
    What enters a Transformer: the vectors of the tokens times √d, and their positions. All shapes are right.

    Symptom: a model that is given these vectors can't tell "dog bites man" from "man bites dog"; and the same sentence
    twice in one batch gets two different results.
    """,
    returns=("vectors",),
    cases=(
        embedding_case("one sentence", [[1, 2]], 2),
        embedding_case("the same sentence twice", [[1, 2, 3], [1, 2, 3]]),
        embedding_case("as many sentences as positions", [[5, 1], [2, 2]]),
        embedding_case("a batch", [[1, 2, 3, 4], [5, 4, 3, 2], [0, 0, 1, 1]], 4),
        embedding_case("one token each", [[1], [2], [3]]),
    ),
    hints=(
        "Subtract the scaled vectors of the tokens from the result. What is left differs along one axis: which?",
        "The result is (B, T, d). Old code has (T, B, d) instead, and there the first axis is that of the positions.",
        "Broadcasting adds axes on the left: an encoding of (T, d) needs no help to meet (B, T, d).",
    ),
)


def scaled_vectors(tokens, table):
    return table[tokens] * table.size(1) ** 0.5


@clinic_04.mistake(
    "The rows are counted correctly, but the extra axis still lies where the positions belong: (T, 1, d) meets the "
    "sentences. It runs only where there are as many sentences as positions, or one of either; and with more than one "
    "position the result is wrong."
)
def still_along_the_batch(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[: tokens.size(1)].unsqueeze(1)


@clinic_04.mistake(
    "The axis is right now, but there are as many rows as sentences. It runs only where both numbers agree, or for"
    " one sentence, whose words all get position 0."
)
def rows_for_each_sentence(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[: tokens.size(0)]


@clinic_04.mistake(
    "Every word gets the row that its *id* points to. The same sentence has one result now, but the order of the words "
    "is still lost: a symptom is hidden."
)
def positions_by_id(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[tokens]


@clinic_04.mistake("There are no positions any more: the same sentence has one result, but so has every order of it.")
def positions_dropped(tokens, table, encoding):
    return scaled_vectors(tokens, table)


@clinic_04.mistake(
    "Every word gets one and the same row, that of the last position. The same sentence has one result now, but so has "
    "every order of it."
)
def one_row_for_all(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[tokens.size(1) - 1]


@clinic_04.mistake("The axis is right, but the first word gets position 1. The paper and the package count from 0.")
def counted_from_one(tokens, table, encoding):
    return scaled_vectors(tokens, table) + encoding[1 : tokens.size(1) + 1]


@clinic_04.mistake(
    "The axis is right, but the positions are scaled as well. √d belongs to the vectors of the tokens alone."
)
def positions_scaled_too(tokens, table, encoding):
    return (table[tokens] + encoding[: tokens.size(1)]) * table.size(1) ** 0.5


@clinic_04.mistake(
    "Sentence and position are added up, so that words of one sentence differ at last. But the same sentence still "
    "gets a different result in each row of the batch."
)
def counted_through_the_batch(tokens, table, encoding):
    rows = torch.arange(tokens.size(0))[:, None] + torch.arange(tokens.size(1))
    return scaled_vectors(tokens, table) + encoding[rows]


# ── 05: dropout in evaluation ──


def dropout_case(label: str, shape: tuple[int, ...], rate: float, training: bool) -> Case:
    noise = (torch.arange(normal(*shape).numel(), device="cpu").reshape(shape) * 7 % 10 + 0.5) / 10
    return Case(
        label, {"x": normal(*shape), "output": normal(*shape) + 1, "noise": noise, "rate": rate, "training": training}
    )


clinic_05 = FindTheBug(
    clinic_mended.clinic_05,
    broken=clinic_broken.clinic_05,
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    A residual connection with dropout: in training each number of `output` is dropped with probability `rate`, where
    `noise` is below it, and the others are divided by 1 - rate. `noise` is drawn outside, so that the function can be
    tested.

    Symptom: in evaluation (`training` is False) the same input gives a different result on each call, and the results
    are too small on average.
    """,
    returns=("x",),
    cases=(
        dropout_case("evaluation", (2, 3), 0.5, False),
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


@clinic_05.mistake("Dropout is gone altogether: evaluation is right now, but training drops nothing.")
def never_dropped(x, output, noise, rate, training):
    return x + output


@clinic_05.mistake(
    "Evaluation no longer depends on the noise, but its outputs are too small. The division in training keeps the mean "
    "already; multiplying by 1 - rate belongs to the dropout that does *not* divide."
)
def scaled_in_evaluation(x, output, noise, rate, training):
    return x + (output * (noise >= rate) / (1 - rate) if training else output * (1 - rate))


@clinic_05.mistake("Evaluation is right, but in training the numbers that are kept are no longer divided by 1 - rate.")
def not_divided(x, output, noise, rate, training):
    return x + (output * (noise >= rate) if training else output)


@clinic_05.mistake(
    "You fix the noise, so that each call drops the same numbers. The result no longer changes, and that hides the "
    "symptom: in evaluation nothing may be dropped at all."
)
def same_noise_each_time(x, output, noise, rate, training):
    if not training:
        noise = torch.linspace(0, 1, output.numel()).reshape(output.shape)
        return x + output * (noise >= rate)
    return x + output * (noise >= rate) / (1 - rate)


@clinic_05.mistake("Now evaluation divides as well as training: numbers that nobody thinned out become too large.")
def divided_in_evaluation(x, output, noise, rate, training):
    kept = (noise >= rate) if training else torch.ones_like(noise)
    return x + output * kept / (1 - rate)


@clinic_05.mistake(
    "The whole sum is dropped in training, x with it. Only the sub-layer's output is: x is the way around it."
)
def sum_dropped(x, output, noise, rate, training):
    return (x + output) * (noise >= rate) / (1 - rate) if training else x + output


@clinic_05.mistake("The condition is turned round: it drops in evaluation, and never in training.")
def turned_round(x, output, noise, rate, training):
    return x + output if training else x + output * (noise >= rate) / (1 - rate)


# ── 06: post-norm with a norm that is used twice ──


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


clinic_06 = FindTheBug(
    clinic_mended.clinic_06,
    broken=clinic_broken.clinic_06,
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
    "All three gains get a gradient now, but in the wrong order: gain_2 sits behind the feed-forward network, and "
    "gain_3 behind the attention to the memory. A model trained elsewhere loads its gains into the wrong norms."
)
def two_gains_exchanged(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return with_gains(x, memory, attend, feed_forward, (gain_1, gain_3, gain_2))


@clinic_06.mistake(
    "gain_3 gets a gradient now, because you multiply by it too. That hides the symptom: the last norm still uses the "
    "second norm's gain, which has two tasks."
)
def third_gain_on_top(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return gain_3 * with_gains(x, memory, attend, feed_forward, (gain_1, gain_2, gain_2))


@clinic_06.mistake(
    "A third norm follows on the second, both behind the feed-forward network. Every gain gets a gradient, but there "
    "are four norms: that hides the symptom."
)
def a_fourth_norm(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    return layer_normalised(with_gains(x, memory, attend, feed_forward, (gain_1, gain_2, gain_2)), gain_3)


@clinic_06.mistake("The layer is pre-norm now: it normalises what enters a sub-layer, and never the sum.")
def before_each_sublayer(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    normed = layer_normalised(x, gain_1)
    x = x + attend(normed, normed)
    x = x + attend(layer_normalised(x, gain_2), memory)
    return x + feed_forward(layer_normalised(x, gain_3))


@clinic_06.mistake("The last residual connection is lost: what the feed-forward network returns is normalised alone.")
def last_residual_lost(x, memory, attend, feed_forward, gain_1, gain_2, gain_3):
    x = layer_normalised(x + attend(x, x), gain_1)
    x = layer_normalised(x + attend(x, memory), gain_2)
    return layer_normalised(feed_forward(x), gain_3)
