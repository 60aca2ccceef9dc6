"""Lesson 10: set the weights of `induction_by_hand`."""

import itertools
from collections.abc import Mapping
from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from transformer_lab.exercises.engine.cards import Picture
from transformer_lab.exercises.engine.case_drawing import Arguments, number
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.engine.specification import Goal
from transformer_lab.exercises.kinds import SetTheWeights

NAMES = "abcdefgh"  # of the tokens


def sequences_of(given: Mapping) -> list[tuple[int, ...]]:
    """All sequences of different tokens that fit in twice; the shortest first."""
    periods = range(1, min(given["n_tokens"], given["n_positions"] // 2) + 1)
    return [once for period in periods for once in itertools.permutations(range(given["n_tokens"]), period)]


@cache
def stream_of(n_tokens: int, n_positions: int) -> Tensor:
    """(N, T, d_model): token | position | previous | next, the last two empty.

    Each sequence is repeated until all are as long as the longest twice. What stands behind its second half does not
    matter: it is hidden by the mask.
    """
    once = sequences_of({"n_tokens": n_tokens, "n_positions": n_positions})
    length = 2 * len(once[-1])
    tokens = torch.tensor([[one[t % len(one)] for t in range(length)] for one in once], device="cpu")  # (N, T)
    here = F.one_hot(tokens, n_tokens).double()  # (N, T, n_tokens)
    places = torch.eye(n_positions, dtype=torch.float64, device="cpu")[:length]
    return torch.cat([here, places.expand(len(once), -1, -1), 0 * here, 0 * here], -1)


def layer(x: Tensor, qk: Tensor, ov: Tensor) -> tuple[Tensor, Tensor]:
    """The stream (N, T, d_model) behind a layer of one head, and the head's weights (N, T, T)."""
    qk, ov = (matrix.detach().to("cpu", torch.float64) for matrix in (qk, ov))
    future = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device="cpu").triu(1)
    weights = (x @ qk @ x.mT).masked_fill(future, float("-inf")).softmax(-1)
    return x + weights @ x @ ov, weights


def both_layers(given: Mapping, qk_0: Tensor, ov_0: Tensor, qk_1: Tensor, ov_1: Tensor) -> Tensor:
    """(N, T, T + T + n_tokens): for each sequence the weights of both heads, and `next` behind the second."""
    x, first = layer(stream_of(given["n_tokens"], given["n_positions"]), qk_0, ov_0)
    x, second = layer(x, qk_1, ov_1)
    return torch.cat([first, second, x[..., -given["n_tokens"] :]], -1).float()


def smallest_failure(given: Mapping, effect: Tensor) -> tuple[int, int] | None:
    """The number of the first sequence that is not continued, and the position where it is not."""
    following = effect[..., -given["n_tokens"] :]  # (N, T, n_tokens)
    for i, once in enumerate(sequences_of(given)):
        period = len(once)
        for t in range(period, 2 * period):
            right, others = following[i, t].clone(), following[i, t].clone()
            others[once[(t + 1) % period]] = 0
            if not (right[once[(t + 1) % period]] >= 0.9 and (others <= 0.1).all()):
                return i, t
    return None


def not_continued(given: Mapping, effect: Tensor) -> str | None:
    if (failure := smallest_failure(given, effect)) is None:
        return None
    i, t = failure
    once = sequences_of(given)[i]
    read = [NAMES[once[s % len(once)]] for s in range(t + 1)]
    held = effect[i, t, -given["n_tokens"] :].tolist()
    lines = [
        "It does not continue every sequence that is repeated.",
        f"  tokens          {' '.join(read)}",
        f"  what comes next {NAMES[once[(t + 1) % len(once)]]}",
        f"  next holds      {', '.join(f'{x:.2f} for {NAMES[token]}' for token, x in enumerate(held))}",
    ]
    return "\n".join(lines)


def pictures_of(given: Mapping, effect: Tensor) -> list[Picture]:
    """Both heads and `next` on the smallest sequence that is not continued."""
    i, _ = smallest_failure(given, effect) or (0, 0)
    once, length = sequences_of(given)[i], effect.size(1)
    tokens = [NAMES[token] for token in 2 * once]
    alphabet = [*NAMES[: given["n_tokens"]]]
    parts = effect[i, : len(tokens)].split([length, length, len(alphabet)], -1)
    captions = ("layer 0: rows are queries, columns are keys", "layer 1", "next, after both layers")
    return [
        Picture(caption, corner, tokens, columns, part[:, : len(columns)].tolist())
        for caption, corner, columns, part in zip(
            captions, ("q╲k", "q╲k", ""), (tokens, tokens, alphabet), parts, strict=True
        )
    ]


def alphabet_case(n_tokens: int, n_positions: int) -> Case:
    """All sequences of an alphabet. Loose: the same mistake with sharper weights is still the same."""
    label = f"{n_tokens} tokens, {n_positions} positions: all sequences"
    return Case(label, {"n_tokens": n_tokens, "n_positions": n_positions}, loose=True)


@partial(
    SetTheWeights,
    lesson="10",
    minutes=30,
    difficulty=3,
    statement="""
    Set the weights of two layers by hand, without training, so that they continue every sequence that is repeated.

    There are `n_tokens` tokens and `n_positions` positions. A row of the residual stream x has four blocks:
      token      n_tokens numbers, one-hot: which token stands here
      position   n_positions numbers, one-hot: at which position, from 0
      previous   n_tokens zeros, for you to use
      next       n_tokens zeros, where the answer belongs
    So d_model = 3 · n_tokens + n_positions. Each layer is one head with a causal mask:
      weights = softmax(x @ qk @ x.T)      where qk is W_Q W_Kᵀ
      x = x + weights @ x @ ov             where ov is W_V W_O
    The rows of `qk` belong to the query, its columns to the key. The rows of `ov` are what is read, its columns where
    it is written.

    Return `(qk_0, ov_0, qk_1, ov_1)`, each (d_model, d_model); layer 0 comes first.

    They are tried on every sequence of different tokens that fits in twice, followed by itself: a a, a b a b,
    b c a b c a, and so on. At each position of the second half `next` must hold at least 0.9 for the token that comes
    next (after the last one it starts again), and at most 0.1 for each other. What stands there in the first half does
    not matter.
    """,
    returns=("qk_0", "ov_0", "qk_1", "ov_1"),
    cases=tuple(alphabet_case(*sizes) for sizes in ((2, 4), (3, 6), (3, 9), (4, 8))),
    goal=Goal(both_layers, not_continued),
    pictures=pictures_of,
    hints=(
        "Let layer 0 write into each row which token came *before* it. Layer 1 then looks for the row whose previous "
        "token is the present one: what stands *there* came next the last time.",
        "Each matrix needs one block that is not 0. `qk_0` compares positions with positions, and `ov_0` brings a "
        "token into the block `previous`. From which block to which do the other two lead?",
        "A block that compares things that are equal is an identity; one that looks back by one is an identity whose "
        "ones stand beside the diagonal. The softmax is sharp only if the ones are larger numbers.",
        "Is all right but position 0? Nothing stands before it, so it can only look at itself, and takes its own token "
        "for the previous one. Give position 0, as a key of layer 1, so low a score that it is not found.",
    ),
)
def induction_by_hand(n_tokens, n_positions):
    """The matrices of a previous-token head and of an induction head: `(qk_0, ov_0, qk_1, ov_1)`.

    The first writes into each row which token came before. The second looks for the row whose previous token is the
    present one, and copies the token that stands there.
    """
    d_model = 3 * n_tokens + n_positions
    qk_0, ov_0, qk_1, ov_1 = torch.zeros(4, d_model, d_model)
    token, position, previous, following = torch.arange(d_model).split([n_tokens, n_positions, n_tokens, n_tokens])
    qk_0[position[1:], position[:-1]] = 50  # the query of position t, the key of position t - 1
    ov_0[token, previous] = 1
    qk_1[token, previous] = 50
    qk_1[token, position[0]] = -50  # nothing came before position 0: it has looked at itself
    ov_1[token, following] = 1
    return qk_0, ov_0, qk_1, ov_1


def square(n_tokens, n_positions, rows, columns, block):
    """Zeros, but for one block that leads from one part of the stream to another."""
    starts = {"token": 0, "position": n_tokens, "previous": n_tokens + n_positions, "next": 2 * n_tokens + n_positions}
    matrix = torch.zeros(3 * n_tokens + n_positions, 3 * n_tokens + n_positions)
    top, left = starts[rows], starts[columns]
    matrix[top : top + block.size(0), left : left + block.size(1)] = block
    return matrix


def one_back(n_positions):
    return torch.diag(torch.ones(n_positions - 1), -1)


def circuit(n_tokens, n_positions):
    """A function that places a block, the block of equal tokens, and four matrices that are right but at position 0."""
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    qk_0, ov_0 = at("position", "position", 30 * one_back(n_positions)), at("token", "previous", tokens)
    return at, tokens, (qk_0, ov_0, at("token", "previous", 30 * tokens), at("token", "next", tokens))


@induction_by_hand.mistake(
    "Nearly. Position 0 has nothing before it, so it looks at itself, and its *own* token becomes its previous one. So "
    "layer 1 finds it, too, where the first token comes again."
)
def position_0_is_found(n_tokens, n_positions):
    return circuit(n_tokens, n_positions)[-1]


@induction_by_hand.mistake(
    "Layer 1 looks at the *same* token, and says it again. It is to look at the token after it: compare the present "
    "token with what stands in `previous`."
)
def the_same_token_again(n_tokens, n_positions):
    at, tokens, (qk_0, ov_0, _, ov_1) = circuit(n_tokens, n_positions)
    return qk_0, ov_0, at("token", "token", 30 * tokens), ov_1


@induction_by_hand.mistake(
    "Layer 0 looks at all positions so far alike. Either its scores are all equal, or it looks *ahead*, where the mask "
    "hides everything: the row of `qk_0` is the query, the column the key."
)
def looks_at_all_alike(n_tokens, n_positions):
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    qk_0, ov_0 = at("position", "position", 0 * one_back(n_positions)), at("token", "previous", tokens)
    return qk_0, ov_0, at("token", "previous", 30 * tokens), at("token", "next", tokens)


@induction_by_hand.mistake(
    "Layer 0 looks at its own position: all that it can write into `previous` is which token stands *here*."
)
def looks_at_itself(n_tokens, n_positions):
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    qk_0, ov_0 = at("position", "position", 30 * torch.eye(n_positions)), at("token", "previous", tokens)
    return qk_0, ov_0, at("token", "previous", 30 * tokens), at("token", "next", tokens)


@induction_by_hand.mistake(
    "The right positions have the largest weights, but these are too small: scores of 1 and 0 are nearly alike for a "
    "softmax. Multiply both `qk`."
)
def too_soft(n_tokens, n_positions):
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    qk_0, ov_0 = at("position", "position", one_back(n_positions)), at("token", "previous", tokens)
    return qk_0, ov_0, at("token", "previous", tokens), at("token", "next", tokens)


@induction_by_hand.mistake(
    "Layer 1 finds nothing, and looks at all alike. Either nothing arrives in `previous` (the rows of `ov_0` are what "
    "is read, the token; its columns are where that is written), or `qk_1` does not look there."
)
def previous_stays_empty(n_tokens, n_positions):
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    qk_0, ov_0 = at("position", "position", 30 * one_back(n_positions)), at("previous", "token", tokens)
    return qk_0, ov_0, at("token", "previous", 30 * tokens), at("token", "next", tokens)


@induction_by_hand.mistake(
    "Query and key of layer 1 have changed places: it looks for the token that stood *before* the present one. The "
    "present token is the query (rows), `previous` the key (columns)."
)
def query_and_key_exchanged(n_tokens, n_positions):
    at, tokens, (qk_0, ov_0, _, ov_1) = circuit(n_tokens, n_positions)
    return qk_0, ov_0, at("previous", "token", 30 * tokens), ov_1


@induction_by_hand.mistake(
    "Layer 1 looks at the right place, and copies its `previous`: that is the token that you have, not the one that "
    "comes. Copy the token that stands there."
)
def previous_is_copied(n_tokens, n_positions):
    at, tokens, (qk_0, ov_0, qk_1, _) = circuit(n_tokens, n_positions)
    return qk_0, ov_0, qk_1, at("previous", "next", tokens)


@induction_by_hand.mistake(
    "Layer 1 looks at the right place, but nothing arrives in `next`. The rows of `ov_1` are what is read there, the "
    "token; its columns are where that is written."
)
def next_stays_empty(n_tokens, n_positions):
    at, tokens, (qk_0, ov_0, qk_1, _) = circuit(n_tokens, n_positions)
    return qk_0, ov_0, qk_1, at("token", "token", tokens)


@induction_by_hand.mistake(
    "Layer 1 counts positions, and is right for one period alone. An induction head finds its place by the *tokens*, "
    "however far back it is."
)
def for_one_period_alone(n_tokens, n_positions):
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    far_back = torch.diag(torch.ones(n_positions - n_tokens + 1), 1 - n_tokens)
    qk_0, ov_0 = at("position", "position", 30 * one_back(n_positions)), at("token", "previous", tokens)
    return qk_0, ov_0, at("position", "position", 30 * far_back), at("token", "next", tokens)


@induction_by_hand.mistake(
    "No row says which token came *before* it, so layer 1 can only find the same token again, and not the one after "
    "it. Let layer 0 look back by one, and write that token into `previous`."
)
def without_a_note(n_tokens, n_positions):
    at, tokens = partial(square, n_tokens, n_positions), torch.eye(n_tokens)
    nothing = at("token", "previous", 0 * tokens)
    return nothing, nothing, at("token", "token", 30 * tokens), at("token", "next", tokens)


@induction_by_hand.hidden_case
def hidden_case(generator: Generator) -> Arguments:
    n_tokens = number(generator, 2, 5)
    return {"n_tokens": n_tokens, "n_positions": 2 * n_tokens + number(generator, 1, 40)}
