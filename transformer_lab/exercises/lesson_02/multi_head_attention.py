"""Lesson 02: implement `multi_head_attention`."""

import torch
from torch import Generator

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.nn import attention


def multi_head_case(label: str, query, key, value, n_heads: int, weights=None, loose: bool = False) -> Case:
    """A case with random weights, unless others are given."""
    d_model = query.size(-1)
    if weights is None:
        weights = normal(4, d_model, d_model, dtype=query.dtype) * d_model**-0.5
    names = ("query", "key", "value", "w_q", "w_k", "w_v", "w_o", "n_heads")
    return Case(label, dict(zip(names, (query, key, value, *weights.unbind(), n_heads), strict=True)), loose)


def moved_features(*steps: int):
    """Matrices of 0 and 1 that move the features: `x @ w` has feature i of x in column i + step."""
    return torch.stack([torch.eye(4, device="cpu").roll(step, 1) for step in steps])


def averages_of_values(given, output) -> bool:
    """Whether the output, with W_O taken off again, lies in the range of the projected values of its sentence."""
    heads = output.double() @ given["w_o"].double().inverse()
    values = given["value"].double() @ given["w_v"].double()
    return bool((heads - values.amax(1, True)).max() < 1e-3 and (values.amin(1, True) - heads).max() < 1e-3)


multi_head_attention = Exercise(
    attention.multi_head_attention,
    lesson="02",
    minutes=15,
    difficulty=2,
    statement="""
    Write attention with several heads: MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O, where each head_i is
    Attention(Q_i, K_i, V_i).

    query (B, T, d_model), key and value (B, S, d_model); each w is (d_model, d_model) and is applied as `x @ w`.
    Q_i, K_i and V_i are the i-th blocks of features of the three projections. Returns the output, (B, T, d_model).
    """,
    returns=("output",),
    cases=(
        multi_head_case(
            "two tokens, two heads; the weights move features",
            torch.tensor([[[2.0, 0.0, 0.0, 1.0], [0.0, 1.0, 3.0, 0.0]]]),
            torch.tensor([[[0.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 3.0]]]),
            counting(1, 2, 4),
            2,
            moved_features(0, 1, 2, 3),
        ),
        multi_head_case("one head", normal(1, 2, 4), normal(1, 3, 4), normal(1, 3, 4), 1),
        multi_head_case("one token alone", normal(1, 1, 4), normal(1, 1, 4), normal(1, 1, 4), 2),
        multi_head_case("self-attention, three heads", normal(2, 5, 6), normal(2, 5, 6), normal(2, 5, 6), 3),
        multi_head_case("cross-attention, T ≠ S", normal(2, 5, 14), normal(2, 3, 14), normal(2, 3, 14) + 1, 7),
        multi_head_case("large numbers", 15 * normal(2, 5, 6), 15 * normal(2, 7, 6), normal(2, 7, 6), 2, loose=True),
        multi_head_case(
            "float64, not contiguous",
            normal(2, 12, 5, dtype=torch.float64).mT,
            normal(2, 12, 7, dtype=torch.float64).mT,
            normal(2, 12, 7, dtype=torch.float64).mT - 1,
            3,
        ),
    ),
    properties=(
        Property(
            "with W_O taken off again, each feature is an average of that feature of the projected values",
            averages_of_values,
        ),
    ),
    hints=(
        "Five steps: project, split into heads, attend within each head, merge the heads, project again.",
        "Each head is a small attention of its own: the width in its scale is d_head, not d_model.",
        "With the axis of heads in front of tokens and features, one matrix product serves all heads.",
    ),
)


def heads_of(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(-2)


def attended(q, k, v, width, dim=-1):
    return (q @ k.transpose(-2, -1) / width**0.5).softmax(dim) @ v


@multi_head_attention.mistake(
    "The scale is √d_model. Each head compares vectors of d_head features: with d_model the scores are √h times too "
    "small, and every head looks too evenly at everything."
)
def scaled_by_d_model(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, query.size(-1))) @ w_o


@multi_head_attention.mistake("The scores are not divided by √d_head.")
def heads_unscaled(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, 1)) @ w_o


@multi_head_attention.mistake(
    "The scale is √h, the root of the number of heads. Each score is a dot product of d_head numbers: divide by "
    "√d_head."
)
def scaled_by_the_number_of_heads(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, n_heads)) @ w_o


@multi_head_attention.mistake(
    "W_O is applied transposed, as `x @ w_o.T`. That is how `nn.Linear` stores its weights; here `w_o` is used as "
    "it is."
)
def output_projection_transposed(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, q.size(-1))) @ w_o.T


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


@multi_head_attention.mistake("The softmax runs over the queries, not over the keys.")
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


@multi_head_attention.mistake(
    "The values are projected from `key`. In self-attention the two are the same; here `value` is another tensor, and "
    "what is fetched comes from there."
)
def values_from_the_key(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (heads_of(x, n_heads) for x in (query @ w_q, key @ w_k, key @ w_v))
    return joined(attended(q, k, v, q.size(-1))) @ w_o


@multi_head_attention.mistake(
    "The axes of heads and tokens are never swapped, neither where the heads are split nor where they are merged. The "
    "shapes fit all the same, and each head sees runs of tokens, not its block of features of every token."
)
def never_swapped(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (x.reshape(len(x), n_heads, x.size(1), -1) for x in (query @ w_q, key @ w_k, value @ w_v))
    return attended(q, k, v, q.size(-1)).reshape(query.shape) @ w_o


@multi_head_attention.mistake(
    "The features are dealt out like cards: head i owns every h-th feature of the projections. It must own the i-th "
    "*block* of them."
)
def features_dealt_out(query, key, value, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2) for x in (query @ w_q, key @ w_k, value @ w_v))
    return joined(attended(q, k, v, q.size(-1))) @ w_o


@multi_head_attention.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, queries, keys, n_heads, d_head) = floats(generator), sizes(generator, 5, most=5)
    d_model = n_heads * d_head
    inputs = {"query": normal(batch, queries, d_model)} | {x: normal(batch, keys, d_model) for x in ("key", "value")}
    weights = {name: normal(d_model, d_model) * d_model**-0.5 for name in ("w_q", "w_k", "w_v", "w_o")}
    return inputs | weights | {"n_heads": n_heads}
