"""Lesson 14: find the bug in `clinic_08`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, tokens
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_08(logits, targets, pad_id):
    """The mean loss over the words of a batch: logits (B, T, vocab), targets (B, T)."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    words = targets != pad_id
    return (losses * words).mean()


def targets_case(label: str, targets: list[list[int]], pad_id: int, vocab: int) -> Case:
    ids = torch.tensor(targets, device="cpu")
    return Case(label, {"logits": 2 * normal(*ids.shape, vocab), "targets": ids, "pad_id": pad_id})


def sure_case() -> Case:
    """Of three words the model is so sure of the first that its loss is 0; behind them is a pad."""
    logits = torch.tensor([[[0.0, 40.0, 0.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.5], [0.5, 0.0, 0.0]]])
    targets = torch.tensor([[1, 2, 1, 0]], device="cpu")
    return Case("a word that the model is sure of", {"logits": logits, "targets": targets, "pad_id": 0})


@partial(
    FindTheBug,
    broken=broken_clinic_08,
    defect=(
        "The losses of the padding are set to 0, but the mean still counts them. So each pad adds nothing to the sum "
        "and one to what it is divided by: the more padding, the smaller the loss."
    ),
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    The mean loss over all words of a batch. Padding is no word, and every batch has words.

    Symptom: the same sentences, with the same model, have a smaller loss when more pads stand behind them. A loss
    curve looks best where the batches hold most padding.
    """,
    returns=("loss",),
    cases=(
        targets_case("one word and a pad", [[1, 0]], 0, 3),
        targets_case("no padding", [[1, 2, 3]], 0, 4),
        targets_case("two sentences", [[1, 2, 3, 4], [2, 0, 0, 0]], 0, 5),
        targets_case("another pad_id; 0 is a word", [[0, 5, 1, 3], [4, 2, 3, 3], [1, 3, 3, 3]], 3, 6),
        sure_case(),
    ),
    hints=(
        "Add one pad to a sentence and see by what factor the loss changes.",
        "A mean is a sum, divided by a count. What does the padding do to the sum, and what to the count?",
    ),
)
def clinic_08(logits, targets, pad_id):
    """The mean loss over the words of a batch: logits (B, T, vocab), targets (B, T)."""
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    words = targets != pad_id
    return losses[words].mean()


def losses_of(logits, targets):
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


@clinic_08.mistake("Now padding is counted like any word: the model is trained to predict it.")
def padding_counted(logits, targets, pad_id):
    return losses_of(logits, targets).mean()


@clinic_08.mistake(
    "You take a mean of means, such as one for each sentence: a word among few weighs more than a word among many. "
    "What is asked for is the mean over all words of the batch."
)
def mean_of_sentences(logits, targets, pad_id):
    words = targets != pad_id
    return ((losses_of(logits, targets) * words).sum(1) / words.sum(1)).mean()


@clinic_08.mistake(
    "You add up the losses and do not divide. So the number of words makes a difference: the loss of a large batch is "
    "large."
)
def words_added_up(logits, targets, pad_id):
    return (losses_of(logits, targets) * (targets != pad_id)).sum()


@clinic_08.mistake("The sum is divided by the number of sentences, and not by the number of words.")
def divided_by_the_sentences(logits, targets, pad_id):
    return (losses_of(logits, targets) * (targets != pad_id)).sum() / len(targets)


@clinic_08.mistake("The token 0 is left out, whatever `pad_id` is. That is right as long as the padding has the id 0.")
def pad_is_zero(logits, targets, pad_id):
    return losses_of(logits, targets)[targets != 0].mean()


@clinic_08.mistake(
    "The *logits* of the padding are set to 0 and it is counted: each pad costs the logarithm of the vocabulary's "
    "size. No gradient comes from it, but the loss is still diluted."
)
def logits_of_padding_are_zero(logits, targets, pad_id):
    words = targets != pad_id
    return losses_of(logits * words[..., None], targets).mean()


@clinic_08.mistake(
    "Losses below the mean of all are left out. Good predictions drop out together with the padding, and since each "
    "pad lowers that mean, the loss still falls when more pads stand behind the words."
)
def small_losses_dropped(logits, targets, pad_id):
    losses = losses_of(logits, targets) * (targets != pad_id)
    return losses[losses >= losses.mean()].mean()


@clinic_08.mistake(
    "The places whose loss is 0 are left out. Those are the padding, but also each word that the model is so sure of "
    "that its loss rounds to 0, and it is a word like any other."
)
def zero_losses_dropped(logits, targets, pad_id):
    losses = losses_of(logits, targets) * (targets != pad_id)
    return losses[losses > 0].mean()


@clinic_08.mistake(
    "The sum still holds the losses of the padding: divided by the number of words, it grows with the padding."
)
def padding_in_the_sum(logits, targets, pad_id):
    return losses_of(logits, targets).sum() / (targets != pad_id).sum()


@clinic_08.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary = number(generator, 5, 15)
    targets, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    logits = 2 * floats(generator, torch.float32)(*targets.shape, vocabulary)
    targets = torch.where(targets == 0, pad_id, torch.where(targets == pad_id, 0, targets))
    return {"logits": logits, "targets": targets, "pad_id": pad_id}
