"""Exercises of lesson 02: splitting and merging heads, and multi-head attention."""

import torch

from transformer_lab.exercises.exercise import Law, exercise
from transformer_lab.exercises.running import Case
from transformer_lab.exercises.samples import counting, normal


def split_case(label: str, x, n_heads: int) -> Case:
    return Case(label, {"x": x, "n_heads": n_heads})


@exercise(
    lesson="02",
    returns=("heads",),
    cases=(
        split_case("two tokens of four features, two heads", counting(1, 2, 4), 2),
        split_case("one head", counting(1, 2, 3), 1),
        split_case("one token", counting(1, 1, 6), 3),
        split_case("as many heads as features", counting(1, 3, 4), 4),
        split_case("a batch", normal(2, 5, 21), 3),
        split_case("float64, not contiguous", normal(2, 6, 5, dtype=torch.float64).mT, 2),
    ),
    laws=(
        Law(
            "head 0 of the first token is the first block of its features",
            lambda given, heads: torch.equal(heads[0, 0, 0], given["x"][0, 0].chunk(given["n_heads"])[0]),
        ),
        Law(
            "no number is lost or made up",
            lambda given, heads: torch.equal(heads.flatten().sort()[0], given["x"].flatten().sort()[0]),
        ),
    ),
    hints=(
        "First give the features two axes, (h, d_head); then move the axis of heads to where it belongs.",
        "The shape (B, h, T, d_head) can be had in one `view`, with every number in the wrong place. "
        "Which two axes change places on the way?",
    ),
)
def split_heads(x, n_heads):
    """(B, T, d_model) → (B, h, T, d_head): head i owns the i-th block of d_head = d_model / h features."""
    batch, length, d_model = x.shape
    return x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)


@split_heads.mistake(
    "A straight view to (B, h, T, d_head): the shape is right and the numbers are not. It deals whole runs of "
    "*tokens* out to the heads, so that a head sees some tokens in full and others never."
)
def straight_view(x, n_heads):
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


@split_heads.mistake("The axis of heads is still behind that of tokens: (B, T, h, d_head).")
def heads_left_behind(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1)


@split_heads.mistake(
    "The features are dealt out like cards: head i owns every h-th feature. It must own the i-th *block* of them."
)
def interleaved(x, n_heads):
    return x.reshape(x.size(0), x.size(1), -1, n_heads).permute(0, 3, 1, 2)


@split_heads.mistake("n_heads has been used as the width of a head: you made d_head heads with h features each.")
def width_for_number(x, n_heads):
    return x.reshape(x.size(0), x.size(1), -1, n_heads).transpose(1, 2)


@split_heads.mistake("The last two axes have changed places: (B, h, d_head, T). Only the keys need that, and later.")
def features_before_tokens(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).permute(0, 2, 3, 1)


@split_heads.mistake("The heads came out in front of the batch: (h, B, T, d_head).")
def heads_before_batch(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).permute(2, 0, 1, 3)


@split_heads.mistake("Every head got a copy of all features. A head owns d_model / h of them.")
def copied(x, n_heads):
    return x.unsqueeze(1).expand(-1, n_heads, -1, -1)


@split_heads.mistake("Batch and heads share one axis: (B · h, T, d_head). Keep an axis for each.")
def batch_and_heads_joined(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1).transpose(1, 2).flatten(0, 1)


@exercise(
    lesson="02",
    returns=("x",),
    cases=(
        Case("two heads, two tokens", {"x": counting(1, 2, 2, 2)}),
        Case("one head", {"x": counting(1, 1, 3, 2)}),
        Case("one token", {"x": counting(1, 3, 1, 2)}),
        Case("one feature in each head", {"x": counting(1, 4, 3, 1)}),
        Case("a batch", {"x": normal(2, 3, 5, 7)}),
        Case("as many heads as tokens", {"x": normal(3, 2, 2, 5)}),
        Case("float64, not contiguous", {"x": normal(2, 5, 3, 7, dtype=torch.float64).transpose(1, 2)}),
    ),
    laws=(
        Law(
            "the first token begins with its features from head 0",
            lambda given, x: torch.equal(x[0, 0, : given["x"].size(3)], given["x"][0, 0, 0]),
        ),
        Law(
            "no number is lost or made up",
            lambda given, x: torch.equal(x.flatten().sort()[0], given["x"].flatten().sort()[0]),
        ),
    ),
    hints=(
        "Undo `split_heads` backwards: move the axis of heads next to the features, then make one axis of the two.",
        "After the axes have changed places the numbers no longer lie in order in memory: `view` refuses. What copies?",
    ),
)
def merge_heads(x):
    """(B, h, T, d_head) → (B, T, d_model), the inverse of `split_heads`: the heads of a token side by side."""
    batch, n_heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * d_head)


@merge_heads.mistake(
    "The axes of heads and tokens were not swapped before they were merged: the shape is right, and one row mixes "
    "features of several tokens."
)
def not_swapped(x):
    return x.reshape(x.size(0), x.size(2), -1)


@merge_heads.mistake(
    "`view` cannot merge axes right after `transpose`: the numbers are not in order in memory. `reshape` copies them."
)
def view_after_transpose(x):
    return x.transpose(1, 2).view(x.size(0), x.size(2), -1)


@merge_heads.mistake("The features are interleaved: feature 0 of all heads, then feature 1. Heads come in blocks.")
def features_interleaved(x):
    return x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1)


@merge_heads.mistake("The heads were added up. They go side by side, so that no head overwrites another.")
def heads_added(x):
    return x.sum(1)


@merge_heads.mistake("The heads were averaged. They go side by side; it is W_O that later mixes them.")
def heads_averaged(x):
    return x.mean(1)


@merge_heads.mistake("The heads were put one after the other in *time*: (B, h · T, d_head). They belong side by side.")
def joined_in_time(x):
    return x.flatten(1, 2)


@merge_heads.mistake("Heads and tokens are swapped, and not yet merged: (B, T, h, d_head) still has four axes.")
def not_merged(x):
    return x.transpose(1, 2)


@merge_heads.mistake("The heads are side by side in reverse order.")
def reversed_heads(x):
    return x.flip(1).transpose(1, 2).flatten(2)


def multi_head_case(label: str, query, key, value, n_heads: int, dtype=torch.float32, coarse: bool = False) -> Case:
    d_model = query.size(-1)
    weights = (normal(4, d_model, d_model, dtype=dtype) * d_model**-0.5).unbind()
    names = ("query", "key", "value", "w_q", "w_k", "w_v", "w_o", "n_heads")
    return Case(label, dict(zip(names, (query, key, value, *weights, n_heads), strict=True)), coarse)


@exercise(
    lesson="02",
    returns=("output",),
    cases=(
        multi_head_case("two tokens, two heads", counting(1, 2, 4) / 4, counting(1, 2, 4) / 8, counting(1, 2, 4), 2),
        multi_head_case("one head", normal(1, 2, 4), normal(1, 3, 4), normal(1, 3, 4), 1),
        multi_head_case("one token alone", normal(1, 1, 4), normal(1, 1, 4), normal(1, 1, 4), 2),
        multi_head_case("self-attention, three heads", *[normal(2, 5, 6)] * 3, 3),
        multi_head_case("cross-attention, T ≠ S", normal(2, 5, 14), normal(2, 3, 14), normal(2, 3, 14) + 1, 7),
        multi_head_case("large numbers", 15 * normal(2, 5, 6), 15 * normal(2, 7, 6), normal(2, 7, 6), 2, coarse=True),
        multi_head_case(
            "float64, not contiguous",
            normal(2, 12, 5, dtype=torch.float64).mT,
            normal(2, 12, 7, dtype=torch.float64).mT,
            normal(2, 12, 7, dtype=torch.float64).mT - 1,
            3,
            dtype=torch.float64,
        ),
    ),
    hints=(
        "Five steps: project, split into heads, attend within each head, merge the heads, project again.",
        "Each head is a small attention of its own: the width in its scale is d_head, not d_model.",
        "With the axis of heads in front of tokens and features, one matrix product serves all heads.",
    ),
)
def multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O, head_i = Attention(Q_i, K_i, V_i).

    query (B, T, d_model), key and value (B, S, d_model); each w is (d_model, d_model) and is applied as `x @ w`.
    Q_i, K_i and V_i are the i-th blocks of features of the three projections. Returns the output, (B, T, d_model).
    """
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (query @ w_q, key @ w_k, value @ w_v))
    weights = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
    return (weights @ v).transpose(1, 2).flatten(-2) @ w_o


def heads_of(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(-2)


def attended(q, k, v, width, dim=-1):
    return (q @ k.transpose(-2, -1) / width**0.5).softmax(dim) @ v


@multi_head_attention.mistake(
    "The scale is √d_model. Each head compares vectors of d_head features: with d_model the scores are √h times too "
    "small and every head looks almost evenly at everything."
)
def scaled_by_d_model(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, query.size(-1))) @ w_o


@multi_head_attention.mistake("The scores are not divided by √d_head.")
def heads_unscaled(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, 1)) @ w_o


@multi_head_attention.mistake("The output projection W_O is missing: the heads stay side by side and never mix.")
def no_output_projection(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, q.size(-1)))


@multi_head_attention.mistake(
    "The heads are split by a straight view: all shapes are right, and each head sees runs of tokens where it should "
    "see its block of features of every token."
)
def split_by_straight_view(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (x.reshape(len(x), n_heads, x.size(1), -1) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, q.size(-1))) @ w_o


@multi_head_attention.mistake("The heads are merged without swapping the axes of heads and tokens first.")
def merged_unswapped(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return attended(q, k, v, q.size(-1)).reshape(query.shape) @ w_o


@multi_head_attention.mistake("There is one head only, as wide as the model: `n_heads` is never used.")
def one_wide_head(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    return attended(query @ w_q, key @ w_k, value @ w_v, query.size(-1)) @ w_o


@multi_head_attention.mistake(
    "The weights are applied transposed, as `x @ w.T`. That is how `nn.Linear` stores them; here `w` is used as it is."
)
def transposed_weights(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q.T, key @ w_k.T, value @ w_v.T))
    return joined(attended(q, k, v, q.size(-1))) @ w_o.T


@multi_head_attention.mistake(
    "Keys and values are projected from the query. That is self-attention whatever is handed in; "
    "cross-attention takes them from the other sequence."
)
def self_attention_always(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, query @ w_k, query @ w_v))
    return joined(attended(q, k, v, q.size(-1))) @ w_o


@multi_head_attention.mistake("The softmax runs over the queries (or heads), not over the keys.")
def softmax_over_the_queries(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, q.size(-1), dim=-2)) @ w_o


@multi_head_attention.mistake("All heads use the first block of the projections: they are copies of one another.")
def identical_heads(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads)[:, :1] for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, q.size(-1)).expand(-1, n_heads, -1, -1)) @ w_o


@multi_head_attention.mistake("The values are not projected: W_V is never used.")
def values_not_projected(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value))
    return joined(attended(q, k, v, q.size(-1))) @ w_o


@multi_head_attention.mistake("Query and key have each other's weights: W_K on the query, W_Q on the key.")
def weights_exchanged(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_k, key @ w_q, value @ w_v))
    return joined(attended(q, k, v, q.size(-1))) @ w_o
