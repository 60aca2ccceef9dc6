"""Lesson 07: find the bug in `mend_training_step`."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, tokens
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_training_step(weights, tokens, rate, pad_id):
    inputs, targets = tokens, tokens
    weights = weights.detach().requires_grad_()
    logits = weights[inputs]  # (B, T, vocab)
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    loss = losses.mean()
    (gradient,) = torch.autograd.grad(loss, weights)
    return weights.detach() + rate * gradient, loss.detach()


def step_case(label: str, weights: torch.Tensor, tokens: list[list[int]], rate: float = 0.5, pad_id: int = 0) -> Case:
    return Case(
        label, {"weights": weights, "tokens": torch.tensor(tokens, device="cpu"), "rate": rate, "pad_id": pad_id}
    )


@partial(
    FindTheBug,
    lesson="07",
    minutes=25,
    difficulty=2,
    statement="""
    Mend a training step. It has three defects, and the first hides the second.

    The model is a table `weights` (vocab, vocab): row i holds the logits of the token that comes next after token i.
    The step takes the weights, `tokens` (B, T), padded on the right with `pad_id`, and the learning rate. It returns
    the weights after one step of gradient descent, and the loss before it: the mean over all tokens that have a token
    before them and are not padding.

    What was observed:
      From step to step, the loss climbs.
      Somebody made it fall. It came near 0, and the model then said one word again and again.
      The same sentences, in a batch with a longer one, have a different loss.
    """,
    returns=("weights", "loss"),
    cases=(
        step_case("one sentence of two tokens", torch.zeros(3, 3, device="cpu"), [[1, 2]], 1.0),
        step_case("one sentence, no padding", normal(4, 4), [[1, 2, 3, 2]]),
        step_case("one sentence with padding", normal(4, 4), [[1, 2, 3, 0, 0]]),
        step_case("the same word twice", normal(5, 5), [[2, 2, 4, 4, 0]]),
        step_case("two sentences", normal(6, 6), [[1, 2, 3, 5, 4], [5, 1, 0, 0, 0]], 0.1),
        step_case("two sentences, a longer one beside them", normal(6, 6), [[1, 2, 0], [5, 1, 0], [4, 2, 3]], 0.1),
        step_case("another padding id", normal(6, 6), [[1, 0, 3, 5], [0, 1, 5, 5]], 2.0, pad_id=5),
        step_case("float64", normal(5, 5, dtype=torch.float64), [[1, 2, 3, 0], [4, 1, 1, 2]], 0.3),
    ),
    hints=(
        "Take the smallest case, two tokens and a table of zeros, and work out on paper what must come back.",
        "Which way does the gradient point: to where the loss grows, or to where it falls?",
        "What is the target of the *first* token? What does a model learn whose target is the token that it was given?",
        "Which of the losses belong to words? A mean counts those alone, in the sum and in its divisor.",
    ),
    broken=broken_training_step,
)
def mend_training_step(weights, tokens, rate, pad_id):
    """One step of gradient descent of a model that says of each token which comes next: `(weights, loss)`.

    Row i of the weights (vocab, vocab) holds the logits of the token after token i.
    """
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    weights = weights.detach().requires_grad_()
    logits = weights[inputs]  # (B, T - 1, vocab)
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")  # (B · (T - 1),)
    loss = losses[targets.flatten() != pad_id].mean()
    (gradient,) = torch.autograd.grad(loss, weights)
    return weights.detach() - rate * gradient, loss.detach()


def losses_of(weights, inputs, targets):
    weights = weights.detach().requires_grad_()
    losses = F.cross_entropy(weights[inputs].flatten(0, 1), targets.flatten(), reduction="none")
    return weights, losses, targets.flatten()


def stepped(weights, loss, rate):
    """The weights after a step against the gradient of a loss, and that loss."""
    (gradient,) = torch.autograd.grad(loss, weights)
    return weights.detach() - rate * gradient, loss.detach()


SHIFT = "The targets are still the inputs: the model is asked for the token that it was given."


PADDING = "Padding still counts: more of it makes a different loss, and the model is asked to say it."


SIGN = "The gradient is still added: it points to where the loss *grows*."


@mend_training_step.mistake(f"One of three is mended. {SHIFT} {PADDING}")
def only_the_sign(weights, tokens, rate, pad_id):
    weights, losses, _ = losses_of(weights, tokens, tokens)
    return stepped(weights, losses.mean(), rate)


@mend_training_step.mistake(f"One of three is mended. {PADDING} {SIGN}")
def only_the_shift(weights, tokens, rate, pad_id):
    weights, losses, _ = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, losses.mean(), -rate)


@mend_training_step.mistake(f"One of three is mended. {SHIFT} {SIGN}")
def only_the_padding(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens, tokens)
    return stepped(weights, losses[targets != pad_id].mean(), -rate)


@mend_training_step.mistake(f"Two of three are mended. {PADDING}")
def all_but_the_padding(weights, tokens, rate, pad_id):
    weights, losses, _ = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, losses.mean(), rate)


@mend_training_step.mistake(f"Two of three are mended. {SHIFT}")
def all_but_the_shift(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens, tokens)
    return stepped(weights, losses[targets != pad_id].mean(), rate)


@mend_training_step.mistake(f"Two of three are mended. {SIGN}")
def all_but_the_sign(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, losses[targets != pad_id].mean(), -rate)


@mend_training_step.mistake(
    "You flip the sign of the *loss*. Adding its gradient is right for the weights, but the loss that comes back is "
    "negative. Leave the loss as it is, and step against its gradient."
)
def loss_turned_round(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    loss = -losses[targets != pad_id].mean()
    return stepped(weights, loss, -rate)


@mend_training_step.mistake(
    "The loss no longer climbs, because the weights no longer change. That hides the symptom: a step must be taken."
)
def no_step_at_all(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return weights.detach(), losses[targets != pad_id].mean().detach()


@mend_training_step.mistake(
    "The targets are shifted the wrong way: at each token the model must say the one *before* it. The loss falls, and "
    "it learns to speak backwards."
)
def shifted_the_wrong_way(weights, tokens, rate, pad_id):
    weights, losses, _ = losses_of(weights, tokens[:, 1:], tokens[:, :-1])
    words = tokens[:, 1:].flatten() != pad_id
    return stepped(weights, losses[words].mean(), rate)


@mend_training_step.mistake(
    "`roll` brings the first token to the end: the last one must say how its sentence began. Leave the last input and "
    "the first target out."
)
def shifted_in_a_circle(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens, tokens.roll(-1, dims=1))
    return stepped(weights, losses[targets != pad_id].mean(), rate)


@mend_training_step.mistake(
    "The losses of padding are 0 now, but the mean still counts them: the more padding, the smaller the loss and the "
    "step. Divide by the number of words."
)
def padding_in_the_divisor(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, (losses * (targets != pad_id)).mean(), rate)


@mend_training_step.mistake(
    "You leave out where the *input* is padding. The last word of each shorter sentence then still learns to say "
    "padding: ask the target."
)
def padding_of_the_inputs(weights, tokens, rate, pad_id):
    weights, losses, _ = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, losses[tokens[:, :-1].flatten() != pad_id].mean(), rate)


@mend_training_step.mistake(
    "The losses are summed, not averaged, so that both the loss and the step grow with the number of words in the "
    "batch."
)
def summed(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, losses[targets != pad_id].sum(), rate)


@mend_training_step.mistake("`pad_id` is an argument: padding is not always 0.")
def padding_is_always_zero(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    return stepped(weights, losses[targets != 0].mean(), rate)


@mend_training_step.mistake(
    "You average each sentence, and then these averages: a word of a short sentence counts more than one of a long "
    "one. The mean is over all words of the batch."
)
def mean_of_sentence_means(weights, tokens, rate, pad_id):
    weights, losses, targets = losses_of(weights, tokens[:, :-1], tokens[:, 1:])
    words = (targets != pad_id).reshape(len(tokens), -1)
    loss = ((losses.reshape(words.shape) * words).sum(1) / words.sum(1)).mean()
    return stepped(weights, loss, rate)


@mend_training_step.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary = number(generator, 6, 15)
    ids, pad_id = tokens(generator, vocabulary), number(generator, 0, vocabulary - 1)
    ids[:, 1] = ids[:, 1].clamp(min=1)  # two words at least in each sentence
    ids = torch.where(ids == 0, pad_id, torch.where(ids == pad_id, 0, ids))
    weights = floats(generator)(vocabulary, vocabulary)
    return {"weights": weights, "tokens": ids, "rate": number(generator, 1, 30) / 10, "pad_id": pad_id}
