"""Lesson 16: implement `answer_loss`."""

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.case_drawing import mask as drawn_mask
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.training.after_pretraining import fine_tuning


def loss_case(label: str, logits, tokens: list, marked: list) -> Case:
    mask = torch.tensor(marked, device="cpu").bool()
    return Case(label, {"logits": logits, "tokens": torch.tensor(tokens, device="cpu"), "answer_mask": mask})


answer_loss = Exercise(
    fine_tuning.answer_loss,
    lesson="16",
    minutes=15,
    difficulty=1,
    statement="""
    The loss of supervised fine-tuning: the mean of -ln p(token), over the tokens of the answers alone.

    logits (B, T, vocab) are a language model's: those of position t say what comes at position t + 1. tokens (B, T)
    are prompts, answers and padding. answer_mask (B, T), boolean, is True on each *token* that counts: those of the
    answers, with the stop at their end. The mean is over all of them in the batch. A token at position 0 is predicted
    by nothing and never counts, marked or not; behind it, at least one token is marked.
    """,
    returns=("loss",),
    cases=(
        loss_case("one token of answer", counting(1, 2, 3), [[0, 2]], [[0, 1]]),
        loss_case("two tokens of prompt, two of answer", normal(1, 4, 5), [[1, 3, 2, 4]], [[0, 0, 1, 1]]),
        loss_case("padding behind the answer", normal(1, 5, 4), [[1, 2, 3, 0, 0]], [[0, 1, 1, 0, 0]]),
        loss_case("an answer at position 0", normal(1, 3, 4), [[3, 1, 2]], [[1, 1, 0]]),
        loss_case(
            "a short and a long answer",
            normal(2, 6, 7),
            [[1, 2, 3, 0, 0, 0], [4, 5, 6, 1, 2, 3]],
            [[0, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1]],
        ),
        loss_case("two answers in one row", normal(1, 7, 3), [[2, 1, 1, 0, 2, 1, 0]], [[0, 1, 1, 0, 0, 1, 1]]),
        loss_case("logits far apart", 300 * normal(1, 4, 3), [[0, 1, 2, 0]], [[0, 0, 1, 1]]),
        loss_case(
            "float64",
            normal(3, 4, 5, dtype=torch.float64),
            [[1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 0]],
            [[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 0]],
        ),
    ),
    hints=(
        "Write down for the second case which row of the logits predicts which token. Which tokens count?",
        "Shift logits and tokens against each other, as in lesson 09. The mask belongs to the tokens: it is shifted as "
        "they are.",
        "A mean over all answers is one sum, divided by one number: how many tokens were marked?",
    ),
)


def log_probs(logits, tokens):
    """(B, T - 1): of each token but the first."""
    return logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]


@answer_loss.mistake(
    "The mask is not shifted with the tokens: your loss leaves out the first token of each answer, and counts the one "
    "that follows its last."
)
def mask_unshifted(logits, tokens, answer_mask):
    return -log_probs(logits, tokens)[answer_mask[:, :-1]].mean()


@answer_loss.mistake("The prompt and the padding count, too: the mask is not used.")
def everything_counts(logits, tokens, answer_mask):
    return -log_probs(logits, tokens).mean()


@answer_loss.mistake(
    "You divide by *all* positions, those that do not count as well: an answer to a long prompt would count less."
)
def divided_by_all_positions(logits, tokens, answer_mask):
    return -(log_probs(logits, tokens) * answer_mask[:, 1:]).mean()


@answer_loss.mistake(
    "That is the mean of the rows' means, in which a token of a short answer counts for more than one of a long answer."
)
def mean_of_row_means(logits, tokens, answer_mask):
    marked = answer_mask[:, 1:]
    return -((log_probs(logits, tokens) * marked).sum(1) / marked.sum(1)).mean()


@answer_loss.mistake("The last token of each answer is left out: without the stop, nothing teaches a model to end.")
def stop_left_out(logits, tokens, answer_mask):
    last = answer_mask & ~F.pad(answer_mask[:, 1:], (0, 1))
    return -log_probs(logits, tokens)[(answer_mask & ~last)[:, 1:]].mean()


@answer_loss.mistake("Each position is asked for its *own* token, which it has read. It must say the next one.")
def own_token(logits, tokens, answer_mask):
    return -logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0][answer_mask].mean()


@answer_loss.mistake("That is the sum over the answers' tokens. Divide by their number.")
def summed(logits, tokens, answer_mask):
    return -log_probs(logits, tokens)[answer_mask[:, 1:]].sum()


@answer_loss.mistake("The sum is divided by the number of rows. Divide by the number of tokens that count.")
def divided_by_rows(logits, tokens, answer_mask):
    return -(log_probs(logits, tokens) * answer_mask[:, 1:]).sum() / len(tokens)


@answer_loss.mistake("The sign is missing: that is the mean of ln p, which is never above 0.")
def sign_missing(logits, tokens, answer_mask):
    return log_probs(logits, tokens)[answer_mask[:, 1:]].mean()


@answer_loss.mistake("These are probabilities: the logarithm is missing.")
def without_logarithm(logits, tokens, answer_mask):
    return -log_probs(logits, tokens)[answer_mask[:, 1:]].exp().mean()


@answer_loss.mistake(
    "You average the logits of the tokens that count, before the softmax: they are no log probabilities yet."
)
def without_softmax(logits, tokens, answer_mask):
    return -logits[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0][answer_mask[:, 1:]].mean()


@answer_loss.mistake(
    "Where the logits are far apart, a probability is 0 in your computation, and ln 0 is -∞. Take softmax and "
    "logarithm in one function."
)
def logarithm_of_softmax(logits, tokens, answer_mask):
    p = logits[:, :-1].softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return -p[answer_mask[:, 1:]].log().mean()


@answer_loss.mistake(
    "You divide by *all* tokens that are marked. One at position 0 is predicted by nothing, and never counts."
)
def divided_by_all_marked(logits, tokens, answer_mask):
    return -(log_probs(logits, tokens) * answer_mask[:, 1:]).sum() / answer_mask.sum()


@answer_loss.mistake(
    "`roll` brings what stands at position 0 round to the end, so that the last position is asked for the first token. "
    "Cut both instead."
)
def rolled(logits, tokens, answer_mask):
    marked = answer_mask.roll(-1, 1)
    return F.cross_entropy(logits[marked], tokens.roll(-1, 1)[marked])


@answer_loss.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, length) = floats(generator), (number(generator, 2, 5), number(generator, 3, 9))
    tokens = torch.randint(0, 6, (batch, length), generator=generator, device="cpu")
    marked = drawn_mask(generator, batch, length)
    marked[:, 1] = True  # one target in each row
    return {"logits": normal(batch, length, 6), "tokens": tokens, "answer_mask": marked}
