"""Lesson 14: find the bug in `clinic_09`."""

from functools import partial

import torch
from torch import Generator
from torch.nn import functional as F

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_clinic_09(x, past, encoding):
    """One decoding step: the new token x (B, 1, d) attends to the past and itself.

    `past` (B, S, d) has its positions added, x has not. Returns output and new past.
    """
    new = x + encoding[: x.size(1)]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


def step_case(label: str, batch: int, past: int, width: int) -> Case:
    return Case(label, {"x": normal(batch, 1, width), "past": normal(batch, past, width), "encoding": normal(9, width)})


@partial(
    FindTheBug,
    broken=broken_clinic_09,
    defect=(
        "`x` holds the new token alone, so `x.size(1)` is 1 in every step and the slice is always row 0. From the "
        "second token on, each token asks, and is stored, as if it were the first."
    ),
    lesson="14",
    minutes=10,
    difficulty=2,
    statement="""
    One step of decoding with a cache, with the projections left out. `x` holds the new token alone, its position not
    yet added.

    Symptom: without the cache the model writes good sentences. With it the first output is the same, and from the
    second on every output differs.
    """,
    returns=("output", "past"),
    cases=(
        step_case("the first token", 1, 0, 2),
        step_case("the second token", 1, 1, 2),
        step_case("the fourth token", 1, 3, 4),
        step_case("a batch", 3, 5, 6),
    ),
    hints=(
        "Compare the cached outputs with those of the whole sentence, position by position: where is the first "
        "difference?",
        "What does `x.size(1)` say in each step of decoding?",
        "How many tokens stand before the new one? Which argument knows?",
    ),
)
def clinic_09(x, past, encoding):
    """One decoding step: the new token x (B, 1, d) attends to the past and itself.

    `past` (B, S, d) has its positions added, x has not. Returns output and new past.
    """
    new = x + encoding[past.size(1)]
    past = torch.cat([past, new], dim=1)
    return F.scaled_dot_product_attention(new, past, past), past


def attend_once(new, past):
    return F.scaled_dot_product_attention(new, past, past), past


@clinic_09.mistake("One too many: the first token gets position 1. With an empty past its position is 0.")
def one_too_many(x, past, encoding):
    new = x + encoding[past.size(1) + 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake("Each new token gets the position of the one before it, so that two tokens share position 0.")
def one_too_few(x, past, encoding):
    new = x + encoding[max(0, past.size(1) - 1)]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake(
    "All the tokens of the cache get their positions again. Those before have theirs already, and if they are stored "
    "like this, they collect one more with each step."
)
def positions_added_again(x, past, encoding):
    together = torch.cat([past, x], dim=1)
    together = together + encoding[: together.size(1)]
    return attend_once(together[:, -1:], together)


@clinic_09.mistake(
    "The token asks with a position, but is put behind the past without one: the step that attends to it there, this "
    "one or a later one, sees it that way."
)
def stored_without_position(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(new, torch.cat([past, x], dim=1))


@clinic_09.mistake("The token is stored with a position, but asks without one.")
def asks_without_position(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(x, torch.cat([past, new], dim=1))


@clinic_09.mistake(
    "The new token stands *before* the past. The output of this step does not show it, since attention knows no order; "
    "but what is returned as the past is no longer in the order of the sentence."
)
def new_token_first(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(new, torch.cat([new, past], dim=1))


@clinic_09.mistake(
    "The past is thrown away, and the new token is left alone: the step that attends to that, this one or the next, "
    "sees nothing of the sentence so far."
)
def past_thrown_away(x, past, encoding):
    new = x + encoding[past.size(1)]
    return attend_once(new, new)


@clinic_09.mistake("You count from the end of the encoding: the longer the sentence, the *earlier* the position.")
def counted_from_the_end(x, past, encoding):
    new = x + encoding[-past.size(1) - 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake("The new token gets no position at all. That is wrong from the first token on.")
def no_position(x, past, encoding):
    return attend_once(x, torch.cat([past, x], dim=1))


@clinic_09.mistake(
    "One too few: each token gets the position of the one before it, and the first, whose number is then -1, gets the "
    "*last* row of the table."
)
def counted_from_minus_one(x, past, encoding):
    new = x + encoding[past.size(1) - 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.mistake(
    "The new token gets *all* the positions so far, a copy of it for each. A slice that begins at 0 has as many rows "
    "as the sentence has tokens; the new one needs the last of them."
)
def all_positions_at_once(x, past, encoding):
    new = x + encoding[: past.size(1) + 1]
    return attend_once(new, torch.cat([past, new], dim=1))


@clinic_09.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, width), length = floats(generator), sizes(generator, 2), number(generator, 0, 9)
    given = {"x": normal(batch, 1, width), "past": normal(batch, length, width)}
    return given | {"encoding": normal(length + number(generator, 2, 5), width)}
