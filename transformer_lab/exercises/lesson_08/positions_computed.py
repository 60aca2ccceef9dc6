"""Lesson 08: predict `positions_computed`."""

from functools import partial

from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import Predict


def positions_case(label: str, prompt: int, new: int, cached: bool) -> Case:
    return Case(label, {"prompt": prompt, "new": new, "cached": cached})


@partial(
    Predict,
    lesson="08",
    minutes=10,
    difficulty=2,
    statement="""
    A decoder-only model is given a prompt of `prompt` tokens, and writes `new` tokens behind it, one in each step. How
    many positions does it compute in all? Return a whole number.

    A step reads all positions that it needs and does not have, and the logits behind the last one give the next token.
    `cached` says whether the model keeps the keys and values of positions that it has computed. The work
    ends when the last of the new tokens is written.
    """,
    returns=("positions",),
    cases=(
        positions_case("one new token, no cache", 3, 1, False),
        positions_case("one new token, cached", 3, 1, True),
        positions_case("two new tokens, no cache", 3, 2, False),
        positions_case("two new tokens, cached", 3, 2, True),
        positions_case("a prompt of one token, no cache", 1, 6, False),
        positions_case("a prompt of one token, cached", 1, 6, True),
        positions_case("a long text, no cache", 20, 100, False),
        positions_case("a long text, cached", 20, 100, True),
    ),
    hints=(
        "List the steps for a prompt of 3 and 2 new tokens: how many positions does the first one compute, and how "
        "many the second?",
        "Is the last of the new tokens ever read?",
        "Without a cache step t, counted from 0, computes the prompt and t tokens more. Add that up over all steps.",
    ),
)
def positions_computed(prompt, new, cached):
    """How many positions a decoder computes to write `new` tokens behind a prompt.

    The last token is written, and never read. With a cache each position is computed once, without one in every step.
    """
    if cached:
        return prompt + new - 1
    return new * prompt + new * (new - 1) // 2


@positions_computed.mistake(
    "You let the model read the last token as well. It is written, and then the work is done: nothing follows it."
)
def last_token_read(prompt, new, cached):
    return prompt + new if cached else new * prompt + new * (new + 1) // 2


@positions_computed.mistake(
    "Without a cache the prompt is computed again in *every* step, and not once at the beginning."
)
def prompt_read_once(prompt, new, cached):
    return prompt + new - 1 if cached else prompt + new * (new - 1) // 2


@positions_computed.mistake("The prompt is missing: its positions are computed as well, and with a cache only once.")
def prompt_forgotten(prompt, new, cached):
    return new - 1 if cached else new * (new - 1) // 2


@positions_computed.mistake(
    "You compute all positions in every step, with a cache as without. With one, a step computes the newest position "
    "alone, and the first step the prompt."
)
def cache_without_use(prompt, new, cached):
    return new * prompt + new * (new - 1) // 2


@positions_computed.mistake(
    "You count every step as long as the last one. The text grows: the first step computes the prompt alone."
)
def all_steps_as_long_as_the_last(prompt, new, cached):
    return prompt + new - 1 if cached else new * (prompt + new - 1)


@positions_computed.mistake(
    "You count one position for each step. The first step has to read the whole prompt, with a cache as well."
)
def one_for_each_step(prompt, new, cached):
    return new if cached else new * prompt + new * (new - 1) // 2


@positions_computed.mistake(
    "You count one position for each token as if there were a cache, in both cases. Without one, earlier positions are "
    "computed again in each step."
)
def always_cached(prompt, new, cached):
    return prompt + new - 1


@positions_computed.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    return {"prompt": number(generator, 2, 50), "new": number(generator, 2, 80), "cached": False}


@positions_computed.hidden_case
def hidden_case_2(generator: Generator) -> Arguments:
    return {"prompt": number(generator, 2, 50), "new": number(generator, 2, 80), "cached": True}
