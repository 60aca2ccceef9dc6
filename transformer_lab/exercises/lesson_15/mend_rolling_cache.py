"""Lesson 15: find the bug in `mend_rolling_cache`."""

from functools import partial

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def turned(x, positions, base):
    """RoPE, neighbouring pairs: each row of x (…, n, d_head) by its own position."""
    d_head = x.size(-1)
    frequencies = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angles = torch.as_tensor(positions, dtype=torch.float64).reshape(-1, 1) * frequencies  # (n, d_head / 2)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def rope(x, positions):
    """RoPE, neighbouring pairs."""
    return turned(x, positions, 10_000.0)


def slow_rope(x, positions):
    """RoPE whose later pairs turn more slowly."""
    return turned(x, positions, 500_000.0)


def broken_rolling_cache(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    slots = torch.arange(window)
    slot = min(position, window - 1)
    cache = torch.where((slots == slot)[:, None], torch.stack([key, value]), cache)
    keys, values = rotate(cache[0], slots), cache[1]
    scores = rotate(query, torch.tensor([position])) @ keys.mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(slots > position % window, float("-inf"))
    return scores.softmax(-1) @ values, cache


def step_case(label: str, shape: tuple[int, int, int], window: int, position: int, rotate=rope, **like) -> Case:
    """The step of a position; the shape is (B, h, d_head)."""
    batch, heads, d_head = shape
    query, key, value = normal(3, batch, heads, 1, d_head, **like)
    given = {"query": query, "key": key, "value": value, "cache": normal(2, batch, heads, window, d_head, **like)}
    return Case(label, given | {"position": position, "rotate": rotate})


@partial(
    FindTheBug,
    lesson="15",
    minutes=20,
    difficulty=2,
    statement="""
    Mend one step of sliding-window attention with a rolling cache. It has three defects.

    `cache` (2, B, h, window, d_head) has a slot for each position of the window. Position p is stored in slot
    p mod window, in the place of the position that has just left the window: `cache[0]` has its key, `cache[1]` its
    value, both as the projections gave them. Slots that no position has reached yet may hold any numbers.

    query, key and value (B, h, 1, d_head) belong to the new position, number `position`, counted from 0. Its query
    attends to the last `window` positions, of which its own is one. Keys and queries are turned by their positions when
    they are used: `rotate(x, positions)` turns each row of x (…, n, d_head) by its entry in `positions`, a tensor of n
    whole numbers. Return `(output, cache)`, with the new position in its slot.

    What was observed:
      As long as a text fits into the window, every output is right, and after that none is.
      The first tokens of a long text never leave the cache.
      After every window of tokens, a query sees one key alone, the next query two, and so on, until it sees all again.
      The same last window of tokens gets different weights when more tokens stand before it.
    """,
    returns=("output", "cache"),
    cases=(
        step_case("a window of 2, position 2", (1, 1, 2), 2, 2),
        step_case("the first position", (1, 1, 2), 3, 0),
        step_case("a window that is just full", (1, 1, 2), 3, 2),
        step_case("a window that is not full yet", (2, 3, 4), 5, 2),
        step_case("behind the wrap", (2, 3, 4), 5, 7),
        step_case("the second wrap", (1, 2, 6), 4, 8),
        step_case("the last slot, in the third round", (3, 1, 2), 4, 11),
        step_case("a window of 1", (1, 2, 4), 1, 3),
        step_case("far behind, another base", (1, 3, 8), 6, 57, slow_rope),
        step_case("float64", (2, 1, 4), 3, 10, dtype=torch.float64),
    ),
    hints=(
        "Take a window of 4 and position 9. Write down for each of the four slots which position lies in it after the "
        "step, and how far back that is.",
        "Which slot does position 9 take, and which position stood there before? Compare it with the slot that is "
        "written here.",
        "After the window has been full once, is there still a slot that holds nothing? And by which number must the "
        "key in each slot be turned: by the number of its slot, or by that of its position?",
    ),
    broken=broken_rolling_cache,
)
def mend_rolling_cache(query, key, value, cache, position, rotate):
    """One step of sliding-window attention with a cache whose slots are used in turn: `(output, cache)`.

    Where a position lies in the cache says nothing to a query but how far back it is; and only slots that no position
    has reached are hidden.
    """
    window = cache.size(-2)
    slots = torch.arange(window)
    slot = position % window
    cache = torch.where((slots == slot)[:, None], torch.stack([key, value]), cache)
    back = (position - slots) % window  # how far back the position lies that each slot holds
    keys, values = rotate(cache[0], position - back), cache[1]
    scores = rotate(query, torch.tensor([position])) @ keys.mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(slots > position, float("-inf"))
    return scores.softmax(-1) @ values, cache


SLOT = (
    "Once the window is full, the new position still overwrites the last slot, again and again: what was just before "
    "it is lost, and the first tokens of the text stay for ever."
)
MASK = (
    "The slots after the new position's are still hidden after the first round. They were empty then, but now they "
    "hold the older part of the window."
)
HIDES_TURNS = (
    "As long as they are hidden, turning query and keys by their slots gives the same scores as turning them by their "
    "positions. So check which of the two you do."
)
TURN = "The keys are still turned by the numbers of their *slots*, which are their positions in the first round alone."


def rolled(query, key, value, cache, position, rotate, slot=None, hidden=None, positions=None, asked=None):
    """The step with each place where one can go wrong as an argument."""
    window = cache.size(-2)
    slots = torch.arange(window)
    back = (position - slots) % window
    slot = position % window if slot is None else slot
    cache = torch.where((slots == slot)[:, None], torch.stack([key, value]), cache)
    positions = position - back if positions is None else positions
    hidden = back > position if hidden is None else hidden
    asked = torch.tensor([position]) if asked is None else asked
    scores = rotate(query, asked) @ rotate(cache[0], positions).mT / query.size(-1) ** 0.5
    return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ cache[1], cache


def as_before(cache, position):
    """The three defects: a slot, hidden slots, positions."""
    window = cache.size(-2)
    slots = torch.arange(window)
    return {"slot": min(position, window - 1), "hidden": slots > position % window, "positions": slots}


def mended(given, *parts):
    """The step in which these parts of three are mended, and the others are as before."""
    broken = {name: part for name, part in as_before(given[3], given[4]).items() if name not in parts}
    return rolled(*given, **broken)


@mend_rolling_cache.mistake(f"One of three is mended. {MASK} {TURN}")
def only_the_slot(query, key, value, cache, position, rotate):
    return mended((query, key, value, cache, position, rotate), "slot")


@mend_rolling_cache.mistake(f"One of three is mended. {SLOT} {TURN}")
def only_the_mask(query, key, value, cache, position, rotate):
    return mended((query, key, value, cache, position, rotate), "hidden")


@mend_rolling_cache.mistake(f"{SLOT} {MASK} {HIDES_TURNS}")
def only_the_positions(query, key, value, cache, position, rotate):
    return mended((query, key, value, cache, position, rotate), "positions")


@mend_rolling_cache.mistake(f"Two of three are mended. {SLOT}")
def all_but_the_slot(query, key, value, cache, position, rotate):
    return mended((query, key, value, cache, position, rotate), "hidden", "positions")


@mend_rolling_cache.mistake(f"{MASK} {HIDES_TURNS}")
def all_but_the_mask(query, key, value, cache, position, rotate):
    return mended((query, key, value, cache, position, rotate), "slot", "positions")


@mend_rolling_cache.mistake(f"Two of three are mended. {TURN}")
def all_but_the_positions(query, key, value, cache, position, rotate):
    return mended((query, key, value, cache, position, rotate), "slot", "hidden")


@mend_rolling_cache.mistake(
    "The cache grows by one position at every step. Then nothing is overwritten, but the query sees the whole "
    "text instead of the last `window` positions, and the memory grows with the text again."
)
def grown_for_ever(query, key, value, cache, position, rotate):
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    positions = position + 1 - cache.size(-2) + torch.arange(cache.size(-2))
    scores = rotate(query, torch.tensor([position])) @ rotate(cache[0], positions).mT / query.size(-1) ** 0.5
    return scores.masked_fill(positions < 0, float("-inf")).softmax(-1) @ cache[1], cache


@mend_rolling_cache.mistake(
    "The cache is emptied whenever its first slot comes round again. Slots and positions then agree, but the query has "
    "forgotten the last tokens: its window is a block of the text, and no longer slides."
)
def emptied_at_the_wrap(query, key, value, cache, position, rotate):
    slot, slots = position % cache.size(-2), torch.arange(cache.size(-2))
    cache = 0 * cache if slot == 0 else cache
    return rolled(query, key, value, cache, position, rotate, hidden=slots > slot, positions=position - slot + slots)


@mend_rolling_cache.mistake(
    "Everything in the cache moves up by one slot, and the new position comes last. But the cache that is handed in is "
    "not in the order of the text: position p lies in slot p mod window, and must stay there."
)
def moved_along(query, key, value, cache, position, rotate):
    cache = torch.cat([cache[..., 1:, :], torch.stack([key, value])], dim=-2)
    positions = position + 1 - cache.size(-2) + torch.arange(cache.size(-2))
    scores = rotate(query, torch.tensor([position])) @ rotate(cache[0], positions).mT / query.size(-1) ** 0.5
    return scores.masked_fill(positions < 0, float("-inf")).softmax(-1) @ cache[1], cache


@mend_rolling_cache.mistake(
    "No slot is hidden any more. That is right once the window has been full, but before, the query sees slots that no "
    "position has reached."
)
def nothing_hidden(query, key, value, cache, position, rotate):
    return rolled(query, key, value, cache, position, rotate, hidden=torch.zeros(1, dtype=torch.bool))


@mend_rolling_cache.mistake(
    "Query and keys are not turned any more, or all by the same angle. The weights no longer depend on what stands "
    "before the window, because they do not depend on any position."
)
def nothing_turned(query, key, value, cache, position, rotate):
    return rolled(query, key, value, cache, position, lambda x, positions: x)


@mend_rolling_cache.mistake(
    "The new key is turned before it is stored, and again when it is read. Those in the cache were stored unturned."
)
def key_stored_turned(query, key, value, cache, position, rotate):
    return rolled(query, rotate(key, torch.tensor([position])), value, cache, position, rotate)


@mend_rolling_cache.mistake(
    "The keys are turned by how far *back* they lie, and the query by 0. Then the past lies ahead: a key that is three "
    "positions back is turned as if it stood three positions further on."
)
def turned_the_wrong_way(query, key, value, cache, position, rotate):
    back = (position - torch.arange(cache.size(-2))) % cache.size(-2)
    return rolled(query, key, value, cache, position, rotate, positions=back, asked=torch.tensor([0]))


@mend_rolling_cache.mistake(
    "The oldest position of the window is hidden. The new one has already taken the place of the one that left, so all "
    "`window` slots may be seen."
)
def oldest_hidden(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    back = (position - torch.arange(window)) % window
    return rolled(query, key, value, cache, position, rotate, hidden=(back > position) | (back == window - 1))


@mend_rolling_cache.mistake(
    "The new position is stored one slot too far. Positions are counted from 0, so position 0 lies in slot 0."
)
def one_slot_too_far(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    slots = torch.arange(window)
    back = (position + 1 - slots) % window
    hidden, positions = back > position, position - back
    return rolled(query, key, value, cache, position, rotate, (position + 1) % window, hidden, positions)


@mend_rolling_cache.mistake(
    "Query and keys are turned as if all slots had been filled in the *same* round. After a wrap, the older part of "
    "the window then seems to come *after* the query, but it was written a round before."
)
def query_by_its_slot(query, key, value, cache, position, rotate):
    window = cache.size(-2)
    asked = torch.tensor([position % window])
    return rolled(query, key, value, cache, position, rotate, positions=torch.arange(window), asked=asked)


@mend_rolling_cache.mistake(
    "The values are turned as well. Positions belong in the scores; what is brought along must not depend on them."
)
def values_turned(query, key, value, cache, position, rotate):
    _, cache = rolled(query, key, value, cache, position, rotate)
    positions = position - (position - torch.arange(cache.size(-2))) % cache.size(-2)
    scores = rotate(query, torch.tensor([position])) @ rotate(cache[0], positions).mT / query.size(-1) ** 0.5
    return scores.masked_fill(positions < 0, float("-inf")).softmax(-1) @ rotate(cache[1], positions), cache


@mend_rolling_cache.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, heads, pairs) = floats(generator), sizes(generator, 3, most=4)
    window, position = number(generator, 2, 8), number(generator, 0, 60)
    given: Arguments = {name: normal(batch, heads, 1, 2 * pairs) for name in ("query", "key", "value")}
    given |= {"cache": normal(2, batch, heads, window, 2 * pairs), "position": position}
    return given | {"rotate": pick(generator, rope, slow_rope)}
