"""Lesson 13: find the bug in `mend_tiles`."""

from functools import partial

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.kinds import FindTheBug


def broken_tiles(query, key, value, tile):
    maximum = query.new_zeros(query.size(0))
    total = torch.zeros_like(maximum)
    output = query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0) - tile + 1, tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        total = total * torch.exp(maximum - larger) + weights.sum(1)
        output = output + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]


def tiles_case(label: str, query: Tensor, key: Tensor, value: Tensor, tile: int, loose: bool = False) -> Case:
    return Case(label, {"query": query, "key": key, "value": value, "tile": tile}, loose)


ONE = torch.ones(1, 1, device="cpu")


DOUBLE = 2 * normal(12, 3, dtype=torch.float64)
FAR_BELOW = counting(2, 1).double() - 2000


@partial(
    FindTheBug,
    lesson="13",
    minutes=20,
    difficulty=2,
    statement="""
    Mend attention in tiles. It has three defects.

    The function returns attention's output (T, d_v) for queries (T, d_k), keys (S, d_k) and values (S, d_v), and reads
    `tile` keys at a time. It must be that of `scaled_dot_product_attention`, whatever the tile.

    What was observed:
      Once positive scores differ from tile to tile, the output depends on the order of the keys, and may be larger
      than every value.
      With 10 keys, tiles of 4 give the same as if there were 8 keys, and tiles of 16 give NaN.
      With keys that all fit very badly (scores of -200) the output is NaN.
    """,
    returns=("output",),
    cases=(
        tiles_case("one key", ONE, ONE, 3 * ONE, 1),
        tiles_case("two keys, the better one second", ONE, counting(2, 1), counting(2, 1) + 1, 1),
        tiles_case("three keys in tiles of two", normal(1, 2), normal(3, 2), normal(3, 2), 2),
        tiles_case("a tile wider than all keys", normal(2, 3), normal(4, 3), normal(4, 2), 7),
        tiles_case("scores far below zero", 20 * ONE, counting(2, 1) / 10 - 10, counting(2, 1) + 1, 1),
        tiles_case("scores of about -2000", ONE.double(), FAR_BELOW, DOUBLE[:2, :1], 1, loose=True),
        tiles_case("ever better keys", ONE, counting(6, 1), normal(6, 2), 2),
        tiles_case("ever worse keys", ONE, -counting(6, 1), normal(6, 2), 2),
        tiles_case("some queries", normal(5, 4), 2 * normal(8, 4), normal(8, 3), 4),
        tiles_case("a remainder", normal(4, 3), 2 * normal(11, 3), normal(11, 5), 4),
        tiles_case("equal sizes", 2 * normal(4, 4), normal(4, 4), normal(4, 4), 3),
        tiles_case("large scores", torch.cat([20 * ONE, -20 * ONE]), 9 * counting(4, 1) + 1, counting(4, 1) + 1, 2),
        tiles_case("float64", DOUBLE[:3], DOUBLE[2:9], DOUBLE[5:12, :2], 3),
    ),
    hints=(
        "Take two keys in tiles of one, with scores 0 and 1, and work out by hand what `maximum`, `total` and `output` "
        "are after each tile.",
        "`total` is made smaller when the maximum grows. What else was measured from the old maximum?",
        "At which `start` does the loop end, if there are 10 keys and tiles of 4? A slice may reach past the end.",
        "Which maximum makes no assumption about the scores, before any has been seen?",
    ),
    broken=broken_tiles,
)
def mend_tiles(query, key, value, tile):
    """Attention of (T, d_k) queries to (S, d_k) keys and (S, d_v) values, `tile` keys at a time."""
    maximum = query.new_full(query.shape[:1], float("-inf"))  # (T,)
    total = torch.zeros_like(maximum)  # (T,)
    output = query.new_zeros(query.size(0), value.size(1))  # (T, d_v)
    for start in range(0, key.size(0), tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5  # (T, s)
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        rescale = torch.exp(maximum - larger)
        total = total * rescale + weights.sum(1)
        output = output * rescale[:, None] + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]


def tiles_with(query, key, value, tile, rescaled=True, whole=True, lowest=True):
    """The reference, with some of the defects left in."""
    maximum = query.new_full(query.shape[:1], float("-inf") if lowest else 0.0)
    total, output = torch.zeros_like(maximum), query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0) if whole else key.size(0) - tile + 1, tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        factor = torch.exp(maximum - larger)
        total = total * factor + weights.sum(1)
        output = output * (factor[:, None] if rescaled else 1) + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]


SCALE = (
    "The output still keeps its size when the maximum grows: what was added up before was measured from a lower "
    "maximum, as `total` was."
)


LAST = "The last tile is still left out if it is not a full one."


START = (
    "The maximum still starts too high. If all scores are far below where it starts, every exponential is 0, and so is "
    "their sum."
)


@mend_tiles.mistake(f"{LAST} {START}")
def only_the_rescaling(query, key, value, tile):
    return tiles_with(query, key, value, tile, whole=False, lowest=False)


@mend_tiles.mistake(f"{SCALE} {START}")
def only_the_last_tile(query, key, value, tile):
    return tiles_with(query, key, value, tile, rescaled=False, lowest=False)


@mend_tiles.mistake(f"{SCALE} {LAST}")
def only_the_start(query, key, value, tile):
    return tiles_with(query, key, value, tile, rescaled=False, whole=False)


@mend_tiles.mistake(SCALE)
def all_but_the_rescaling(query, key, value, tile):
    return tiles_with(query, key, value, tile, rescaled=False)


@mend_tiles.mistake(LAST)
def all_but_the_last_tile(query, key, value, tile):
    return tiles_with(query, key, value, tile, whole=False)


@mend_tiles.mistake(START)
def all_but_the_start(query, key, value, tile):
    return tiles_with(query, key, value, tile, lowest=False)


@mend_tiles.mistake(
    "Each tile has a softmax of its own, and you take the mean of their outputs. So a tile of keys that fit badly "
    "counts as much as one of keys that fit, and the output still depends on which keys share a tile."
)
def mean_of_tiles(query, key, value, tile):
    outputs = []
    for start in range(0, key.size(0), tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        outputs.append(scores.softmax(1) @ value[start : start + tile])
    return torch.stack(outputs).mean(0)


@mend_tiles.mistake(
    "Where every exponential is 0, the output is now 0 and no longer NaN. That hides the third symptom: it should be "
    "a weighted average of the values there as well."
)
def nan_replaced(query, key, value, tile):
    return tiles_with(query, key, value, tile, lowest=False).nan_to_num(0.0)


@mend_tiles.mistake(
    "Each tile is measured from its *own* maximum, and these sums are added up. They must all be measured from one."
)
def each_from_its_own_maximum(query, key, value, tile):
    total, output = query.new_zeros(query.size(0)), query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0), tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        weights = torch.exp(scores - scores.amax(1, keepdim=True))
        total, output = total + weights.sum(1), output + weights @ value[start : start + tile]
    return output / total[:, None]


@mend_tiles.mistake(
    "No maximum is subtracted any more. Then nothing has to be rescaled, but exponentials of large scores overflow, "
    "and those of scores far below zero are all 0."
)
def without_a_maximum(query, key, value, tile):
    total, output = query.new_zeros(query.size(0)), query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0), tile):
        weights = torch.exp(query @ key[start : start + tile].T / query.size(1) ** 0.5)
        total, output = total + weights.sum(1), output + weights @ value[start : start + tile]
    return output / total[:, None]


@mend_tiles.mistake("The output is rescaled upside down: it must shrink when the maximum grows, as `total` does.")
def rescaled_upside_down(query, key, value, tile):
    maximum = query.new_full(query.shape[:1], -1e4)
    total, output = torch.zeros_like(maximum), query.new_zeros(query.size(0), value.size(1))
    for start in range(0, key.size(0), tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        total = total * torch.exp(maximum - larger) + weights.sum(1)
        back = torch.exp((larger - maximum).clamp(max=80.0))
        output = output * back[:, None] + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]


@mend_tiles.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (length, d_k, d_v), n_keys = floats(generator), sizes(generator, 3), number(generator, 2, 12)
    given = {"query": 2 * normal(length, d_k), "key": normal(n_keys, d_k), "value": normal(n_keys, d_v)}
    return given | {"tile": number(generator, 1, 6)}
