"""Lesson 08: implement `greedy_decode`."""

from collections.abc import Callable

from torch import Generator

from transformer_lab.decoding import single
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.lesson_08.shared import ENDLESS, a_model, chain, scattered

FALLING = [0.4, 0.3, 0.2, 0.1]  # no two tokens are equally probable, lest there be two right answers


# bos 0, eos 1: after 0 mostly 2, after 2 mostly 3, after 3 mostly the end
three_steps = chain("three_steps", [0.1, 0.2, 0.6, 0.1], FALLING, [0.1, 0.2, 0.1, 0.6], [0.1, 0.5, 0.2, 0.2])


for_ever = chain("for_ever", [0.1, 0.2, 0.6, 0.1], FALLING, [0.1, 0.2, 0.4, 0.3], FALLING)


at_once = chain("at_once", [0.2, 0.6, 0.1, 0.1], *3 * [FALLING])


bos_again = chain("bos_again", [0.1, 0.2, 0.6, 0.1], FALLING, [0.5, 0.1, 0.2, 0.2], FALLING)


one_id_for_both = chain("one_id_for_both", [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.6, 0.1, 0.3])


def greedy_case(label: str, next_logits: Callable, bos_id: int, eos_id: int, max_length: int) -> Case:
    return Case(label, {"next_logits": next_logits, "bos_id": bos_id, "eos_id": eos_id, "max_length": max_length})


greedy_decode = Exercise(
    single.greedy_decode,
    lesson="08",
    minutes=10,
    difficulty=1,
    statement="""
    Write a sentence token by token, each time the most probable one.

    `next_logits(ids)` takes the list of the ids so far and returns the logits of the next token, shape (vocab,).
    Return the list of ids, Python ints: it starts with `bos_id`, ends with `eos_id` if that was reached, and has at
    most `max_length` ids, bos counted. (`bos_id` and `eos_id` may be the same number, as in GPT-2.)
    """,
    returns=("ids",),
    cases=(
        greedy_case("0 is mostly followed by 2, 2 by 3, 3 by the end, 1", three_steps, 0, 1, 9),
        greedy_case("the end comes at once", at_once, 0, 1, 5),
        greedy_case("2 is mostly followed by 2, for ever", for_ever, 0, 1, 5),
        greedy_case("room for bos only", three_steps, 0, 1, 1),
        greedy_case("the end is just reached", three_steps, 0, 1, 4),
        greedy_case("the end is just not reached", three_steps, 0, 1, 3),
        greedy_case("bos comes again: that is no end", bos_again, 0, 1, 6),
        greedy_case("bos and eos are one id, as in GPT-2", one_id_for_both, 0, 0, 7),
        greedy_case("other ids", three_steps, 3, 0, 6),
        greedy_case("the next token depends on all before it", scattered(5, 2), 4, 2, 12),
        greedy_case("seven tokens to choose from", scattered(7, 6, salt=1), 1, 6, 15),
        greedy_case("one more", scattered(6, 5, salt=2), 2, 5, 10),
    ),
    hints=(
        "Start with a list that holds `bos_id`. In a loop: ask for the logits after the ids so far, take the token "
        "with the largest, append it.",
        "Hand *all* ids so far to `next_logits`. No softmax is needed: the largest logit has the largest probability.",
        "bos counts: after it there is room for one less than `max_length`. Stop when you have appended `eos_id`.",
    ),
)


def written(choose: Callable[[list[int]], int], bos_id: int, eos_id: int | None, tokens: int) -> list[int]:
    """bos and up to so many tokens, by any choice."""
    ids = [bos_id]
    while len(ids) <= tokens:
        ids.append(choose(ids))
        if ids[-1] == eos_id:
            break
    return ids


def most_probable(next_logits: Callable) -> Callable[[list[int]], int]:
    return lambda ids: next_logits(ids).argmax().item()


@greedy_decode.mistake("`bos_id` is missing at the start of the result.")
def without_bos(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, max_length - 1)[1:]


@greedy_decode.mistake(
    "`eos_id` is missing at the end, though it was reached. It belongs to the sentence: append it, then stop."
)
def without_eos(next_logits, bos_id, eos_id, max_length):
    ids = written(most_probable(next_logits), bos_id, eos_id, max_length - 1)
    return ids[:-1] if len(ids) > 1 and ids[-1] == eos_id else ids


@greedy_decode.mistake(
    "There are `max_length` tokens after bos. bos counts as well, so only `max_length - 1` may follow."
)
def bos_not_counted(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, max_length)


@greedy_decode.mistake("The loop ends one token early: a sentence of `max_length` ids is allowed.")
def one_token_short(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, max(max_length - 2, 0))


@greedy_decode.mistake("The loop does not stop at `eos_id`: the sentence goes on after its end.")
def past_the_end(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, None, max_length - 1)


@greedy_decode.mistake("Nothing but `eos_id` ends the loop: without it the sentence grows beyond `max_length`.")
def no_limit(next_logits, bos_id, eos_id, max_length):
    return written(most_probable(next_logits), bos_id, eos_id, 10 * ENDLESS)


@greedy_decode.mistake(
    "The result is filled up to `max_length` with `eos_id`. A batch needs that; here the list ends at the first one."
)
def filled_up_with_eos(next_logits, bos_id, eos_id, max_length):
    ids = written(most_probable(next_logits), bos_id, eos_id, max_length - 1)
    return ids + [eos_id] * (max_length - len(ids))


@greedy_decode.mistake(
    "`next_logits` gets only the last id. A Transformer remembers nothing from one call to the next: hand over all ids."
)
def last_id_only(next_logits, bos_id, eos_id, max_length):
    return written(lambda ids: next_logits(ids[-1:]).argmax().item(), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake(
    "Every token is chosen by the logits behind bos alone. What was chosen is never fed back, so the same token is "
    "chosen again and again."
)
def never_fed_back(next_logits, bos_id, eos_id, max_length):
    return written(lambda ids: next_logits([bos_id]).argmax().item(), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake("It takes the *least* probable token: argmin instead of argmax, or an ascending sort.")
def least_probable(next_logits, bos_id, eos_id, max_length):
    return written(lambda ids: next_logits(ids).argmin().item(), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake(
    "Where bos and eos are the same id, as in GPT-2, bos is taken for the end, and nothing comes behind it. Only a "
    "token that was appended may end the sentence: look at the last one, after it was chosen."
)
def bos_taken_for_the_end(next_logits, bos_id, eos_id, max_length):
    if bos_id == eos_id:
        return [bos_id]
    return written(most_probable(next_logits), bos_id, eos_id, max_length - 1)


@greedy_decode.mistake(
    "The sentence always ends with `eos_id`, even where it was cut off at `max_length`. It ends with `eos_id` only if "
    "that was the most probable token."
)
def eos_even_if_cut_off(next_logits, bos_id, eos_id, max_length):
    ids = written(most_probable(next_logits), bos_id, eos_id, max_length - 1)
    ids = ids[:-1] if len(ids) > 1 and (ids[-1] == eos_id or len(ids) == max_length) else ids
    return [*ids, eos_id]


@greedy_decode.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    model, bos_id, eos_id = a_model(generator)
    return {"next_logits": model, "bos_id": bos_id, "eos_id": eos_id, "max_length": number(generator, 2, 15)}
