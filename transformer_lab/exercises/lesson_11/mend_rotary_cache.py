"""Lesson 11: find the bug in `mend_rotary_cache`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.kinds import FindTheBug
from transformer_lab.nn import positions


def rope(x, start):
    """RoPE, neighbouring pairs."""
    return positions.rotate(x, start)


def rope_of_halves(x, start):
    """RoPE in which features i and i + d_head / 2 turn together."""
    mixed = torch.stack(x.chunk(2, -1), -1).flatten(-2)
    return torch.cat(positions.rotate(mixed, start).unflatten(-1, (-1, 2)).unbind(-1), -1)


def slow_rope(x, start):
    """RoPE whose later pairs turn more slowly."""
    return positions.rotate(x, start, base=500_000.0)


def broken_rotary_cache(query, key, value, cache, rotate):
    position = cache.size(-2)
    query = rotate(query, 0)
    key, value = rotate(torch.stack([key, value]), position)
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    keys, values = rotate(cache[0], 0), cache[1]
    weights = (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1)
    return weights @ values, cache


def step_case(label: str, shape: tuple[int, int, int], length: int, rotate=rope, **like) -> Case:
    """One step behind `length` positions; the shape is (B, h, d_head)."""
    batch, heads, d_head = shape
    query, key, value = normal(3, batch, heads, 1, d_head, **like)
    cache = normal(2, batch, heads, length, d_head, **like)
    return Case(label, {"query": query, "key": key, "value": value, "cache": cache, "rotate": rotate})


@partial(
    FindTheBug,
    lesson="11",
    minutes=20,
    difficulty=2,
    statement="""
    Mend one step of rotary attention with a cache. It has three defects.

    query, key and value belong to the new position alone: (B, h, 1, d_head), as the projections gave them. `cache`
    (2, B, h, S, d_head) holds the keys and the values of the S positions before it, and its keys have been turned
    already. `rotate(x, start)` turns the rows of x (…, T, d_head), the first of which has position `start`; positions
    count from 0. Return `(output, cache)`, with the cache grown by the new position.

    What was observed:
      From the second token of a text on, the logits differ from those computed without a cache.
      The same six tokens get other scores among themselves after forty others than at the beginning.
      Where all values of a text are equal, the outputs still differ from position to position.
    """,
    returns=("output", "cache"),
    cases=(
        Case(
            "the second position",
            {name: counting(1, 1, 1, 2) + i for i, name in enumerate(("query", "key", "value"))}
            | {"cache": torch.tensor([1.0, 0.5, 3, 2], device="cpu").reshape(2, 1, 1, 1, 2), "rotate": rope},
        ),
        step_case("the first position", (1, 1, 2), 0),
        step_case("the third position", (1, 1, 4), 2),
        step_case("a batch", (2, 3, 4), 5),
        step_case("pairs of halves", (2, 2, 6), 4, rope_of_halves),
        step_case("another base", (1, 3, 8), 30, slow_rope),
        step_case("far behind", (1, 2, 4), 50),
        step_case("float64", (2, 1, 4), 7, dtype=torch.float64),
    ),
    hints=(
        "Write down for each of the four tensors (query, key, value, cached keys) by which position it must be turned, "
        "if at all.",
        "A score may depend on positions only through the distance between query and key. So each is turned by its "
        "own. How many times has a key from the cache been turned when it meets a query?",
        "What does the turning do for a score? And what would it do for a value?",
    ),
    broken=broken_rotary_cache,
)
def mend_rotary_cache(query, key, value, cache, rotate):
    """One step of rotary attention with a cache: `(output, cache)`.

    Query and key are turned once, by the new position; what is in the cache was turned when it came in. Values are not.
    """
    position = cache.size(-2)
    query = rotate(query, position)
    key = rotate(key, position)
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    keys, values = cache
    weights = (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1)
    return weights @ values, cache


QUERY = "The query is still turned as if it stood at position 0, so beyond the first position its distances are wrong."


VALUE = "The value is still turned. Positions belong in the scores, and what is brought along must not depend on them."


AGAIN = "The keys in the cache are still turned at every step, though they were turned when they came in."


def attended(query, cache):
    keys, values = cache
    return (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1) @ values


def grown(cache, key, value):
    return torch.cat([cache, torch.stack([key, value])], dim=-2)


def turned_again(cache, rotate):
    return torch.stack([rotate(cache[0], 0), cache[1]])


@mend_rotary_cache.mistake(f"Two of three are mended. {VALUE}")
def all_but_the_value(query, key, value, cache, rotate):
    position = cache.size(-2)
    cache = grown(cache, rotate(key, position), rotate(value, position))
    return attended(rotate(query, position), cache), cache


@mend_rotary_cache.mistake(f"One of three is mended. {VALUE} {AGAIN}")
def only_the_query(query, key, value, cache, rotate):
    position = cache.size(-2)
    cache = grown(cache, rotate(key, position), rotate(value, position))
    return attended(rotate(query, position), turned_again(cache, rotate)), cache


@mend_rotary_cache.mistake(f"The value is mended. {AGAIN} And is the query turned by its own position?")
def only_the_value(query, key, value, cache, rotate):
    cache = grown(cache, rotate(key, cache.size(-2)), value)
    return attended(rotate(query, 0), turned_again(cache, rotate)), cache


@mend_rotary_cache.mistake(f"One of three is mended. {QUERY} {VALUE}")
def only_the_keys(query, key, value, cache, rotate):
    position = cache.size(-2)
    cache = grown(cache, rotate(key, position), rotate(value, position))
    return attended(rotate(query, 0), cache), cache


@mend_rotary_cache.mistake(f"Two of three are mended. {AGAIN}")
def all_but_the_keys(query, key, value, cache, rotate):
    position = cache.size(-2)
    cache = grown(cache, rotate(key, position), value)
    return attended(rotate(query, position), turned_again(cache, rotate)), cache


@mend_rotary_cache.mistake(f"Two of three are mended. {QUERY}")
def all_but_the_query(query, key, value, cache, rotate):
    cache = grown(cache, rotate(key, cache.size(-2)), value)
    return attended(rotate(query, 0), cache), cache


@mend_rotary_cache.mistake(
    "The new position is counted from 1: the cache holds positions 0 to S - 1, and the next one is S."
)
def one_position_too_far(query, key, value, cache, rotate):
    position = cache.size(-2) + 1
    cache = grown(cache, rotate(key, position), value)
    return attended(rotate(query, position), cache), cache


@mend_rotary_cache.mistake(
    "The new key is left unturned. It must be turned by its own position, as those in the cache were when they came in."
)
def new_key_unturned(query, key, value, cache, rotate):
    cache = grown(cache, key, value)
    return attended(rotate(query, cache.size(-2) - 1), cache), cache


@mend_rotary_cache.mistake(
    "Neither the query nor the new key is turned, so the scores with older keys are those of a wrong distance."
)
def nothing_turned(query, key, value, cache, rotate):
    cache = grown(cache, key, value)
    return attended(query, cache), cache


@mend_rotary_cache.mistake("The new key and value stand in *front* of the cache. Positions grow towards its end.")
def grown_in_front(query, key, value, cache, rotate):
    position = cache.size(-2)
    cache = torch.cat([torch.stack([rotate(key, position), value]), cache], dim=-2)
    return attended(rotate(query, position), cache), cache


@mend_rotary_cache.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, heads, pairs), length = floats(generator), sizes(generator, 3, most=4), number(generator, 1, 40)
    new = {name: normal(batch, heads, 1, 2 * pairs) for name in ("query", "key", "value")}
    rotate = pick(generator, rope, rope_of_halves, slow_rope)
    return new | {"cache": normal(2, batch, heads, length, 2 * pairs), "rotate": rotate}
