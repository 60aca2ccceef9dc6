"""Lesson 07: implement `shift_right`."""

import torch
from torch import Generator

from transformer_lab import training
from transformer_lab.exercises.engine.case_drawing import Arguments, number, tokens
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise

BOS = 1


def shift_case(label: str, tokens: list, bos_id: int = BOS) -> Case:
    return Case(label, {"tokens": torch.tensor(tokens, device="cpu"), "bos_id": bos_id})


shift_right = Exercise(
    training.shift_right,
    lesson="07",
    minutes=5,
    difficulty=1,
    statement="""
    The input of the decoder for these targets: bos_id, then the targets, each one position further to the right.

    Targets and input are ids of shape (B, T). At position t the decoder then reads the token *before* target t, and
    predicts target t. The last token of each row, whether eos or padding, is left out.
    """,
    returns=("inputs",),
    cases=(
        shift_case("one sentence of three tokens and eos (2)", [[7, 8, 9, 2]]),
        shift_case("two sentences, the second is padded with 0", [[7, 8, 9, 2], [5, 2, 0, 0]]),
        shift_case("another bos_id", [[3, 6, 4], [8, 9, 3]], bos_id=5),
        shift_case("one token only", [[2], [9]]),
        shift_case("more sentences than tokens", [[4, 2], [5, 2], [6, 2], [2, 0], [7, 2]], bos_id=11),
    ),
    properties=(
        Property(
            "every sentence starts with bos_id",
            lambda given, inputs: bool((inputs[:, 0] == given["bos_id"]).all()),
        ),
        Property(
            "the input at position t + 1 is the target at position t",
            lambda given, inputs: torch.equal(inputs[:, 1:], given["tokens"][:, :-1]),
        ),
    ),
    hints=(
        "Write the targets of one sentence in a row, and under each of them the token before it. Which token comes "
        "before the first?",
        "The shape stays the same: one token is added on the left, and one is removed on the right.",
        "`torch.cat` joins two tensors along an axis. Which two are joined here, and along which axis?",
    ),
)


@shift_right.mistake(
    "You shift to the *left*: at position t the decoder would read target t + 1, which lies in the future and does not "
    "exist yet when the model writes. Each token must move one position to the right."
)
def shifted_left(tokens, bos_id):
    return torch.cat([tokens[:, 1:], torch.full_like(tokens[:, :1], bos_id)], dim=1)


@shift_right.mistake(
    "Input and target are the same. At each position the decoder reads the token that it must predict there, copies "
    "it, and learns nothing else."
)
def not_shifted(tokens, bos_id):
    return tokens.clone()


@shift_right.mistake(
    "bos_id was added and no token removed, so the input is one longer than the targets. Leave out the last column."
)
def one_too_long(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:, :1], bos_id), tokens], dim=1)


@shift_right.mistake("The last column was removed, but bos_id was not added: the input starts with the first target.")
def without_bos(tokens, bos_id):
    return tokens[:, :-1].clone()


@shift_right.mistake(
    "bos_id replaces the first token, and all others stay where they are. From the second position on, the decoder "
    "reads what it must predict."
)
def first_token_replaced(tokens, bos_id):
    inputs = tokens.clone()
    inputs[:, 0] = bos_id
    return inputs


@shift_right.mistake(
    "`roll` moves the tokens around in a ring: the last one, eos or padding, comes back on the left, where bos_id "
    "belongs."
)
def rolled(tokens, bos_id):
    return tokens.roll(1, dims=1)


@shift_right.mistake(
    "`roll` without `dims` moves the tokens through the whole batch: the last token of a sentence becomes the first of "
    "the next one, and bos_id stands in the first sentence alone."
)
def rolled_through_the_batch(tokens, bos_id):
    inputs = tokens.roll(1)
    inputs[0, 0] = bos_id
    return inputs


@shift_right.mistake(
    "You shift along the batch, so each sentence gets the one above it. The positions are the second axis, `dim=1`."
)
def shifted_over_sentences(tokens, bos_id):
    return torch.cat([torch.full_like(tokens[:1], bos_id), tokens[:-1]], dim=0)


@shift_right.mistake("The ids have become floating-point numbers. Give the column of bos_id the type of the tokens.")
def ids_became_floats(tokens, bos_id):
    return torch.cat([torch.ones(tokens.size(0), 1) * bos_id, tokens[:, :-1]], dim=1)


@shift_right.mistake("You add a 1, whatever bos_id is.")
def bos_is_one(tokens, bos_id):
    return torch.cat([torch.ones_like(tokens[:, :1]), tokens[:, :-1]], dim=1)


@shift_right.mistake("You add a 0, which is often padding. The first token is bos_id.")
def zero_in_front(tokens, bos_id):
    return torch.cat([torch.zeros_like(tokens[:, :1]), tokens[:, :-1]], dim=1)


@shift_right.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"tokens": tokens(generator), "bos_id": number(generator, 50, 99)}
