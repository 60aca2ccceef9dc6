"""Lesson 12: implement `mean_pool`."""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.models import text_encoder


def pool_case(label: str, hidden: Tensor, lengths: list[int]) -> Case:
    """Texts of these lengths, with padding behind."""
    positions = torch.arange(hidden.size(1), device="cpu")
    return Case(label, {"hidden": hidden, "mask": positions < torch.tensor(lengths, device="cpu")[:, None]})


HOLES = torch.tensor([[True, False, True, True], [False, False, True, False]], device="cpu")


mean_pool = Exercise(
    text_encoder.mean_pool,
    lesson="12",
    minutes=10,
    difficulty=1,
    statement="""
    One vector for a text: the mean of its tokens' vectors.

    `hidden` (B, T, d) is what a model gives for B texts of up to T tokens. `mask` (B, T) is boolean: True for a token,
    False for padding. Return (B, d): for each text the mean over its own tokens. A text without any token gets zeros.
    """,
    returns=("pooled",),
    cases=(
        pool_case("two tokens", counting(1, 2, 3), [2]),
        pool_case("one token, one of padding", counting(1, 2, 3) + 1, [1]),
        pool_case("two texts of different lengths", counting(2, 3, 2) ** 2, [3, 1]),
        pool_case("a token whose vector is zero", counting(1, 3, 1), [3]),
        pool_case("a text without tokens", counting(2, 2, 2) + 5, [0, 2]),
        Case("padding in the middle", {"hidden": normal(2, 4, 3), "mask": HOLES}),
        pool_case("four texts", normal(4, 6, 5), [6, 2, 5, 1]),
        pool_case("as many texts as tokens and features", normal(3, 3, 3), [2, 3, 1]),
        pool_case("float64", normal(3, 5, 4, dtype=torch.float64), [4, 5, 0]),
    ),
    hints=(
        "What does padding add to a sum, if you multiply its vectors by 0 first?",
        "Each text has a number of tokens of its own. Which sum of the mask is that, and what shape must it have to "
        "divide (B, d)?",
        "And where that number is 0? The sum is 0 there as well: any divisor but 0 serves.",
    ),
)


@mean_pool.mistake(
    "You take the mean over all positions. What stands at padding means nothing, and pulls the vectors of short texts "
    "with it: the same text gets another vector in another batch."
)
def padding_counts(hidden, mask):
    return hidden.mean(1)


@mean_pool.mistake(
    "Padding is left out of the sum but not of the divisor: divide by the tokens of each text, not by T."
)
def divided_by_the_length(hidden, mask):
    return (hidden * mask[..., None]).mean(1)


@mean_pool.mistake("These are sums. A long text then has a long vector: divide by its number of tokens.")
def sums(hidden, mask):
    return (hidden * mask[..., None]).sum(1)


@mean_pool.mistake("All texts are divided by the tokens of the whole batch. Each has a number of its own.")
def divided_by_the_batch(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum().clamp(min=1)


@mean_pool.mistake("All texts are divided by the tokens of the longest. Each has a number of its own.")
def divided_by_the_longest(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum(1).max().clamp(min=1)


@mean_pool.mistake("The mask is upside down: you keep the padding. True stands for a token.")
def padding_kept(hidden, mask):
    kept = ~mask[..., None]
    return (hidden * kept).sum(1) / kept.sum(1).clamp(min=1)


@mean_pool.mistake("A text without tokens gets 0 / 0, which is NaN. It should get zeros.")
def nan_for_nothing(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


@mean_pool.mistake(
    "You add 1 to every number of tokens, so that none is 0. It makes all means too short: take at least 1 instead."
)
def one_token_too_many(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / (mask.sum(1, keepdim=True) + 1)


@mean_pool.mistake(
    "You return the vector of the *first* token. Some models are trained so that it stands for the text; the "
    "exercise asks for the mean of all."
)
def the_first_token(hidden, mask):
    return hidden[:, 0]


@mean_pool.mistake("You return the vector of the *last* position, which in a short text is padding. Take the mean.")
def the_last_position(hidden, mask):
    return hidden[:, -1]


@mean_pool.mistake("You take the largest of each feature. That is max pooling; the exercise asks for the mean.")
def the_largest(hidden, mask):
    return hidden.masked_fill(~mask[..., None], float("-inf")).amax(1).clamp(min=torch.finfo(hidden.dtype).min)


@mean_pool.mistake("The vectors have been given length 1. That comes later, when they are compared: return the mean.")
def normalised(hidden, mask):
    kept = mask[..., None]
    return F.normalize((hidden * kept).sum(1) / kept.sum(1).clamp(min=1), dim=-1)


@mean_pool.mistake("The mean runs over the features of each token. It should run over the tokens: axis 1.")
def over_the_features(hidden, mask):
    return hidden.mean(-1) * mask


@mean_pool.mistake("One vector for all texts: you average over the batch as well. The shape is (B, d).")
def over_the_batch(hidden, mask):
    return (hidden * mask[..., None]).sum((0, 1)) / mask.sum().clamp(min=1)


@mean_pool.mistake("You divide by the number of texts. Divide each sum by the number of its own text's tokens.")
def divided_by_the_number_of_texts(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / len(hidden)


@mean_pool.mistake(
    "You return the vector of the *first* token, and zeros for a text that has none. Some models are trained so that "
    "it stands for the text; the exercise asks for the mean of all tokens."
)
def the_first_token_if_there_is_one(hidden, mask):
    return hidden[:, 0] * mask[:, :1]


@mean_pool.mistake(
    "You add a small number to every number of tokens, so that none is 0. Then no mean is quite right, which float64 "
    "shows: take at least 1 instead."
)
def a_little_added(hidden, mask):
    return (hidden * mask[..., None]).sum(1) / (mask.sum(1, keepdim=True).to(hidden.dtype) + 1e-9)


@mean_pool.mistake(
    "You return the vector of each text's *last* token. Models that read from left to right are often used so; the "
    "exercise asks for the mean of all tokens."
)
def the_last_token(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.sum(1) - 1]


@mean_pool.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length, width) = floats(generator), sizes(generator, 3, most=9)
    mask = torch.rand(batch, length, generator=generator) < pick(generator, 0.3, 0.8)
    mask[0, 0] = True  # one token at least, or a loop over the tokens would return nothing that has gradients
    return {"hidden": normal(batch, length, width), "mask": mask}
