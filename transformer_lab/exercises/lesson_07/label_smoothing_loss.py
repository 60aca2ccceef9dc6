"""Lesson 07: implement `label_smoothing_loss`."""

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab import training
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, tokens
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise


def loss_case(label: str, logits, targets: list, smoothing: float, pad_id: int = 0) -> Case:
    tensors = {"logits": torch.as_tensor(logits, device="cpu"), "targets": torch.as_tensor(targets, device="cpu")}
    return Case(label, {**tensors, "smoothing": smoothing, "pad_id": pad_id})


label_smoothing_loss = Exercise(
    training.label_smoothing_loss,
    lesson="07",
    minutes=15,
    difficulty=2,
    statement="""
    Cross-entropy with a softened truth (label smoothing, §5.4): the mean over all targets of the batch that are not
    padding.

    logits has shape (B, T, vocab), targets (B, T). The truth gives 1 - smoothing to the target, and spreads the rest
    evenly over the whole vocabulary, target included. Build it from `log_softmax`. A call of `F.cross_entropy` can do
    all of it, and would pass, but it teaches you no more than the names of its arguments.
    """,
    returns=("loss",),
    cases=(
        loss_case("one target, no smoothing", [[[1.0, 2.0, 3.0]]], [[2]], 0.0),
        loss_case("one target, smoothing 0.3", [[[1.0, 2.0, 3.0]]], [[2]], 0.3),
        loss_case("two targets", [[[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]], [[2, 1]], 0.3),
        loss_case("a target and a pad (0)", [[[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]], [[2, 0]], 0.3),
        loss_case("logits far apart", [[[0.0, 300.0, 0.0]]], [[1]], 0.1),
        loss_case("all of the mass is spread", counting(1, 2, 3), [[1, 2]], 1.0),
        loss_case("sentences of different length", normal(2, 3, 5), [[4, 3, 1], [2, 0, 0]], 0.1),
        loss_case("another pad_id; 0 is a word", normal(2, 4, 7), [[0, 6, 3, 3], [5, 0, 4, 3]], 0.1, pad_id=3),
        loss_case("a batch", normal(3, 5, 7), [[1, 2, 3, 4, 5], [6, 1, 2, 0, 0], [5, 0, 0, 0, 0]], 0.2),
        loss_case("not contiguous", normal(2, 7, 3).mT, [[6, 4, 1], [2, 5, 0]], 0.1),
    ),
    properties=(Property("a cross-entropy is never negative", lambda given, loss: bool((loss >= 0).all())),),
    hints=(
        "Without smoothing, the loss is the mean of -log p(target). With smoothing, that is one of two parts: which "
        "share does it have, and what is the other part?",
        "Smoothing mixes the target with an even distribution over the *whole* vocabulary. The cross-entropy with an "
        "even distribution is minus the mean of the log probabilities.",
        "`log_softmax` stays finite where the logarithm of a softmax does not. `gather` picks the entry of the target.",
        "Leave padding out twice: out of the sum, and out of the number by which you divide.",
    ),
)


def loss_of(log_probabilities, targets, smoothing, pad_id):
    """The right loss of what may be wrong log probabilities."""
    of_targets = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (-(1 - smoothing) * of_targets - smoothing * log_probabilities.mean(-1))[targets != pad_id].mean()


def loss_for(truth, logits, targets, pad_id):
    """The cross-entropy with any truth, (B, T, vocab), over the targets that are not padding."""
    return -(truth * logits.log_softmax(-1)).sum(-1)[targets != pad_id].mean()


def one_hot(targets, logits):
    return F.one_hot(targets, logits.size(-1)).to(logits.dtype)


@label_smoothing_loss.mistake("Nothing is smoothed: this is the plain cross-entropy. `smoothing` is never used.")
def not_smoothed(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


@label_smoothing_loss.mistake(
    "Padding counts as a target. The model then learns to write padding, and short sentences teach it little else."
)
def padding_counts(logits, targets, smoothing, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)


@label_smoothing_loss.mistake(
    "The losses at padding are left out of the sum, but you still divide by the number of *all* positions. So the more "
    "padding there is in a batch, the smaller the loss is."
)
def divided_by_all_places(logits, targets, smoothing, pad_id):
    losses = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="none"
    )
    return losses.mean()


@label_smoothing_loss.mistake(
    "You take the mean of each sentence, and then the mean of these. So a token of a short sentence counts more than "
    "one of a long sentence, but all targets of the batch must count alike."
)
def mean_of_means(logits, targets, smoothing, pad_id):
    return torch.stack(
        [
            label_smoothing_loss.reference(logits[i : i + 1], targets[i : i + 1], smoothing, pad_id)
            for i in range(len(logits))
        ]
    ).mean()


@label_smoothing_loss.mistake("This is the sum of the losses, which grows with the batch. Take their mean.")
def summed(logits, targets, smoothing, pad_id):
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )


@label_smoothing_loss.mistake(
    "The softmax is applied twice: `F.cross_entropy` takes logits, and you hand it probabilities. These differ by at "
    "most 1, so the loss stays high and the gradients small."
)
def softmax_before_cross_entropy(logits, targets, smoothing, pad_id):
    probabilities = logits.softmax(-1).flatten(0, 1)
    return F.cross_entropy(probabilities, targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing)


@label_smoothing_loss.mistake(
    "You take the logarithm of a softmax. Where a probability is too small for its type, it is 0, its logarithm -inf, "
    "and the loss infinite. `log_softmax` computes the logarithm without that detour."
)
def log_of_softmax(logits, targets, smoothing, pad_id):
    return loss_of(logits.softmax(-1).log(), targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The softmax runs over the positions. It must run over the vocabulary, the last axis, so that the probabilities at "
    "each position sum to 1."
)
def softmax_over_time(logits, targets, smoothing, pad_id):
    return loss_of(logits.log_softmax(1), targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The mass is spread over all tokens *but* the target, smoothing / (vocab - 1) each. Some programs do that; here it "
    "is spread over the whole vocabulary, and the target gets its share too."
)
def spread_over_the_others(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits)
    truth = truth * (1 - smoothing) + (1 - truth) * smoothing / (logits.size(-1) - 1)
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake(
    "The mass is spread over all tokens but the target and padding: smoothing / (vocab - 2) each, as in The Annotated "
    "Transformer. Here it is spread over the whole vocabulary."
)
def spread_without_padding(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits)
    truth = truth * (1 - smoothing) + (1 - truth) * smoothing / (logits.size(-1) - 2)
    truth[..., pad_id] = 0
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake(
    "Every token gets the whole `smoothing`: you take a sum over the vocabulary instead of its mean. The truth must "
    "sum to 1."
)
def sum_over_the_vocabulary(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake("The two parts are exchanged: the target gets `smoothing`, and 1 - smoothing is spread.")
def parts_swapped(logits, targets, smoothing, pad_id):
    return loss_of(logits.log_softmax(-1), targets, 1 - smoothing, pad_id)


@label_smoothing_loss.mistake(
    "The target keeps its whole weight, and `smoothing` is added to it, so that the truth sums to more than 1. What is "
    "spread must be taken from the target, which keeps 1 - smoothing."
)
def smoothing_on_top(logits, targets, smoothing, pad_id):
    return loss_for(one_hot(targets, logits) + smoothing / logits.size(-1), logits, targets, pad_id)


@label_smoothing_loss.mistake(
    '`kl_div` with `reduction="batchmean"` divides by the first axis alone, by the sentences instead of the '
    "targets. And a divergence is the cross-entropy minus the entropy of the softened truth."
)
def divergence_by_sentences(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing / logits.size(-1)
    truth = truth * (targets != pad_id).unsqueeze(-1)
    return F.kl_div(logits.log_softmax(-1), truth, reduction="batchmean")


@label_smoothing_loss.mistake("The sign is wrong: a log probability is negative, and the loss is minus its mean.")
def sign_forgotten(logits, targets, smoothing, pad_id):
    return -label_smoothing_loss.reference(logits, targets, smoothing, pad_id)


@label_smoothing_loss.mistake(
    "This is the Kullback-Leibler divergence, the cross-entropy minus the entropy of the softened truth. Its gradients "
    "are the same, but its value differs."
)
def divergence(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits) * (1 - smoothing) + smoothing / logits.size(-1)
    entropy = torch.special.entr(truth).sum(-1)[targets != pad_id].mean()
    return loss_for(truth, logits, targets, pad_id) - entropy


@label_smoothing_loss.mistake(
    "The target gets 1 - smoothing, and not its own share of what is spread, so that the truth sums to less than 1. "
    "The mass is spread over the *whole* vocabulary: smoothing / vocab belongs to the target, too."
)
def target_without_its_share(logits, targets, smoothing, pad_id):
    truth = one_hot(targets, logits)
    truth = truth * (1 - smoothing) + (1 - truth) * smoothing / logits.size(-1)
    return loss_for(truth, logits, targets, pad_id)


@label_smoothing_loss.mistake(
    "You leave out the targets that are 0. That is right as long as `pad_id` is 0, and loses a word when it is not."
)
def padding_taken_for_0(logits, targets, smoothing, pad_id):
    return label_smoothing_loss.reference(logits, targets, smoothing, 0)


@label_smoothing_loss.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary = number(generator, 5, 15)
    targets, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    logits = 2 * floats(generator, torch.float32)(*targets.shape, vocabulary)
    targets = torch.where(targets == 0, pad_id, torch.where(targets == pad_id, 0, targets))
    return {"logits": logits, "targets": targets, "smoothing": number(generator, 0, 9) / 10, "pad_id": pad_id}
