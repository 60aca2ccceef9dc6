"""Lesson 08: implement `cached_attention`."""

from math import log

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def step_case(label: str, batch: int, heads: int, length: int, d_head: int, dtype=torch.float32) -> Case:
    """One new position after `length` old ones."""
    query, key, value = normal(3, batch, heads, 1, d_head, dtype=dtype)
    return Case(
        label,
        {"query": query, "key": key, "value": value, "cache": normal(2, batch, heads, length, d_head, dtype=dtype)},
    )


def grown_at_its_end(given, output, cache) -> bool:
    old, length = given["cache"], given["cache"].size(-2)
    return torch.equal(cache[..., :length, :], old) and torch.equal(
        cache[..., length:, :], torch.stack([given["key"], given["value"]])
    )


cached_attention = Exercise(
    attention.cached_attention,
    lesson="08",
    minutes=10,
    difficulty=2,
    statement="""
    One step of self-attention with a cache: return `(output, cache)`, with the cache grown by one position.

    query, key and value belong to the new position alone: (B, h, 1, d_head), projected already. `cache` holds the keys
    and the values of the S positions before it, as one tensor of shape (2, B, h, S, d_head): `cache[0]` the keys,
    `cache[1]` the values; at the first position S is 0. The output is (B, h, 1, d_head), attention (§3.2.1) over all
    S + 1 positions.
    """,
    returns=("output", "cache"),
    cases=(
        Case(
            "the third position of a sentence; each value is 1 at its own position, else 0",
            {
                "query": torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]]),
                "key": torch.tensor([[[[log(2.0), 0.0, 0.0, 0.0]]]]),
                "value": torch.tensor([[[[0.0, 0.0, 1.0, 0.0]]]]),
                "cache": torch.tensor(
                    [
                        [[[[log(3.0), 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]],
                        [[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]],
                    ]
                ),
            },
        ),
        Case(
            "the first position: the cache is empty",
            {name: counting(1, 1, 1, 2) + i for i, name in enumerate(("query", "key", "value"))}
            | {"cache": torch.empty(2, 1, 1, 0, 2)},
        ),
        step_case("the second position", 1, 1, 1, 3),
        step_case("one head, one position before", 3, 1, 1, 4),
        step_case("a batch", 2, 3, 5, 7),
        step_case("two heads", 3, 2, 4, 5),
        step_case("an empty cache, a batch", 2, 3, 0, 5),
        step_case("float64", 2, 3, 7, 4, dtype=torch.float64),
    ),
    properties=(Property("the cache keeps what it had, and has the new key and value behind it", grown_at_its_end),),
    hints=(
        "First let the cache grow by the new key and value, then attend to all of it: a position may attend to itself.",
        "If you stack key and value, the result has the axes of the cache, with one position. Along which axis must "
        "`torch.cat` join the two?",
        "The rest is attention for one query, softmax(q Kᵀ / √d_head) V. It needs no mask, because all that is in the "
        "cache lies in the past.",
    ),
)


def grown(key: Tensor, value: Tensor, cache: Tensor) -> Tensor:
    return torch.cat([cache, torch.stack([key, value])], dim=-2)


def attended(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1) @ values


@cached_attention.mistake(
    "The query attends only to the new position, so the cache is never used and the output is the new value."
)
def cache_not_used(query, key, value, cache):
    return attended(query, key, value), grown(key, value, cache)


@cached_attention.mistake(
    "The query attends only to the old positions. But a position may attend to itself: let the cache grow first."
)
def itself_not_seen(query, key, value, cache):
    return attended(query, *cache), grown(key, value, cache)


@cached_attention.mistake("The cache is returned as it came in, so the next step does not know this position.")
def cache_not_grown(query, key, value, cache):
    return attended(query, *grown(key, value, cache)), cache


@cached_attention.mistake(
    "The new position is put in *front* of the old ones. The output is the same, but the cache is out of order: a mask "
    "or a window would take the newest position for the oldest."
)
def grown_in_front(query, key, value, cache):
    cache = torch.cat([torch.stack([key, value]), cache], dim=-2)
    return attended(query, *cache), cache


@cached_attention.mistake("Keys and values are exchanged: `cache[0]` holds the keys, `cache[1]` the values.")
def exchanged(query, key, value, cache):
    values, keys = grown(key, value, cache)
    return attended(query, keys, values), grown(key, value, cache)


@cached_attention.mistake("Value and key are stored the wrong way round: the keys come first.")
def stored_exchanged(query, key, value, cache):
    cache = grown(value, key, cache)
    return attended(query, *cache), cache


@cached_attention.mistake("The scores are not divided by √d_head.")
def cache_without_scale(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT).softmax(-1) @ values, cache


@cached_attention.mistake(
    "The triangle of the mask is aligned with the *first* key, as by `is_causal=True`, so that one query sees that key "
    "alone. The newest position may see everything, so no mask is needed."
)
def causal_from_the_first_key(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return torch.nn.functional.scaled_dot_product_attention(query, keys, values, is_causal=True), cache


@cached_attention.mistake("The new position replaces the last one, so the cache is as long as before.")
def last_one_replaced(query, key, value, cache):
    cache = grown(key, value, cache[..., :-1, :])
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The oldest position is dropped when a new one comes. That is a sliding window; here the cache grows."
)
def oldest_dropped(query, key, value, cache):
    cache = grown(key, value, cache[..., 1:, :])
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The softmax runs over the queries. There is only one, so each weight is 1. It must run over the keys, dim=-1."
)
def cache_softmax_over_queries(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT / query.size(-1) ** 0.5).softmax(-2) @ values, cache


@cached_attention.mistake("The *query* is stored where the key belongs. Queries are used once and need no cache.")
def query_stored(query, key, value, cache):
    cache = grown(query, value, cache)
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The cache grows along the axis of the heads. In a tensor of (2, B, h, S, d_head) the positions are the last axis "
    "but one, dim=-2."
)
def grown_along_heads(query, key, value, cache):
    cache = torch.cat([cache, torch.stack([key, value])], dim=2)
    return attended(query, *cache), cache


@cached_attention.mistake(
    "The scores are divided by the square root of the number of positions, which grows, and not by √d_head."
)
def scaled_by_the_length(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT / keys.size(-2) ** 0.5).softmax(-1) @ values, cache


@cached_attention.mistake("The scores are divided by d_head, not by its square root: the weights come out too even.")
def divided_by_d_head(query, key, value, cache):
    keys, values = cache = grown(key, value, cache)
    return (query @ keys.mT / query.size(-1)).softmax(-1) @ values, cache


@cached_attention.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, n_heads, d_head), length = floats(generator), sizes(generator, 3), number(generator, 0, 9)
    new = {name: normal(batch, n_heads, 1, d_head) for name in ("query", "key", "value")}
    return new | {"cache": normal(2, batch, n_heads, length, d_head)}
