"""Lesson 14: find the bug in `clinic_07`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_07(logits, tokens):
    """The mean loss of a language model: logits (B, T, vocab) for ids (B, T)."""
    n_steps = tokens.size(1) - 1  # nothing follows the last token
    predicted = logits[:, :n_steps].flatten(0, 1)
    wanted = tokens[:, :n_steps].flatten()
    return F.cross_entropy(predicted, wanted)


def sentences_case(label: str, tokens: list[list[int]], vocab: int) -> Case:
    ids = torch.tensor(tokens, device="cpu")
    return Case(label, {"logits": 2 * normal(*ids.shape, vocab), "tokens": ids})


@partial(
    FindTheBug,
    broken=broken_clinic_07,
    defect=(
        "The targets lose their last position, just as the logits do, so each position is compared with the token that "
        "it has just read. A model that copies its input brings this loss to 0, and what it writes is one word again "
        "and again."
    ),
    lesson="14",
    minutes=8,
    difficulty=2,
    statement="""
    The loss of a language model. Its attention is causal: the logits at position t have seen the tokens up to t, and
    must predict the token after it.

    Symptom: on tokens that were drawn at random, which nobody can predict, the loss falls to 0. And what the model then
    writes is one word, again and again.
    """,
    returns=("loss",),
    cases=(
        sentences_case("two tokens", [[0, 1]], 3),
        sentences_case("three tokens", [[2, 0, 1]], 3),
        sentences_case("two sentences", [[1, 2, 3, 0], [3, 3, 1, 2]], 4),
        sentences_case("a batch", [[1, 5, 2, 4, 3], [0, 2, 2, 1, 5], [4, 4, 0, 3, 1]], 6),
    ),
    hints=(
        "Take one sentence of three tokens, and write for each row of `predicted` which token it is compared with.",
        "Which token would a model have to copy to make this loss 0?",
        "Logits and tokens both lose one position. Do they lose it at the same end?",
    ),
)
def clinic_07(logits, tokens):
    """The mean loss of a language model: logits (B, T, vocab) for ids (B, T)."""
    n_steps = tokens.size(1) - 1  # nothing follows the last token
    predicted = logits[:, :n_steps].flatten(0, 1)
    wanted = tokens[:, 1:].flatten()
    return F.cross_entropy(predicted, wanted)


@clinic_07.mistake("Now each position must predict the token *before* it: the logits lose their first position.")
def shifted_the_other_way(logits, tokens):
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), tokens[:, :-1].flatten())


@clinic_07.mistake(
    "A roll goes round: the last position must predict the *first* token of its sentence. Nothing follows the last "
    "token, so that position has no place in the loss."
)
def rolled(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten())


@clinic_07.mistake(
    "You flatten the batch before you shift it: the last position of each sentence must predict the first token of the "
    "next sentence."
)
def flattened_before_the_shift(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1)[:-1], tokens.flatten()[1:])


@clinic_07.mistake(
    "You leave the first position out, and every other position is still compared with the token that it has just read."
)
def first_position_left_out(logits, tokens):
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), tokens[:, 1:].flatten())


@clinic_07.mistake(
    "The losses are added up, and not divided by their number. A plain sum grows with the batch, and its gradients do, "
    "too."
)
def added_up(logits, tokens):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum")


@clinic_07.mistake(
    "Smoothing keeps the loss away from 0, and that hides half of the symptom: the targets are still not shifted, and "
    "the model still writes one word again and again."
)
def smoothed(logits, tokens):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, :-1].flatten(), label_smoothing=0.1)


@clinic_07.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    vocabulary, (rows, length) = number(generator, 3, 9), sizes(generator, 2)
    ids = torch.randint(vocabulary, (rows, length + 1), generator=generator, device="cpu")
    return {"logits": 2 * floats(generator, torch.float32)(*ids.shape, vocabulary), "tokens": ids}
