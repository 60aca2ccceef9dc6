"""Lesson 17: implement `ring_attention`."""

import torch
from torch import Generator

from transformer_lab.distributed import context_parallel
from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.exercise import Exercise


def parts(
    label: str, n: int, queries: int, keys: int, d: int, d_v: int, times: float = 1.0, dtype=torch.float32, loose=False
) -> Case:
    given = {"queries": times * normal(n, queries, d, dtype=dtype), "keys": normal(n, keys, d, dtype=dtype)}
    return Case(label, given | {"values": normal(n, keys, d_v, dtype=dtype)}, loose)


def zeros_case() -> Case:
    """Equal scores: an output is a mean of the values."""
    zeros = torch.zeros(3, 1, 2, device="cpu")
    return Case("equal scores", {"queries": zeros, "keys": zeros, "values": counting(3, 1, 1) * 3})


ring_attention = Exercise(
    context_parallel.ring_attention,
    lesson="17",
    minutes=25,
    difficulty=3,
    statement="""
    Attention of a text that is cut into n parts, as the n ranks of a ring work it out.

    `queries` (n, T, d), `keys` (n, S, d) and `values` (n, S, d_v): rank r has `queries[r]`, `keys[r]` and `values[r]`.
    In step 0 each rank attends with its queries to its own keys. Then, n - 1 times, every rank hands the keys and
    values that it has at the moment to the next rank (rank n - 1 to rank 0), and merges what its queries make of
    those that came into what it has. Scores are divided by √d; they may be large, and there is no mask.

    Return the outputs after each step, (n, n, T, d_v): `[s, r]` is what rank r has after step s.

    `merge_partial` of lesson 13 may be imported: `from transformer_lab import merge_partial`.
    """,
    returns=("outputs",),
    cases=(
        zeros_case(),
        parts("one rank", 1, 2, 3, 2, 2),
        parts("two ranks", 2, 1, 1, 2, 1, 2.0),
        parts("three ranks", 3, 2, 4, 5, 3, 2.0),
        parts("as many ranks as keys", 4, 4, 4, 4, 4),
        parts("large scores", 3, 2, 3, 4, 2, 300.0, loose=True),
        parts("float64", 5, 3, 2, 4, 6, dtype=torch.float64),
    ),
    hints=(
        "Two ranks, by hand: what does rank 0 have after step 0, and whose keys come to it in step 1?",
        "An output alone can't be merged. What else must a rank remember of each query? (Lesson 13.)",
        "After s hand-overs, rank r has the keys of rank r - s. A list or a tensor that is turned by one place does "
        "this for all ranks at once: look at `torch.roll`.",
        "Scale the scores by the root of d *before* you take their log-sum-exp.",
    ),
)


def attend(query, key, value, scale=None):
    scores = query @ key.transpose(-2, -1) / (query.size(-1) ** 0.5 if scale is None else scale)
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


def merged(output_a, lse_a, output_b, lse_b):
    share = torch.sigmoid(lse_a - lse_b)[..., None]
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)


def around(queries, keys, values, merge=merged, turn=1, value_turn=1, scale=None):
    output, lse = attend(queries, keys, values, scale)
    steps = [output]
    for _ in range(len(queries) - 1):
        keys, values = keys.roll(turn, 0), values.roll(value_turn, 0)
        output, lse = merge(output, lse, *attend(queries, keys, values, scale))
        steps.append(output)
    return torch.stack(steps)


@ring_attention.mistake(
    "Your ring turns the other way: rank r hands its keys to rank r + 1, so those that come to rank r are of rank r "
    "- 1. The last step is the same, those between are not."
)
def other_way_round(queries, keys, values):
    return around(queries, keys, values, turn=-1, value_turn=-1)


@ring_attention.mistake("The keys go round and the values stay: the weights then fall on the values of other tokens.")
def values_stay(queries, keys, values):
    return around(queries, keys, values, value_turn=0)


@ring_attention.mistake(
    "You take the mean of the parts. The part whose keys fit better counts for more: its sum of exponentials is larger."
)
def mean_of_parts(queries, keys, values):
    output, steps = attend(queries, keys, values)[0], []
    total = torch.zeros_like(output)
    for step in range(len(queries)):
        total = total + attend(queries, keys.roll(step, 0), values.roll(step, 0))[0]
        steps.append(total / (step + 1))
    return torch.stack(steps)


@ring_attention.mistake(
    "You take the mean of what was there and what has come, so that the last part counts for a half. The part whose "
    "keys fit better counts for more: its sum of exponentials is larger."
)
def half_of_what_came(queries, keys, values):
    return around(queries, keys, values, merge=lambda a, lse_a, b, lse_b: ((a + b) / 2, lse_a))


@ring_attention.mistake(
    "The log-sum-exp is not carried on: each part is merged as if what was there before came from the first part alone."
)
def log_sum_exp_of_the_first_part(queries, keys, values):
    first = attend(queries, keys, values)[1]
    return around(queries, keys, values, merge=lambda a, lse_a, b, lse_b: (merged(a, first, b, lse_b)[0], first))


@ring_attention.mistake(
    "The log-sum-exp is not carried on: after each merge you remember that of the part that came last, as if there had "
    "been no others."
)
def log_sum_exp_of_the_last_part(queries, keys, values):
    return around(queries, keys, values, merge=lambda a, lse_a, b, lse_b: (merged(a, lse_a, b, lse_b)[0], lse_b))


@ring_attention.mistake(
    "The log-sum-exp is that of the scores before they are scaled, so that the part with larger scores counts too "
    "much: divide first."
)
def log_sum_exp_before_scaling(queries, keys, values):
    def part(step):
        key, value = keys.roll(step, 0), values.roll(step, 0)
        return attend(queries, key, value)[0], attend(queries, key, value, scale=1.0)[1]

    output, lse = part(0)
    steps = [output]
    for step in range(1, len(queries)):
        output, lse = merged(output, lse, *part(step))
        steps.append(output)
    return torch.stack(steps)


@ring_attention.mistake(
    "In step s you turn keys and values by s places *more*. They have moved already: one place in each step."
)
def turned_further_each_time(queries, keys, values):
    output, lse = attend(queries, keys, values)
    steps = [output]
    for step in range(1, len(queries)):
        keys, values = keys.roll(step, 0), values.roll(step, 0)
        output, lse = merged(output, lse, *attend(queries, keys, values))
        steps.append(output)
    return torch.stack(steps)


@ring_attention.mistake("The scores are not scaled: each is divided by the root of d.")
def not_scaled(queries, keys, values):
    return around(queries, keys, values, scale=1.0)


@ring_attention.mistake(
    "Each part's output stands there alone. A rank has to merge it with what it has from the steps before."
)
def not_merged(queries, keys, values):
    return around(queries, keys, values, merge=lambda a, lse_a, b, lse_b: (b, lse_b))


@ring_attention.mistake(
    "The outputs are added up. They are averages already, and each counts by a share of less than 1."
)
def outputs_added(queries, keys, values):
    return around(queries, keys, values, merge=lambda a, lse_a, b, lse_b: (a + b, lse_a))


@ring_attention.mistake(
    "That is what the ranks have at the end, at every step. What is asked for is what they have on the way."
)
def the_end_at_every_step(queries, keys, values):
    last = around(queries, keys, values)[-1]
    return torch.stack([last] * len(queries))


@ring_attention.mistake("The axes of steps and ranks are exchanged: `[s, r]` is rank r after step s.")
def ranks_first(queries, keys, values):
    return around(queries, keys, values).transpose(0, 1)


@ring_attention.mistake(
    "The numbers are right while e^score is one that can be stored. With large scores it is infinite: merge by the "
    "*difference* of two log-sum-exps."
)
def overflow(queries, keys, values):
    def merge(a, lse_a, b, lse_b):
        e_a, e_b = lse_a.exp()[..., None], lse_b.exp()[..., None]
        return (e_a * a + e_b * b) / (e_a + e_b), (lse_a.exp() + lse_b.exp()).log()

    return around(queries, keys, values, merge=merge)


@ring_attention.mistake(
    "The numbers are right while e^score is one that can be stored. With large scores it is infinite, and ∞ / ∞ is "
    "NaN: take the largest score off first, or carry a log-sum-exp."
)
def overflow_of_sums(queries, keys, values):
    above, below, steps = 0, 0, []
    for step in range(len(queries)):
        e = (queries @ keys.roll(step, 0).mT / queries.size(-1) ** 0.5).exp()
        above, below = above + e @ values.roll(step, 0), below + e.sum(-1, keepdim=True)
        steps.append(above / below)
    return torch.stack(steps)


@ring_attention.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, n, (length, n_keys, d, d_v) = floats(generator), number(generator, 2, 5), sizes(generator, 4)
    return {"queries": 2 * normal(n, length, d), "keys": normal(n, n_keys, d), "values": normal(n, n_keys, d_v)}
