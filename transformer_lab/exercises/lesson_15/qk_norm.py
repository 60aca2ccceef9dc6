"""Lesson 15: implement `qk_norm`."""

import torch
from torch import Generator, Tensor

from transformer_lab.exercises.engine.case_drawing import Arguments, floats, number, pick, sizes
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.models.since_llama import qk_norm as qk_norms


def norm_case(label: str, query: Tensor, key: Tensor, eps: float = 1e-6) -> Case:
    """A case whose weights are neither 1 nor the same for queries and keys."""
    features = torch.arange(query.size(-1), dtype=query.dtype, device="cpu")
    weights = {"weight_q": 1 + features / 4, "weight_k": 2 - features / 3}
    return Case(label, {"query": query, "key": key} | weights | {"eps": eps})


def drawn(label: str, batch: int, heads: tuple[int, int], lengths: tuple[int, int], d_head: int, **like) -> Case:
    """Heads and lengths of queries and of keys."""
    query, key = (normal(batch, h, n, d_head, **like) for h, n in zip(heads, lengths, strict=True))
    return norm_case(label, 3 * query, key + 2)


def of_size_one(given, query, key) -> bool:
    """Mean square m / (m + eps) for every query and key, once the weights are taken off again."""
    pairs = ((query / given["weight_q"], given["query"]), (key / given["weight_k"], given["key"]))
    for after, before in pairs:
        size = before.double().square().mean(-1)
        if (after.double().square().mean(-1) - size / (size + given["eps"])).abs().max() > 1e-3:
            return False
    return True


QUERY = torch.tensor([1.0, 7.0], device="cpu").reshape(1, 1, 1, 2)
KEY = torch.tensor([3.0, -4.0], device="cpu").reshape(1, 1, 1, 2)
PLAIN = {"weight_q": torch.ones(2, device="cpu"), "weight_k": torch.ones(2, device="cpu"), "eps": 0.0}

qk_norm = Exercise(
    qk_norms.qk_norm,
    lesson="15",
    minutes=10,
    difficulty=1,
    statement="""
    Norm queries and keys before they meet: give each vector a root mean square of 1, then scale it. Return
    `(query, key)`.

    RMSNorm(x) = x / √(mean(x²) + eps) · weight

    query is (B, h, T, d_head), key is (B, g, S, d_head): there may be fewer heads of keys. Each head of each position
    is normed by itself, over its d_head features. All heads of queries share weight_q, and all heads of keys
    weight_k, (d_head,) each. Nothing is subtracted, and nothing is divided by √d_head: attention does that later.
    """,
    returns=("query", "key"),
    cases=(
        Case("one query, one key, weights of 1", {"query": QUERY, "key": KEY} | PLAIN),
        norm_case("one query, one key", QUERY, KEY),
        norm_case("two heads of different size", counting(1, 2, 1, 3) + 1, 10 * counting(1, 2, 1, 3) + 1),
        norm_case("a large eps", counting(1, 1, 2, 3), -counting(1, 1, 2, 3), eps=0.5),
        norm_case("a query of zeros", 0 * counting(1, 1, 1, 4), counting(1, 1, 1, 4), eps=0.1),
        drawn("a batch", 2, (3, 3), (4, 5), 7),
        drawn("six heads of queries, two of keys", 2, (6, 2), (3, 5), 4),
        drawn("one new query", 3, (4, 1), (1, 6), 5),
        drawn("float64", 2, (4, 2), (3, 3), 6, dtype=torch.float64),
    ),
    properties=(Property("with the weights undone, each vector has (but for eps) a mean square of 1", of_size_one),),
    hints=(
        "What is the norm of lesson 11, RMSNorm, for one vector? Here the vectors are those of the heads: how many are "
        "there in a query of shape (B, h, T, d_head)?",
        "Which axis is the mean over? Keep it with size 1, so that it broadcasts against x.",
        "Queries and keys have a weight each, and go separate ways: none of their numbers meet before the scores.",
    ),
)


def normed(x, weight, eps, axes=-1):
    return x / torch.sqrt(x.square().mean(axes, keepdim=True) + eps) * weight


@qk_norm.mistake(
    "The mean is over all heads of a position together, as in OLMo 2. Then a large head makes the others small. Here "
    "each head is normed by itself, over its own d_head features."
)
def over_all_heads(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps, (1, 3)), normed(key, weight_k, eps, (1, 3))


@qk_norm.mistake("The mean is over the positions, so that tokens influence one another. Take it over the features.")
def over_positions(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps, 2), normed(key, weight_k, eps, 2)


@qk_norm.mistake("There is one mean square for the whole tensor. Each vector of d_head features needs its own.")
def over_everything(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps, (0, 1, 2, 3)), normed(key, weight_k, eps, (0, 1, 2, 3))


@qk_norm.mistake(
    "You subtract the mean, as LayerNorm does. RMSNorm leaves the mean where it is, and only changes the size."
)
def mean_subtracted(query, key, weight_q, weight_k, eps):
    query, key = (x - x.mean(-1, keepdim=True) for x in (query, key))
    return normed(query, weight_q, eps), normed(key, weight_k, eps)


@qk_norm.mistake(
    "The sum of the squares is taken, and not their mean: each vector gets a length of 1 in place of √d_head, and "
    "every score becomes d_head times smaller."
)
def sum_of_squares(query, key, weight_q, weight_k, eps):
    sizes = [torch.sqrt(x.square().sum(-1, keepdim=True) + eps) for x in (query, key)]
    return query / sizes[0] * weight_q, key / sizes[1] * weight_k


@qk_norm.mistake("The root is missing: you divide by the mean square itself.")
def without_the_root(query, key, weight_q, weight_k, eps):
    sizes = [x.square().mean(-1, keepdim=True) + eps for x in (query, key)]
    return query / sizes[0] * weight_q, key / sizes[1] * weight_k


@qk_norm.mistake("eps is added after the root. Add it to the mean square, before the root.")
def eps_outside_the_root(query, key, weight_q, weight_k, eps):
    sizes = [x.square().mean(-1, keepdim=True).sqrt() + eps for x in (query, key)]
    return query / sizes[0] * weight_q, key / sizes[1] * weight_k


@qk_norm.mistake(
    "The eps that is given is not used. Add it to the mean square, so that a vector of zeros is not divided by 0."
)
def no_eps(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, 0.0), normed(key, weight_k, 0.0)


@qk_norm.mistake("eps is always the same, whatever the argument says. Use the eps that is given.")
def eps_of_its_own(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, 1e-6), normed(key, weight_k, 1e-6)


@qk_norm.mistake("The keys are scaled by weight_q, too. They have a weight of their own, weight_k.")
def one_weight_for_both(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps), normed(key, weight_q, eps)


@qk_norm.mistake("The weights are swapped: weight_q belongs to the queries, weight_k to the keys.")
def weights_exchanged(query, key, weight_q, weight_k, eps):
    return normed(query, weight_k, eps), normed(key, weight_q, eps)


@qk_norm.mistake("The weights are never used.")
def no_weights(query, key, weight_q, weight_k, eps):
    return normed(query, 1.0, eps), normed(key, 1.0, eps)


@qk_norm.mistake(
    "The weights are applied before the norm, so that they change what is divided by. Apply them to the result."
)
def weights_before_the_norm(query, key, weight_q, weight_k, eps):
    return normed(query * weight_q, 1.0, eps), normed(key * weight_k, 1.0, eps)


@qk_norm.mistake(
    "You multiply by 1 + weight. Gemma stores its weights that way; here a weight of 1 is one that changes nothing."
)
def one_more_than_the_weights(query, key, weight_q, weight_k, eps):
    return normed(query, 1 + weight_q, eps), normed(key, 1 + weight_k, eps)


@qk_norm.mistake("Only the queries are normed. A key that grows still makes all its scores grow.")
def keys_left_as_they_are(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps), key


@qk_norm.mistake("You divide the queries by √d_head as well. That is left to attention, which would do it again.")
def queries_scaled(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps) / query.size(-1) ** 0.5, normed(key, weight_k, eps)


@qk_norm.mistake("The keys are returned first. What is asked for is (query, key).")
def keys_first(query, key, weight_q, weight_k, eps):
    return normed(key, weight_k, eps), normed(query, weight_q, eps)


@qk_norm.mistake(
    "The mean is over positions and features together. Each position of a head is a vector of its own, and is normed "
    "without a look at the others."
)
def over_positions_and_features(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps, (2, 3)), normed(key, weight_k, eps, (2, 3))


@qk_norm.mistake(
    "Each vector gets a *length* of 1, as `F.normalize` makes it, before it is scaled. What is asked for is a "
    "root mean square of 1, with eps under the root: a length of about √d_head."
)
def length_one(query, key, weight_q, weight_k, eps):
    lengths = [x.norm(dim=-1, keepdim=True).clamp(min=1e-12) for x in (query, key)]
    return query / lengths[0] * weight_q, key / lengths[1] * weight_k


@qk_norm.mistake("The query is returned twice: the key is never read.")
def query_for_both(query, key, weight_q, weight_k, eps):
    return normed(query, weight_q, eps), normed(query, weight_k, eps)


@qk_norm.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    normal, (batch, groups, n_queries, n_keys) = floats(generator), sizes(generator, 4, most=4)
    heads, d_head = groups * number(generator, 1, 3), number(generator, 3, 9)
    given = {"query": 2 * normal(batch, heads, n_queries, d_head), "key": normal(batch, groups, n_keys, d_head) + 1}
    return given | {"weight_q": normal(d_head), "weight_k": normal(d_head), "eps": pick(generator, 1e-6, 1e-3, 0.1)}
