"""Lesson 15: implement `sliding_window_mask`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.models.since_llama import sliding_window


def text(length: int, window: int, what: str = "") -> Case:
    label = f"{length} token{'s' * (length > 1)}, a window of {window}{what}"
    return Case(label, {"length": length, "window": window})


sliding_window_mask = Exercise(
    sliding_window.sliding_window_mask,
    lesson="15",
    minutes=5,
    difficulty=1,
    statement="""
    The mask of a sliding window, bool of shape (length, length): True = this query may attend to this key.

    Each position may attend to the `window` last positions, and its own is one of them. So with a window of 3 position
    7 sees the positions 5, 6 and 7, and position 0 sees itself. A window may be longer than the text.
    """,
    returns=("mask",),
    cases=(
        text(4, 2),
        text(1, 1),
        text(3, 1, ": each token sees itself"),
        text(5, 3),
        text(3, 8, ": longer than the text"),
        text(6, 6),
        text(9, 4),
        text(12, 5),
    ),
    properties=(
        Property("every token may attend to itself", lambda given, mask: bool(mask.diagonal().all())),
        Property("no token may attend to a later one", lambda given, mask: not mask.triu(1).any()),
        Property(
            "no token may attend to more than `window` positions",
            lambda given, mask: bool((mask.sum(-1) <= given["window"]).all()),
        ),
    ),
    hints=(
        "Write the table for four tokens and a window of 2 on paper, a row for each query. How many entries of the "
        "last row are True?",
        "A key is hidden for one of two reasons: it lies in the future, or it lies too far in the past. Each reason "
        "alone hides a triangle.",
        "How far back does a key lie from its query? A table of these distances holds all that is needed: what is the "
        "smallest distance that may be seen, and what is the largest?",
    ),
)


def distances(length):
    """How far back each key (column) lies from each query (row)."""
    places = torch.arange(length)
    return places[:, None] - places


@sliding_window_mask.mistake(
    "The window is one position too long: `window` positions before the token, and the token itself. Its own position "
    "is one of the `window`."
)
def one_too_long(length, window):
    return (distances(length) >= 0) & (distances(length) <= window)


@sliding_window_mask.mistake(
    "The window is one position too short, as if a token's own position took up two places. With a window of 1 nobody "
    "sees anything."
)
def one_too_short(length, window):
    return (distances(length) >= 0) & (distances(length) < window - 1)


@sliding_window_mask.mistake(
    "A token does not see itself: you let it attend to the `window` positions *before* it. Its own is the last "
    "one of the window."
)
def itself_not_seen(length, window):
    return (distances(length) >= 1) & (distances(length) <= window)


@sliding_window_mask.mistake(
    "The future is open: every token sees all that follow. The window ends at the token itself."
)
def future_open(length, window):
    return distances(length) < window


@sliding_window_mask.mistake(
    "The window reaches to both sides, as in an encoder: a token sees those that follow as far as those before it. In "
    "a decoder the window ends at the token itself."
)
def both_sides(length, window):
    return distances(length).abs() < window


@sliding_window_mask.mistake(
    "The window is centred on the token, with half of it in the future. It ends at the token itself."
)
def centred(length, window):
    return distances(length).abs() <= window // 2


@sliding_window_mask.mistake(
    "The window looks ahead: each token sees itself and those that *follow*. Rows are queries, columns are keys."
)
def looking_ahead(length, window):
    return (distances(length) <= 0) & (distances(length) > -window)


@sliding_window_mask.mistake("That is the causal mask: nothing is too far back. The window is never used.")
def window_not_used(length, window):
    return distances(length) >= 0


@sliding_window_mask.mistake(
    "The polarity is inverted: True stands where attention is *forbidden*. Here True = may attend."
)
def polarity_inverted(length, window):
    return (distances(length) < 0) | (distances(length) >= window)


@sliding_window_mask.mistake(
    "You keep what lies *outside* the window: each token sees the distant past, and not what is near."
)
def distant_past(length, window):
    return distances(length) >= window


@sliding_window_mask.mistake(
    "You keep the first `window` positions of the text, whichever token asks. The window slides along with the token."
)
def window_at_the_beginning(length, window):
    return (distances(length) >= 0) & (torch.arange(length) < window)


@sliding_window_mask.mistake(
    "The text is cut into blocks of `window` positions, and nobody sees beyond the beginning of a block. A sliding "
    "window begins anew at every token."
)
def blocks(length, window):
    block = torch.arange(length) // window
    return (distances(length) >= 0) & (block[:, None] == block)


@sliding_window_mask.mistake(
    "The mask holds numbers, 1.0 and 0.0, which torch would *add* to the scores. A mask of True and False has the "
    "dtype torch.bool."
)
def float_mask(length, window):
    return ((distances(length) >= 0) & (distances(length) < window)).float()


@sliding_window_mask.mistake(
    "The first rows are wrong: their windows begin before the text, at a negative position, and Python counts such a "
    "one from the end of the row. Begin at 0 at the earliest."
)
def begun_before_the_text(length, window):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for t in range(length):
        mask[t, t - window + 1 : t + 1] = True
    return mask


@sliding_window_mask.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    length = number(generator, 2, 40)
    return {"length": length, "window": number(generator, 1, length + 3)}
