"""Exercises of lesson 09: the loss of a language model, its perplexity, and a measure that needs no tokens."""

from math import log

import torch
import torch.nn.functional as F

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
    "`roll` moves the first token of each row to its end, so that the last position is asked for a token that does not "
    "follow it. Cut the last position off."
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


def text_case(label: str, *probabilities: float) -> Case:
    return Case(label, {"token_log_probs": torch.tensor(probabilities, device="cpu").log()})


perplexity = Exercise(
    losses.perplexity,
    lesson="09",
    minutes=5,
    difficulty=1,
    statement="""
    The perplexity of a text: among how many equally probable tokens does the model seem to choose?

    `token_log_probs` holds ln p of each token of the text. A model that gives each of them probability 1/8 has
    perplexity 8. It must work for a text of thousands of tokens.
    """,
    returns=("perplexity",),
    cases=(
        text_case("two tokens of probability 1/8", 1 / 8, 1 / 8),
        text_case("probabilities 1/2 and 1/8", 1 / 2, 1 / 8),
        text_case("one token", 0.3),
        text_case("four different tokens", 0.9, 0.05, 0.5, 0.25),
        text_case("a token that was all but excluded", 0.9, 0.9, 1e-6),
        Case("3 000 tokens", {"token_log_probs": -normal(3000).abs() - 0.5}, loose=True),
        Case("float64", {"token_log_probs": -normal(7, dtype=torch.float64).abs()}),
    ),
    hints=(
        "Start from the case of two tokens: ln(1/8) = -2.08. How do you get 8 back?",
        "If the tokens have different probabilities, their logarithms are averaged, not the probabilities themselves.",
        "A product of 3 000 probabilities is 0 in floating point. A mean of 3 000 logarithms is no problem.",
    ),
)


@perplexity.mistake(
    "You add up instead of taking the mean. That gives 1 / p of the whole text, which grows with its length, and soon "
    "no number can hold it."
)
def of_the_whole_text(token_log_probs):
    return torch.exp(-token_log_probs.sum())


@perplexity.mistake(
    "The sign is missing: exp of the mean is at most 1. It is the typical probability, not its inverse."
)
def typical_probability(token_log_probs):
    return torch.exp(token_log_probs.mean())


@perplexity.mistake("The logarithms are natural ones, so the way back is exp. Two to the power is for bits.")
def two_to_the_power(token_log_probs):
    return 2 ** (-token_log_probs.mean())


@perplexity.mistake("This is the loss in nats. The perplexity is exp of it.")
def loss_itself(token_log_probs):
    return -token_log_probs.mean()


@perplexity.mistake(
    "You average 1 / p. One improbable token then decides the result. Average the logarithms: then the probabilities "
    "multiply, as they do for a text."
)
def mean_of_inverses(token_log_probs):
    return torch.exp(-token_log_probs).mean()


@perplexity.mistake(
    "You average the probabilities, and take the inverse. Average the logarithms: then the probabilities multiply, as "
    "they do for a text."
)
def inverse_of_the_mean(token_log_probs):
    return 1 / torch.exp(token_log_probs).mean()


@perplexity.mistake(
    "You multiply the probabilities first. Of a long text the product is 0 in floating point, and its inverse infinite."
)
def root_of_the_product(token_log_probs):
    return (1 / token_log_probs.exp().prod()) ** (1 / len(token_log_probs))


@perplexity.mistake("You divide by one too few. All the logarithms that you are given belong to predicted tokens.")
def one_token_less(token_log_probs):
    return torch.exp(-token_log_probs.sum() / max(1, len(token_log_probs) - 1))


def bits_case(label: str, nats: float, n_tokens: int, n_bytes: int) -> Case:
    return Case(label, {"nats": nats, "n_tokens": n_tokens, "n_bytes": n_bytes})


bits_per_byte = Exercise(
    losses.bits_per_byte,
    lesson="09",
    minutes=5,
    difficulty=1,
    statement="""
    How many bits does a model need for each byte of a text?

    `nats` is the loss of the *whole* text, -ln p added up over its `n_tokens` tokens, and `n_bytes` is how long the
    text is in UTF-8. A bit is ln 2 nats. A model that knows nothing needs 8 bits for each byte.
    """,
    returns=("bits",),
    cases=(
        bits_case("ten tokens of one bit each, ten bytes", 10 * log(2), 10, 10),
        bits_case("ten tokens of one bit each, twenty bytes", 10 * log(2), 10, 20),
        bits_case("the same text in fewer tokens", 10 * log(2), 4, 20),
        bits_case("characters of two bytes each", 21.5, 10, 20),
        bits_case("a file", 353_211.0, 311_083, 311_084),
        bits_case("a file in tokens of four bytes", 250_000.0, 80_000, 311_084),
    ),
    hints=(
        "How many bits does the whole text take? `nats` is a total already.",
        "Then share them out: over the bytes, or over the tokens?",
        "Two models cut the same text into different tokens. Which of the three numbers is the same for both?",
    ),
)


@bits_per_byte.mistake(
    "These are bits per *token*. A longer token costs more, so models with different tokens could not be compared."
)
def bits_per_token(nats, n_tokens, n_bytes):
    return nats / log(2) / n_tokens


@bits_per_byte.mistake("You multiply by ln 2. A nat is more than a bit, 1 / ln 2 = 1.44 bits, so divide.")
def multiplied_by_ln_2(nats, n_tokens, n_bytes):
    return nats * log(2) / n_bytes


@bits_per_byte.mistake("These are nats per byte: the way from nats to bits, a division by ln 2, is missing.")
def nats_per_byte(nats, n_tokens, n_bytes):
    return nats / n_bytes


@bits_per_byte.mistake(
    "You take `nats` for the mean of a token, and multiply by their number. Here it is the total of the text."
)
def taken_for_a_mean(nats, n_tokens, n_bytes):
    return nats * n_tokens / log(2) / n_bytes


@bits_per_byte.mistake("You divide by tokens and by bytes. The total is shared out once, over the bytes.")
def divided_twice(nats, n_tokens, n_bytes):
    return nats / n_tokens / log(2) / n_bytes


@bits_per_byte.mistake("This is the share of the original size, as bytes per byte: a byte has 8 bits.")
def share_of_the_size(nats, n_tokens, n_bytes):
    return nats / log(2) / n_bytes / 8


@bits_per_byte.mistake("It is upside down: these are bytes per bit.")
def upside_down(nats, n_tokens, n_bytes):
    return n_bytes * log(2) / nats
