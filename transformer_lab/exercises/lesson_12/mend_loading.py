"""Lesson 12: find the bug in `mend_loading`."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import normal
from transformer_lab.exercises.kinds import FindTheBug


def rotate(x: Tensor) -> Tensor:
    """(…, T, d_head): position p turns the features 2i and 2i + 1 together, by p · 10000^(-2i / d_head)."""
    speeds = 10000.0 ** (-torch.arange(0, x.size(-1), 2, dtype=torch.float64) / x.size(-1))
    angles = torch.arange(x.size(-2), dtype=torch.float64)[:, None] * speeds  # (T, pairs)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def loading_case(label: str, tokens: list[int], d_model: int, n_heads: int, eps: float, size: float = 1.0) -> Case:
    """A checkpoint of random tensors; those of one `size` that are small show what eps does."""
    double = label == "float64"
    number = torch.float64 if double else torch.float32
    given = {"tokens": torch.tensor(tokens, device="cpu"), "word": size * normal(9, d_model, dtype=number)}
    given |= {"types": size * normal(2, d_model, dtype=number)}
    given |= {"w_qkv": normal(d_model, 3 * d_model, dtype=number) / d_model**0.5}
    given |= {"w_out": normal(d_model, d_model, dtype=number) / d_model**0.5}
    return Case(label, given | {"n_heads": n_heads, "eps": eps, "rotate": rotate})


def broken_loading(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens]  # (T, d_model)
    parts = (x @ w_qkv).unflatten(-1, (n_heads, 3, -1))  # (T, h, 3, d_head)
    query, key, value = parts.permute(2, 1, 0, 3)  # (h, T, d_head) each
    weights = (rotate(query) @ rotate(key).mT / query.size(-1) ** 0.5).softmax(-1)
    heads = (weights @ value).transpose(0, 1).flatten(-2)  # (T, d_model)
    return F.layer_norm(x + heads @ w_out.T, x.shape[-1:], eps=eps)


@partial(
    FindTheBug,
    lesson="12",
    minutes=25,
    difficulty=3,
    statement="""
    Mend a loading. The function computes the first layer of a published model up to its first norm, out of its
    tensors, for one text of tokens (T,). It was loaded wrongly in three ways; no shape is wrong.

    The model: to the `word` vector of each token is added that of its type, a row of `types`; a text that comes alone
    is of type 0. x @ w_qkv gives all queries, then all keys, then all values; in each the heads lie side by side.
    Positions turn the features i and i + d_head / 2 of a head together; `rotate` (…, T, d_head) turns 2i and 2i + 1.
    `w_out` is that of an nn.Linear. It is post-norm, without weights in its norm, and the published `eps` is given.

    What was observed, compared with the original:
      Before the layer, each vector is off by one and the same vector.
      With all types zero and one head, a text of one token agrees; one of two tokens does not.
      With all types zero and two heads, even a text of one token does not agree.
    """,
    returns=("output",),
    cases=(
        loading_case("one token, one head", [3], 4, 1, 1e-5),
        loading_case("two tokens, one head", [3, 5], 4, 1, 1e-5),
        loading_case("one token, two heads", [2], 8, 2, 1e-5),
        loading_case("small numbers, another eps", [1, 4, 2], 8, 2, 1e-12, size=1e-3),
        loading_case("a text, three heads", [1, 7, 7, 0, 8, 2], 18, 3, 1e-6),
        loading_case("a large eps", [5, 6, 1, 2], 16, 2, 0.5),
        loading_case("float64", [1, 2, 3, 4, 5], 24, 2, 1e-12),
    ),
    hints=(
        "Take the observations in their order, and mend what each names before you read the next. Which tensor does "
        "the function never read?",
        "(T, 3 · d_model) is to be cut into three, each third into heads. In which order does `unflatten` name axes?",
        "A text of one token has position 0 alone, which turns nothing. What must be done to queries and keys, so that "
        "features half a head apart become neighbours? Their order within a head does not change a dot product.",
    ),
    broken=broken_loading,
)
def mend_loading(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    """The first layer of a published model, out of its tensors: (T,) tokens → (T, d_model).

    `rotate` turns the features 2i and 2i + 1 of a head together; in these tensors i and i + d_head / 2 belong together.
    """
    x = word[tokens] + types[0]  # (T, d_model)
    # W_Q, W_K and W_V lie side by side, and in each of them the heads: (T, 3, h, d_head) → (h, T, d_head) each
    query, key, value = (x @ w_qkv).unflatten(-1, (3, n_heads, -1)).permute(1, 2, 0, 3)
    query, key = (rotate(part.unflatten(-1, (2, -1)).mT.flatten(-2)) for part in (query, key))  # halves to neighbours
    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)  # (h, T, T)
    heads = (weights @ value).transpose(0, 1).flatten(-2)  # (T, d_model)
    return F.layer_norm(x + heads @ w_out.T, x.shape[-1:], eps=eps)


TYPE = "The type vector is missing: the original adds that of type 0 to every word of a text that comes alone."


SPLIT = (
    "w_qkv is cut into heads first, each with a query, a key and a value of its own. Some checkpoints are written so; "
    "here the queries of *all* heads come first."
)


LAYOUT = (
    "`rotate` still turns neighbours, and these tensors have what belongs together half a head apart. The scores of "
    "two positions come out wrong."
)


def in_heads(fused, n_heads):
    """(T, 3 · d_model) → query, key, value, (h, T, d_head) each, as they lie in the checkpoint."""
    return fused.unflatten(-1, (3, n_heads, -1)).permute(1, 2, 0, 3)


def cut_by_heads(fused, n_heads):
    """The same, cut wrongly."""
    return fused.unflatten(-1, (n_heads, 3, -1)).permute(2, 1, 0, 3)


def to_neighbours(part):
    """Features i and i + d_head / 2 side by side."""
    return part.unflatten(-1, (2, -1)).mT.flatten(-2)


def attended(query, key, value):
    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)
    return (weights @ value).transpose(0, 1).flatten(-2)


def normed(x, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


def as_it_is(part):
    return part


def loaded(tokens, word, added, w_qkv, w_out, n_heads, eps, rotate, cut=in_heads, ordered=to_neighbours):
    """The layer, with each of the three defects as an argument: what is added, how it is cut, the features' order."""
    x = word[tokens] + added
    query, key, value = cut(x @ w_qkv, n_heads)
    heads = attended(rotate(ordered(query)), rotate(ordered(key)), value)
    return normed(x + heads @ w_out.T, eps)


@mend_loading.mistake(f"One of three is mended. {SPLIT} {LAYOUT}")
def only_the_type(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, cut_by_heads, as_it_is)


@mend_loading.mistake(f"One of three is mended. {TYPE} {LAYOUT}")
def only_the_split(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, 0.0, w_qkv, w_out, n_heads, eps, rotate, ordered=as_it_is)


@mend_loading.mistake(f"One of three is mended. {TYPE} {SPLIT}")
def only_the_layout(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, 0.0, w_qkv, w_out, n_heads, eps, rotate, cut_by_heads)


@mend_loading.mistake(f"Two of three are mended. {TYPE}")
def all_but_the_type(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, 0.0, w_qkv, w_out, n_heads, eps, rotate)


@mend_loading.mistake(f"Two of three are mended. {SPLIT}")
def all_but_the_split(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, cut_by_heads)


@mend_loading.mistake(f"Two of three are mended. {LAYOUT}")
def all_but_the_layout(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, ordered=as_it_is)


@mend_loading.mistake(
    "`w_out` is applied as `x @ w_out`. It is the weight of an `nn.Linear`, which multiplies by its transpose; a "
    "square matrix raises no error."
)
def output_transposed(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out.T, n_heads, eps, rotate)


@mend_loading.mistake(
    "This is *pre-norm*: the norm stands in front of the attention. The model is post-norm, and its weights were "
    "trained with a norm after it."
)
def pre_norm(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens] + types[0]
    query, key, value = in_heads(normed(x, eps) @ w_qkv, n_heads)
    return x + attended(rotate(to_neighbours(query)), rotate(to_neighbours(key)), value) @ w_out.T


@mend_loading.mistake(
    "The norm has torch's eps, and not the published one. Where both are tiny, it shows only if the numbers are small "
    "or you compare closely."
)
def usual_eps(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, 1e-5, rotate)


@mend_loading.mistake("You add the vector of type 1, that of the *second* text of a pair. This text comes alone.")
def type_of_the_second(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[1], w_qkv, w_out, n_heads, eps, rotate)


@mend_loading.mistake(
    "You bring neighbours half a head apart. It is the other way round: what lies half a head apart must become "
    "neighbours. With four features in a head the two are the same, with six they are not."
)
def layout_backwards(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    def neighbours_apart(part):
        return part.unflatten(-1, (-1, 2)).mT.flatten(-2)

    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, ordered=neighbours_apart)


@mend_loading.mistake("The values are turned as well. Only queries and keys know where they stand.")
def values_turned(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens] + types[0]
    query, key, value = (rotate(to_neighbours(part)) for part in in_heads(x @ w_qkv, n_heads))
    return normed(x + attended(query, key, value) @ w_out.T, eps)


@mend_loading.mistake(
    "The values have been put into another order, like queries and keys. That order cancels in a dot product of two; "
    "w_out reads the values one by one."
)
def values_reordered(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens] + types[0]
    query, key, value = (to_neighbours(part) for part in in_heads(x @ w_qkv, n_heads))
    return normed(x + attended(rotate(query), rotate(key), value) @ w_out.T, eps)


@mend_loading.mistake(
    "Keys and values have changed places: x @ w_qkv gives the queries, then the keys, then the values."
)
def keys_and_values_exchanged(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens] + types[0]
    query, value, key = in_heads(x @ w_qkv, n_heads)
    heads = attended(rotate(to_neighbours(query)), rotate(to_neighbours(key)), value)
    return normed(x + heads @ w_out.T, eps)


ALL_TYPES = "You add all of `types`. A text that comes alone is of type 0: only the first row belongs to its tokens."


@mend_loading.mistake(ALL_TYPES)
def types_added_up(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types.sum(0), w_qkv, w_out, n_heads, eps, rotate)


@mend_loading.mistake(
    "You add the whole table `types`: each of two tokens gets a different type, and a longer text raises an error. A "
    "text that comes alone is of type 0: only the first row belongs to its tokens."
)
def all_rows_of_types(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate)


PERMUTED = (
    "`unflatten` now names the three before the heads, and `permute` still moves the axes as if it did not: you unpack "
    "the heads, and not query, key and value."
)


def permuted(fused, n_heads):
    return fused.unflatten(-1, (3, n_heads, -1)).permute(2, 1, 0, 3)


@mend_loading.mistake(PERMUTED)
def permuted_as_before(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, permuted)


@mend_loading.mistake(f"{PERMUTED} Besides: {LAYOUT}")
def permuted_as_before_without_the_layout(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, permuted, as_it_is)


@mend_loading.mistake(
    "You take the halves of all queries and keys, d_model wide. It is the halves of each *head* that belong together: "
    "cut into heads first."
)
def halves_of_the_width(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    def reordered_first(fused, n_heads):
        query, key, value = fused.chunk(3, -1)
        parts = (to_neighbours(query), to_neighbours(key), value)
        return [part.unflatten(-1, (n_heads, -1)).transpose(0, 1) for part in parts]

    return loaded(tokens, word, types[0], w_qkv, w_out, n_heads, eps, rotate, reordered_first, as_it_is)


@mend_loading.mistake(
    "`rotate` is given (T, h, d_head), and takes the axis before the last for the positions: it turns each head by its "
    "own number. Bring the heads to the front first."
)
def turned_by_the_head(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    x = word[tokens] + types[0]
    query, key, value = in_heads(x @ w_qkv, n_heads)
    query, key = (rotate(to_neighbours(part).transpose(0, 1)).transpose(0, 1) for part in (query, key))
    return normed(x + attended(query, key, value) @ w_out.T, eps)


@mend_loading.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, n_heads, length = floats(generator), number(generator, 2, 5), number(generator, 2, 12)
    d_model = n_heads * 2 * number(generator, 3, 6)
    tokens = torch.randint(20, (length,), generator=generator)
    given = {"tokens": tokens, "word": normal(20, d_model), "types": normal(2, d_model)}
    given |= {"w_qkv": normal(d_model, 3 * d_model) / d_model**0.5, "w_out": normal(d_model, d_model) / d_model**0.5}
    return given | {"n_heads": n_heads, "eps": number(generator, 1, 9) / 10, "rotate": rotate}
