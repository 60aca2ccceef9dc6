"""Lesson 11: implement `grouped_query_attention`."""

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def groups_case(label: str, query: tuple[int, ...], groups: int, keys: int, size: float = 1.0, **like) -> Case:
    """Random queries of a shape (B, h, T, d_head), and so many groups of keys and values."""
    batch, _, _, d_head = query
    key, value = normal(2, batch, groups, keys, d_head, **like)
    return Case(label, {"query": size * normal(*query, **like), "key": key, "value": value})


def sharp(*rows: int) -> Tensor:
    """Queries of one position, (1, h, 1, 2), each of which finds one of two keys."""
    return 60 * torch.eye(2, device="cpu")[[*rows]].reshape(1, len(rows), 1, 2)


KEYS = torch.eye(2, device="cpu").expand(1, 2, 2, 2)  # (B, g, S, d_head): the same in both groups


VALUES = torch.tensor([[[[1.0, 0], [2, 0]], [[3, 0], [4, 0]]]], device="cpu")  # each says where it stands


grouped_query_attention = Exercise(
    attention.grouped_query_attention,
    lesson="11",
    minutes=15,
    difficulty=2,
    statement="""
    Attention in which several heads share the keys and the values of one group.

    query is (B, h, T, d_head), key and value are (B, g, S, d_head), and h is a multiple of g. The heads are dealt out
    in blocks: head i reads group i // (h // g). So with 4 heads and 2 groups, heads 0 and 1 read group 0, heads 2
    and 3 group 1.

    Return the output (B, h, T, d_head): softmax(Q Kᵀ / √d_head) V for each head. There is no mask.
    """,
    returns=("output",),
    cases=(
        Case(
            "four heads, two groups; a value says where it stands",
            {"query": sharp(0, 1, 0, 1)} | {"key": KEYS, "value": VALUES},
        ),
        groups_case("two heads that share all", (1, 2, 1, 2), 1, 2),
        groups_case("as many groups as heads", (2, 3, 4, 5), 3, 6),
        groups_case("six heads, two groups", (1, 6, 3, 4), 2, 5),
        groups_case("six heads, three groups", (2, 6, 5, 4), 3, 7),
        groups_case("one group for all, a batch", (3, 4, 2, 5), 1, 6),
        groups_case("one query, as with a cache", (2, 8, 1, 3), 4, 9),
        groups_case("large scores", (2, 4, 3, 6), 2, 5, size=6.0),
        groups_case("float64", (2, 4, 3, 5), 2, 4, dtype=torch.float64),
    ),
    hints=(
        "With g = h this is the attention of lesson 02. What must be done to keys and values so that it is that again?",
        "Each group must be there h // g times. In which order do the copies stand, if head 1 reads group 0, and "
        "head 2 group 1?",
        "Nothing has to be copied: give the queries one more axis, (B, g, h // g, T, d_head), and the keys one of size "
        "1 in the same place.",
    ),
)


def attend(query, key, value, scale=None):
    scale = query.size(-1) ** -0.5 if scale is None else scale
    return (query @ key.mT * scale).softmax(-1) @ value


@grouped_query_attention.mistake(
    "The groups are dealt out in turn, 0, 1, 0, 1: that is what `repeat` makes. Heads of one group lie side by side, "
    "0, 0, 1, 1, as `repeat_interleave` puts them. With weights that were trained the other way, heads "
    "read keys that are not theirs."
)
def groups_in_turn(query, key, value):
    times = query.size(1) // key.size(1)
    return attend(query, key.repeat(1, times, 1, 1), value.repeat(1, times, 1, 1))


@grouped_query_attention.mistake(
    "The values are dealt out in turn, the keys in blocks. A head reads its keys and values from the same group."
)
def values_in_turn(query, key, value):
    times = query.size(1) // key.size(1)
    return attend(query, key.repeat_interleave(times, 1), value.repeat(1, times, 1, 1))


@grouped_query_attention.mistake(
    "The keys are dealt out in turn, the values in blocks. A head reads its keys and values from the same group."
)
def keys_in_turn(query, key, value):
    times = query.size(1) // key.size(1)
    return attend(query, key.repeat(1, times, 1, 1), value.repeat_interleave(times, 1))


@grouped_query_attention.mistake(
    "All heads read the first group. That is multi-query attention; the other groups are never read."
)
def first_group_for_all(query, key, value):
    return attend(query, key[:, :1], value[:, :1])


@grouped_query_attention.mistake("You average keys and values over the groups. Each head reads those of its own group.")
def mean_of_the_groups(query, key, value):
    return attend(query, key.mean(1, keepdim=True), value.mean(1, keepdim=True))


@grouped_query_attention.mistake(
    "You average the queries of a group, so that its heads all say the same. They share keys and values, and ask for "
    "themselves."
)
def mean_of_the_queries(query, key, value):
    times = query.size(1) // key.size(1)
    shared = query.unflatten(1, (-1, times)).mean(2)
    return attend(shared, key, value).repeat_interleave(times, 1)


@grouped_query_attention.mistake(
    "There is one output for each *group*. Each head has its own: the result is as large as the query."
)
def one_output_a_group(query, key, value):
    return attend(query.unflatten(1, (key.size(1), -1)).mean(2), key, value)


@grouped_query_attention.mistake("The scores are not divided by √d_head.")
def not_scaled(query, key, value):
    times = query.size(1) // key.size(1)
    return attend(query, key.repeat_interleave(times, 1), value.repeat_interleave(times, 1), scale=1.0)


@grouped_query_attention.mistake("The scores are divided by d_head. It is its root that keeps their size.")
def scaled_too_much(query, key, value):
    times, scale = query.size(1) // key.size(1), 1 / query.size(-1)
    return attend(query, key.repeat_interleave(times, 1), value.repeat_interleave(times, 1), scale)


@grouped_query_attention.mistake("A causal mask is added. There is none here: every query sees every key.")
def with_a_causal_mask(query, key, value):
    times = query.size(1) // key.size(1)
    keys, values = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    future = torch.ones(query.size(2), key.size(2), dtype=torch.bool).triu(1)
    return (query @ keys.mT / query.size(-1) ** 0.5).masked_fill(future, float("-inf")).softmax(-1) @ values


@grouped_query_attention.mistake("The softmax runs over the queries. The weights of one query sum to 1 over its keys.")
def softmax_over_queries(query, key, value):
    times = query.size(1) // key.size(1)
    keys, values = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    return (query @ keys.mT / query.size(-1) ** 0.5).softmax(-2) @ values


@grouped_query_attention.mistake(
    "You return the heads merged, (B, T, d_model). Here they stay apart: (B, h, T, d_head)."
)
def heads_merged(query, key, value):
    times = query.size(1) // key.size(1)
    output = attend(query, key.repeat_interleave(times, 1), value.repeat_interleave(times, 1))
    return output.transpose(1, 2).flatten(2)


@grouped_query_attention.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, groups, n_queries, n_keys, d_head) = floats(generator), sizes(generator, 5)
    heads = groups * number(generator, 1, 4)
    shared = {name: normal(batch, groups, n_keys, d_head) for name in ("key", "value")}
    return {"query": 2 * normal(batch, heads, n_queries, d_head)} | shared
