"""Exercises of lesson 02: splitting and merging heads, multi-head attention, and heads set by hand."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from transformer_lab.exercises import references
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.sample_tensors import counting, normal
from transformer_lab.exercises.engine.specification import Domain, Goal, Property
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.kinds import SetTheWeights
from transformer_lab.nn import attention


def split_case(label: str, x, n_heads: int) -> Case:
    return Case(label, {"x": x, "n_heads": n_heads})


split_heads = Exercise(
    attention.split_heads,
    lesson="02",
    minutes=5,
    difficulty=1,
    statement="(B, T, d_model) → (B, h, T, d_head): head i owns the i-th block of d_head = d_model / h features.",
    returns=("heads",),
    cases=(
        split_case("two tokens of four features, two heads", counting(1, 2, 4), 2),
        split_case("one head", counting(1, 2, 3), 1),
        split_case("one token", counting(1, 1, 6), 3),
        split_case("as many heads as features", counting(1, 3, 4), 4),
        split_case("a batch", normal(2, 5, 21), 3),
        split_case("float64, not contiguous", normal(2, 6, 5, dtype=torch.float64).mT, 2),
    ),
    properties=(
        Property(
            "head 0 of the first token is the first block of its features",
            lambda given, heads: torch.equal(heads[0, 0, 0], given["x"][0, 0].chunk(given["n_heads"])[0]),
        ),
        Property(
            "no number is lost or made up",
            lambda given, heads: torch.equal(heads.flatten().sort()[0], given["x"].flatten().sort()[0]),
        ),
    ),
    hints=(
        "First give the features two axes, (h, d_head); then move the axis of heads to where it belongs.",
        "A single `view` gives the shape (B, h, T, d_head), but with the numbers in the wrong positions. "
        "Which two axes have to be swapped on the way?",
    ),
)


@split_heads.mistake(
    "A straight view to (B, h, T, d_head): the shape is right, but the numbers are not. It gives whole runs of "
    "*tokens* to each head, so that a head sees some tokens in full and others never."
)
def straight_view(x, n_heads):
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


@split_heads.mistake("The axis of heads still comes after that of tokens: (B, T, h, d_head).")
def heads_left_behind(x, n_heads):
    return x.reshape(x.size(0), x.size(1), n_heads, -1)


@split_heads.mistake(
    "The features are dealt out like cards: head i owns every h-th feature. It must own the i-th *block* of them."
)
def interleaved(x, n_heads):
    return x.reshape(x.size(0), x.size(1), -1, n_heads).permute(0, 3, 1, 2)


@split_heads.mistake("You have used n_heads as the width of a head: these are d_head heads with h features each.")
def width_for_number(x, n_heads):
    return x.reshape(x.size(0), x.size(1), -1, n_heads).transpose(1, 2)


@split_heads.mistake("The last two axes are swapped: (B, h, d_head, T). Only the keys need that, and only later.")
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


merge_heads = Exercise(
    attention.merge_heads,
    lesson="02",
    minutes=5,
    difficulty=1,
    statement="""
    (B, h, T, d_head) → (B, T, d_model), the inverse of `split_heads`: the heads of a token side by side.
    """,
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
    properties=(
        Property(
            "the first token begins with its features from head 0",
            lambda given, x: torch.equal(x[0, 0, : given["x"].size(3)], given["x"][0, 0, 0]),
        ),
        Property(
            "no number is lost or made up",
            lambda given, x: torch.equal(x.flatten().sort()[0], given["x"].flatten().sort()[0]),
        ),
    ),
    hints=(
        "Undo `split_heads` backwards: move the axis of heads next to the features, then make one axis of the two.",
        "Once the axes are swapped, the numbers no longer lie in order in memory, so `view` refuses. What copies them?",
    ),
)


@merge_heads.mistake(
    "The axes of heads and tokens were not swapped before they were merged: the shape is right, and one row mixes "
    "features of several tokens."
)
def not_swapped(x):
    return x.reshape(x.size(0), x.size(2), -1)


@merge_heads.mistake(
    "The last two axes were merged, tokens and features: (B, h, T · d_head). Merge heads and features, of each token."
)
def tokens_and_features_merged(x):
    return x.flatten(2)


@merge_heads.mistake(
    "`view` cannot merge axes right after `transpose`: the numbers are not in order in memory. `reshape` copies them."
)
def view_after_transpose(x):
    return x.transpose(1, 2).view(x.size(0), x.size(2), -1)


@merge_heads.mistake("The features are interleaved: feature 0 of all heads, then feature 1. Heads come in blocks.")
def features_interleaved(x):
    return x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1)


@merge_heads.mistake("The heads were added up. They go side by side, so that W_O can tell them apart.")
def heads_added(x):
    return x.sum(1)


@merge_heads.mistake("The heads were averaged. They go side by side; it is W_O that later mixes them.")
def heads_averaged(x):
    return x.mean(1)


@merge_heads.mistake(
    "The heads were put one after the other along the tokens: (B, h · T, d_head). They belong side by side."
)
def joined_in_time(x):
    return x.flatten(1, 2)


@merge_heads.mistake("Heads and tokens are swapped, and not yet merged: (B, T, h, d_head) still has four axes.")
def not_merged(x):
    return x.transpose(1, 2)


@merge_heads.mistake("The heads are side by side in reverse order.")
def reversed_heads(x):
    return x.flip(1).transpose(1, 2).flatten(2)


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
    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O, head_i = Attention(Q_i, K_i, V_i).

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


# ── set the weights ──


def attention_of(given: dict, *heads: tuple) -> Tensor:
    """The weights (h, T, T) of heads with these projections, on the position vectors."""
    positions = given["positions"]
    queries, keys = (torch.stack([positions @ head[i] for head in heads]) for i in (0, 1))  # (h, T, d_model)
    return (queries @ keys.mT / queries.size(-1) ** 0.5).softmax(-1)


def one_head(given: dict, w_q: Tensor, w_k: Tensor) -> Tensor:
    return attention_of(given, (w_q, w_k))


def lacks_a_neighbour(offsets: tuple[int, ...]) -> Callable[[dict, Tensor], str | None]:
    """What heads lack that are to look so many positions ahead (or back, if negative), head by head."""

    def lacks(given: dict, weights: Tensor) -> str | None:
        length = weights.size(-1)
        for head, offset in enumerate(offsets):
            for t in range(max(0, -offset), min(length, length - offset)):
                if (weight := weights[head, t, t + offset].item()) < 0.9:
                    of = f" of head {head}" if len(offsets) > 1 else ""
                    rule = (
                        f"The query{of} at position {t} must attend to position {t + offset} with a weight of at least"
                    )
                    most = int(weights[head, t].argmax())
                    rest = "" if most == t + offset else f", and most, {weights[head, t, most]:.2f}, to position {most}"
                    return f"{rule} 0.9. It gives it {weight:.2f}{rest}."
        return None

    return lacks


def position_cases() -> Iterator[Case]:
    """All lengths from 2 to 8 with one-hot vectors; then the same turned, so that no vector is an axis."""
    for length in range(2, 9):
        yield Case(f"{length} positions, one-hot vectors", {"positions": torch.eye(length, device="cpu")})
    for length, d_model in ((2, 2), (3, 5), (6, 8)):
        axes = torch.linalg.qr(normal(d_model, d_model, dtype=torch.float64)).Q[:length].float()
        yield Case(f"{length} positions in {d_model} dimensions, turned vectors", {"positions": axes})


def orthonormal(rows: Tensor) -> Tensor:
    """Unit vectors at right angles to one another, near the given rows."""
    return torch.linalg.qr(rows.double().T).Q.T.to(rows.dtype)


AT_RIGHT_ANGLES = Domain(onto=orthonormal, along=lambda gradient: gradient)

POSITIONS = """
    `positions` has a row for each position, (T, d_model): unit vectors, each at right angles to all others. They are
    all that the head sees; a query is `x @ w_q`, a key `x @ w_k`, both (T, d_model), and the weights are
    softmax(Q Kᵀ / √d_model).
    """

look_back_one = SetTheWeights(
    references.look_back_one,
    lesson="02",
    minutes=15,
    difficulty=2,
    statement=f"""
    Set the weights of a head by hand, without training: `w_q` and `w_k`, (d_model, d_model) each, such that every
    position t from 1 on attends to position t - 1 with a weight of at least 0.9. Position 0 may look anywhere.
    {POSITIONS}
    """,
    returns=("w_q", "w_k"),
    cases=tuple(position_cases()),
    domains={"positions": AT_RIGHT_ANGLES},
    goal=Goal(one_head, lacks_a_neighbour((-1,))),
    hints=(
        "The score of query t and key s is x_t W_Q W_Kᵀ x_sᵀ. Take W_K = I: then x_t W_Q should point where x_{t-1} "
        "points.",
        "With one-hot vectors x_t W_Q is row t of W_Q. Which matrix has x_{t-1} as its row t? For other vectors, "
        "make them one-hot first: positions @ positions.T is the identity.",
        "A score of 1 beside scores of 0 gives no weight near 0.9. Multiply W_Q by a number, and remember that the "
        "scores are divided by √d_model.",
    ),
)


@look_back_one.mistake(
    "It looks *ahead*: the matrix is transposed. With one-hot vectors row t of W_Q is what x_t becomes, and so it must "
    "be the vector of t - 1."
)
def looks_ahead(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    w_q = 10 * positions.size(1) ** 0.5 * before.T @ positions
    return w_q, torch.eye(positions.size(1))


@look_back_one.mistake(
    "Each position looks at itself: query and key are the same vector. The query has to move by one."
)
def looks_at_itself(positions):
    eye = torch.eye(positions.size(1))
    return 100 * eye, eye


@look_back_one.mistake(
    "The right position gets the largest weight, but too little: scores of 1 and 0 are nearly alike for the softmax. "
    "Multiply W_Q by a number."
)
def too_soft(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    return positions.T @ before, torch.eye(positions.size(1))


@look_back_one.mistake(
    "It is right for one-hot vectors alone. Where position t is another vector, W_Q has to be made from `positions`."
)
def one_hot_only(positions):
    eye = torch.eye(positions.size(1))
    return 100 * torch.cat([eye[:1], eye[:-1]]), eye


@look_back_one.mistake("It looks two positions back: query *and* key are moved, by one each in opposite directions.")
def moved_twice(positions):
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return 10 * positions.size(1) ** 0.5 * positions.T @ before, positions.T @ after


@look_back_one.mistake("Every position attends to position 0, whatever its own is: all positions have the same query.")
def looks_at_the_first(positions):
    first = positions[:1].expand_as(positions)
    return 10 * positions.size(1) ** 0.5 * positions.T @ first, torch.eye(positions.size(1))


look_both_ways = SetTheWeights(
    references.look_both_ways,
    lesson="02",
    minutes=10,
    difficulty=2,
    statement=f"""
    Two heads, set by hand: with the first, position t attends to t - 1, with the second to t + 1, each with a weight of
    at least 0.9, wherever there is such a position. Return a list of two pairs, `[(w_q, w_k), (w_q, w_k)]`, all of
    shape (d_model, d_model). One head could not do both: its weights sum to 1.
    {POSITIONS}
    """,
    returns=("[(w_q, w_k), (w_q, w_k)]",),
    cases=tuple(position_cases()),
    domains={"positions": AT_RIGHT_ANGLES},
    goal=Goal(attention_of, lacks_a_neighbour((-1, 1))),
    hints=(
        "The first head is that of `look_back_one`.",
        "The second is the same with the rows moved the other way: row t is the vector of t + 1.",
    ),
)


@look_both_ways.mistake("The two heads have changed places: the first must look back, the second ahead.")
def in_the_other_order(positions):
    long, eye = 10 * positions.size(1) ** 0.5 * positions.T, torch.eye(positions.size(1))
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(long @ after, eye), (long @ before, eye)]


@look_both_ways.mistake("Both heads look back. The second must look at the position *after* its own, t + 1.")
def both_back(positions):
    before = torch.cat([positions[:1], positions[:-1]])
    return [(10 * positions.size(1) ** 0.5 * positions.T @ before, torch.eye(positions.size(1)))] * 2


@look_both_ways.mistake("Both heads look ahead. The first must look at the position before its own, t - 1.")
def both_ahead(positions):
    after = torch.cat([positions[1:], positions[-1:]])
    return [(10 * positions.size(1) ** 0.5 * positions.T @ after, torch.eye(positions.size(1)))] * 2


@look_both_ways.mistake(
    "Each head looks to both sides, with a weight of about one half each. Give each head *one* neighbour."
)
def halves(positions):
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(10 * positions.size(1) ** 0.5 * positions.T @ (before + after), torch.eye(positions.size(1)))] * 2


@look_both_ways.mistake("Each position looks at itself, with both heads.")
def both_at_themselves(positions):
    eye = torch.eye(positions.size(1))
    return [(100 * eye, eye), (100 * eye, eye)]


@look_both_ways.mistake(
    "The right positions get the largest weights, but too little: multiply W_Q of both heads by a number."
)
def both_too_soft(positions):
    eye = torch.eye(positions.size(1))
    before, after = torch.cat([positions[:1], positions[:-1]]), torch.cat([positions[1:], positions[-1:]])
    return [(positions.T @ before, eye), (positions.T @ after, eye)]
