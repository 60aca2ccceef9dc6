"""Lesson 09: implement `next_token_loss`."""

from math import log

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, tokens
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import losses


def loss_case(label: str, logits: torch.Tensor, tokens: list[list[int]], pad_id: int = 0) -> Case:
    return Case(label, {"logits": logits, "tokens": torch.tensor(tokens, device="cpu"), "pad_id": pad_id})


next_token_loss = Exercise(
    losses.next_token_loss,
    lesson="09",
    minutes=15,
    difficulty=2,
    statement="""
    The loss of a language model: the mean of -ln p(next token), over the positions whose next token is not padding.

    `tokens` (B, T) is what the model has read, and `logits` (B, T, vocab) is what it said after each token. Padding
    (`pad_id`) stands on the right. Nothing follows the last token of a row, so what was said there does not count.
    """,
    returns=("loss",),
    cases=(
        loss_case("two tokens, one guess", counting(1, 2, 3), [[1, 2]]),
        loss_case("three tokens, the last guess is nobody's", counting(1, 3, 4).square(), [[3, 1, 2]]),
        loss_case("one row with padding", normal(1, 5, 4), [[2, 3, 1, 0, 0]]),
        loss_case("rows of different lengths", normal(2, 5, 6), [[1, 2, 3, 4, 5], [5, 3, 0, 0, 0]]),
        loss_case("another padding id", normal(3, 4, 5), [[1, 0, 3, 0], [0, 1, 4, 4], [2, 4, 4, 4]], pad_id=4),
        loss_case("no padding", normal(2, 6, 7), [[1, 2, 3, 4, 5, 6], [6, 6, 1, 3, 2, 2]], pad_id=0),
        loss_case("logits of a hundred", 100 * normal(2, 4, 5), [[1, 2, 3, 4], [4, 1, 0, 0]]),
        loss_case("float64", normal(2, 4, 5, dtype=torch.float64), [[1, 2, 3, 4], [4, 1, 2, 0]]),
    ),
    hints=(
        "Write two rows below each other: the tokens, and for each the token that comes next. Which row is shorter?",
        "The logits of position t belong to the token at t + 1. Cut one position off each: which?",
        "`F.cross_entropy` takes logits (N, vocab) and targets (N,), and can ignore one target.",
    ),
)


def loss_of(logits, targets, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


@next_token_loss.mistake(
    "Nothing is shifted: each position is compared with the token that it has *read*. Such a loss falls to 0, and the "
    "model learns to repeat its input."
)
def not_shifted(logits, tokens, pad_id):
    return loss_of(logits, tokens, pad_id)


@next_token_loss.mistake(
    "The shift goes the other way: each position is compared with the token *before* it, which the model has seen."
)
def shifted_backwards(logits, tokens, pad_id):
    return loss_of(logits[:, 1:], tokens[:, :-1], pad_id)


@next_token_loss.mistake(
    "The first token of each row comes to its end, as by `roll`, so that the last position is asked for a token that "
    "does not follow it. Cut the last position off."
)
def rolled_around(logits, tokens, pad_id):
    return loss_of(logits, tokens.roll(-1, dims=1), pad_id)


@next_token_loss.mistake(
    "You predict two tokens ahead. The logits of position t belong to token t + 1: cut one off each, not two."
)
def two_ahead(logits, tokens, pad_id):
    if tokens.size(1) < 3:
        return logits.sum() * float("nan")
    return loss_of(logits[:, :-2], tokens[:, 2:], pad_id)


@next_token_loss.mistake(
    "Padding counts as a next token. The model then learns to write padding, and short rows teach it little else."
)
def padding_counts(logits, tokens, pad_id):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


@next_token_loss.mistake(
    "You leave out the positions that have *read* padding. What matters is whether the *next* token is padding: the "
    "last token of a row must not be asked for the padding behind it."
)
def padding_that_was_read(logits, tokens, pad_id):
    losses = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    return losses[tokens[:, :-1].flatten() != pad_id].mean()


@next_token_loss.mistake(
    "The losses at padding are left out of the sum, but you still divide by the number of *all* positions. So the more "
    "padding there is in a batch, the smaller is the loss."
)
def divided_by_all_positions(logits, tokens, pad_id):
    losses = F.cross_entropy(
        logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad_id, reduction="none"
    )
    return losses.mean()


@next_token_loss.mistake(
    "You divide by the number of tokens, first ones included. Nobody predicts the first token of a row: count the "
    "*next* tokens."
)
def divided_by_all_tokens(logits, tokens, pad_id):
    guesses, truth = logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
    return F.cross_entropy(guesses, truth, ignore_index=pad_id, reduction="sum") / (tokens != pad_id).sum()


@next_token_loss.mistake(
    "You take the mean of each row, and then the mean of these. So a token of a short row counts more than one of a "
    "long row, but all tokens of the batch must count alike."
)
def mean_of_means(logits, tokens, pad_id):
    rows = range(len(tokens))
    return torch.stack([loss_of(logits[i : i + 1, :-1], tokens[i : i + 1, 1:], pad_id) for i in rows]).mean()


@next_token_loss.mistake(
    "You divide the sum of the losses by the number of *rows*, so that it grows with their length. Divide by the "
    "number of next tokens."
)
def divided_by_rows(logits, tokens, pad_id):
    guesses, truth = logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
    return F.cross_entropy(guesses, truth, ignore_index=pad_id, reduction="sum") / len(tokens)


@next_token_loss.mistake("This is the sum of the losses, which grows with the batch. Take their mean.")
def summed(logits, tokens, pad_id):
    guesses, truth = logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
    return F.cross_entropy(guesses, truth, ignore_index=pad_id, reduction="sum")


@next_token_loss.mistake(
    "The softmax is applied twice: `F.cross_entropy` takes logits, and you hand it probabilities. These differ by at "
    "most 1, so the loss stays high and the gradients small."
)
def softmax_before_cross_entropy(logits, tokens, pad_id):
    return loss_of(logits[:, :-1].softmax(-1), tokens[:, 1:], pad_id)


@next_token_loss.mistake(
    "You take the logarithm of a softmax. Where a probability is too small for its type, it is 0, its logarithm -inf, "
    "and the loss infinite. `log_softmax` computes the logarithm without that detour."
)
def log_of_softmax(logits, tokens, pad_id):
    logs = logits[:, :-1].softmax(-1).log().gather(-1, tokens[:, 1:, None])[..., 0]
    return -logs[tokens[:, 1:] != pad_id].mean()


@next_token_loss.mistake("The sign is wrong: a log probability is negative, and the loss is minus its mean.")
def sign_forgotten(logits, tokens, pad_id):
    return -loss_of(logits[:, :-1], tokens[:, 1:], pad_id)


@next_token_loss.mistake("This is the loss in bits, the logarithm to the base 2. In nats it is the natural logarithm.")
def in_bits(logits, tokens, pad_id):
    return loss_of(logits[:, :-1], tokens[:, 1:], pad_id) / log(2)


@next_token_loss.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary = number(generator, 5, 15)
    ids, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    ids[:, 1] = ids[:, 1].clamp(min=1)  # two tokens at least in each row
    ids = torch.where(ids == 0, pad_id, torch.where(ids == pad_id, 0, ids))
    return {"logits": 2 * floats(generator, torch.float32)(*ids.shape, vocabulary), "tokens": ids, "pad_id": pad_id}
